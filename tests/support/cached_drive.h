/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A disk with caches, its drive and its kernel both made up: the drive answers SCSI, ATA and NVMe
 * commands from its state; the kernel is a tree of files and a hook before each step, which looks
 * at the drive when it is scanned anew. The drive's state is shared memory, so that it outlives a
 * test process that is killed.
 */
#ifndef TESTS_SUPPORT_CACHED_DRIVE_H
#define TESTS_SUPPORT_CACHED_DRIVE_H

#include "devices/settings.h"
#include "tests/support/loopback.h"
#include "tests/support/sysroot.h"

enum cached_kind { CACHED_SCSI, CACHED_SATA, CACHED_USB, CACHED_NVME, CACHED_VIRTIO };

/* What the drive is and does; zero is a drive that does what it is told. */
struct cached_drive {
	bool write_cache, read_cache;
	bool no_page;      /* no caching mode page */
	bool no_ata;       /* knows no ATA pass-through */
	bool only_six;     /* MODE SENSE(10) fails in the adapter */
	bool stubborn;     /* takes a change and does not make it */
	bool unchangeable; /* says that it cannot be changed */
	bool savable;
	bool gone;
	unsigned attentions; /* that many commands are answered by UNIT ATTENTION first */
	unsigned saved;      /* changes that asked to be saved: must stay 0 */
	unsigned flushes;    /* flush commands of its own */
	unsigned commands;
	/* The kernel. */
	bool deaf;           /* does not look at the drive when scanned anew */
	bool will_not_raise; /* refuses queue/write_cache */
	unsigned step, kill_at, fail_at;
	char log[2048]; /* steps, each on a line */
};

extern struct cached_drive *cached_drive;
extern struct sysroot cached_root;
extern char cached_name[16];

/* A machine with one such disk, whose write cache and read cache are on. */
void cached_drive_new(enum cached_kind kind);
void cached_drive_done(void);

const struct settings_place *cached_place(void);
/* The same with another transport, for expected bytes. */
const struct settings_place *cached_place_with(struct passthrough *passthrough);

/* queue/write_cache of the disk. */
void cached_expect_kernel(const char *value);
void cached_put_kernel(const char *value);
bool cached_says(const struct faults *faults, const char *text);

#endif
