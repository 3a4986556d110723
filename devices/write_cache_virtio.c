/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtio-blk: the attribute cache_type of the disk, which the driver reads from the device's own
 * configuration each time, and writes to it where the device offers that
 * (drivers/block/virtio_blk.c, cache_type_show and cache_type_store; virtio 1.2, 5.2.6.2,
 * config-wce); the kernel's view follows. The attribute is read-only where the host does not offer
 * it.
 */
#include "devices/write_cache.h"

#include "devices/sysfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ATTRIBUTE "sys/class/block/%s/cache_type"

static int rank(const struct write_cache *cache)
{
	return sysfs_exists(cache->place->sysroot, ATTRIBUTE, cache->device.name);
}

static int get(struct write_cache *cache, struct cache_reading *ret_reading, struct error *error)
{
	struct cache_reading reading = { .savable = CACHE_NO,
		.state[DRIVE_READ_CACHE] = CACHE_UNKNOWN,
		.changeable[DRIVE_READ_CACHE] = CACHE_NO };
	char text[40], path[PATH_MAX];
	const int code = sysfs_read(
		cache->place->sysroot, text, sizeof(text), ATTRIBUTE, cache->device.name);

	if (code < 0)
		return error_set(error, code, "cache_type of %s cannot be read: %s",
			cache->device.name, strerror(-code));
	if (strcmp(text, "write back") == 0)
		reading.state[DRIVE_WRITE_CACHE] = CACHE_ON;
	else if (strcmp(text, "write through") == 0)
		reading.state[DRIVE_WRITE_CACHE] = CACHE_OFF;
	else
		return error_set(error, -EBADMSG, "cache_type of %s is \"%s\", which is not known",
			cache->device.name, text);
	(void)snprintf(path, sizeof(path), "%s/" ATTRIBUTE,
		cache->place->sysroot ? cache->place->sysroot : "", cache->device.name);
	reading.changeable[DRIVE_WRITE_CACHE] = access(path, W_OK) == 0 ? CACHE_YES : CACHE_NO;
	*ret_reading = reading;
	return 0;
}

static int set(struct write_cache *cache, enum drive_setting which, bool on, struct error *error)
{
	int code;

	if (which != DRIVE_WRITE_CACHE)
		return error_set(error, -EOPNOTSUPP, "virtio has no setting for a read cache");
	code = write_cache_write(cache, "cache_type", on ? "write back" : "write through",
		ATTRIBUTE, cache->device.name);
	return code ? error_set(error, code == -EACCES || code == -EPERM ? -EOPNOTSUPP : code,
			      "cache_type of %s cannot be written: %s; the host offers it with "
			      "config-wce",
			      cache->device.name, strerror(-code))
		    : 0;
}

const struct write_cache_method write_cache_virtio = {
	.name = "virtio cache_type",
	.rank = rank,
	.get = get,
	.set = set,
};
