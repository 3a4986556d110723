/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The caches in a drive, asked of the drive and set in the drive, and what the kernel believes
 * about them beside it.
 *
 * These are two values. queue/write_cache decides whether the kernel sends flushes; it is read
 * from the drive when the kernel looks at it anew, follows a change by itself on some transports
 * only, and anybody may write it without the drive ever hearing of it. So:
 *
 *   drive on,  kernel "write back"     they agree; flushes are sent.
 *   drive off, kernel "write through"  they agree; none is needed.
 *   drive off, kernel "write back"     harmless: flushes are sent and only cost time.
 *   drive on,  kernel "write through"  dangerous: no flush is sent although data is only cached.
 *
 * A change goes to the drive's current values, never to those that it saves, is read back from the
 * drive, and is followed by the kernel's look at the drive (device/rescan) until its view fits.
 * What stays dangerous is repaired in the safe direction (queue/write_cache raised to "write
 * back"), or the change is undone and refused. The `temporary ...` values of cache_type are never
 * written: they change what the kernel believes and not the drive
 * (Documentation/scsi/sd-parameters).
 *
 * What a drive does not tell is unknown, which is not "off". Methods are tried in the order of one
 * table; which one served is part of every answer, and so are the refusals of the others.
 */
#ifndef DEVICES_WRITE_CACHE_H
#define DEVICES_WRITE_CACHE_H

#include "devices/passthrough.h"
#include "devices/settings_step.h"

enum cache_state {
	CACHE_UNKNOWN,
	CACHE_OFF,
	CACHE_ON,
	CACHE_NONE, /* the drive has none that could lose data, or none of this kind */
};

/* For bits that a drive may or may not tell. */
enum cache_answer { CACHE_NOT_TOLD, CACHE_NO, CACHE_YES };

enum cache_verdict { CACHE_UNDECIDED, CACHE_AGREES, CACHE_HARMLESS, CACHE_DANGEROUS };

/* What a method is told by the drive. */
struct cache_reading {
	enum cache_state state[DRIVE_SETTING_COUNT]; /* DRIVE_WRITE_CACHE, DRIVE_READ_CACHE */
	enum cache_answer changeable[DRIVE_SETTING_COUNT];
	enum cache_answer savable; /* no: a change does not outlive the power, nor can it */
	char note[256];            /* what else should be known, or "" */
};

struct cache_report {
	struct cache_reading drive;
	const char *method;  /* that told the drive's state; NULL when none could */
	char reason[512];    /* why the write cache is unknown, else "" */
	char kernel[24];     /* queue/write_cache, "" when there is none */
	char cache_type[40]; /* of sd or virtio-blk, "" when there is none */
	char driver[32];     /* of the SCSI host, "" when there is none */
	enum cache_verdict verdict;
	char verdict_text[256]; /* a sentence */
};

struct write_cache {
	const struct settings_place *place;
	struct device device;            /* a whole disk */
	struct passthrough *passthrough; /* NULL: it could not be opened, open_error tells why */
	struct error open_error;
};

/* A way to a drive's caches. */
struct write_cache_method {
	const char *name;
	/* 0: not for this disk; 1: the drive's own language; 2: to be tried after those. */
	int (*rank)(const struct write_cache *cache);
	/* -errno and a sentence when this way tells nothing. */
	int (*get)(
		struct write_cache *cache, struct cache_reading *ret_reading, struct error *error);
	/* Only asks for the change; whether it was made is looked at afterwards. */
	int (*set)(
		struct write_cache *cache, enum drive_setting which, bool on, struct error *error);
};

/* In the order of trying. */
extern const struct write_cache_method write_cache_scsi, write_cache_ata, write_cache_nvme,
	write_cache_virtio, write_cache_kernel;

/* "on", "off", "none", "unknown"; "agrees", "harmless", "dangerous", "unknown". */
const char *write_cache_state_name(enum cache_state state);
const char *write_cache_verdict_name(enum cache_verdict verdict);
/* Pure: what the two values mean together. */
enum cache_verdict write_cache_judge(enum cache_state drive, const char *kernel);

/* A whole disk by its kernel name. Succeeds also where the drive cannot be asked. The place must
 * outlive it. */
int write_cache_open(const struct settings_place *place, const char *disk,
	struct write_cache **ret_cache, struct error *error);
void write_cache_close(struct write_cache *cache); /* NULL is fine */

/* Asks drive and kernel; changes nothing. What a method could not do is added to tried. Always
 * answers, if need be with "unknown" and the reason. */
void write_cache_get(
	struct write_cache *cache, struct cache_report *ret_report, struct faults *tried);

/* Whether a set can be tried, by a report: 0 yes; 1 nothing is to be changed; -EOPNOTSUPP and a
 * fault that names the disk. notes may be NULL. */
int write_cache_may_set(const struct write_cache *cache, const struct cache_report *report,
	enum drive_setting which, bool on, struct faults *notes, struct faults *faults);

/*
 * Sets one cache in the drive. 0: read back from the drive, and the kernel's view is not dangerous;
 * *ret_method names the way (NULL: it was so already). Notes tell what is to be known.
 * -EOPNOTSUPP: the drive cannot, or its state cannot be seen, and nothing was changed; -EIO: the
 * change was tried, did not hold or was dangerous, and was undone (faults say if even that failed).
 */
int write_cache_set(struct write_cache *cache, enum drive_setting which, bool on,
	const char **ret_method, struct faults *notes, struct faults *faults);

/* For methods: an attribute of sysfs, after the place's before_step. The path is below the root. */
int write_cache_write(struct write_cache *cache, const char *step, const char *value,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* True for disks of the SCSI layer, and for those among them that are ATA drives. */
bool write_cache_is_scsi(const struct write_cache *cache);
bool write_cache_is_ata(const struct write_cache *cache);
/* Where cache_type of a SCSI disk is, below the root; -ENOENT. */
int write_cache_find_type(const struct write_cache *cache, char *ret_path, size_t size);

#endif
