/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `check`: what a target is, every reason against writing to it, and what --write would need. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "devices/check.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/report.h"

enum check_format { CHECK_TABLE, CHECK_JSON };

struct check_config {
	unsigned format;
	bool json;
	const char *sysroot;
};

static const char *const formats[] = { "table", "json", NULL };

static const struct option_spec check_specs[] = {
	{ .name = "output-format",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct check_config, format),
		.argument = "table|json",
		.help = "what is printed",
		.group = "Output",
		.choices = formats },
	{ .name = "json",
		.letter = 'J',
		.type = OPTION_FLAG,
		.offset = offsetof(struct check_config, json),
		.help = "the same as --output-format=json" },
	{ .name = "sysroot",
		.type = OPTION_TEXT,
		.offset = offsetof(struct check_config, sysroot),
		.argument = "DIR",
		.help = "read /sys, /proc and /run/udev below DIR, and open no device: a machine "
			"that was recorded, for tests" },
	{ 0 },
};

static bool overridable(const struct check_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		if (result->findings[i].hard)
			return false;
	return true;
}

static void fact(const char *name, const char *value)
{
	if (*value)
		(void)printf("%s: %s\n", name, value);
}

static void print_geometry(const struct device *device)
{
	if (device->size_bytes <= INT64_MAX)
		(void)printf("size: %" PRIu64 " bytes (%s)\n", device->size_bytes,
			units_format_size(device->size_bytes).text);
	if (device->logical_block_bytes)
		(void)printf("blocks: %" PRIu32 " bytes logical, %" PRIu32 " bytes physical\n",
			device->logical_block_bytes, device->physical_block_bytes);
}

static void print_queue(const struct device *device)
{
	if (device->queue_depth)
		(void)printf("queue depth: %u\n", device->queue_depth);
	if (device->nr_requests)
		(void)printf("host queue: %u requests, scheduler %s\n", device->nr_requests,
			*device->scheduler ? device->scheduler : "unknown");
	if (*device->write_cache)
		(void)printf("write cache: %s as the kernel sees it%s\n", device->write_cache,
			device->native_fua ? ", FUA by the drive" : "");
}

static void print_device(const char *target, const struct device *device)
{
	/* Major 0 is never a block device's: a file, or null. */
	const bool is_node = device->major != 0;

	(void)printf("target: %s\n", target);
	if (is_node)
		(void)printf("node: %s (%u:%u)\n", device->node, device->major, device->minor);
	fact("identity", device->identity);
	print_geometry(device);
	fact("transport", device->transport);
	fact("vendor", device->vendor);
	fact("model", device->model);
	fact("serial", device->serial);
	fact("wwn", device->wwn);
	fact("backing file", device->backing_file);
	fact("zoned", device->zoned);
	if (is_node)
		(void)printf("kind: %s%s%s%s\n", device->is_partition ? "partition" : "disk",
			device->rotational ? ", rotational" : "",
			device->removable ? ", removable" : "",
			device->memory_backed ? ", in memory" : "");
	print_queue(device);
}

/* What a run has to be given before it may write. Nothing can be lost where there is no device. */
static bool needs_identity(const char *target)
{
	return strcmp(target, "null") != 0;
}

/* A word as a shell takes it: serial numbers may hold blanks. */
static void print_word(const char *word)
{
	if (strspn(word, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			 "+,-./:=@_") == strlen(word)) {
		(void)fputs(word, stdout);
		return;
	}
	(void)putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			(void)fputs("'\\'", stdout);
		(void)putchar(*word);
	}
	(void)putchar('\'');
}

static void print_verdict(const char *target, const struct check_result *result)
{
	if (!overridable(result)) {
		(void)puts("verdict: must not be written");
		return;
	}
	(void)fputs(result->count ? "verdict: not written unless a run is given"
				  : "verdict: may be written",
		stdout);
	if (needs_identity(target)) {
		(void)fputs(
			result->count ? " --write " : " by a run that is given --write ", stdout);
		print_word(result->device.identity);
	}
	(void)puts(result->count ? " --discard-contents" : "");
}

static void print_result(const char *target, const struct check_result *result)
{
	print_device(target, &result->device);
	for (size_t i = 0; i < result->note_count; i++)
		(void)printf("note: %s\n", result->notes[i].text);
	for (size_t i = 0; i < result->count; i++)
		(void)printf("against writing: %s: %s%s\n",
			check_reason_name(result->findings[i].reason), result->findings[i].text,
			result->findings[i].hard ? " (no override)" : "");
	print_verdict(target, result);
}

/* The words that a run has to be given; null when nothing helps. */
static struct json_object *write_arguments(const char *target, const struct check_result *result)
{
	struct json_object *words;

	if (!overridable(result))
		return NULL;
	words = json_object_new_array();
	if (needs_identity(target)) {
		(void)json_object_array_add(words, report_json_text("--write"));
		(void)json_object_array_add(words, report_json_text(result->device.identity));
	}
	if (result->count)
		(void)json_object_array_add(words, report_json_text("--discard-contents"));
	return words;
}

static struct json_object *findings_json(const struct check_finding *findings, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *finding = json_object_new_object();

		(void)json_object_object_add(
			finding, "reason", report_json_text(check_reason_name(findings[i].reason)));
		(void)json_object_object_add(
			finding, "hard", json_object_new_boolean(findings[i].hard));
		(void)json_object_object_add(finding, "text", report_json_text(findings[i].text));
		(void)json_object_array_add(array, finding);
	}
	return array;
}

static void write_json(
	const char *target, const struct check_result *result, struct document *document)
{
	document_set_device(document, &result->device);
	document_set(document, "target", report_json_text(target));
	document_set(document, "may_be_written", json_object_new_boolean(result->count == 0));
	document_set(document, "write_arguments", write_arguments(target, result));
	document_set(document, "findings", findings_json(result->findings, result->count));
	document_set(document, "notes", findings_json(result->notes, result->note_count));
	document_set_status(document, STATUS_COMPLETE);
	document_write(document, stdout);
}

/* A target that is named wrongly is a fault of usage; one that cannot be looked at is not. */
static int exit_code_of(int rc)
{
	switch (rc) {
	case -ENOENT:
	case -ENOTDIR:
	case -ENOTBLK:
	case -ENAMETOOLONG:
	case -ELOOP:
	case -EINVAL:
	case -ERANGE:
		return EXIT_USAGE;
	default:
		return EXIT_NOT_POSSIBLE;
	}
}

static int check_run(int argc, char **argv)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct check_config config = { .sysroot = "" };
	struct check_result result = { 0 };
	struct error error = { 0 };
	struct document *document = document_new(argc, argv);
	const char *target = NULL;
	unsigned count = 0;
	int code = EXIT_DONE;
	int rc = options_parse(&command_check, argc, argv, &config, &target, &count, &faults);

	if (config.json)
		config.format = CHECK_JSON;
	if (rc == 0) {
		rc = check_device(config.sysroot, target, &result, &error);
		if (rc < 0)
			faults_add(&faults, "%s", error.text);
		else if (config.format == CHECK_JSON)
			write_json(target, &result, document);
		else
			print_result(target, &result);
		if (rc == 0 && !check_is_clean(&result))
			code = EXIT_REFUSED;
	}
	if (rc < 0)
		code = document_give_up(document, config.format == CHECK_JSON, NULL, &command_check,
			&faults, exit_code_of(rc));
	check_result_done(&result);
	document_free(document);
	return code;
}

const struct command command_check = {
	.name = "check",
	.arguments = "TARGET",
	.summary = "Tells what a target is and every reason against writing to it.",
	.description =
		"Looks at mounts, swap, holders, the system's disk, partition tables and "
		"signatures; opens read-only and writes nothing. The line \"identity: VALUE\" is "
		"what --write has to name. Exit status 0 means that a run may write, 3 that there "
		"are reasons against it, all of which are listed.\n\n"
		"  bareplatter check /dev/disk/by-id/usb-Example_Disk_0123",
	.specs = check_specs,
	.operands_min = 1,
	.operands_max = 1,
	.run = check_run,
};
