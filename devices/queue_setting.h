/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One setting of a disk's queue, read and written: the attributes of Documentation/ABI/stable/
 * sysfs-block that decide what the kernel does between a program and the drive. Only
 * devices/settings calls the writer.
 *
 * The order of the enumeration is the order of putting back. It is not free: the kernel gives
 * nr_requests a new value whenever the scheduler changes (twice the tags, at most 256, with one;
 * the tags with `none`: block/blk-mq-sched.c, block/elevator.c), and bfq switches wbt off when it
 * comes and on when it goes (block/bfq-iosched.c). So the scheduler is first.
 */
#ifndef DEVICES_QUEUE_SETTING_H
#define DEVICES_QUEUE_SETTING_H

#include "devices/scheduler_file.h"
#include "engine/base.h"

#define QUEUE_VALUE SCHEDULER_NAME

enum queue_setting {
	QUEUE_SCHEDULER,
	QUEUE_NR_REQUESTS,
	QUEUE_NOMERGES,
	QUEUE_WBT,
	QUEUE_DRIVE_DEPTH, /* SCSI and SATA: device/queue_depth; 1 is no NCQ */
	QUEUE_SETTING_COUNT,
};

/* "scheduler", "nr_requests", "nomerges", "wbt_lat_usec", "queue_depth". */
const char *queue_setting_name(enum queue_setting setting);
/* -1 when there is none of that name. */
int queue_setting_find(const char *name);

/* True for what the kernel itself changes together with the scheduler. */
bool queue_setting_follows_scheduler(enum queue_setting setting);

/* The value as it is to be written again (of the scheduler the active name). -ENOENT: no such file;
 * -EOPNOTSUPP: a file without a value (no scheduler to choose, wbt that was never switched on);
 * others as read. */
int queue_setting_read(
	const char *sysroot, const char *disk, enum queue_setting setting, char *ret_value);
int queue_setting_schedulers(
	const char *sysroot, const char *disk, struct scheduler_file *ret_file);

/* 0, or why a write would fail before it is tried (-EROFS, -EACCES, -ENOENT). */
int queue_setting_writable(const char *sysroot, const char *disk, enum queue_setting setting);
int queue_setting_write(
	const char *sysroot, const char *disk, enum queue_setting setting, const char *value);

/* Which queue object this is: the inode of its folder. The kernel gives each folder of sysfs a
 * number of its own that is not used again (include/linux/kernfs.h, kernfs_id_ino), so a loop
 * device with another file keeps it, and a disk that was unplugged and came back has a new one. */
int queue_setting_inode(const char *sysroot, const char *disk, uint64_t *ret_inode);

#endif
