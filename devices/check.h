/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every reason against writing to a device, found without opening anything for writing.
 *
 * A reason has a class: hard ones have no override (mounted, swap, held, the system's disk,
 * read-only, size 0, host-managed zones, wrong kind of file); contents (partition table, file
 * system, volume label) can be overridden with --discard-contents once the identity is given.
 */
#ifndef DEVICES_CHECK_H
#define DEVICES_CHECK_H

#include "devices/device.h"

enum check_reason {
	REASON_NOT_A_DEVICE,
	REASON_MOUNTED,
	REASON_SWAP,
	REASON_HELD,        /* O_EXCL refused, or a holder (LVM, md, dm) up to the top of the stack */
	REASON_SYSTEM_DISK,
	REASON_READ_ONLY,
	REASON_NO_MEDIUM,   /* size 0 */
	REASON_ZONED,
	REASON_SIZE_MISMATCH,
	REASON_CONTENTS,
	REASON_UNREADABLE,
	REASONS
};

struct check_finding {
	enum check_reason reason;
	bool hard;           /* no override */
	char text[384];      /* one sentence naming device, what and where */
};

struct check_result {
	struct device device;
	struct check_finding *findings;
	size_t count;
};

/* `mounted`, `swap`, ... for JSON. */
const char *check_reason_name(enum check_reason reason);

/* Looks at everything; 0 also when findings exist. With sysroot nothing below /dev is opened and
 * signatures are taken from the recorded udev data. -errno when the target cannot be looked at. */
int check_device(const char *sysroot, const char *name, struct check_result *ret_result,
	struct error *error);
void check_result_done(struct check_result *result);
bool check_is_clean(const struct check_result *result);

/* What a device is used for, in a word or two for a list: "free" when nothing is known against
 * writing. Never opens the device. */
int check_use(const char *sysroot, const struct device *device, char *ret_text, size_t text_size);

#endif
