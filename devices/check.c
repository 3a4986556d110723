/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every reason against writing to a device; see the header.
 *
 * The order is from what needs no access to the device (mounts, swap, stack, the system's disk,
 * sysfs attributes) to what needs to open it (exclusive access, contents). A read-only open with
 * O_EXCL counts as looking: nothing is written, and it fails while anybody holds the device.
 */
#include "devices/check.h"

#include "devices/file_target.h"
#include "devices/identity.h"
#include "devices/mounts.h"
#include "devices/relations.h"
#include "devices/signature.h"
#include "devices/sysfs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The largest drive sold is 245.76 TB (Kioxia LC9, announced July 2025): four times that is no
 * single drive's true size yet. */
#define LARGEST_DRIVE_BYTES (1024 * TIB)

static void check_blocks(struct check_result *result)
{
	const struct device *device = &result->device;
	const uint32_t block = device->logical_block_bytes;

	if (device->size_bytes == 0)
		check_add(result, REASON_NO_MEDIUM, CHECK_HARD,
			"%s has a size of 0 bytes: no medium or unsupported sector size "
			"(drives formatted with 520 or 528 bytes must be reformatted to 512 or "
			"4096)",
			result->subject);
	if (block < 512 || block > 65536 || (block & (block - 1)))
		check_add(result, REASON_NO_MEDIUM, CHECK_HARD,
			"%s has an unsupported sector size of %u bytes; only powers of two from "
			"512 to 65536 can be used: reformat it to 512 or 4096",
			result->subject, block);
	/* Files and devices are addressed with signed 64-bit offsets. */
	if (device->size_bytes > INT64_MAX)
		check_add(result, REASON_SIZE_MISMATCH, CHECK_HARD,
			"%s claims %" PRIu64 " sectors of 512 bytes, more than can be addressed "
			"(2^63 bytes): its size is wrong",
			result->subject, device->size_sectors);
}

static bool is_a_drive(const struct device *device)
{
	static const char *const transports[] = { "sata", "sas", "scsi", "usb", "nvme", "fc",
		"iscsi", "mmc" };

	for (size_t i = 0; i < ARRAY_SIZE(transports); i++)
		if (strcmp(device->transport, transports[i]) == 0)
			return !device->raid_volume;
	return false;
}

/*
 * What the drive itself answered to IDENTIFY DEVICE, which the kernel keeps in the SCSI "ATA
 * Information" page (SAT-5, 12.4.2: the data start at byte 60; words as in ACS-4, 7.13.6).
 */
static uint64_t identified_bytes(const char *sysroot, const char *disk)
{
	uint8_t page[60 + 512];
	uint64_t sectors = 0;
	uint32_t sector_bytes = 512;

#define WORD(number) ((uint64_t)page[60 + 2 * (number)] | (uint64_t)page[61 + 2 * (number)] << 8)
	if (sysfs_read_bytes(sysroot, page, sizeof(page), "sys/class/block/%s/device/vpd_pg89",
		    disk) != (int)sizeof(page) ||
		!(WORD(83) & 1 << 10))
		return 0;
	for (int word = 103; word >= 100; word--)
		sectors = sectors << 16 | WORD(word);
	/* Bit 14 says that the word is valid, bit 12 that sectors are longer than 256 words. */
	if ((WORD(106) & 0xd000) == 0x5000)
		sector_bytes = (uint32_t)(2 * (WORD(118) << 16 | WORD(117)));
#undef WORD
	return sectors > UINT64_MAX / sector_bytes ? UINT64_MAX : sectors * sector_bytes;
}

static void check_size(const char *sysroot, struct check_result *result)
{
	const struct device *device = &result->device;
	const char *disk = device->is_partition ? device->parent : device->name;
	const uint64_t identified = identified_bytes(sysroot, disk);
	uint64_t disk_sectors = 0;
	struct stat status;

	(void)sysfs_read_u64(sysroot, &disk_sectors, "sys/class/block/%s/size", disk);
	if (identified && identified / 512 != disk_sectors)
		check_add(result, REASON_SIZE_MISMATCH, CHECK_NOTE,
			"%s: the kernel counts %" PRIu64 " bytes, the drive's own identity data "
			"say %" PRIu64 " bytes; the adapter between them may be the cause, and a "
			"load placed over the whole device would be wrong",
			result->subject, disk_sectors * 512, identified);
	else if (device->size_bytes <= INT64_MAX && device->size_bytes > LARGEST_DRIVE_BYTES &&
		 is_a_drive(device))
		check_add(result, REASON_SIZE_MISMATCH, CHECK_NOTE,
			"%s says it has %" PRIu64 " bytes, more than any single drive; the size is "
			"probably wrong",
			result->subject, device->size_bytes);
	if (!sysfs_is_recorded(sysroot) && device->backing_file[0] && !device->is_partition &&
		stat(device->backing_file, &status) == 0 && S_ISREG(status.st_mode) &&
		(uint64_t)status.st_size < device->size_bytes)
		check_add(result, REASON_SIZE_MISMATCH, CHECK_NOTE,
			"%s has %" PRIu64 " bytes, but its backing file %s only %jd: what lies "
			"beyond cannot be read",
			result->subject, device->size_bytes, device->backing_file,
			(intmax_t)status.st_size);
}

static void check_attributes(const char *sysroot, struct check_result *result)
{
	const struct device *device = &result->device;

	if (device->read_only)
		check_add(result, REASON_READ_ONLY, CHECK_HARD,
			"%s is read-only; see `blockdev --setrw` or the drive's write protection",
			result->subject);
	check_blocks(result);
	check_size(sysroot, result);
	if (strcmp(device->zoned, "host-managed") == 0)
		check_add(result, REASON_ZONED, CHECK_HARD,
			"%s has host-managed zones: they only take sequential writes, which a pool "
			"of files is not",
			result->subject);
	else if (strcmp(device->zoned, "host-aware") == 0 ||
		 strcmp(device->zoned, "drive-managed") == 0)
		check_add(result, REASON_ZONED, CHECK_NOTE,
			"%s has shingled %s zones: rates fall and requests stall once its media "
			"cache is full",
			result->subject, device->zoned);
	if (device->raid_volume)
		check_add(result, REASON_RAID_VOLUME, CHECK_NOTE,
			"%s (%s %s) is a volume of a RAID controller: neither cache nor depth of "
			"the drives can be seen from here",
			result->subject, device->vendor, device->model);
	if (device->diskseq == 0 && !device->wwn[0] && !device->serial[0] &&
		!device->backing_file[0])
		check_add(result, REASON_IDENTITY, CHECK_NOTE,
			"%s has no world-wide name, no serial number and no sequence number: its "
			"identity %s is little more than its size",
			result->subject, device->identity);
}

static void add_signatures(
	struct check_result *result, const struct signature_list *list, const char *source)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct signature *found = &list->signatures[i];
		char where[64] = "", offset[48] = "", label[128] = "";

		if (found->partition)
			(void)snprintf(where, sizeof(where), " in partition %u", found->partition);
		if (!source[0])
			(void)snprintf(
				offset, sizeof(offset), " at byte %" PRIu64, found->offset_bytes);
		if (found->label[0])
			(void)snprintf(label, sizeof(label), ", label \"%s\"", found->label);
		check_add(result, REASON_CONTENTS, CHECK_CONTENTS, "%s holds a %s: %s%s%s%s%s",
			result->subject, found->kind, found->type, where, offset, label, source);
	}
}

void check_contents(struct check_result *result, int fd, uint64_t size_bytes)
{
	_cleanup_signatures_ struct signature_list list = { 0 };
	const struct device *device = &result->device;
	struct signature_range ranges[64];
	size_t count = 0;

	if (device->name[0] && !device->is_partition)
		count = relations_partition_ranges(device->name, ranges, ARRAY_SIZE(ranges));
	if (signature_probe(fd, size_bytes, ranges, count, &list) || !list.complete)
		check_add(result, REASON_UNREADABLE, CHECK_CONTENTS,
			"%s could not be read everywhere, so it is not known whether it holds "
			"anything",
			result->subject);
	add_signatures(result, &list, "");
}

static void check_recorded_contents(const char *sysroot, struct check_result *result)
{
	_cleanup_signatures_ struct signature_list list = { 0 };
	const struct device *device = &result->device;
	_cleanup_names_ struct sysfs_names inside =
		sysfs_list(sysroot, "sys/class/block/%s", device->name);

	signature_recorded(sysroot, device->major, device->minor, 0, &list);
	for (size_t i = 0; i < inside.count; i++) {
		unsigned part_major, part_minor;
		uint64_t partition;

		if (sysfs_read_u64(sysroot, &partition, "sys/class/block/%s/%s/partition",
			    device->name, inside.names[i]) == 0 &&
			sysfs_number_of(sysroot, inside.names[i], &part_major, &part_minor) == 0)
			signature_recorded(
				sysroot, part_major, part_minor, (unsigned)partition, &list);
	}
	add_signatures(result, &list, " (as udev recorded it)");
}

static bool is_explained(const struct check_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		if (result->findings[i].reason == REASON_MOUNTED ||
			result->findings[i].reason == REASON_SWAP ||
			result->findings[i].reason == REASON_HELD)
			return true;
	return false;
}

static int open_to_look(const char *name, int flags, const struct device *device)
{
	const int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && S_ISBLK(status.st_mode) &&
		status.st_rdev == makedev(device->major, device->minor))
		return fd;
	(void)close(fd);
	return -ENODEV;
}

static void check_opened(const char *name, struct check_result *result)
{
	int fd = open_to_look(name, O_EXCL, &result->device);

	if (fd == -EBUSY) {
		if (!is_explained(result))
			check_add(result, REASON_HELD, CHECK_HARD,
				"%s is held by another program or by the kernel (an exclusive open "
				"is refused); see `fuser -v %s`",
				result->subject, result->device.node);
		fd = open_to_look(name, 0, &result->device);
	}
	if (fd < 0) {
		check_add(result, REASON_UNREADABLE, CHECK_HARD, "%s cannot be opened: %s%s",
			result->subject, strerror(-fd),
			fd == -EACCES  ? "; run as root"
			: fd == -EPERM ? " for programs in this container"
				       : "");
		return;
	}
	identity_refine(fd, &result->device);
	check_contents(result, fd, result->device.size_bytes);
	(void)close(fd);
}

static void name_subject(const char *name, struct check_result *result)
{
	if (strcmp(name, result->device.node) == 0 || !result->device.node[0])
		sysfs_copy(result->subject, sizeof(result->subject), name);
	else
		(void)snprintf(result->subject, sizeof(result->subject), "%.150s (%s)", name,
			result->device.node);
}

int check_device(
	const char *sysroot, const char *name, struct check_result *ret_result, struct error *error)
{
	struct check_result result = { 0 };
	struct error found = { 0 };
	int code;

	if (file_target_is(name)) {
		code = file_target_check(name, &result, error);
	} else {
		code = device_find(sysroot, name, &result.device, &found);
		name_subject(name, &result);
		if (code == -ENOTBLK) {
			check_add(&result, REASON_NOT_A_DEVICE, CHECK_HARD, "%s", found.text);
			code = 0;
		} else if (code) {
			return error_set(error, code, "%s", found.text);
		} else {
			code = relations_check(sysroot, &result, error);
			if (!code)
				check_attributes(sysroot, &result);
			if (!code && sysfs_is_recorded(sysroot))
				check_recorded_contents(sysroot, &result);
			else if (!code && result.device.size_bytes)
				check_opened(name, &result);
		}
	}
	if (code)
		check_result_done(&result);
	else
		*ret_result = result;
	return code;
}
