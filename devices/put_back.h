/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts back what a record says, whoever wrote it: the run itself at its end, the next run on the
 * device, or `restore`.
 *
 * Which disk: entries of sysfs belong to a queue object of a kernel that is running, so they are
 * written to that object (the same start of the kernel, the same name, the same inode), whatever
 * medium is behind it by now: a loop device keeps its settings when its file is detached. Where
 * the object is gone the same identity is looked for, as a disk that was unplugged may come back;
 * another device under the old name is never written to. After a restart nothing is left to put
 * back.
 *
 * Whose value: in a record that is `applied` the values for the run are known. One that is there
 * still goes back to what it was before; one that is neither was set by somebody else meanwhile: it
 * is left and named. Left means set again where putting back the scheduler resets it. The decision
 * for all settings is made before the first write and recorded (`restoring`), because the
 * scheduler changes others with it; whoever is killed after that is followed up without a new
 * decision. A process that died while it applied (milliseconds) cannot be told from somebody
 * else: there everything goes back.
 *
 * Order: scheduler, nr_requests, nomerges, wbt, the drive's queue depth; what the drive itself
 * keeps, its caches, comes last and goes to the drive of that identity alone, also after a restart
 * (devices/settings_drive.h). Each value is read back. When one cannot be put back the others are,
 * and the record stays.
 */
#ifndef DEVICES_PUT_BACK_H
#define DEVICES_PUT_BACK_H

#include "devices/settings_step.h"

/* The disk that a record means, and whether its queue is the very object. -ENODEV when it is not
 * there, with a sentence. */
int put_back_find(const struct settings_place *place, const struct state_record *record,
	char *ret_disk, size_t size, bool *ret_same_queue, struct error *error);

/* 0: everything is as it was, or as somebody else wants it (notes say so); the record can be
 * removed. -ENODEV: the device is not there. -EIO: faults tell what could not be put back. */
int put_back(const struct settings_place *place, struct state_file *file,
	struct state_record *record, struct faults *notes, struct faults *faults);

#endif
