/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `cache`: what the caches in a drive are, asked of the drive and of the kernel, and how to set
 * them. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/check.h"
#include "devices/settings.h"
#include "devices/write_cache_reordering.h"
#include "devices/write_cache_stack.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/report.h"

enum cache_format { CACHE_TABLE, CACHE_JSON };

struct cache_config {
	unsigned format, read_cache;
	bool json;
	const char *identity, *state_dir, *sysroot;
};

static const char *const formats[] = { "table", "json", NULL };
/* In the order of enum cache_wish. */
static const char *const wish_names[] = { "as-is", "off", "on", NULL };

static const struct option_spec cache_specs[] = {
	{ .name = "read-cache",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct cache_config, read_cache),
		.argument = "as-is|off|on",
		.help = "set: the drive's read cache or look-ahead, too",
		.group = "Drive",
		.choices = wish_names },
	{ .name = "write",
		.type = OPTION_TEXT,
		.offset = offsetof(struct cache_config, identity),
		.argument = "IDENTITY",
		.help = "set: the identity of TARGET, as check prints it" },
	{ .name = "state-dir",
		.type = OPTION_TEXT,
		.offset = offsetof(struct cache_config, state_dir),
		.argument = "DIR",
		.help = "set: the folder of the records instead of /var/lib/bareplatter" },
	{ .name = "output-format",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct cache_config, format),
		.argument = "table|json",
		.help = "what is printed",
		.group = "Output",
		.choices = formats },
	{ .name = "json",
		.letter = 'J',
		.type = OPTION_FLAG,
		.offset = offsetof(struct cache_config, json),
		.help = "the same as --output-format=json" },
	{ .name = "sysroot",
		.type = OPTION_TEXT,
		.offset = offsetof(struct cache_config, sysroot),
		.argument = "DIR",
		.help = "get: read /sys below DIR and ask no drive: a machine that was recorded, "
			"for tests" },
	{ 0 },
};

struct cache_verb {
	struct cache_config config;
	struct settings_place place;
	const char *target;
	enum cache_wish wishes[DRIVE_SETTING_COUNT];
	struct device device;
	struct write_cache_stack stack;
	struct faults notes, faults;
	struct document *document;
};

static struct json_object *answer_json(enum cache_answer answer)
{
	return answer == CACHE_NOT_TOLD ? NULL : json_object_new_boolean(answer == CACHE_YES);
}

static struct json_object *text_or_null(const char *text)
{
	return text && text[0] ? report_json_text(text) : NULL;
}

static struct json_object *list_json(const struct faults *list)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < list->count; i++)
		(void)json_object_array_add(array, report_json_text(list->text[i]));
	return array;
}

static struct json_object *member_json(const struct cache_member *member)
{
	const struct cache_report *report = &member->report;
	const struct cache_reading *drive = &report->drive;
	const struct {
		const char *key;
		struct json_object *value;
	} rows[] = {
		{ "name", report_json_text(member->name) },
		{ "identity", report_json_text(member->cache->device.identity) },
		{ "write_cache", json_object_new_string(
					 write_cache_state_name(drive->state[DRIVE_WRITE_CACHE])) },
		{ "read_cache", json_object_new_string(
					write_cache_state_name(drive->state[DRIVE_READ_CACHE])) },
		{ "method", text_or_null(report->method) },
		{ "write_cache_changeable", answer_json(drive->changeable[DRIVE_WRITE_CACHE]) },
		{ "read_cache_changeable", answer_json(drive->changeable[DRIVE_READ_CACHE]) },
		{ "savable", answer_json(drive->savable) },
		{ "reordering", json_object_new_string(write_cache_reordering_name(
					write_cache_reordering(member->cache))) },
		{ "kernel_write_cache", text_or_null(report->kernel) },
		{ "kernel_cache_type", text_or_null(report->cache_type) },
		{ "verdict", json_object_new_string(write_cache_verdict_name(report->verdict)) },
		{ "verdict_text", report_json_text(report->verdict_text) },
		{ "reason", text_or_null(report->reason) },
		{ "note", text_or_null(drive->note) },
		{ "tried", list_json(&member->tried) },
	};
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		(void)json_object_object_add(object, rows[i].key, rows[i].value);
	return object;
}

static void document_caches(struct cache_verb *verb)
{
	struct json_object *drives = json_object_new_array(), *layers = json_object_new_array();

	for (size_t i = 0; i < verb->stack.member_count; i++)
		(void)json_object_array_add(drives, member_json(&verb->stack.members[i]));
	for (size_t i = 0; i < verb->stack.layer_count; i++) {
		const struct cache_layer *layer = &verb->stack.layers[i];
		struct json_object *object = json_object_new_object();

		(void)json_object_object_add(object, "name", report_json_text(layer->name));
		(void)json_object_object_add(
			object, "kernel_write_cache", text_or_null(layer->kernel));
		(void)json_object_object_add(object, "verdict",
			json_object_new_string(write_cache_verdict_name(layer->verdict)));
		(void)json_object_array_add(layers, object);
	}
	document_set(verb->document, "drives", drives);
	document_set(verb->document, "layers", layers);
}

static void print_member(const struct cache_member *member)
{
	static const char *const saved[] = { [CACHE_NOT_TOLD] = "",
		[CACHE_NO] = "a change is lost at a power cycle; it cannot be saved\n",
		[CACHE_YES] = "a change is lost at a power cycle, since it is not saved\n" };
	const struct cache_report *report = &member->report;
	const struct cache_reading *drive = &report->drive;
	const enum cache_reordering reordering = write_cache_reordering(member->cache);

	(void)printf("drive: %s (identity %s)\n", member->name, member->cache->device.identity);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		(void)printf("  %s: %s%s\n", i == DRIVE_WRITE_CACHE ? "write cache" : "read cache",
			write_cache_state_name(drive->state[i]),
			drive->changeable[i] == CACHE_NO ? ", cannot be changed" : "");
	if (report->method)
		(void)printf("  asked by: %s\n", report->method);
	if (drive->changeable[DRIVE_WRITE_CACHE] != CACHE_NO && saved[drive->savable][0])
		(void)printf("  power: %s", saved[drive->savable]);
	if (reordering != REORDERING_UNAVAILABLE)
		(void)printf(
			"  reordering in the cache: %s\n", write_cache_reordering_name(reordering));
	(void)printf("  kernel: %s%s%s\n", report->kernel[0] ? report->kernel : "tells nothing",
		report->cache_type[0] ? ", cache_type " : "", report->cache_type);
	(void)printf("  verdict: %s: %s\n", write_cache_verdict_name(report->verdict),
		report->verdict_text);
	if (report->reason[0])
		(void)printf("  reason: %s\n", report->reason);
	if (drive->note[0])
		(void)printf("  note: %s\n", drive->note);
	for (size_t i = 0; i < member->tried.count; i++)
		(void)printf("  tried: %s\n", member->tried.text[i]);
}

static void print_caches(const struct cache_verb *verb)
{
	(void)printf("target: %s\n", verb->target);
	for (size_t i = 0; i < verb->stack.layer_count; i++) {
		const struct cache_layer *layer = &verb->stack.layers[i];

		(void)printf("layer: %s, kernel: %s, verdict: %s\n", layer->name,
			layer->kernel[0] ? layer->kernel : "tells nothing",
			write_cache_verdict_name(layer->verdict));
	}
	for (size_t i = 0; i < verb->stack.member_count; i++)
		print_member(&verb->stack.members[i]);
}

static int find_target(struct cache_verb *verb)
{
	struct error error = { 0 };
	int code = device_find(verb->place.sysroot, verb->target, &verb->device, &error);

	if (code) {
		faults_add(&verb->faults, "%s", error.text);
		return code == -EACCES ? EXIT_NOT_POSSIBLE : EXIT_USAGE;
	}
	code = write_cache_stack_open(&verb->place, verb->device.name, &verb->stack, &error);
	if (code)
		faults_add(&verb->faults, "%s", error.text);
	return code ? EXIT_NOT_POSSIBLE : EXIT_DONE;
}

/* A drive that tells nothing is no answer to the question. */
static int get_caches(struct cache_verb *verb)
{
	int code = EXIT_DONE;

	for (size_t i = 0; i < verb->stack.member_count; i++) {
		const struct cache_member *member = &verb->stack.members[i];

		if (member->report.drive.state[DRIVE_WRITE_CACHE] != CACHE_UNKNOWN)
			continue;
		code = EXIT_NOT_POSSIBLE;
		faults_add(&verb->faults, "the write cache of %s cannot be seen: %s", member->name,
			member->report.reason);
	}
	return code;
}

static void refuse_identity(struct cache_verb *verb, const char *identity)
{
	const char *given = verb->config.identity;

	if (!given)
		faults_add(&verb->faults,
			"setting the caches of %s needs --write and its identity, which is %s; "
			"look whether that is the one meant",
			verb->target, identity);
	else if (strcmp(given, identity) != 0)
		faults_add(&verb->faults,
			"--write %s does not match: %s is another device, with the identity %s",
			given, verb->target, identity);
}

/* A drive under something that is in use is left alone; held by what is to be changed it is in any
 * case. */
static void refuse_in_use(
	struct cache_verb *verb, const char *name, const char *node, bool is_target)
{
	struct check_result result = { 0 };
	struct error error = { 0 };

	if (check_device(NULL, node, &result, &error)) {
		faults_add(&verb->faults, "%s", error.text);
		return;
	}
	for (size_t i = 0; i < result.count; i++) {
		const struct check_finding *finding = &result.findings[i];

		if (finding->reason == REASON_MOUNTED || finding->reason == REASON_SWAP ||
			finding->reason == REASON_SYSTEM_DISK ||
			(finding->reason == REASON_HELD && is_target))
			faults_add(&verb->faults, "%s: %s", name, finding->text);
	}
	if (is_target)
		refuse_identity(verb, result.device.identity);
	check_result_done(&result);
}

static int refuse(struct cache_verb *verb)
{
	refuse_in_use(verb, verb->device.name, verb->target, true);
	for (size_t i = 0; i < verb->stack.member_count; i++) {
		const struct cache_member *member = &verb->stack.members[i];

		if (strcmp(member->name, verb->device.name) != 0)
			refuse_in_use(verb, member->name, member->cache->device.node, false);
	}
	if (verb->faults.count)
		return EXIT_REFUSED;
	return write_cache_stack_check(&verb->stack, verb->wishes, &verb->faults)
		       ? EXIT_NOT_POSSIBLE
		       : EXIT_DONE;
}

static int exit_code_of(int code)
{
	if (code == -EBUSY)
		return EXIT_REFUSED;
	return code == -EIO ? EXIT_RUN_FAILED : EXIT_NOT_POSSIBLE;
}

/* The members that are done go back to what they were when a later one fails. */
static int set_members(struct cache_verb *verb, struct settings **settings)
{
	struct settings_wanted wanted = { .nomerges = SETTINGS_AS_IS };
	int code = 0;

	memcpy(wanted.caches, verb->wishes, sizeof(wanted.caches));
	for (size_t i = 0; i < verb->stack.member_count && !code; i++) {
		const struct device *disk = &verb->stack.members[i].cache->device;

		code = settings_open(&verb->place, disk, &settings[i], &verb->notes, &verb->faults);
		if (!code)
			code = settings_apply(settings[i], &wanted, &verb->notes, &verb->faults);
	}
	if (!code) {
		write_cache_stack_get(&verb->stack);
		code = write_cache_stack_repair(&verb->stack, &verb->notes, &verb->faults);
	}
	return code;
}

static int set_caches(struct cache_verb *verb)
{
	_cleanup_free_ struct settings **settings =
		calloc(verb->stack.member_count + 1, sizeof(struct settings *));
	bool restored = true;
	int code = refuse(verb);

	if (code)
		return code;
	if (!settings) {
		faults_add(&verb->faults, "no memory for the settings of %s", verb->target);
		return EXIT_NOT_POSSIBLE;
	}
	code = set_members(verb, settings);
	for (size_t i = 0; i < verb->stack.member_count; i++) {
		const int end = code ? settings_restore(settings[i], &verb->notes, &verb->faults)
				     : settings_keep(settings[i], &verb->notes, &verb->faults);

		restored = restored && !end;
	}
	write_cache_stack_get(&verb->stack);
	if (!restored)
		return EXIT_NOT_RESTORED;
	return code ? exit_code_of(code) : EXIT_DONE;
}

/* 0, or EXIT_USAGE with every fault. */
static int take_operands(
	struct cache_verb *verb, const char *const *operands, unsigned count, bool *ret_set)
{
	const bool set = strcmp(operands[0], "set") == 0;
	const bool on = set && count == 3 && strcmp(operands[2], "on") == 0;

	if (!set && strcmp(operands[0], "get") != 0)
		faults_add(&verb->faults, "\"%.64s\" is neither get nor set", operands[0]);
	else if (set && !on && (count != 3 || strcmp(operands[2], "off") != 0))
		faults_add(&verb->faults, "cache set needs TARGET and on or off");
	else if (!set && (count != 2 || verb->config.identity || verb->config.read_cache))
		faults_add(&verb->faults,
			"cache get takes TARGET alone; --write and --read-cache belong to set");
	else if (set && *verb->config.sysroot)
		faults_add(&verb->faults, "a recorded machine has no drive to set");
	if (verb->faults.count)
		return EXIT_USAGE;
	verb->target = operands[1];
	verb->wishes[DRIVE_WRITE_CACHE] = on ? CACHE_WISH_ON : CACHE_WISH_OFF;
	verb->wishes[DRIVE_READ_CACHE] = (enum cache_wish)verb->config.read_cache;
	*ret_set = set;
	return EXIT_DONE;
}

static int do_verb(struct cache_verb *verb, bool set)
{
	const bool json = verb->config.format == CACHE_JSON;
	int code = find_target(verb);

	if (code)
		return code;
	write_cache_stack_get(&verb->stack);
	code = set ? set_caches(verb) : get_caches(verb);
	for (size_t i = 0; i < verb->notes.count; i++) {
		document_message(verb->document, SEVERITY_INFO, "%s", verb->notes.text[i]);
		(void)fprintf(stderr, "bareplatter: %s\n", verb->notes.text[i]);
	}
	document_set_device(verb->document, &verb->device);
	document_caches(verb);
	if (code == EXIT_DONE && json) {
		document_set_status(verb->document, STATUS_COMPLETE);
		document_write(verb->document, stdout);
	}
	if (!json && code != EXIT_REFUSED)
		print_caches(verb);
	return code;
}

static int cache_run(int argc, char **argv)
{
	struct cache_verb verb = { .config = { .state_dir = SETTINGS_STATE_DIR, .sysroot = "" } };
	const char *operands[3] = { NULL };
	unsigned count = 0;
	bool set = false;
	int code = options_parse(
		&command_cache, argc, argv, &verb.config, operands, &count, &verb.faults);

	if (code > 0)
		return EXIT_DONE;
	if (verb.config.json)
		verb.config.format = CACHE_JSON;
	verb.place.state_dir = verb.config.state_dir;
	verb.place.sysroot = verb.config.sysroot;
	verb.document = document_new(argc, argv);
	code = code < 0 ? EXIT_USAGE : take_operands(&verb, operands, count, &set);
	if (code == EXIT_DONE)
		code = do_verb(&verb, set);
	if (code != EXIT_DONE)
		code = document_give_up(verb.document, verb.config.format == CACHE_JSON, NULL,
			&command_cache, &verb.faults, code);
	write_cache_stack_done(&verb.stack);
	faults_done(&verb.notes);
	faults_done(&verb.faults);
	document_free(verb.document);
	return code;
}

const struct command command_cache = {
	.name = "cache",
	.arguments = "get|set TARGET [on|off]",
	.summary = "Tells or sets the write cache and the read cache in a drive.",
	.description =
		"get asks the drive in its own language (SCSI mode page, ATA, NVMe, virtio) and "
		"the kernel, and compares them. What a drive does not tell is unknown, never off. "
		"The verdict \"harmless\" means that flushes are sent which the drive does not "
		"need, \"dangerous\" that the drive caches writes and the kernel sends no flush. "
		"The device is opened read-only and nothing is written. Exit status 4 means that a "
		"drive's cache cannot be seen from here."
		"\n\n"
		"set switches the write cache on or off in every drive below TARGET, until it is "
		"set again or the power goes: what the drive has saved stays as it is. It is done "
		"only when the drive, asked again, says so and the kernel sends the flushes that "
		"are needed; otherwise everything is set back. Drives with mounted file systems, "
		"swap, or the system on them are refused with status 3."
		"\n\n"
		"  bareplatter cache set /dev/sdx off --write 0x5000c500a1b2c3d4",
	.specs = cache_specs,
	.operands_min = 2,
	.operands_max = 3,
	.run = cache_run,
};
