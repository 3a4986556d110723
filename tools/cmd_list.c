/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `list`: the block devices and what each is used for, with lsblk's columns. Opens none of them,
 * so that a hung drive cannot hang it. */
#include <stdio.h>
#include <string.h>

#include "devices/relations.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/report.h"

enum list_format { LIST_TABLE, LIST_JSON, LIST_CSV };

struct list_config {
	const char *columns;
	unsigned format;
	bool json, bytes, all, partitions;
	const char *sysroot;
};

static const char *const formats[] = { "table", "json", "csv", NULL };

static const struct option_spec list_specs[] = {
	{ .name = "columns",
		.letter = 'o',
		.type = OPTION_TEXT,
		.offset = offsetof(struct list_config, columns),
		.argument = "COLUMNS",
		.help = "which columns, in that order: some of NAME SIZE TRAN ROTA MODEL SERIAL "
			"LOG-SEC PHY-SEC QD SCHED CACHE USE, and RM VENDOR WWN IDENTITY ZONED NODE",
		.group = "Output" },
	{ .name = "json",
		.letter = 'J',
		.type = OPTION_FLAG,
		.offset = offsetof(struct list_config, json),
		.help = "the same as --output-format=json" },
	{ .name = "output-format",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct list_config, format),
		.argument = "table|json|csv",
		.help = "what is printed; JSON and CSV have every column unless --columns is "
			"given, and sizes in bytes always",
		.choices = formats },
	{ .name = "bytes",
		.letter = 'b',
		.type = OPTION_FLAG,
		.offset = offsetof(struct list_config, bytes),
		.help = "sizes in bytes in the table too" },
	{ .name = "all",
		.letter = 'a',
		.type = OPTION_FLAG,
		.offset = offsetof(struct list_config, all),
		.help = "loop and zram devices too that are not set up",
		.group = "Devices" },
	{ .name = "partitions",
		.letter = 'p',
		.type = OPTION_FLAG,
		.offset = offsetof(struct list_config, partitions),
		.help = "partitions too" },
	{ .name = "sysroot",
		.type = OPTION_TEXT,
		.offset = offsetof(struct list_config, sysroot),
		.argument = "DIR",
		.help = "read /sys, /proc and /run/udev below DIR: a machine that was recorded, "
			"for tests" },
	{ 0 },
};

/* Serial numbers and blocks are the first to go on a narrow terminal: NAME, SIZE, MODEL and USE
 * are what a disk is chosen by. */
static const struct report_column list_columns[] = {
	{ "name", "NAME", NULL, true, 0 },
	{ "size_bytes", "SIZE", report_format_size, true, 0 },
	{ "transport", "TRAN", NULL, true, 0 },
	{ "rotational", "ROTA", NULL, true, 0 },
	{ "model", "MODEL", NULL, true, 0 },
	{ "serial", "SERIAL", NULL, true, 1 },
	{ "logical_block_bytes", "LOG-SEC", NULL, true, 5 },
	{ "physical_block_bytes", "PHY-SEC", NULL, true, 6 },
	{ "queue_depth", "QD", NULL, true, 2 },
	{ "scheduler", "SCHED", NULL, true, 4 },
	{ "write_cache_kernel", "CACHE", NULL, true, 3 },
	{ "use", "USE", NULL, true, 0 },
	{ "removable", "RM", NULL, false, 0 },
	{ "vendor", "VENDOR", NULL, false, 0 },
	{ "wwn", "WWN", NULL, false, 0 },
	{ "identity", "IDENTITY", NULL, false, 0 },
	{ "zoned", "ZONED", NULL, false, 0 },
	{ "node", "NODE", NULL, false, 0 },
};

static void set_known_text(struct report_row *row, const char *key, const char *text)
{
	report_set_text(row, key, *text ? text : NULL);
}

static void set_known_u64(struct report_row *row, const char *key, uint64_t value)
{
	if (value)
		report_set_u64(row, key, value);
}

static void add_device(struct report *report, const struct device *device, const char *use)
{
	struct report_row *row = report_row(report);

	report_set_text(row, "name", device->name);
	if (device->size_bytes <= INT64_MAX)
		report_set_u64(row, "size_bytes", device->size_bytes);
	set_known_text(row, "transport", device->transport);
	report_set_bool(row, "rotational", device->rotational);
	set_known_text(row, "model", device->model);
	set_known_text(row, "serial", device->serial);
	set_known_u64(row, "logical_block_bytes", device->logical_block_bytes);
	set_known_u64(row, "physical_block_bytes", device->physical_block_bytes);
	set_known_u64(row, "queue_depth", device->queue_depth);
	set_known_text(row, "scheduler", device->scheduler);
	set_known_text(row, "write_cache_kernel", device->write_cache);
	report_set_text(row, "use", use);
	report_set_bool(row, "removable", device->removable);
	set_known_text(row, "vendor", device->vendor);
	set_known_text(row, "wwn", device->wwn);
	set_known_text(row, "identity", device->identity);
	set_known_text(row, "zoned", device->zoned);
	report_set_text(row, "node", device->node);
}

/* Loop and zram devices stand ready by the dozen; a drive without a medium is worth a line. */
static bool is_unused_slot(const struct device *device)
{
	return device->size_bytes == 0 &&
	       (strcmp(device->transport, "loop") == 0 || strcmp(device->transport, "zram") == 0);
}

/* Reads the machine into rows. */
static int gather(const struct list_config *config, struct report *report, struct error *error)
{
	struct device_list list = { 0 };
	_cleanup_free_ struct relations_use *uses = NULL;
	int rc = device_list_read(config->sysroot, config->partitions, &list, error);

	if (rc < 0)
		return rc;
	rc = relations_use_read(config->sysroot, &list, &uses, error);
	for (size_t i = 0; rc == 0 && i < list.count; i++)
		if (config->all || !is_unused_slot(&list.devices[i]))
			add_device(report, &list.devices[i], uses[i].text);
	device_list_done(&list);
	return rc;
}

static int print(const struct list_config *config, const struct report *report,
	struct document *document, struct error *error)
{
	switch ((enum list_format)config->format) {
	case LIST_JSON:
		document_set(document, "devices", report_json(report));
		document_set_status(document, STATUS_COMPLETE);
		document_write(document, stdout);
		return 0;
	case LIST_CSV:
		report_csv(report, stdout);
		return 0;
	case LIST_TABLE:
		break;
	}
	return report_table(report, stdout, report_terminal_width(), config->bytes, error);
}

static int list_run(int argc, char **argv)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct list_config config = { .sysroot = "" };
	struct error error = { 0 };
	struct document *document = document_new(argc, argv);
	struct report *report = report_new(list_columns, ARRAY_SIZE(list_columns));
	unsigned operands = 0;
	int code = EXIT_DONE;
	int rc = options_parse(&command_list, argc, argv, &config, NULL, &operands, &faults);

	if (config.json)
		config.format = LIST_JSON;
	if (rc <= 0 && config.columns && report_select(report, config.columns, &faults) < 0)
		rc = -EINVAL;
	if (rc < 0) {
		code = EXIT_USAGE;
	} else if (rc == 0 && (gather(&config, report, &error) < 0 ||
				      print(&config, report, document, &error) < 0)) {
		faults_add(&faults, "%s", error.text);
		code = EXIT_NOT_POSSIBLE;
	}
	if (code != EXIT_DONE)
		(void)document_give_up(
			document, config.format == LIST_JSON, NULL, &command_list, &faults, code);
	report_free(report);
	document_free(document);
	return code;
}

const struct command command_list = {
	.name = "list",
	.arguments = "",
	.summary = "Lists the block devices and what each is used for.",
	.description =
		"Nothing is opened. CACHE is the kernel's view of the write cache, which may "
		"differ from the drive's own. USE tells what stands against writing as far as that "
		"can be seen from outside: system, mounted, swap, held and so on; \"free\" means "
		"that nothing uses the device now, not that it is empty. \"bareplatter check\" "
		"looks at contents too.\n\n"
		"  bareplatter list -o NAME,SIZE,IDENTITY -J",
	.specs = list_specs,
	.run = list_run,
};
