/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets that are no device; see the header. */
#include "devices/file_target.h"

#include "devices/identity.h"
#include "devices/swap.h"
#include "devices/sysfs.h"
#include "engine/units.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NULL_SIZE_BYTES (1 * TIB)
#define FALLBACK_PHYSICAL_BYTES 4096 /* the page and block size of the usual file systems */

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool file_target_is(const char *text)
{
	return starts_with(text, "file:") || starts_with(text, "sim:") ||
	       strcmp(text, "null") == 0 || starts_with(text, "null,");
}

/* The last `,size=`, because a path may contain commas itself. */
static const char *find_size(const char *text)
{
	const char *found = NULL, *at = text;

	while ((at = strstr(at, ",size=")))
		found = at++;
	return found;
}

int file_target_parse(const char *text, enum target_kind *ret_kind, char *ret_path,
	size_t path_size, uint64_t *ret_size_bytes, struct error *error)
{
	const bool is_null = starts_with(text, "null");
	const char *start = is_null ? text : text + strlen("file:");
	const char *size = find_size(text);
	const size_t length = size ? (size_t)(size - start) : strlen(start);

	if (starts_with(text, "sim:"))
		return error_set(error, -EINVAL,
			"%s: simulated drives are not in this version; name a block device, "
			"file:PATH,size=BYTES or null",
			text);
	if (is_null && length != strlen("null"))
		return error_set(error, -EINVAL,
			"%s is not understood; it is null or null,size=BYTES", text);
	if (length == 0 || length >= path_size)
		return error_set(
			error, -EINVAL, "%s names no file; it is file:PATH,size=BYTES", text);
	*ret_kind = is_null ? TARGET_NULL : TARGET_FILE;
	memcpy(ret_path, start, length);
	ret_path[length] = '\0';
	*ret_size_bytes = is_null ? NULL_SIZE_BYTES : 0;
	if (!size)
		return 0;
	if (units_parse_size(size + strlen(",size="), ret_size_bytes, error))
		return -EINVAL;
	if (*ret_size_bytes == 0 || *ret_size_bytes > INT64_MAX)
		return error_set(error, -EINVAL, "%s: a target of %" PRIu64 " bytes cannot be used",
			text, *ret_size_bytes);
	return 0;
}

static bool is_same_file(const char *path, const struct stat *status)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_ino == status->st_ino &&
	       other.st_dev == status->st_dev;
}

static void check_users(const char *path, const struct stat *status, struct check_result *result)
{
	_cleanup_names_ struct sysfs_names all = sysfs_list(NULL, "sys/class/block");
	_cleanup_mounts_ struct mount_list mounts = { 0 };
	_cleanup_swaps_ struct swap_list swaps = { 0 };

	for (size_t i = 0; i < all.count; i++) {
		char file[PATH_MAX];

		if (sysfs_read(NULL, file, sizeof(file), "sys/class/block/%s/loop/backing_file",
			    all.names[i]) > 0 &&
			is_same_file(file, status))
			check_add(result, REASON_HELD, CHECK_HARD,
				"%s is behind the loop device /dev/%s; detach it, or name that "
				"device",
				path, all.names[i]);
	}
	swap_read(NULL, &mounts, &swaps);
	for (size_t i = 0; i < swaps.count; i++)
		if (is_same_file(swaps.swaps[i].path, status))
			check_add(result, REASON_SWAP, CHECK_HARD,
				"%s is active swap; `swapoff` it first", path);
}

static void describe(int fd, const char *path, const struct stat *status, struct device *device)
{
	struct statfs volume;

	sysfs_copy(device->name, sizeof(device->name), sysfs_base_name(path));
	sysfs_copy(device->node, sizeof(device->node), path);
	sysfs_copy(device->transport, sizeof(device->transport), "file");
	device->size_bytes = (uint64_t)status->st_size;
	device->size_sectors = device->size_bytes / 512;
	device->memory_backed = fstatfs(fd, &volume) == 0 &&
				(volume.f_type == TMPFS_MAGIC || volume.f_type == RAMFS_MAGIC);
	identity_of_file(status, device->identity, sizeof(device->identity));
}

static int check_file(const char *path, struct check_result *result, struct error *error)
{
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (stat(path, &status) < 0)
		return error_set(error, -errno,
			errno == ENOENT ? "%s does not exist yet; a run with --write makes it"
					: "%s cannot be looked at",
			path);
	if (!S_ISREG(status.st_mode)) {
		check_add(result, REASON_NOT_A_DEVICE, CHECK_HARD,
			"%s is not a regular file; a device is named without file:", path);
		return 0;
	}
	/* O_NONBLOCK, because somebody may have put a pipe there just now. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0) {
		check_add(result, REASON_UNREADABLE, CHECK_HARD, "%s cannot be opened: %s", path,
			strerror(errno));
		return 0;
	}
	describe(fd, path, &status, &result->device);
	if (file_target_geometry(fd, path, &result->device.logical_block_bytes,
		    &result->device.physical_block_bytes, NULL))
		check_add(result, REASON_UNREADABLE, CHECK_HARD,
			"%s lies on a file system without direct I/O", path);
	if (status.st_size == 0)
		check_add(result, REASON_NO_MEDIUM, CHECK_HARD,
			"%s has a size of 0 bytes; remove it, and a run makes it in full size",
			path);
	check_users(path, &status, result);
	if (status.st_size > 0) {
		const struct device device = result->device;

		/* A file has no partitions in sysfs. */
		result->device.name[0] = '\0';
		check_contents(result, fd, device.size_bytes);
		result->device = device;
	}
	return 0;
}

int file_target_check(const char *text, struct check_result *ret_result, struct error *error)
{
	struct check_result result = { 0 };
	enum target_kind kind;
	char path[PATH_MAX];
	uint64_t size_bytes;
	int code = file_target_parse(text, &kind, path, sizeof(path), &size_bytes, error);

	if (code)
		return code;
	sysfs_copy(result.subject, sizeof(result.subject), path);
	if (kind == TARGET_FILE) {
		code = check_file(path, &result, error);
	} else {
		sysfs_copy(result.device.name, sizeof(result.device.name), "null");
		sysfs_copy(result.device.identity, sizeof(result.device.identity), "null");
		result.device.size_bytes = size_bytes;
		result.device.logical_block_bytes = 512;
		result.device.physical_block_bytes = FALLBACK_PHYSICAL_BYTES;
	}
	if (code)
		check_result_done(&result);
	else
		*ret_result = result;
	return code;
}

/* A misspelt node would become a file in the memory behind /dev and give fine figures. */
static int refuse_below_dev(const char *path, struct error *error)
{
	char copy[PATH_MAX], real[PATH_MAX];

	sysfs_copy(copy, sizeof(copy), path);
	if (!realpath(dirname(copy), real))
		return error_set(
			error, -ENOENT, "%s cannot be made: its folder: %s", path, strerror(errno));
	if ((strcmp(real, "/dev") == 0 || starts_with(real, "/dev/")) &&
		!starts_with(real, "/dev/shm"))
		return error_set(error, -EINVAL,
			"%s would become a plain file below /dev; name a folder on a disk", path);
	return 0;
}

static int set_direct(int fd, const char *path, struct error *error)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) < 0)
		return error_set(error, -EOPNOTSUPP,
			"%s lies on a file system without direct I/O (tmpfs before Linux 6.6, for "
			"example); choose a folder on a disk",
			path);
	return 0;
}

static int lock(int fd, const char *path, struct error *error)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return error_set(error, errno == EWOULDBLOCK ? -EPERM : -errno,
		"%s is locked by another program", path);
}

static int fill(int fd, const char *path, uint64_t size_bytes, struct error *error)
{
	int code;

	do
		code = fallocate(fd, 0, 0, (off_t)size_bytes) < 0 ? -errno : 0;
	while (code == -EINTR);
	if (code == -ENOSPC || code == -EFBIG || code == -EDQUOT)
		return error_set(error, code,
			"%s cannot be made with %" PRIu64 " bytes: %s; choose another folder or a "
			"smaller size",
			path, size_bytes, strerror(-code));
	if (code)
		return error_set(error, code,
			"the blocks of %s cannot be allocated: %s; a sparse file would not measure "
			"the disk",
			path, strerror(-code));
	return 0;
}

int file_target_create(const char *path, uint64_t size_bytes, struct error *error)
{
	int fd, code = refuse_below_dev(path, error);

	if (code)
		return code;
	if (size_bytes == 0)
		return error_set(error, -EINVAL,
			"%s does not exist, and its size is not stated: file:%s,size=BYTES", path,
			path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_set(error, -errno, "%s cannot be made: %s", path, strerror(errno));
	code = lock(fd, path, error);
	/* Direct I/O only now: an open with O_DIRECT that fails would leave the file behind. */
	if (!code)
		code = set_direct(fd, path, error);
	if (!code)
		code = fill(fd, path, size_bytes, error);
	if (code) {
		(void)unlink(path);
		(void)close(fd);
		return code;
	}
	return fd;
}

int file_target_open(const char *path, bool write, struct error *error)
{
	const int fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	int code = 0;

	if (fd < 0)
		return error_set(error, -errno, "%s cannot be opened: %s", path, strerror(errno));
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		code = error_set(error, -EINVAL,
			"%s is not a regular file; a device is named without file:", path);
	if (!code && write)
		code = lock(fd, path, error);
	if (!code)
		code = set_direct(fd, path, error);
	if (code) {
		(void)close(fd);
		return code;
	}
	return fd;
}

/* Kernels before 6.1 do not tell the alignment; then one read of 512 bytes does. */
static uint32_t try_512(int fd)
{
	_cleanup_free_ void *buffer = NULL;

	if (posix_memalign(&buffer, 4096, 4096) == 0 && pread(fd, buffer, 512, 0) >= 0)
		return 512;
	return 4096;
}

int file_target_geometry(int fd, const char *path, uint32_t *ret_logical_bytes,
	uint32_t *ret_physical_bytes, struct error *error)
{
	uint32_t logical = 0;
#ifdef STATX_DIOALIGN
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
		status.stx_mask & STATX_DIOALIGN) {
		if (status.stx_dio_offset_align == 0)
			return error_set(error, -EOPNOTSUPP,
				"%s lies on a file system without direct I/O; choose a folder on "
				"a disk",
				path);
		logical = (uint32_t)max_u64(status.stx_dio_offset_align, status.stx_dio_mem_align);
	}
#endif
	*ret_logical_bytes = logical ? (uint32_t)max_u64(logical, 512) : try_512(fd);
	*ret_physical_bytes = (uint32_t)max_u64(*ret_logical_bytes, FALLBACK_PHYSICAL_BYTES);
	return 0;
}
