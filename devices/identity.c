/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a user states after --write; see the header. */
#include "devices/identity.h"

#include "devices/sysfs.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static void copy_clean(char *ret_text, size_t size, const char *text)
{
	sysfs_copy(ret_text, size, text);
	sysfs_trim(ret_text);
	for (char *at = ret_text; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = '_';
}

/* udev writes blanks and odd bytes of *_ENC values as \xNN. */
static void copy_decoded(char *ret_text, size_t size, const char *text)
{
	char decoded[DEVICE_TEXT];
	size_t used = 0;

	while (*text && used + 1 < sizeof(decoded)) {
		if (text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
			isxdigit((unsigned char)text[3])) {
			const char digits[3] = { text[2], text[3], '\0' };

			decoded[used++] = (char)strtoul(digits, NULL, 16);
			text += 4;
		} else {
			decoded[used++] = *text++;
		}
	}
	decoded[used] = '\0';
	copy_clean(ret_text, size, decoded);
}

/* sysfs says `naa.5000...` where udev says `0x5000...`. A wwid that is no world-wide name
 * (`t10.`) is left out, as udev leaves it out. */
static void read_wwn(
	const char *sysroot, const char *disk, struct properties *properties, struct device *device)
{
	const char *known = properties_get(properties, "ID_WWN_WITH_EXTENSION");
	char text[DEVICE_TEXT];

	if (!known)
		known = properties_get(properties, "ID_WWN");
	if (known) {
		copy_clean(device->wwn, sizeof(device->wwn), known);
		return;
	}
	if (sysfs_read(sysroot, text, sizeof(text), "sys/class/block/%s/wwid", disk) <= 0)
		(void)sysfs_read(
			sysroot, text, sizeof(text), "sys/class/block/%s/device/wwid", disk);
	if (strncmp(text, "naa.", 4) == 0)
		(void)snprintf(
			device->wwn, sizeof(device->wwn), "0x%.*s", DEVICE_TEXT - 8, text + 4);
	else if (strncmp(text, "eui.", 4) == 0 || strncmp(text, "uuid.", 5) == 0 ||
		 strncmp(text, "nvme.", 5) == 0)
		copy_clean(device->wwn, sizeof(device->wwn), text);
}

/* The USB device is some folders above the disk; it has the serial beside its idVendor. */
static bool read_usb_serial(const char *sysroot, const char *disk, struct device *device)
{
	char path[PATH_MAX], text[DEVICE_TEXT];
	char *slash;

	if (sysfs_real_path(sysroot, path, sizeof(path), "sys/class/block/%s", disk))
		return false;
	while ((slash = strrchr(path, '/')) && slash > path) {
		*slash = '\0';
		if (!sysfs_exists(NULL, "%s/idVendor", path))
			continue;
		if (sysfs_read(NULL, text, sizeof(text), "%s/serial", path) <= 0)
			return false;
		copy_clean(device->serial, sizeof(device->serial), text);
		return true;
	}
	return false;
}

/* Unit serial number page of SCSI: four bytes of header, then the text (SPC-5, 7.7.18). */
static bool read_vpd_serial(const char *sysroot, const char *disk, struct device *device)
{
	char page[4 + DEVICE_TEXT] = { 0 };
	const int got = sysfs_read_bytes(
		sysroot, page, sizeof(page) - 1, "sys/class/block/%s/device/vpd_pg80", disk);

	if (got <= 4)
		return false;
	copy_clean(device->serial, sizeof(device->serial), page + 4);
	return device->serial[0] != '\0';
}

static void read_serial(
	const char *sysroot, const char *disk, struct properties *properties, struct device *device)
{
	static const char *const keys[] = { "SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL",
		"ID_SERIAL_SHORT" };
	static const char *const files[] = { "serial", "device/serial", "dm/uuid", "md/uuid" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = properties_get(properties, keys[i]);

		if (value) {
			copy_clean(device->serial, sizeof(device->serial), value);
			return;
		}
	}
	if (strcmp(device->transport, "usb") == 0 && read_usb_serial(sysroot, disk, device))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char text[DEVICE_TEXT];

		if (sysfs_read(sysroot, text, sizeof(text), "sys/class/block/%s/%s", disk,
			    files[i]) > 0) {
			copy_clean(device->serial, sizeof(device->serial), text);
			return;
		}
	}
	(void)read_vpd_serial(sysroot, disk, device);
}

void identity_read_names(
	const char *sysroot, const char *disk, struct properties *properties, struct device *device)
{
	const char *encoded = properties_get(properties, "ID_MODEL_ENC");
	const char *model = properties_get(properties, "ID_MODEL");
	char text[DEVICE_TEXT];

	if (encoded) {
		copy_decoded(device->model, sizeof(device->model), encoded);
	} else if (model) {
		copy_clean(device->model, sizeof(device->model), model);
	} else {
		(void)sysfs_read(
			sysroot, text, sizeof(text), "sys/class/block/%s/device/model", disk);
		copy_clean(device->model, sizeof(device->model), text);
	}
	(void)sysfs_read(sysroot, text, sizeof(text), "sys/class/block/%s/device/vendor", disk);
	/* PCI-like numbers (virtio: 0x1af4) say nothing to a reader. */
	if (strncmp(text, "0x", 2) != 0)
		copy_clean(device->vendor, sizeof(device->vendor), text);
	if (!device->vendor[0] && properties_get(properties, "ID_VENDOR"))
		copy_clean(device->vendor, sizeof(device->vendor),
			properties_get(properties, "ID_VENDOR"));
	read_wwn(sysroot, disk, properties, device);
	read_serial(sysroot, disk, properties, device);
}

static void derive_loop(const char *sysroot, struct device *device)
{
	char path[PATH_MAX];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s%s", sysroot ? sysroot : "", device->backing_file);
	if (stat(path, &status) == 0)
		(void)snprintf(device->identity, sizeof(device->identity), "loop:%ju-%ju-%jd",
			(uintmax_t)status.st_ino, (uintmax_t)status.st_dev,
			(intmax_t)status.st_size);
}

void identity_derive(const char *sysroot, uint64_t disk_bytes, struct device *device)
{
	device->identity[0] = '\0';
	if (device->wwn[0])
		sysfs_copy(device->identity, sizeof(device->identity), device->wwn);
	else if (device->serial[0])
		sysfs_copy(device->identity, sizeof(device->identity), device->serial);
	else if (device->backing_file[0])
		derive_loop(sysroot, device);
	if (!device->identity[0])
		(void)snprintf(device->identity, sizeof(device->identity),
			"%s:%" PRIu64 ":%" PRIu64,
			device->transport[0] ? device->transport : "disk", disk_bytes,
			device->diskseq);
	for (char *at = device->identity; *at; at++)
		if (!isgraph((unsigned char)*at))
			*at = '_';
	if (device->is_partition) {
		const size_t used = min_u64(strlen(device->identity), DEVICE_TEXT + 32);

		(void)snprintf(device->identity + used, sizeof(device->identity) - used, "-part%u",
			device->partition_number);
	}
}

void identity_refine(int fd, struct device *device)
{
	struct loop_info64 info;
	struct stat status;
	uint64_t size = device->size_bytes;

	/* A partition of a loop device answers the same question about its disk, but its own size
	 * is not the file's; its disk was read from sysfs and stays so. */
	if (strcmp(device->transport, "loop") != 0 || device->is_partition ||
		ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
		return;
	if (stat(device->backing_file, &status) == 0 && status.st_ino == info.lo_inode &&
		status.st_dev == info.lo_device)
		size = (uint64_t)status.st_size;
	(void)snprintf(device->identity, sizeof(device->identity),
		"loop:%" PRIu64 "-%" PRIu64 "-%" PRIu64, (uint64_t)info.lo_inode,
		(uint64_t)info.lo_device, size);
}

void identity_of_file(const struct stat *status, char *ret_identity, size_t size)
{
	(void)snprintf(ret_identity, size, "file:%ju-%ju-%jd", (uintmax_t)status->st_ino,
		(uintmax_t)status->st_dev, (intmax_t)status->st_size);
}
