/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reasons that lie outside the device: who has mounted it, swaps on it, stands on it, and
 * whether the running system lies on it. All from sysfs and proc, nothing is opened.
 */
#ifndef DEVICES_RELATIONS_H
#define DEVICES_RELATIONS_H

#include "devices/check.h"
#include "devices/signature.h"

/* Adds a finding for each; -errno when the machine cannot be read. */
int relations_check(const char *sysroot, struct check_result *result, struct error *error);

/* How each device of a list is used, for a column: some of `system mounted swap held read-only
 * no-medium zoned`, divided by commas, or "". Opens no device. The caller frees the array. */
struct relations_use {
	char text[64];
};
int relations_use_read(const char *sysroot, const struct device_list *list,
	struct relations_use **ret_uses, struct error *error);

/* The kernel's partitions of a disk of this machine: their count, at most room. */
size_t relations_partition_ranges(
	const char *disk, struct signature_range *ret_ranges, size_t room);

#endif
