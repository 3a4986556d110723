/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All block devices of a machine. Only sysfs and udev's records are read and no device is opened,
 * so a drive that does not answer cannot hang the list.
 */
#include "devices/device.h"

#include "devices/properties.h"
#include "devices/sysfs.h"

#include <stdlib.h>
#include <string.h>

static int compare_devices(const void *a, const void *b)
{
	const struct device *first = a, *second = b;

	return strverscmp(first->name, second->name);
}

int device_list_read(
	const char *sysroot, bool partitions, struct device_list *ret_list, struct error *error)
{
	_cleanup_names_ struct sysfs_names names = properties_block_names(sysroot);
	struct device_list list = { 0 };

	if (!names.count && !sysfs_exists(sysroot, "sys/class/block"))
		return error_set(error, -ENOENT,
			"%s/sys/class/block is not there; devices can only be listed with sysfs "
			"mounted",
			sysroot ? sysroot : "");
	list.devices = calloc(names.count + 1, sizeof(*list.devices));
	if (!list.devices)
		return error_set(error, -ENOMEM, "no memory for %zu devices", names.count);
	for (size_t i = 0; i < names.count; i++) {
		struct device *device = &list.devices[list.count];

		/* A device may vanish between the listing and the reading. */
		if (device_read(sysroot, names.names[i], device, NULL) ||
			(device->is_partition && !partitions))
			continue;
		list.count++;
	}
	qsort(list.devices, list.count, sizeof(*list.devices), compare_devices);
	*ret_list = list;
	return 0;
}

void device_list_done(struct device_list *list)
{
	free(list->devices);
	*list = (struct device_list){ 0 };
}
