/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's queue, out of the way for the time of a run, and put back on every way out.
 *
 * What is set, and why:
 *   scheduler     `none`, so that the order that the tool sends is the order that the driver gets;
 *                 or the kernel's own, when that is what is to be measured.
 *   nomerges      2: no merge is even looked for, so that a request of the tool is one of the
 *                 drive's.
 *   wbt_lat_usec  0: writeback throttling off. It holds writes back when reads become slow, which
 *                 is a queue of its own. Not touched where it was never on (no file, EINVAL).
 *   nr_requests   raised, and only if it is below the depth: at least min(what `none` accepts,
 *                 depth). The kernel lets in that many requests per hardware queue and blocks the
 *                 submitter beyond (block/blk-mq.c, blk_mq_update_nr_requests: with `none` at most
 *                 the tags of the driver, with a scheduler more; below 4 it takes 4). A larger
 *                 value changes nothing, because the tool never sends more than depth, and a
 *                 lower one would block it where the kernel splits a request; so it is never
 *                 lowered. Changing the scheduler resets it, in which case there is nothing left
 *                 to raise.
 *   queue_depth   of the drive (SCSI, SATA), when asked: 1 is no native command queueing.
 *   caches        in the drive, when asked: devices/write_cache.h.
 * They belong to the whole disk's queue: a run on a partition changes those of its disk.
 *
 * Before the first change a record is on disk, in a folder of root's (/var/lib/bareplatter), one
 * file for each identity, locked by the process that uses the device: a second one is refused
 * and told the first one's number. After kill -9 the record is found unlocked, by `restore` and by
 * the next run on the device. That run puts the old values back first and says so, instead of
 * taking over: only then are the values that it saves the true ones, also those of settings that it
 * does not change itself. Nothing is asked, because the values are known and the device is the
 * run's own. devices/put_back.h has the rules of putting back.
 *
 * settings_open, settings_apply (as often as cells need other settings), settings_restore.
 */
#ifndef DEVICES_SETTINGS_H
#define DEVICES_SETTINGS_H

#include "devices/settings_drive.h"

#define SETTINGS_AS_IS (-1)

/* What a run wants. What is not wanted is (again) as it was before the run. */
struct settings_wanted {
	const char *scheduler; /* "none", a kernel's name; NULL: as it was */
	int nomerges;          /* 0 to 2, or SETTINGS_AS_IS */
	bool wbt_off;
	unsigned nr_requests; /* at least this, as far as it is accepted; 0: as it was */
	unsigned drive_depth; /* 0: as it was */
	enum cache_wish caches[DRIVE_SETTING_COUNT];
	/* What only keeps the kernel out of the way (none, nomerges, wbt, nr_requests) and cannot
	 * be set becomes a note and stays as it is, instead of a fault: /sys is read-only in a
	 * container. A scheduler by name, a drive depth and a cache are always meant. */
	bool lenient;
};

struct settings;

/*
 * Takes the lock of the device's disk (of a partition the disk around it) and puts back what an
 * earlier process left (notes say so). Nothing else is changed and nothing is written to disk but
 * an empty file. -EBUSY: another process has the device, named in faults (exit 3). -EIO: what was
 * left could not be put back (exit 5). Others: there can be no record (no permission, read-only
 * disk), so settings cannot be changed; the caller may go on without (exit 4 otherwise).
 */
int settings_open(const struct settings_place *place, const struct device *device,
	struct settings **ret_settings, struct faults *notes, struct faults *faults);

/*
 * Saves, changes, verifies by reading back. 0, or -errno with every fault: -EINVAL before
 * anything was changed (unknown scheduler, no such setting, read-only), -EOPNOTSUPP likewise for a
 * cache that cannot be seen or set, else everything is put back already. May be called again with
 * other wishes; the values saved first stay those that are put back.
 */
int settings_apply(struct settings *settings, const struct settings_wanted *wanted,
	struct faults *notes, struct faults *faults);

/* Whether the device still has what was applied, caches of the drive among it: each value that
 * changed under the run becomes a note. For the end of a cell. Returns how many. */
unsigned settings_verify(const struct settings *settings, struct faults *notes);

/* For the result: what was saved and what holds now; "" is unknown. Returns the count. */
struct settings_value {
	const char *name; /* as in sysfs: scheduler, nr_requests, nomerges, ... */
	char before[QUEUE_VALUE], during[QUEUE_VALUE];
};
size_t settings_describe(
	const struct settings *settings, struct settings_value ret_values[QUEUE_SETTING_COUNT]);

/* The same of the drive's caches: "on", "off", "". */
size_t settings_describe_drive(
	const struct settings *settings, struct settings_value ret_values[DRIVE_SETTING_COUNT]);

/* Removes the record and ends with the device as it is now: what was applied is what its owner
 * wants from here on. 0, or -EIO with everything put back. NULL is fine. */
int settings_keep(struct settings *settings, struct faults *notes, struct faults *faults);

/* Puts everything back, removes the record and ends; NULL is fine. 0; -EIO (exit 5) when faults
 * tell what could not be put back, -ENODEV when the device is gone: then the record stays. */
int settings_restore(struct settings *settings, struct faults *notes, struct faults *faults);

/* Ends without touching the device; the record stays for `restore`. For a run that leaves requests
 * behind at a drive that does not answer: the kernel would wait for them before it changes a
 * scheduler, for ever. */
void settings_abandon(struct settings *settings);

#endif
