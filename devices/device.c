/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One block device as sysfs and udev show it; see the header.
 *
 * Attribute meanings: Documentation/ABI/stable/sysfs-block. Transports are read from the path of
 * the device as lsblk does (util-linux misc-utils/lsblk-properties.c, get_transport).
 */
#include "devices/device.h"

#include "devices/identity.h"
#include "devices/properties.h"
#include "devices/sysfs.h"

#include <ctype.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define SECTOR_BYTES 512 /* the unit of sysfs, whatever the device's blocks are */

static uint64_t bytes_of_sectors(uint64_t sectors)
{
	return sectors > UINT64_MAX / SECTOR_BYTES ? UINT64_MAX : sectors * SECTOR_BYTES;
}

static uint64_t number(
	const char *sysroot, const char *name, const char *attribute, uint64_t otherwise)
{
	uint64_t value;

	return sysfs_read_u64(sysroot, &value, "sys/class/block/%s/%s", name, attribute) ? otherwise
											 : value;
}

static void read_node(const char *sysroot, struct device *device)
{
	_cleanup_free_ char *event = NULL;
	const char *name = NULL;

	if (sysfs_read_whole(sysroot, &event, "sys/class/block/%s/uevent", device->name) == 0)
		name = strstr(event, "DEVNAME=");
	if (name) {
		name += strlen("DEVNAME=");
		(void)snprintf(device->node, sizeof(device->node), "/dev/%.*s",
			(int)min_u64(strcspn(name, "\n"), 80), name);
		return;
	}
	(void)snprintf(device->node, sizeof(device->node), "/dev/%s", device->name);
	/* The kernel writes the slash of a name such as cciss/c0d0 as `!`. */
	for (char *at = device->node; *at; at++)
		if (*at == '!')
			*at = '/';
}

static void read_parent(const char *sysroot, struct device *device)
{
	char path[PATH_MAX];
	char *slash;

	device->partition_number = (unsigned)number(sysroot, device->name, "partition", 0);
	device->is_partition = sysfs_exists(sysroot, "sys/class/block/%s/partition", device->name);
	if (!device->is_partition ||
		sysfs_real_path(sysroot, path, sizeof(path), "sys/class/block/%s", device->name))
		return;
	device->start_bytes = bytes_of_sectors(number(sysroot, device->name, "start", 0));
	slash = strrchr(path, '/');
	if (slash) {
		*slash = '\0';
		sysfs_copy(device->parent, sizeof(device->parent), sysfs_base_name(path));
	}
}

/* `none [mq-deadline] kyber`: the one in brackets is active. */
static void read_scheduler(const char *sysroot, const char *disk, struct device *device)
{
	char text[256];
	char *start, *end;

	if (sysfs_read(sysroot, text, sizeof(text), "sys/class/block/%s/queue/scheduler", disk) <=
		0)
		return;
	start = strchr(text, '[');
	end = start ? strchr(start, ']') : NULL;
	if (end)
		*end = '\0';
	sysfs_copy(device->scheduler, sizeof(device->scheduler), end ? start + 1 : text);
}

static void read_queue(const char *sysroot, const char *disk, struct device *device)
{
	device->logical_block_bytes =
		(uint32_t)number(sysroot, disk, "queue/logical_block_size", SECTOR_BYTES);
	device->physical_block_bytes = (uint32_t)number(
		sysroot, disk, "queue/physical_block_size", device->logical_block_bytes);
	device->rotational = number(sysroot, disk, "queue/rotational", 0) != 0;
	device->nr_requests = (unsigned)number(sysroot, disk, "queue/nr_requests", 0);
	device->queue_depth = (unsigned)number(
		sysroot, disk, "device/queue_depth", number(sysroot, disk, "mq/0/nr_tags", 0));
	device->native_fua = number(sysroot, disk, "queue/fua", 0) == 1;
	(void)sysfs_read(sysroot, device->write_cache, sizeof(device->write_cache),
		"sys/class/block/%s/queue/write_cache", disk);
	(void)sysfs_read(sysroot, device->zoned, sizeof(device->zoned),
		"sys/class/block/%s/queue/zoned", disk);
	read_scheduler(sysroot, disk, device);
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static void read_transport(
	const char *sysroot, const char *disk, struct properties *properties, struct device *device)
{
	static const struct {
		const char *prefix, *transport;
	} by_name[] = { { "loop", "loop" }, { "zram", "zram" }, { "dm-", "dm" }, { "md", "md" },
		{ "ram", "ram" }, { "nbd", "nbd" }, { "nullb", "null_blk" }, { "nvme", "nvme" },
		{ "vd", "virtio" }, { "mmcblk", "mmc" }, { "pmem", "nvdimm" }, { "drbd", "drbd" },
		{ "bcache", "bcache" }, { "rbd", "rbd" }, { "zd", "zvol" }, { "xvd", "xen" } };
	static const struct {
		const char *part, *transport;
	} by_path[] = { { "/usb", "usb" }, { "/ata", "sata" }, { "/rport-", "fc" },
		{ "/session", "iscsi" }, { "/end_device-", "sas" }, { "/virtio", "virtio" } };
	char path[PATH_MAX];
	const char *bus = properties_get(properties, "ID_BUS");

	for (size_t i = 0; i < ARRAY_SIZE(by_name); i++) {
		if (starts_with(disk, by_name[i].prefix)) {
			sysfs_copy(
				device->transport, sizeof(device->transport), by_name[i].transport);
			return;
		}
	}
	/* The part of the path after the prefix: a recorded machine may lie anywhere. */
	if (sysfs_real_path(sysroot, path, sizeof(path), "sys/class/block/%s", disk) == 0) {
		const char *sys = strstr(path, "/devices/");

		for (size_t i = 0; sys && i < ARRAY_SIZE(by_path); i++) {
			if (strstr(sys, by_path[i].part)) {
				sysfs_copy(device->transport, sizeof(device->transport),
					by_path[i].transport);
				return;
			}
		}
	}
	if (bus)
		sysfs_copy(device->transport, sizeof(device->transport), bus);
	else if (sysfs_exists(sysroot, "sys/class/block/%s/device/scsi_level", disk))
		sysfs_copy(device->transport, sizeof(device->transport), "scsi");
}

static void read_backing(const char *sysroot, const char *disk, struct device *device)
{
	struct statfs volume;

	device->memory_backed = strcmp(device->transport, "zram") == 0 ||
				strcmp(device->transport, "ram") == 0 ||
				strcmp(device->transport, "null_blk") == 0;
	if (sysfs_read(sysroot, device->backing_file, sizeof(device->backing_file),
		    "sys/class/block/%s/loop/backing_file", disk) <= 0)
		return;
	if (!sysfs_is_recorded(sysroot) && statfs(device->backing_file, &volume) == 0)
		device->memory_backed =
			volume.f_type == TMPFS_MAGIC || volume.f_type == RAMFS_MAGIC;
}

/* The low-level driver's name is in the SCSI host above the disk. */
static void read_driver(const char *sysroot, const char *disk, char *ret_driver, size_t size)
{
	char path[PATH_MAX];
	const char *host;

	ret_driver[0] = '\0';
	if (sysfs_real_path(sysroot, path, sizeof(path), "sys/class/block/%s/device", disk))
		return;
	host = strstr(path, "/host");
	if (host)
		(void)sysfs_read(sysroot, ret_driver, size, "sys/class/scsi_host/%.*s/proc_name",
			(int)strcspn(host + 1, "/"), host + 1);
}

static bool contains(const char *text, const char *part)
{
	return strcasestr(text, part) != NULL;
}

/*
 * A volume that a controller makes of drives. hpsa and smartpqi say so in raid_level; the others
 * are known by how they call their volumes, or by a driver of RAID controllers together with the
 * controller maker's name where a plain drive would show its own maker (or ATA).
 */
static bool is_raid_volume(const char *sysroot, const char *disk, const struct device *device)
{
	static const char *const models[] = { "RAID", "PERC", "MegaRAID", "MR9", "MR8",
		"LOGICAL VOLUME", "Virtual Disk", "VIRTUAL-DISK", "Smart Array", "Logical Drive" };
	static const char *const drivers[] = { "megaraid_sas", "mpt3sas", "mpt2sas", "hpsa",
		"smartpqi", "aacraid", "arcmsr", "3w-9xxx", "3w-sas", "ips" };
	static const char *const makers[] = { "LSI", "AVAGO", "BROADCOM", "DELL", "HPE", "LENOVO",
		"IBM", "INTEL", "FTS", "CISCO", "Adaptec", "ASR", "Areca", "AMCC", "ServeRA" };
	char level[32], driver[64];
	bool raid_driver = false;

	if (sysfs_read(sysroot, level, sizeof(level), "sys/class/block/%s/device/raid_level",
		    disk) > 0)
		return strcmp(level, "N/A") != 0;
	if (strcmp(device->transport, "nvme") == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (contains(device->model, models[i]))
			return true;
	read_driver(sysroot, disk, driver, sizeof(driver));
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		raid_driver = raid_driver || strcmp(driver, drivers[i]) == 0;
	for (size_t i = 0; raid_driver && i < ARRAY_SIZE(makers); i++)
		if (strncasecmp(device->vendor, makers[i], strlen(makers[i])) == 0)
			return true;
	return false;
}

int device_read(
	const char *sysroot, const char *name, struct device *ret_device, struct error *error)
{
	_cleanup_properties_ struct properties *properties = NULL;
	struct device device = { 0 };
	unsigned disk_major, disk_minor;
	char whole[sizeof(device.name)];
	const char *disk = whole;

	sysfs_copy(device.name, sizeof(device.name), name);
	if (sysfs_number_of(sysroot, name, &device.major, &device.minor))
		return error_set(error, -ENOENT, "no such device: %s is not in %s/sys/class/block",
			name, sysroot ? sysroot : "");
	read_node(sysroot, &device);
	read_parent(sysroot, &device);
	sysfs_copy(whole, sizeof(whole), device.parent[0] ? device.parent : device.name);
	device.size_sectors = number(sysroot, name, "size", 0);
	device.read_only =
		number(sysroot, name, "ro", 0) != 0 || number(sysroot, disk, "ro", 0) != 0;
	device.removable = number(sysroot, disk, "removable", 0) != 0;
	device.diskseq = number(sysroot, disk, "diskseq", 0);
	(void)sysfs_read(
		sysroot, device.title, sizeof(device.title), "sys/class/block/%s/dm/name", name);
	if (sysfs_number_of(sysroot, disk, &disk_major, &disk_minor)) {
		disk_major = device.major;
		disk_minor = device.minor;
	}
	properties = properties_new(sysroot, disk_major, disk_minor);
	read_queue(sysroot, disk, &device);
	read_transport(sysroot, disk, properties, &device);
	read_backing(sysroot, disk, &device);
	device.size_bytes = bytes_of_sectors(device.size_sectors);
	identity_read_names(sysroot, disk, properties, &device);
	identity_derive(sysroot, bytes_of_sectors(number(sysroot, disk, "size", 0)), &device);
	device.raid_volume = is_raid_volume(sysroot, disk, &device);
	*ret_device = device;
	return 0;
}

static const char *kind_of_file(unsigned mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISCHR(mode))
		return "a character device";
	if (S_ISFIFO(mode))
		return "a named pipe";
	if (S_ISSOCK(mode))
		return "a socket";
	if (S_ISREG(mode))
		return "a regular file";
	return "something else";
}

static int explain_not_a_device(const char *name, unsigned mode, struct error *error)
{
	if (S_ISREG(mode) && starts_with(name, "/dev/"))
		return error_set(error, -ENOTBLK,
			"%s is a regular file below /dev, left there by somebody who wrote to a "
			"device that did not exist; it is not a block device",
			name);
	if (S_ISREG(mode))
		return error_set(error, -ENOTBLK,
			"%s is a regular file, not a block device; a file is named as "
			"file:%s,size=BYTES",
			name, name);
	return error_set(error, -ENOTBLK, "%s is %s, not a block device", name,
		mode ? kind_of_file(mode) : "not below /dev");
}

int device_find(
	const char *sysroot, const char *name, struct device *ret_device, struct error *error)
{
	unsigned device_major, device_minor, mode;
	char kernel_name[64];
	int result = sysfs_number_of_path(sysroot, name, &device_major, &device_minor, &mode);

	if (result == -ENOTBLK)
		return explain_not_a_device(name, mode, error);
	if (result == -EACCES)
		return error_set(error, result,
			"%s cannot be looked at: permission denied; "
			"run as root",
			name);
	if (result)
		return error_set(error, -ENOENT,
			"no such device: %s does not exist; see `bareplatter list`", name);
	result = sysfs_name_of(
		sysroot, device_major, device_minor, kernel_name, sizeof(kernel_name));
	if (result)
		return error_set(error, -ENOENT,
			"no such device: %s is a node for %u:%u, and the kernel has no device "
			"of that number",
			name, device_major, device_minor);
	return device_read(sysroot, kernel_name, ret_device, error);
}
