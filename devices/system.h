/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which disks carry the running system: whatever lies below /, /boot, /usr, /var, swap and the
 * medium that a live system was started from, followed down through dm, md and partitions.
 */
#ifndef DEVICES_SYSTEM_H
#define DEVICES_SYSTEM_H

#include "devices/mounts.h"
#include "devices/swap.h"

struct system_disk {
	char name[64];
	char carries[160]; /* "/ (dm-0 (vg-root) > sdb3 > sdb)" */
};

struct system_disks {
	struct system_disk *disks;
	size_t count;
};

void system_disks_read(const char *sysroot, const struct mount_list *mounts,
	const struct swap_list *swaps, struct system_disks *ret_disks);
void system_disks_done(struct system_disks *disks);
#define _cleanup_system_disks_ __attribute__((cleanup(system_disks_done)))

/* The first of the system's disks that the device is, or lies on; NULL when none. */
const struct system_disk *system_disks_below(
	const char *sysroot, const struct system_disks *disks, const char *name);

#endif
