/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was changed on a device, and from what: the text of a record, in lines of key and value.
 *
 *     bareplatter-state 1
 *     identity 0x5000c500a1b2c3d4
 *     name sda
 *     boot 6d3c4a52-...                     which start of the kernel: sysfs dies with it
 *     queue 6943                            which queue object of it (queue_setting_inode)
 *     pid 4711
 *     started 2026-11-30T12:00:00+00:00
 *     phase applied
 *     sysfs scheduler mq-deadline none mq-deadline
 *     sysfs nr_requests 256 128 256         before, during, what is to be put back
 *     drive write_cache on off on           kept in the drive: survives a restart
 *     end
 *
 * `-` stands for a value that is not known. A reader that does not know a line's first word refuses
 * the record instead of restoring half of it. Plain lines and no library, because the record must
 * be readable by a person with a rescue system. Pure: text in, text out.
 */
#ifndef DEVICES_STATE_RECORD_H
#define DEVICES_STATE_RECORD_H

#include "devices/device.h"
#include "devices/drive_setting.h"
#include "devices/queue_setting.h"

#define STATE_RECORD_TEXT 4096

enum state_phase {
	STATE_APPLYING,  /* any of the entries may have been changed already */
	STATE_APPLIED,   /* every `during` was read from the device */
	STATE_RESTORING, /* every `back` was decided; any may have been put back already */
};

struct state_entry {
	bool used;
	char before[QUEUE_VALUE], during[QUEUE_VALUE], back[QUEUE_VALUE]; /* "": not known */
};

struct state_record {
	char identity[DEVICE_TEXT * 2]; /* of the whole disk */
	char name[64];
	char boot[64];
	uint64_t queue_inode;
	uint64_t pid;
	char started[48];
	enum state_phase phase;
	struct state_entry entries[QUEUE_SETTING_COUNT];
	struct state_entry drive[DRIVE_SETTING_COUNT]; /* "on" and "off" */
};

/* The text of a record; its length. */
size_t state_record_write(const struct state_record *record, char *ret_text, size_t size);

/* -EBADMSG with the line that cannot be understood; nothing is guessed. */
int state_record_parse(const char *text, struct state_record *ret_record, struct error *error);

#endif
