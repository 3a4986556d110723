/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `restore`: puts back the settings of devices that a run left changed. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "devices/settings.h"
#include "devices/settings_left.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/report.h"

enum restore_format { RESTORE_TABLE, RESTORE_JSON };

struct restore_config {
	unsigned format;
	bool json, list, forget;
	const char *state_dir;
};

static const char *const formats[] = { "table", "json", NULL };

static const struct option_spec restore_specs[] = {
	{ .name = "list",
		.type = OPTION_FLAG,
		.offset = offsetof(struct restore_config, list),
		.help = "tell what would be put back, and change nothing",
		.group = "Records" },
	{ .name = "forget",
		.type = OPTION_FLAG,
		.offset = offsetof(struct restore_config, forget),
		.help = "remove the record of TARGET and leave the device as it is" },
	{ .name = "state-dir",
		.type = OPTION_TEXT,
		.offset = offsetof(struct restore_config, state_dir),
		.argument = "DIR",
		.help = "the folder of the records instead of /var/lib/bareplatter" },
	{ .name = "output-format",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct restore_config, format),
		.argument = "table|json",
		.help = "what is printed",
		.group = "Output",
		.choices = formats },
	{ .name = "json",
		.letter = 'J',
		.type = OPTION_FLAG,
		.offset = offsetof(struct restore_config, json),
		.help = "the same as --output-format=json" },
	{ 0 },
};

static const char *const state_names[] = {
	[SETTINGS_LEFT] = "left changed",
	[SETTINGS_LEFT_RUNNING] = "in use",
	[SETTINGS_LEFT_NOTHING] = "nothing changed",
	[SETTINGS_LEFT_DAMAGED] = "damaged",
};

struct restore {
	struct restore_config config;
	struct settings_place place;
	const char *target; /* NULL: all */
	struct settings_left_list list;
	struct json_object *records;
	struct faults notes, faults;
	struct document *document;
};

static const char *name_of(const struct settings_left *left)
{
	return left->record.name[0] ? left->record.name : left->file;
}

static struct json_object *text_or_null(const char *text)
{
	return text[0] ? report_json_text(text) : NULL;
}

static void add_entry(
	struct json_object *entries, const char *name, const struct state_entry *entry)
{
	struct json_object *object;

	if (!entry->used)
		return;
	object = json_object_new_object();
	(void)json_object_object_add(object, "name", json_object_new_string(name));
	(void)json_object_object_add(object, "before", text_or_null(entry->before));
	(void)json_object_object_add(object, "during", text_or_null(entry->during));
	(void)json_object_array_add(entries, object);
}

static struct json_object *entries_json(const struct state_record *record)
{
	struct json_object *entries = json_object_new_array();

	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		add_entry(entries, queue_setting_name(i), &record->entries[i]);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		add_entry(entries, drive_setting_name(i), &record->drive[i]);
	return entries;
}

/* result is what was done, NULL for nothing. */
static void add_record(
	struct restore *restore, const struct settings_left *left, const char *result)
{
	const struct state_record *record = &left->record;
	struct json_object *object = json_object_new_object();

	(void)json_object_object_add(object, "name", text_or_null(record->name));
	(void)json_object_object_add(object, "identity", text_or_null(record->identity));
	(void)json_object_object_add(object, "file", report_json_text(left->file));
	(void)json_object_object_add(
		object, "state", json_object_new_string(state_names[left->state]));
	(void)json_object_object_add(
		object, "pid", record->pid ? json_object_new_uint64(record->pid) : NULL);
	(void)json_object_object_add(object, "started", text_or_null(record->started));
	(void)json_object_object_add(object, "settings", entries_json(record));
	(void)json_object_object_add(object, "result", result ? report_json_text(result) : NULL);
	(void)json_object_array_add(restore->records, object);
}

static void print_entry(const char *name, const struct state_entry *entry)
{
	if (entry->used)
		(void)printf("  %s: %s before, %s for the run\n", name,
			entry->before[0] ? entry->before : "unknown",
			entry->during[0] ? entry->during : "unknown");
}

static void print_record(const struct settings_left *left, const char *result)
{
	const struct state_record *record = &left->record;

	(void)printf("%s: %s", name_of(left), result ? result : state_names[left->state]);
	if (record->pid)
		(void)printf(" (run of %s, process %" PRIu64 ", identity %s)", record->started,
			record->pid, record->identity);
	(void)putchar('\n');
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		print_entry(queue_setting_name(i), &record->entries[i]);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		print_entry(drive_setting_name(i), &record->drive[i]);
}

static int exit_code_of(const struct restore *restore, int code)
{
	/* A device in use needs no restoring unless it is the one that was asked for. */
	if (code == -EBUSY)
		return restore->target ? EXIT_REFUSED : EXIT_DONE;
	return code < 0 ? EXIT_NOT_RESTORED : EXIT_DONE;
}

static const char *result_of(const struct restore *restore, int code)
{
	if (code == -EBUSY)
		return "in use";
	if (code == -ENODEV)
		return "not there";
	if (code < 0)
		return "not restored";
	return restore->config.forget ? "forgotten" : "restored";
}

/* The worst exit code of all records. */
static int treat_all(struct restore *restore)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < restore->list.count; i++) {
		const struct settings_left *left = &restore->list.items[i];
		const char *result = NULL;
		int code = 0;

		if (!restore->config.list) {
			code = restore->config.forget ? settings_left_forget(&restore->place, left,
								&restore->faults)
						      : settings_left_restore(&restore->place, left,
								&restore->notes, &restore->faults);
			result = result_of(restore, code);
		}
		if (exit_code_of(restore, code) > worst)
			worst = exit_code_of(restore, code);
		if (restore->config.format == RESTORE_JSON)
			add_record(restore, left, result);
		else
			print_record(left, result);
	}
	return worst;
}

/* TARGET is a device, or of one that is gone its identity, name or record. */
static int find_records(struct restore *restore)
{
	struct error error = { 0 }, reason = { 0 };
	struct device device;
	int code = restore->target ? device_find(NULL, restore->target, &device, &reason) : 0;
	const bool is_device = restore->target && !code;
	struct settings_left_list *list = &restore->list;
	size_t kept = 0;

	code = settings_left_list(&restore->place, is_device ? &device : NULL, list, &error);
	if (code) {
		faults_add(&restore->faults, "%s", error.text);
		return EXIT_NOT_POSSIBLE;
	}
	if (!restore->target || is_device)
		return EXIT_DONE;
	for (size_t i = 0; i < list->count; i++) {
		const struct settings_left *left = &list->items[i];

		if (strcmp(left->record.identity, restore->target) == 0 ||
			strcmp(left->record.name, restore->target) == 0 ||
			strcmp(left->file, restore->target) == 0)
			list->items[kept++] = *left;
	}
	list->count = kept;
	if (kept)
		return EXIT_DONE;
	faults_add(&restore->faults, "%s; and there is no record of that identity", reason.text);
	return EXIT_USAGE;
}

static int restore_records(struct restore *restore)
{
	const bool json = restore->config.format == RESTORE_JSON;
	int code = EXIT_USAGE;

	if (restore->config.forget && (!restore->target || restore->config.list))
		faults_add(&restore->faults,
			"--forget needs TARGET, and no --list: a record is the "
			"only knowledge of what a device was set to");
	else
		code = find_records(restore);
	if (code)
		return code;
	if (!restore->list.count && !json)
		(void)printf("nothing was left changed\n");
	code = treat_all(restore);
	for (size_t i = 0; i < restore->notes.count; i++) {
		document_message(restore->document, SEVERITY_INFO, "%s", restore->notes.text[i]);
		(void)fprintf(stderr, "bareplatter: %s\n", restore->notes.text[i]);
	}
	document_set(restore->document, "records", restore->records);
	restore->records = NULL;
	if (code == EXIT_DONE && json) {
		document_set_status(restore->document, STATUS_COMPLETE);
		document_write(restore->document, stdout);
	}
	if (code == EXIT_DONE)
		(void)command_fail(&command_restore, &restore->faults, EXIT_DONE);
	return code;
}

static int restore_run(int argc, char **argv)
{
	struct restore restore = { .config = { .state_dir = SETTINGS_STATE_DIR } };
	unsigned count = 0;
	int code = options_parse(&command_restore, argc, argv, &restore.config, &restore.target,
		&count, &restore.faults);

	if (code > 0)
		return EXIT_DONE;
	if (restore.config.json)
		restore.config.format = RESTORE_JSON;
	restore.place.state_dir = restore.config.state_dir;
	restore.document = document_new(argc, argv);
	restore.records = json_object_new_array();
	code = code < 0 ? EXIT_USAGE : restore_records(&restore);
	if (code != EXIT_DONE)
		code = document_give_up(restore.document, restore.config.format == RESTORE_JSON,
			NULL, &command_restore, &restore.faults, code);
	(void)json_object_put(restore.records);
	settings_left_done(&restore.list);
	faults_done(&restore.notes);
	faults_done(&restore.faults);
	document_free(restore.document);
	return code;
}

const struct command command_restore = {
	.name = "restore",
	.arguments = "[TARGET]",
	.summary = "Puts back the settings of devices that a killed run left changed.",
	.description =
		"A run that sets the kernel's queue (scheduler, merging, throttling), the drive's "
		"queue depth or its caches records the former values before the first change and "
		"puts them back when it ends. When it was killed the record is still there: "
		"restore puts back every value that is still as the run left it, names and leaves "
		"those that somebody else has set since, and removes the record. After a restart "
		"of the machine only what the drive itself keeps is left to be put back."
		"\n\n"
		"Without TARGET every record is followed; those of runs that still go on are left "
		"alone. Exit status 3 means that TARGET is in use by a running process, 5 that "
		"something could not be put back, or that the device is not there; its record "
		"stays until it returns, and TARGET may then be its identity."
		"\n\n"
		"  bareplatter restore --list",
	.specs = restore_specs,
	.operands_max = 1,
	.run = restore_run,
};
