/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last way to a SCSI disk: cache_type of the sd driver, written plainly. The kernel then sends
 * MODE SELECT itself, and looks at the drive anew (drivers/scsi/sd.c, cache_type_store). Since it
 * saves the page where the drive can, the change may outlive the power; that is why this way comes
 * last, and why it is named when it served.
 *
 * It tells nothing: what is read there is what the kernel believes, and "write through" is also
 * what it believes of a drive that would not say.
 */
#include "devices/write_cache.h"

#include "devices/sysfs.h"

#include <string.h>

static int rank(const struct write_cache *cache)
{
	char path[PATH_MAX];

	return write_cache_is_scsi(cache) && write_cache_find_type(cache, path, sizeof(path)) == 0
		       ? 2
		       : 0;
}

static int get(struct write_cache *cache, struct cache_reading *ret_reading, struct error *error)
{
	(void)ret_reading;
	return error_set(error, -EOPNOTSUPP,
		"cache_type of %s is what the kernel believes, and may not be what the drive does",
		cache->device.name);
}

static int set(struct write_cache *cache, enum drive_setting which, bool on, struct error *error)
{
	/* drivers/scsi/sd.c, sd_cache_types: RCD + 2 * WCE. */
	static const char *const types[] = { "write through", "none", "write back",
		"write back, no read (daft)" };
	char path[PATH_MAX], now[40];
	size_t type = 0;
	int code = write_cache_find_type(cache, path, sizeof(path));

	if (code)
		return error_set(error, code, "%s has no cache_type", cache->device.name);
	if (sysfs_read(cache->place->sysroot, now, sizeof(now), "%s", path) < 0)
		now[0] = '\0';
	while (type < ARRAY_SIZE(types) && strcmp(types[type], now) != 0)
		type++;
	if (type == ARRAY_SIZE(types))
		return error_set(error, -EBADMSG, "cache_type of %s is \"%s\", which is not known",
			cache->device.name, now);
	if (which == DRIVE_WRITE_CACHE)
		type = (type & 1) | (on ? 2 : 0);
	else
		type = (type & 2) | (on ? 0 : 1);
	code = write_cache_write(cache, "cache_type", types[type], "%s", path);
	return code ? error_set(error, code, "cache_type of %s cannot be set to \"%s\": %s",
			      cache->device.name, types[type], strerror(-code))
		    : 0;
}

const struct write_cache_method write_cache_kernel = {
	.name = "kernel cache_type",
	.rank = rank,
	.get = get,
	.set = set,
};
