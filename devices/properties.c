/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What udev knows about a device; see the header. The only file that speaks to libudev. */
#include "devices/properties.h"

#include "devices/sysfs.h"

#include <libudev.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

struct properties {
	struct udev *udev;
	struct udev_device *device;
	char *recorded; /* the record, its lines ended by NUL */
	size_t recorded_bytes;
};

struct properties *properties_new(const char *sysroot, unsigned major, unsigned minor)
{
	struct properties *properties = calloc(1, sizeof(*properties));

	if (!properties)
		abort();
	if (!sysfs_is_recorded(sysroot)) {
		properties->udev = udev_new();
		if (properties->udev)
			properties->device = udev_device_new_from_devnum(
				properties->udev, 'b', makedev(major, minor));
		return properties;
	}
	if (sysfs_read_whole(
		    sysroot, &properties->recorded, "run/udev/data/b%u:%u", major, minor) == 0) {
		properties->recorded_bytes = strlen(properties->recorded);
		for (char *at = properties->recorded; *at; at++)
			if (*at == '\n')
				*at = '\0';
	}
	return properties;
}

void properties_free(struct properties *properties)
{
	if (!properties)
		return;
	udev_device_unref(properties->device);
	udev_unref(properties->udev);
	free(properties->recorded);
	free(properties);
}

/* The format of the records is udev's own: `E:KEY=VALUE` lines among others. */
static const char *recorded_get(const struct properties *properties, const char *key)
{
	const size_t length = strlen(key);
	const char *at = properties->recorded;

	while (at && at < properties->recorded + properties->recorded_bytes) {
		if (strncmp(at, "E:", 2) == 0 && strncmp(at + 2, key, length) == 0 &&
			at[2 + length] == '=')
			return at + 2 + length + 1;
		at += strlen(at) + 1;
	}
	return NULL;
}

const char *properties_get(struct properties *properties, const char *key)
{
	const char *value = properties->device
				    ? udev_device_get_property_value(properties->device, key)
				    : recorded_get(properties, key);

	return value && value[0] ? value : NULL;
}

static void enumerate(struct udev_enumerate *all, struct sysfs_names *names)
{
	struct udev_list_entry *entry;

	if (udev_enumerate_add_match_subsystem(all, "block") < 0 ||
		udev_enumerate_scan_devices(all) < 0)
		return;
	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(all))
	{
		char **grown = realloc(names->names, (names->count + 1) * sizeof(*grown));

		if (!grown)
			abort();
		names->names = grown;
		grown[names->count] = strdup(sysfs_base_name(udev_list_entry_get_name(entry)));
		if (!grown[names->count])
			abort();
		names->count++;
	}
}

struct sysfs_names properties_block_names(const char *sysroot)
{
	struct sysfs_names names = { 0 };
	struct udev *udev = sysfs_is_recorded(sysroot) ? NULL : udev_new();
	struct udev_enumerate *all = udev ? udev_enumerate_new(udev) : NULL;

	if (all)
		enumerate(all, &names);
	udev_enumerate_unref(all);
	udev_unref(udev);
	return names.count ? names : sysfs_list(sysroot, "sys/class/block");
}
