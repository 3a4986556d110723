/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The drive's part of a record; see the header. */
#include "devices/settings_drive.h"

#include "devices/sysfs.h"

#include <string.h>

static const char *word(bool on)
{
	return on ? "on" : "off";
}

/* "" for what is neither on nor off. */
static void read_word(const struct cache_report *report, enum drive_setting which, char *ret_word)
{
	const enum cache_state state = report->drive.state[which];

	sysfs_copy(ret_word, QUEUE_VALUE,
		state == CACHE_ON || state == CACHE_OFF ? word(state == CACHE_ON) : "");
}

static void get(struct write_cache *cache, struct cache_report *ret_report)
{
	_cleanup_faults_ struct faults tried = { 0 };

	write_cache_get(cache, ret_report, &tried);
}

bool settings_drive_is_used(const struct state_record *record)
{
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		if (record->drive[i].used)
			return true;
	return false;
}

/* A drive without the cache fulfils the wish to have it off. */
static bool is_fulfilled(const struct cache_report *report, enum drive_setting which, bool on)
{
	return report->drive.state[which] == CACHE_NONE && !on;
}

int settings_drive_enter(struct write_cache *cache, const enum cache_wish *wishes,
	struct state_record *record, struct faults *faults)
{
	const size_t before = faults->count;
	struct cache_report report;

	get(cache, &report);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++) {
		struct state_entry *entry = &record->drive[i];

		if (entry->used || wishes[i] == CACHE_WISH_NONE ||
			is_fulfilled(&report, i, wishes[i] == CACHE_WISH_ON))
			continue;
		read_word(&report, i, entry->before);
		if (!entry->before[0]) {
			faults_add(faults, "%s of %s cannot be switched %s: %s",
				drive_setting_title(i), record->name,
				word(wishes[i] == CACHE_WISH_ON),
				report.drive.state[i] == CACHE_NONE ? "the drive has none"
				: report.reason[0]                  ? report.reason
						   : "the drive does not tell its state");
			continue;
		}
		entry->used = true;
		sysfs_copy(entry->back, sizeof(entry->back), entry->before);
	}
	return faults->count > before ? -EOPNOTSUPP : 0;
}

static int set_word(struct write_cache *cache, enum drive_setting which, const char *value,
	struct faults *notes, struct faults *faults)
{
	const struct settings_place *place = cache->place;
	const char *method = NULL, *name = drive_setting_name(which);
	const int code = place->before_step ? place->before_step(place->context, name, value) : 0;

	if (code) {
		faults_add(faults, "%s of %s could not be switched %s: %s",
			drive_setting_title(which), cache->device.name, value, strerror(-code));
		return code;
	}
	return write_cache_set(cache, which, strcmp(value, "on") == 0, &method, notes, faults);
}

int settings_drive_set(struct write_cache *cache, const enum cache_wish *wishes,
	struct state_record *record, struct faults *notes, struct faults *faults)
{
	struct cache_report report;
	int worst = 0;

	for (int i = 0; i < DRIVE_SETTING_COUNT; i++) {
		const struct state_entry *entry = &record->drive[i];
		const bool on = wishes[i] == CACHE_WISH_ON;
		int code;

		if (!entry->used)
			continue;
		code = set_word(cache, i, wishes[i] == CACHE_WISH_NONE ? entry->before : word(on),
			notes, faults);
		worst = code ? code : worst;
	}
	get(cache, &report);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		if (record->drive[i].used)
			read_word(&report, i, record->drive[i].during);
	return worst;
}

unsigned settings_drive_verify(
	struct write_cache *cache, const struct state_record *record, struct faults *notes)
{
	struct cache_report report;
	unsigned changed = 0;

	get(cache, &report);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++) {
		const struct state_entry *entry = &record->drive[i];
		char now[QUEUE_VALUE];

		read_word(&report, i, now);
		if (!entry->used || !entry->during[0] || strcmp(now, entry->during) == 0)
			continue;
		changed++;
		faults_add(notes, "%s of %s was %s for the run and has become %s",
			drive_setting_title(i), record->name, entry->during,
			now[0] ? now : "unreadable");
	}
	if (record->drive[DRIVE_WRITE_CACHE].used && report.verdict == CACHE_DANGEROUS) {
		changed++;
		faults_add(notes, "%s: %s", record->name, report.verdict_text);
	}
	return changed;
}

static bool is_disk(
	const struct settings_place *place, const char *name, const struct state_record *record)
{
	struct device device;

	return device_read(place->sysroot, name, &device, NULL) == 0 &&
	       strcmp(device.identity, record->identity) == 0;
}

int settings_drive_find(const struct settings_place *place, const struct state_record *record,
	const char *first, struct write_cache **ret_cache, struct error *error)
{
	struct device_list list = { 0 };
	char disk[sizeof(record->name)] = "";

	if (is_disk(place, first, record))
		sysfs_copy(disk, sizeof(disk), first);
	else
		(void)device_list_read(place->sysroot, false, &list, NULL);
	for (size_t i = 0; i < list.count && !disk[0]; i++)
		if (strcmp(list.devices[i].identity, record->identity) == 0)
			sysfs_copy(disk, sizeof(disk), list.devices[i].name);
	device_list_done(&list);
	if (!disk[0])
		return error_set(error, -ENODEV,
			"the drive %s (%s) is not there, and its caches from before the run of %s "
			"could not be put back; the record is kept until it returns",
			record->name, record->identity, record->started);
	return write_cache_open(place, disk, ret_cache, error);
}

void settings_drive_decide(
	struct write_cache *cache, struct state_record *record, struct faults *notes)
{
	struct cache_report report;

	get(cache, &report);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++) {
		struct state_entry *entry = &record->drive[i];
		char now[QUEUE_VALUE];

		sysfs_copy(entry->back, sizeof(entry->back), entry->before);
		read_word(&report, i, now);
		/* A loss of power brings back what the drive had saved, and so does whoever sets it
		 * to what it was: only the third case is somebody else's wish. */
		if (!entry->used || record->phase != STATE_APPLIED || !now[0] ||
			strcmp(now, entry->during) == 0 || strcmp(now, entry->before) == 0)
			continue;
		sysfs_copy(entry->back, sizeof(entry->back), now);
		faults_add(notes,
			"%s of %s is %s, which somebody else set meanwhile (it was %s for the run "
			"and before); it is left so",
			drive_setting_title(i), cache->device.name, now, entry->before);
	}
}

void settings_drive_put_back(struct write_cache *cache, struct state_record *record,
	struct faults *notes, struct faults *faults)
{
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++) {
		const struct state_entry *entry = &record->drive[i];

		if (entry->used && entry->back[0])
			(void)set_word(cache, i, entry->back, notes, faults);
	}
}

void settings_drive_keep(struct write_cache *cache, struct state_record *record)
{
	struct cache_report report;

	get(cache, &report);
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++) {
		struct state_entry *entry = &record->drive[i];

		if (!entry->used)
			continue;
		sysfs_copy(entry->before, sizeof(entry->before), entry->back);
		read_word(&report, i, entry->during);
	}
}
