/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Block devices as the machine shows them: identity, geometry, relations.
 *
 * Everything is read below a root prefix (normally ""), so that a recorded machine (a tree with
 * sys/, proc/ and run/udev/data/) can be replayed in tests; with a prefix no device is ever opened.
 */
#ifndef DEVICES_DEVICE_H
#define DEVICES_DEVICE_H

#include "engine/base.h"

#define DEVICE_TEXT 128

struct device {
	char name[64];               /* kernel name: sda, nvme0n1, loop3, sda2 */
	char node[96];               /* /dev path */
	unsigned major, minor;
	uint64_t size_bytes;
	uint64_t diskseq;            /* 0 when the kernel has none */
	uint32_t logical_block_bytes, physical_block_bytes;
	bool is_partition;
	char parent[64];             /* whole disk of a partition, else "" */
	bool read_only, removable, rotational;
	char transport[24];          /* sata sas usb nvme virtio loop zram dm md ... or "" */
	char vendor[DEVICE_TEXT], model[DEVICE_TEXT], serial[DEVICE_TEXT], wwn[DEVICE_TEXT];
	char identity[DEVICE_TEXT * 2]; /* semantics of `--write`; never empty */
	char zoned[24];              /* none, host-aware, host-managed; "" unknown */
	unsigned queue_depth;        /* of the drive (device/queue_depth); 0 unknown */
	unsigned nr_requests;
	char scheduler[32];          /* the active one; "none"; "" when there is no file */
	char write_cache[24];        /* kernel's view: "write back", "write through", "" */
	bool native_fua;             /* queue/fua = 1 */
	bool memory_backed;          /* zram, brd, or a loop whose file is on tmpfs/ramfs */
	bool raid_volume;            /* a controller's volume: neither cache nor depth can be seen */
	char backing_file[512];      /* of a loop device */
};

struct device_list {
	struct device *devices;
	size_t count;
};

/* All disks, or all disks and partitions, by name order. -errno with a sentence. */
int device_list_read(const char *sysroot, bool partitions, struct device_list *ret_list,
	struct error *error);
void device_list_done(struct device_list *list);

/* The device that a name means: /dev/X, any link to it, or (sysroot set) a kernel name.
 * -ENOENT when there is no such node, -ENOTBLK when it is no block device. */
int device_find(const char *sysroot, const char *name, struct device *ret_device,
	struct error *error);

#endif
