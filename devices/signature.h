/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is on a device: partition tables, file systems, volume and RAID labels, encryption headers,
 * swap; all of them, not only the most likely one (as wipefs lists them, by libblkid).
 *
 * Partitions of the table are looked into through the disk's own descriptor, so it makes no
 * difference whether the kernel made nodes for them.
 */
#ifndef DEVICES_SIGNATURE_H
#define DEVICES_SIGNATURE_H

#include "engine/base.h"

struct signature {
	char kind[24];         /* "partition table", "file system", "volume or RAID member" ... */
	char type[48];         /* gpt, dos, ext4, LVM2_member, ... */
	char label[96];        /* "" when there is none */
	uint64_t offset_bytes; /* of the magic, from the start of the device; 0 when recorded */
	unsigned partition;    /* in which it was found; 0 = on the device itself */
};

struct signature_list {
	struct signature *signatures;
	size_t count;
	bool complete; /* false when something could not be read */
};

/* Where else to look, beside the partitions of the table: the kernel's own. */
struct signature_range {
	unsigned partition;
	uint64_t start_bytes, size_bytes;
};

/* Reads only. 0, or -errno when probing is not possible at all. */
int signature_probe(int fd, uint64_t size_bytes, const struct signature_range *ranges,
	size_t range_count, struct signature_list *ret_list);

/* What udev recorded for a device number, as found in partition (0 = the device itself). */
void signature_recorded(const char *sysroot, unsigned major, unsigned minor, unsigned partition,
	struct signature_list *list);

void signature_list_done(struct signature_list *list);
#define _cleanup_signatures_ __attribute__((cleanup(signature_list_done)))

#endif
