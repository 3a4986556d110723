/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts back what a record says; see the header. */
#include "devices/put_back.h"

#include "devices/settings_drive.h"
#include "devices/sysfs.h"

#include <string.h>

static bool same_boot(const struct settings_place *place, const struct state_record *record)
{
	char boot[sizeof(record->boot)];

	settings_step_boot(place, boot, sizeof(boot));
	return strcmp(boot, record->boot) == 0;
}

int put_back_find(const struct settings_place *place, const struct state_record *record,
	char *ret_disk, size_t size, bool *ret_same_queue, struct error *error)
{
	struct device_list list = { 0 };
	uint64_t inode;
	bool found = false;

	*ret_same_queue = same_boot(place, record) &&
			  queue_setting_inode(place->sysroot, record->name, &inode) == 0 &&
			  inode == record->queue_inode;
	if (*ret_same_queue) {
		sysfs_copy(ret_disk, size, record->name);
		return 0;
	}
	(void)device_list_read(place->sysroot, false, &list, NULL);
	for (size_t i = 0; i < list.count && !found; i++) {
		found = strcmp(list.devices[i].identity, record->identity) == 0;
		if (found)
			sysfs_copy(ret_disk, size, list.devices[i].name);
	}
	device_list_done(&list);
	if (found)
		return 0;
	return error_set(error, -ENODEV,
		"%s (%s) is not there any more, and its settings from before the run of %s could "
		"not be put back; the record is kept until it returns",
		record->name, record->identity, record->started);
}

static const char *shown(const char *value)
{
	return value[0] ? value : "unknown";
}

/* What is there now decides what goes back; see the header. */
static void decide(const struct settings_place *place, const char *disk, bool same_queue,
	struct state_record *record, struct faults *notes)
{
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		struct state_entry *entry = &record->entries[i];
		char now[QUEUE_VALUE];
		const bool known = entry->used && record->phase == STATE_APPLIED &&
				   queue_setting_read(place->sysroot, disk, i, now) == 0;

		sysfs_copy(entry->back, sizeof(entry->back), entry->before);
		if (!known || strcmp(now, entry->during) == 0)
			continue;
		sysfs_copy(entry->back, sizeof(entry->back), now);
		/* A new queue object has its own values from the start. */
		if (same_queue)
			faults_add(notes,
				"%s of %s is %s, which somebody else set meanwhile (it was %s for "
				"the run and %s before); it is left so",
				queue_setting_name(i), disk, now, shown(entry->during),
				shown(entry->before));
	}
}

static void write_all(const struct settings_place *place, const char *disk,
	struct state_record *record, struct faults *faults)
{
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		struct state_entry *entry = &record->entries[i];
		struct error error = { 0 };
		char now[QUEUE_VALUE];

		/* What could not be read before has no value to go back to. */
		if (!entry->used || !entry->back[0])
			continue;
		if (settings_step_set(place, disk, i, entry->back, now, &error))
			faults_add(faults, "%s; before the run it was %s", error.text,
				shown(entry->before));
	}
}

/* Some value stayed: from here on what is there now is what the run left. */
static void keep_rest(const struct settings_place *place, const char *disk,
	struct write_cache *cache, struct state_file *file, struct state_record *record,
	struct faults *faults)
{
	struct error error = { 0 };

	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		struct state_entry *entry = &record->entries[i];

		if (!entry->used)
			continue;
		sysfs_copy(entry->before, sizeof(entry->before), entry->back);
		(void)queue_setting_read(place->sysroot, disk, i, entry->during);
	}
	if (cache)
		settings_drive_keep(cache, record);
	/* Without the drive nothing was decided for it. */
	if (cache || !settings_drive_is_used(record))
		record->phase = STATE_APPLIED;
	if (settings_step_save(place, file, record, &error))
		faults_add(faults, "%s", error.text);
}

static void decide_all(const struct settings_place *place, const char *disk, bool same_queue,
	struct write_cache *cache, struct state_file *file, struct state_record *record,
	struct faults *notes)
{
	struct error error = { 0 };

	if (record->phase == STATE_RESTORING)
		return;
	decide(place, disk, same_queue, record, notes);
	if (cache)
		settings_drive_decide(cache, record, notes);
	record->phase = STATE_RESTORING;
	/* A full disk is no reason to leave the device changed. */
	if (settings_step_save(place, file, record, &error))
		faults_add(notes, "%s; the settings are put back without it", error.text);
}

/* A restart ended what was set in sysfs. False: and there is nothing else to put back. */
static bool drop_after_restart(
	const struct settings_place *place, struct state_record *record, struct faults *notes)
{
	const bool drive = settings_drive_is_used(record);

	if (same_boot(place, record))
		return true;
	faults_add(notes,
		"%s was left changed by a run of %s, and the machine has been restarted since, "
		"which ended its settings%s",
		record->name, record->started, drive ? " but not those of the drive" : "");
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		record->entries[i].used = false;
	return drive;
}

int put_back(const struct settings_place *place, struct state_file *file,
	struct state_record *record, struct faults *notes, struct faults *faults)
{
	const size_t before = faults->count;
	struct write_cache *cache = NULL;
	struct error error = { 0 };
	char disk[sizeof(record->name)];
	bool same_queue;
	int code = 0;

	if (!drop_after_restart(place, record, notes))
		return 0;
	if (put_back_find(place, record, disk, sizeof(disk), &same_queue, &error)) {
		faults_add(faults, "%s", error.text);
		return -ENODEV;
	}
	if (settings_drive_is_used(record))
		code = settings_drive_find(place, record, disk, &cache, &error);
	decide_all(place, disk, same_queue, cache, file, record, notes);
	write_all(place, disk, record, faults);
	if (cache)
		settings_drive_put_back(cache, record, notes, faults);
	else if (code)
		faults_add(faults, "%s", error.text);
	if (faults->count > before)
		keep_rest(place, disk, cache, file, record, faults);
	write_cache_close(cache);
	if (faults->count == before)
		return 0;
	return code ? code : -EIO;
}
