/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings that are kept in a drive and not in the kernel: they survive a restart. */
#ifndef DEVICES_DRIVE_SETTING_H
#define DEVICES_DRIVE_SETTING_H

enum drive_setting {
	DRIVE_WRITE_CACHE,
	DRIVE_READ_CACHE, /* SCSI: the read cache; ATA: look-ahead */
	DRIVE_SETTING_COUNT,
};

/* "write_cache", "read_cache", as in a record. */
const char *drive_setting_name(enum drive_setting setting);
/* -1 when there is none of that name. */
int drive_setting_find(const char *name);
/* For sentences: "the write cache". */
const char *drive_setting_title(enum drive_setting setting);

#endif
