/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every reason against writing to a device, found without opening anything for writing.
 *
 * A reason has a class: hard ones have no override (mounted, swap, held, the system's disk,
 * read-only, size 0, host-managed zones, wrong kind of file); contents (partition table, file
 * system, volume label, or blocks that could not be read) can be overridden with
 * --discard-contents once the identity is given. Notes are what a user should know and what
 * forbids nothing.
 *
 * "On a device" means: on itself, on its partitions, and on everything stacked on these. For a
 * partition the whole disk counts where it concerns it: a disk used as a whole, the system's disk,
 * read-only, zones.
 */
#ifndef DEVICES_CHECK_H
#define DEVICES_CHECK_H

#include "devices/device.h"

enum check_reason {
	REASON_NOT_A_DEVICE,
	REASON_MOUNTED,
	REASON_SWAP,
	REASON_HELD, /* O_EXCL refused, or a holder (LVM, md, dm) up to the top */
	REASON_SYSTEM_DISK,
	REASON_READ_ONLY,
	REASON_NO_MEDIUM, /* size 0 or a sector size that cannot be used */
	REASON_ZONED,
	REASON_SIZE_MISMATCH, /* as a note; hard only for a size that no file offset reaches */
	REASON_CONTENTS,
	REASON_UNREADABLE,
	REASON_RAID_VOLUME, /* only as a note */
	REASON_IDENTITY,    /* only as a note: what names the device is weak */
	REASONS
};

struct check_finding {
	enum check_reason reason;
	bool hard;      /* no override */
	char text[640]; /* one sentence naming device, what and where */
};

enum check_weight { CHECK_NOTE, CHECK_CONTENTS, CHECK_HARD };

struct check_result {
	struct device device;
	struct check_finding *findings; /* what forbids */
	size_t count;
	struct check_finding *notes; /* what does not */
	size_t note_count;
	char subject[256]; /* the name as given and the node that it means */
};

/* `mounted`, `swap`, ... for JSON. */
const char *check_reason_name(enum check_reason reason);

/* Looks at everything; 0 also when findings exist, among them that the name is no block device.
 * With sysroot nothing below /dev is opened and signatures are taken from the recorded udev data.
 * The name may also be file:PATH[,size=BYTES] or null. -ENOENT when there is no such thing, another
 * -errno when it cannot be looked at. */
int check_device(const char *sysroot, const char *name, struct check_result *ret_result,
	struct error *error);
void check_result_done(struct check_result *result);
bool check_is_clean(const struct check_result *result);

/* Appends a finding, or a note. */
void check_add(struct check_result *result, enum check_reason reason, enum check_weight weight,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Appends one contents finding for each signature of an open device or file. */
void check_contents(struct check_result *result, int fd, uint64_t size_bytes);

#endif
