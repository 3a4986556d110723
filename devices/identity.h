/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a user states after --write: a name of the thing itself and not of the place where it is
 * plugged in, so that a copied command line cannot hit another disk.
 *
 * wwn, else serial, else loop:INODE-DEV-SIZE of the backing file (what `stat -c %i-%d-%s` prints),
 * else KIND:BYTES:DISKSEQ; a partition has its disk's identity and "-partN". Blanks and
 * unprintable bytes become `_`, so that it never needs quotes. The result is the same with and
 * without a running udevd.
 */
#ifndef DEVICES_IDENTITY_H
#define DEVICES_IDENTITY_H

#include "devices/device.h"
#include "devices/properties.h"

#include <sys/stat.h>

/* Fills vendor, model, serial and wwn, which are those of the whole disk. */
void identity_read_names(const char *sysroot, const char *disk, struct properties *properties,
	struct device *device);

/* Fills device->identity from the names, the backing file, or the disk's size. */
void identity_derive(const char *sysroot, uint64_t disk_bytes, struct device *device);

/* Asks an opened loop device which file is behind it (sysfs tells a path, and a path can mean
 * another file by now); other devices stay as they are. */
void identity_refine(int fd, struct device *device);

/* file:INODE-DEV-SIZE. */
void identity_of_file(const struct stat *status, char *ret_identity, size_t size);

#endif
