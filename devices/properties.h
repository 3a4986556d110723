/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What udev knows about a device (ID_WWN, ID_SERIAL_SHORT, ID_FS_TYPE, ...): from libudev on this
 * machine, from run/udev/data/bMAJOR:MINOR of a recorded one.
 *
 * Without a running udevd there are no properties; every reader falls back to sysfs.
 */
#ifndef DEVICES_PROPERTIES_H
#define DEVICES_PROPERTIES_H

#include "engine/base.h"

struct properties;

/* Never NULL, perhaps without any property. */
struct properties *properties_new(const char *sysroot, unsigned major, unsigned minor);
void properties_free(struct properties *properties);
/* NULL when there is none; owned by properties. */
const char *properties_get(struct properties *properties, const char *key);

static inline void properties_cleanup(struct properties **properties)
{
	properties_free(*properties);
}
#define _cleanup_properties_ __attribute__((cleanup(properties_cleanup)))

/* Kernel names of all block devices in sysfs, partitions included. */
struct sysfs_names;
struct sysfs_names properties_block_names(const char *sysroot);

#endif
