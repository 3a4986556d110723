/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a record; see the header. */
#include "devices/state_record.h"

#include "devices/sysfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "bareplatter-state 1"

static const char *const phases[] = {
	[STATE_APPLYING] = "applying",
	[STATE_APPLIED] = "applied",
	[STATE_RESTORING] = "restoring",
};

static const char *shown(const char *value)
{
	return value[0] ? value : "-";
}

size_t state_record_write(const struct state_record *record, char *ret_text, size_t size)
{
	size_t used = (size_t)snprintf(ret_text, size,
		FIRST_LINE "\nidentity %s\nname %s\nboot %s\nqueue %" PRIu64 "\npid %" PRIu64
			   "\nstarted %s\nphase %s\n",
		record->identity, record->name, shown(record->boot), record->queue_inode,
		record->pid, shown(record->started), phases[record->phase]);

	for (int i = 0; i < QUEUE_SETTING_COUNT; i++) {
		const struct state_entry *entry = &record->entries[i];

		assert(used < size);
		if (entry->used)
			used += (size_t)snprintf(ret_text + used, size - used,
				"sysfs %s %s %s %s\n", queue_setting_name(i), shown(entry->before),
				shown(entry->during), shown(entry->back));
	}
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++) {
		const struct state_entry *entry = &record->drive[i];

		assert(used < size);
		if (entry->used)
			used += (size_t)snprintf(ret_text + used, size - used,
				"drive %s %s %s %s\n", drive_setting_name(i), shown(entry->before),
				shown(entry->during), shown(entry->back));
	}
	assert(used < size);
	used += (size_t)snprintf(ret_text + used, size - used, "end\n");
	assert(used < size);
	return used;
}

struct reader {
	const char *text;
	unsigned line;
	char words[6][DEVICE_TEXT * 2];
	size_t count;
};

/* The next line as words; false at the end, or when the line is none that this program writes. */
static bool next_line(struct reader *reader)
{
	const size_t length = strcspn(reader->text, "\n");
	const char *at = reader->text, *end = at + length;

	reader->line++;
	reader->count = 0;
	if (*end != '\n')
		return false;
	while (at < end) {
		const size_t word = min_u64(strcspn(at, " "), (uint64_t)(end - at));

		if (word == 0 || reader->count == ARRAY_SIZE(reader->words) ||
			word >= sizeof(reader->words[0]))
			return false;
		memcpy(reader->words[reader->count], at, word);
		reader->words[reader->count++][word] = '\0';
		at += word + (at + word < end);
	}
	reader->text = end + 1;
	return reader->count > 0;
}

static bool take(const char *word, char *ret_text, size_t size)
{
	if (strlen(word) >= size)
		return false;
	sysfs_copy(ret_text, size, strcmp(word, "-") == 0 ? "" : word);
	return true;
}

static bool take_text(struct reader *reader, const char *key, char *ret_text, size_t size)
{
	return next_line(reader) && reader->count == 2 && strcmp(reader->words[0], key) == 0 &&
	       take(reader->words[1], ret_text, size);
}

static bool take_number(struct reader *reader, const char *key, uint64_t *ret_number)
{
	char text[24], *end;

	if (!take_text(reader, key, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return !errno && !*end;
}

static bool take_phase(struct reader *reader, enum state_phase *ret_phase)
{
	char text[16];

	if (!take_text(reader, "phase", text, sizeof(text)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
		if (strcmp(text, phases[i]) == 0) {
			*ret_phase = (enum state_phase)i;
			return true;
		}
	}
	return false;
}

static bool take_head(struct reader *reader, struct state_record *record)
{
	char version[8];

	return take_text(reader, "bareplatter-state", version, sizeof(version)) &&
	       strcmp(version, "1") == 0 &&
	       take_text(reader, "identity", record->identity, sizeof(record->identity)) &&
	       record->identity[0] &&
	       take_text(reader, "name", record->name, sizeof(record->name)) && record->name[0] &&
	       !strchr(record->name, '/') &&
	       take_text(reader, "boot", record->boot, sizeof(record->boot)) &&
	       take_number(reader, "queue", &record->queue_inode) &&
	       take_number(reader, "pid", &record->pid) &&
	       take_text(reader, "started", record->started, sizeof(record->started)) &&
	       take_phase(reader, &record->phase);
}

/* NULL when the line names no setting of either kind. */
static struct state_entry *entry_of(const struct reader *reader, struct state_record *record)
{
	int setting;

	if (reader->count != 5)
		return NULL;
	if (strcmp(reader->words[0], "sysfs") == 0) {
		setting = queue_setting_find(reader->words[1]);
		return setting < 0 ? NULL : &record->entries[setting];
	}
	if (strcmp(reader->words[0], "drive") == 0) {
		setting = drive_setting_find(reader->words[1]);
		return setting < 0 ? NULL : &record->drive[setting];
	}
	return NULL;
}

/* Whatever is not "on" would be put back as "off". */
static bool is_switch(const char *word)
{
	return strcmp(word, "on") == 0 || strcmp(word, "off") == 0 || strcmp(word, "-") == 0;
}

static bool take_entry(const struct reader *reader, struct state_record *record)
{
	struct state_entry *entry = entry_of(reader, record);
	const bool drive = entry && reader->words[0][0] == 'd';

	if (!entry || entry->used)
		return false;
	for (size_t i = 2; i < reader->count && drive; i++)
		if (!is_switch(reader->words[i]))
			return false;
	entry->used = true;
	return take(reader->words[2], entry->before, sizeof(entry->before)) &&
	       take(reader->words[3], entry->during, sizeof(entry->during)) &&
	       take(reader->words[4], entry->back, sizeof(entry->back));
}

int state_record_parse(const char *text, struct state_record *ret_record, struct error *error)
{
	struct reader reader = { .text = text };
	struct state_record record = { 0 };
	bool good = take_head(&reader, &record), ended = false;

	while (good && !ended) {
		good = next_line(&reader);
		ended = good && reader.count == 1 && strcmp(reader.words[0], "end") == 0;
		if (good && !ended)
			good = take_entry(&reader, &record);
	}
	if (!good || *reader.text)
		return error_set(error, -EBADMSG,
			"line %u is not understood; it was damaged, or written by a newer release",
			reader.line + (good ? 1 : 0));
	*ret_record = record;
	return 0;
}
