/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_settings.h"

#include <json-c/json.h>
#include <string.h>

#include "devices/check.h"
#include "tools/report.h"

/* Whether somebody else lives on the device: then its queue is not ours to change. */
static bool is_in_use(const struct run_plan *plan, struct faults *notes)
{
	struct check_result result;
	bool in_use = false;

	if (plan->claim->target.writable)
		return false; /* held exclusively, so all of that was looked at */
	if (check_device("", plan->claim->device.node, &result, NULL) < 0)
		return true;
	for (size_t i = 0; i < result.count; i++)
		in_use |= result.findings[i].reason == REASON_MOUNTED ||
			  result.findings[i].reason == REASON_SWAP ||
			  result.findings[i].reason == REASON_HELD ||
			  result.findings[i].reason == REASON_SYSTEM_DISK;
	check_result_done(&result);
	if (in_use)
		faults_add(notes, "%s is in use, so the settings of its queue stay as they are",
			plan->claim->device.node);
	return in_use;
}

/* Whether anything was asked for by name, so that going on without it would be wrong. */
static bool is_asked_for(const struct run_plan *plan)
{
	for (size_t i = 0; i < plan->elevators.count; i++)
		if (plan->elevators.items[i].is_kernel)
			return true;
	return plan->options->drive_depth != 0;
}

static struct settings_wanted wanted_by(const struct run_plan *plan,
	const struct run_elevator *elevator, bool merge, unsigned depth)
{
	return run_queue_wanted(elevator, merge, depth, (unsigned)plan->options->window,
		(unsigned)plan->options->drive_depth);
}

static int try_all(
	struct run_settings *settings, const struct run_plan *plan, struct faults *faults)
{
	for (size_t i = 0; i < plan->elevators.count; i++) {
		const struct settings_wanted wanted =
			wanted_by(plan, &plan->elevators.items[i], false, plan->depth_max);
		struct faults notes = { 0 };
		int r = settings_apply(settings->settings, &wanted, &notes, faults);

		faults_done(&notes); /* they come again with the cell */
		if (r < 0)
			return r == -EINVAL ? EXIT_USAGE : EXIT_NOT_POSSIBLE;
	}
	return 0;
}

int run_settings_open(
	struct run_settings *settings, const struct run_plan *plan, struct faults *faults)
{
	bool asked_for = is_asked_for(plan);
	int code;

	*settings = (struct run_settings){ .place.state_dir = plan->options->state_dir };
	/* Memory has no order that the kernel could spoil, and with none some drivers over memory
	 * make io_uring hand every request to its workers (seen on 6.18: a loop over tmpfs). */
	if (plan->claim->device.memory_backed && !asked_for)
		return 0;
	if (plan->claim->target.kind != TARGET_BLOCK || is_in_use(plan, &settings->notes)) {
		if (!asked_for)
			return 0;
		faults_add(faults, "kernel elevators and --drive-depth need a block device that "
				   "nobody else uses");
		return EXIT_NOT_POSSIBLE;
	}
	code = settings_open(&settings->place, &plan->claim->device, &settings->settings,
		&settings->notes, faults);
	if (code == 0)
		return try_all(settings, plan, faults);
	settings->settings = NULL;
	if (code == -EBUSY)
		return EXIT_REFUSED;
	if (code == -EIO)
		return EXIT_NOT_RESTORED;
	if (asked_for)
		return EXIT_NOT_POSSIBLE;
	for (size_t i = 0; i < faults->count; i++)
		faults_add(&settings->notes, "settings stay as they are: %s", faults->text[i]);
	faults_done(faults);
	return 0;
}

bool run_settings_apply(struct run_settings *settings, const struct run_plan *plan,
	const struct cell *cell, struct faults *faults)
{
	const struct settings_wanted wanted =
		wanted_by(plan, cell->elevator, cell->merge, cell->depth);

	return !settings->settings ||
	       settings_apply(settings->settings, &wanted, &settings->notes, faults) == 0;
}

void run_settings_verify(struct run_settings *settings, struct faults *notes)
{
	if (settings->settings)
		(void)settings_verify(settings->settings, notes);
}

void run_settings_describe(const struct run_settings *settings, struct document *document)
{
	struct settings_value values[QUEUE_SETTING_COUNT];
	struct json_object *object = json_object_new_object();
	size_t count = settings->settings ? settings_describe(settings->settings, values) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *value = json_object_new_object();

		json_object_object_add(value, "before",
			values[i].before[0] ? report_json_text(values[i].before) : NULL);
		json_object_object_add(value, "during",
			values[i].during[0] ? report_json_text(values[i].during) : NULL);
		json_object_object_add(object, values[i].name, value);
	}
	document_set(document, "settings", object);
}

void run_settings_close(struct run_settings *settings, bool abandon, struct faults *faults)
{
	if (abandon && settings->settings) {
		settings_abandon(settings->settings);
		faults_add(faults,
			"requests are left at the drive, so the settings of its queue are "
			"left too; put them back with `bareplatter restore`");
	} else if (settings_restore(settings->settings, &settings->notes, faults) < 0) {
		settings->not_restored = true;
	}
	settings->settings = NULL;
}
