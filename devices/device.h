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

/* The longest is the wwid of an NVMe namespace without a unique number: 140 characters
 * (nvme_sysfs wwid_show: "nvme.%04x-%*phN-%*phN-%08x"). */
#define DEVICE_TEXT 192

struct device {
	char name[64]; /* kernel name: sda, nvme0n1, loop3, sda2 */
	char node[96]; /* /dev path */
	unsigned major, minor;
	uint64_t size_bytes;   /* UINT64_MAX when the kernel's number does not fit */
	uint64_t size_sectors; /* of 512 bytes, as the kernel says it */
	uint64_t diskseq;      /* 0 when the kernel has none */
	uint32_t logical_block_bytes, physical_block_bytes;
	uint64_t start_bytes; /* of a partition on its disk */
	bool is_partition;
	unsigned partition_number; /* 0 on a whole disk */
	char parent[64];           /* whole disk of a partition, else "" */
	bool read_only, removable, rotational;
	char transport[24]; /* sata sas usb nvme virtio loop zram dm md ... or "" */
	char title[64];     /* the name people gave a dm device, else "" */
	char vendor[DEVICE_TEXT], model[DEVICE_TEXT], serial[DEVICE_TEXT], wwn[DEVICE_TEXT];
	char identity[DEVICE_TEXT * 2]; /* semantics of `--write`; never empty */
	char zoned[24];                 /* none, host-aware, host-managed; "" unknown */
	unsigned queue_depth;           /* device/queue_depth, else a queue's tags; 0 unknown */
	unsigned nr_requests;
	char scheduler[32];     /* the active one; "none"; "" when there is no file */
	char write_cache[24];   /* kernel's view: "write back", "write through", "" */
	bool native_fua;        /* queue/fua = 1 */
	bool memory_backed;     /* zram, brd, or a loop whose file is on tmpfs/ramfs */
	bool raid_volume;       /* a controller's: neither cache nor depth can be seen */
	char backing_file[512]; /* of a loop device */
};

struct device_list {
	struct device *devices;
	size_t count;
};

/* All disks, or all disks and partitions, by name order. -errno with a sentence. */
int device_list_read(
	const char *sysroot, bool partitions, struct device_list *ret_list, struct error *error);
void device_list_done(struct device_list *list);

/* The device with this kernel name. -ENOENT when sysfs has none. */
int device_read(
	const char *sysroot, const char *name, struct device *ret_device, struct error *error);

/* The device that a name means: /dev/X, any link to it, or (sysroot set) a kernel name.
 * -ENOENT when there is no such node, -ENOTBLK when it is no block device. */
int device_find(
	const char *sysroot, const char *name, struct device *ret_device, struct error *error);

#endif
