/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's queue, out of the way for the time of a run; see the header. */
#include "devices/settings.h"

#include "devices/put_back.h"
#include "devices/sysfs.h"
#include "engine/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel takes no less (include/linux/blkdev.h, BLKDEV_MIN_RQ). */
#define NR_REQUESTS_MIN 4

struct settings {
	struct settings_place place;
	struct state_file file;
	struct state_record record; /* no entry before the first settings_apply */
	struct write_cache *cache;  /* NULL until one was wanted */
};

/* One setting on its way: what is to be written, "" for nothing. */
struct target {
	char value[QUEUE_VALUE];
	bool lenient;
};

static int find_disk(const struct settings_place *place, const struct device *device,
	struct state_record *record, struct error *error)
{
	const char *name = device->parent[0] ? device->parent : device->name;
	struct device disk;
	int code = device_read(place->sysroot, name, &disk, error);

	if (code)
		return code;
	sysfs_copy(record->identity, sizeof(record->identity), disk.identity);
	sysfs_copy(record->name, sizeof(record->name), disk.name);
	settings_step_boot(place, record->boot, sizeof(record->boot));
	record->pid = (uint64_t)getpid();
	sysfs_copy(record->started, sizeof(record->started), clock_wall_text().text);
	code = queue_setting_inode(place->sysroot, disk.name, &record->queue_inode);
	return code ? error_set(error, code, "%s has no queue folder in sysfs: %s", disk.name,
			      strerror(-code))
		    : 0;
}

static void refuse_busy(const char *disk, const struct state_record *other, struct faults *faults)
{
	if (other->pid)
		faults_add(faults,
			"%s is in use by process %" PRIu64 " since %s, which has changed its "
			"settings; wait for its end, or end it",
			disk, other->pid, other->started);
	else
		faults_add(faults,
			"%s is in use by another process, which is just starting; wait for its "
			"end, or end it",
			disk);
}

/* Locks one record and puts back what is in it. 0: locked, nothing of an earlier process is left on
 * the device. */
static int take_over(const struct settings_place *place, const char *folder, const char *name,
	const char *disk, struct state_file *ret_file, struct faults *notes, struct faults *faults)
{
	struct state_record left;
	struct error error = { 0 };
	struct state_file file = { .fd = -1 };
	int code = state_file_lock(folder, name, true, &file, &left, &error);

	if (code == -EBUSY) {
		refuse_busy(disk, &left, faults);
		return code;
	}
	if (code < 0)
		faults_add(faults, "%s", error.text);
	if (code == 1) {
		faults_add(notes,
			"%s was left changed by a run of %s (process %" PRIu64 "), which did not "
			"end in order; its settings are put back first",
			disk, left.started, left.pid);
		code = put_back(place, &file, &left, notes, faults);
	}
	if (code < 0) {
		state_file_close(&file);
		return code == -ENODEV ? -EIO : code;
	}
	*ret_file = file;
	return 0;
}

/* The same queue may be known under another identity: a loop device with another file by now. */
static int take_over_aliases(const struct settings_place *place, const struct settings *settings,
	struct faults *notes, struct faults *faults)
{
	const struct state_record *own = &settings->record;
	_cleanup_names_ struct sysfs_names names = state_folder_list(settings->file.folder);

	for (size_t i = 0; i < names.count; i++) {
		struct state_record other;
		struct error error = { 0 };
		struct state_file file;
		int code;

		if (strcmp(names.names[i], settings->file.name) == 0 ||
			state_file_peek(settings->file.folder, names.names[i], &other, NULL) != 1 ||
			strcmp(other.boot, own->boot) != 0 || strcmp(other.name, own->name) != 0 ||
			other.queue_inode != own->queue_inode)
			continue;
		code = take_over(place, settings->file.folder, names.names[i], own->name, &file,
			notes, faults);
		if (!code && settings_step_remove(place, &file, &error)) {
			faults_add(faults, "%s", error.text);
			state_file_close(&file);
			code = -EIO;
		}
		if (code)
			return code;
	}
	return 0;
}

int settings_open(const struct settings_place *place, const struct device *device,
	struct settings **ret_settings, struct faults *notes, struct faults *faults)
{
	_cleanup_free_ struct settings *settings = calloc(1, sizeof(*settings));
	struct error error = { 0 };
	char folder[PATH_MAX], name[NAME_MAX + 1];
	int code;

	if (!settings) {
		faults_add(faults, "no memory for the settings of %s", device->name);
		return -ENOMEM;
	}
	settings->place = *place;
	code = find_disk(place, device, &settings->record, &error);
	if (!code)
		code = state_folder_open(place->state_dir ? place->state_dir : SETTINGS_STATE_DIR,
			folder, sizeof(folder), &error);
	if (code) {
		faults_add(faults, "%s", error.text);
		return code;
	}
	state_file_name(settings->record.identity, name, sizeof(name));
	code = take_over(
		place, folder, name, settings->record.name, &settings->file, notes, faults);
	if (code)
		return code;
	code = take_over_aliases(place, settings, notes, faults);
	if (code) {
		state_file_close(&settings->file);
		return code;
	}
	*ret_settings = settings;
	settings = NULL;
	return 0;
}

/* A wish that cannot be fulfilled: a note where the run can do without. */
static void cannot(bool lenient, struct faults *notes, struct faults *faults, const char *text)
{
	if (lenient)
		faults_add(notes, "%s; it stays as it is", text);
	else
		faults_add(faults, "%s", text);
}

static void plan_scheduler(const struct settings *settings, const struct settings_wanted *wanted,
	struct target *target, struct faults *notes, struct faults *faults)
{
	const char *disk = settings->record.name;
	struct scheduler_file file = { 0 };
	struct error error = { 0 };
	const bool none = strcmp(wanted->scheduler, "none") == 0;
	const int code = queue_setting_schedulers(settings->place.sysroot, disk, &file);

	target->lenient = wanted->lenient && none;
	if ((code == -ENOENT || (!code && !file.count)) && none) {
		faults_add(notes, "%s has no scheduler of its own to switch off", disk);
	} else if (code == -ENOENT || (!code && !file.count)) {
		faults_add(faults, "%s has no scheduler to choose, so %s cannot be its scheduler",
			disk, wanted->scheduler);
	} else if (code) {
		(void)error_set(&error, code, "the scheduler file of %s cannot be understood: %s",
			disk, strerror(-code));
	} else if (strlen(wanted->scheduler) >= SCHEDULER_NAME ||
		   !scheduler_file_offers(&file, wanted->scheduler)) {
		(void)error_set(&error, -EINVAL,
			"\"%.64s\" is no scheduler that the kernel has for %s; it has: %s",
			wanted->scheduler, disk, scheduler_file_names(&file).text);
	} else {
		sysfs_copy(target->value, sizeof(target->value), wanted->scheduler);
	}
	if (error.code)
		cannot(target->lenient, notes, faults, error.text);
}

static void plan_number(const struct settings *settings, enum queue_setting setting, unsigned value,
	bool lenient, struct target *target, struct faults *notes, struct faults *faults)
{
	const char *disk = settings->record.name, *name = queue_setting_name(setting);
	struct error error = { 0 };
	char now[QUEUE_VALUE];
	const int code = queue_setting_read(settings->place.sysroot, disk, setting, now);

	target->lenient = lenient;
	if (!code) {
		(void)snprintf(target->value, sizeof(target->value), "%u", value);
		return;
	}
	/* wbt that is not there throttles nothing. */
	if (setting == QUEUE_WBT && (code == -ENOENT || code == -EOPNOTSUPP))
		return;
	if (code == -ENOENT)
		(void)error_set(
			&error, code, "%s has no %s, so it cannot be set to %u", disk, name, value);
	else
		(void)error_set(
			&error, code, "%s of %s cannot be read: %s", name, disk, strerror(-code));
	cannot(lenient, notes, faults, error.text);
}

/* At least what is wanted, as far as tags reach; "" when there is nothing to raise. Only known once
 * the scheduler is set. */
static void plan_nr_requests(const struct settings *settings, const struct settings_wanted *wanted,
	struct target *target)
{
	const char *disk = settings->record.name, *sysroot = settings->place.sysroot;
	char now[QUEUE_VALUE], scheduler[QUEUE_VALUE];
	uint64_t value = wanted->nr_requests, tags;

	target->lenient = wanted->lenient;
	target->value[0] = '\0';
	if (!value || queue_setting_read(sysroot, disk, QUEUE_NR_REQUESTS, now))
		return;
	if (queue_setting_read(sysroot, disk, QUEUE_SCHEDULER, scheduler) == 0 &&
		strcmp(scheduler, "none") == 0 &&
		sysfs_read_u64(sysroot, &tags, "sys/class/block/%s/mq/0/nr_tags", disk) == 0)
		value = min_u64(value, tags);
	value = max_u64(value, NR_REQUESTS_MIN);
	if (strtoull(now, NULL, 10) < value)
		(void)snprintf(target->value, sizeof(target->value), "%" PRIu64, value);
}

/* Every fault that can be seen before anything is changed. */
static void plan(const struct settings *settings, const struct settings_wanted *wanted,
	struct target targets[QUEUE_SETTING_COUNT], struct faults *notes, struct faults *faults)
{
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		const struct state_entry *entry = &settings->record.entries[i];

		/* Back to what it was, unless it is wanted otherwise below. */
		targets[i] = (struct target){ .lenient = wanted->lenient };
		if (entry->used)
			sysfs_copy(targets[i].value, QUEUE_VALUE, entry->before);
	}
	if (wanted->scheduler)
		plan_scheduler(settings, wanted, &targets[QUEUE_SCHEDULER], notes, faults);
	if (wanted->nomerges != SETTINGS_AS_IS)
		plan_number(settings, QUEUE_NOMERGES, (unsigned)wanted->nomerges, wanted->lenient,
			&targets[QUEUE_NOMERGES], notes, faults);
	if (wanted->wbt_off)
		plan_number(settings, QUEUE_WBT, 0, wanted->lenient, &targets[QUEUE_WBT], notes,
			faults);
	if (wanted->drive_depth)
		plan_number(settings, QUEUE_DRIVE_DEPTH, wanted->drive_depth, false,
			&targets[QUEUE_DRIVE_DEPTH], notes, faults);
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		char now[QUEUE_VALUE];
		struct error error = { 0 };
		int code;

		if (!targets[i].value[0] || (queue_setting_read(settings->place.sysroot,
						     settings->record.name, i, now) == 0 &&
						    strcmp(now, targets[i].value) == 0))
			continue;
		code = queue_setting_writable(settings->place.sysroot, settings->record.name, i);
		if (!code)
			continue;
		(void)settings_step_explain(
			settings->record.name, i, targets[i].value, code, &error);
		cannot(targets[i].lenient, notes, faults, error.text);
		targets[i].value[0] = '\0';
	}
}

/* What is going to change, and what the kernel changes along with it, is saved with its value. */
static void add_entries(struct settings *settings, const struct target *targets, bool nr_requests)
{
	struct state_record *record = &settings->record;

	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		struct state_entry *entry = &record->entries[i];
		const bool follows =
			queue_setting_follows_scheduler(i) && targets[QUEUE_SCHEDULER].value[0];
		int code;

		if (entry->used || !(targets[i].value[0] || follows ||
					   (i == QUEUE_NR_REQUESTS && nr_requests)))
			continue;
		code = queue_setting_read(settings->place.sysroot, record->name, i, entry->before);
		entry->used = code == 0 || code == -EOPNOTSUPP;
		sysfs_copy(entry->back, sizeof(entry->back), entry->before);
	}
}

static void set_all(struct settings *settings, const struct settings_wanted *wanted,
	struct target *targets, struct faults *notes, struct faults *faults)
{
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		struct target *target = &targets[i];
		struct error error = { 0 };
		char now[QUEUE_VALUE];

		if (i == QUEUE_NR_REQUESTS && wanted->nr_requests)
			plan_nr_requests(settings, wanted, target);
		/* wbt may have come into being with the scheduler. */
		if (i == QUEUE_WBT && wanted->wbt_off && settings->record.entries[i].used &&
			!settings->record.entries[i].before[0] &&
			queue_setting_read(
				settings->place.sysroot, settings->record.name, i, now) == 0)
			sysfs_copy(target->value, sizeof(target->value), "0");
		if (target->value[0] && settings_step_set(&settings->place, settings->record.name,
						i, target->value, now, &error))
			cannot(target->lenient, notes, faults, error.text);
	}
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		if (settings->record.entries[i].used)
			(void)queue_setting_read(settings->place.sysroot, settings->record.name, i,
				settings->record.entries[i].during);
}

static int save(struct settings *settings, enum state_phase phase, struct faults *faults)
{
	struct error error = { 0 };
	int code;

	settings->record.phase = phase;
	code = settings_step_save(&settings->place, &settings->file, &settings->record, &error);
	if (code)
		faults_add(faults, "%s", error.text);
	return code;
}

/* The drive is opened when a run wants something of it, and what its caches are is entered. */
static int enter_drive(
	struct settings *settings, const struct settings_wanted *wanted, struct faults *faults)
{
	struct error error = { 0 };
	bool wished = false;
	int code;

	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		wished = wished || wanted->caches[i] != CACHE_WISH_NONE;
	if (!wished)
		return 0;
	code = settings->cache ? 0
			       : write_cache_open(&settings->place, settings->record.name,
					 &settings->cache, &error);
	if (code) {
		faults_add(faults, "%s", error.text);
		return code;
	}
	return settings_drive_enter(settings->cache, wanted->caches, &settings->record, faults);
}

int settings_apply(struct settings *settings, const struct settings_wanted *wanted,
	struct faults *notes, struct faults *faults)
{
	struct target targets[QUEUE_SETTING_COUNT];
	const size_t before = faults->count;
	int code, drive = 0;

	plan(settings, wanted, targets, notes, faults);
	if (faults->count > before)
		return -EINVAL;
	code = enter_drive(settings, wanted, faults);
	if (code)
		return code;
	/* With another scheduler a former value is the former scheduler's. */
	if (strcmp(targets[QUEUE_SCHEDULER].value,
		    settings->record.entries[QUEUE_SCHEDULER].before) != 0)
		targets[QUEUE_NR_REQUESTS].value[0] = '\0';
	add_entries(settings, targets, wanted->nr_requests != 0);
	code = save(settings, STATE_APPLYING, faults);
	if (code)
		return code;
	set_all(settings, wanted, targets, notes, faults);
	if (settings->cache && faults->count == before)
		drive = settings_drive_set(
			settings->cache, wanted->caches, &settings->record, notes, faults);
	code = save(settings, STATE_APPLIED, faults);
	if (!code && faults->count == before)
		return 0;
	/* Nothing that was set here is anybody else's. */
	settings->record.phase = STATE_APPLYING;
	(void)put_back(&settings->place, &settings->file, &settings->record, notes, faults);
	return code ? code : drive ? drive : -EIO;
}

unsigned settings_verify(const struct settings *settings, struct faults *notes)
{
	unsigned changed = 0;

	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		const struct state_entry *entry = &settings->record.entries[i];
		char now[QUEUE_VALUE];

		if (!entry->used || !entry->during[0])
			continue;
		if (queue_setting_read(settings->place.sysroot, settings->record.name, i, now) ==
				0 &&
			strcmp(now, entry->during) == 0)
			continue;
		changed++;
		faults_add(notes, "%s of %s was %s for the run and has become %s",
			queue_setting_name(i), settings->record.name, entry->during,
			now[0] ? now : "unreadable");
	}
	if (settings->cache)
		changed += settings_drive_verify(settings->cache, &settings->record, notes);
	return changed;
}

static size_t describe(const char *name, const struct state_entry *entry,
	struct settings_value *values, size_t count)
{
	if (!entry->used)
		return count;
	values[count].name = name;
	sysfs_copy(values[count].before, sizeof(values[count].before), entry->before);
	sysfs_copy(values[count].during, sizeof(values[count].during), entry->during);
	return count + 1;
}

size_t settings_describe(
	const struct settings *settings, struct settings_value ret_values[QUEUE_SETTING_COUNT])
{
	size_t count = 0;

	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		count = describe(
			queue_setting_name(i), &settings->record.entries[i], ret_values, count);
	return count;
}

size_t settings_describe_drive(
	const struct settings *settings, struct settings_value ret_values[DRIVE_SETTING_COUNT])
{
	size_t count = 0;

	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		count = describe(
			drive_setting_name(i), &settings->record.drive[i], ret_values, count);
	return count;
}

int settings_keep(struct settings *settings, struct faults *notes, struct faults *faults)
{
	struct error error = { 0 };

	if (!settings)
		return 0;
	if (settings_step_remove(&settings->place, &settings->file, &error)) {
		faults_add(faults, "%s; everything is put back", error.text);
		(void)settings_restore(settings, notes, faults);
		return -EIO;
	}
	settings_abandon(settings);
	return 0;
}

int settings_restore(struct settings *settings, struct faults *notes, struct faults *faults)
{
	struct error error = { 0 };
	int code;

	if (!settings)
		return 0;
	code = put_back(&settings->place, &settings->file, &settings->record, notes, faults);
	if (!code && settings_step_remove(&settings->place, &settings->file, &error)) {
		faults_add(faults, "%s", error.text);
		code = -EIO;
	}
	settings_abandon(settings);
	return code;
}

void settings_abandon(struct settings *settings)
{
	if (!settings)
		return;
	state_file_close(&settings->file);
	write_cache_close(settings->cache);
	free(settings);
}
