/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One setting of a disk's queue; see the header. */
#include "devices/queue_setting.h"

#include "devices/sysfs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *path;
} table[QUEUE_SETTING_COUNT] = {
	[QUEUE_SCHEDULER] = { "scheduler", "queue/scheduler" },
	[QUEUE_NR_REQUESTS] = { "nr_requests", "queue/nr_requests" },
	[QUEUE_NOMERGES] = { "nomerges", "queue/nomerges" },
	[QUEUE_WBT] = { "wbt_lat_usec", "queue/wbt_lat_usec" },
	[QUEUE_DRIVE_DEPTH] = { "queue_depth", "device/queue_depth" },
};

const char *queue_setting_name(enum queue_setting setting)
{
	return table[setting].name;
}

int queue_setting_find(const char *name)
{
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		if (strcmp(table[i].name, name) == 0)
			return i;
	return -1;
}

bool queue_setting_follows_scheduler(enum queue_setting setting)
{
	return setting == QUEUE_NR_REQUESTS || setting == QUEUE_WBT;
}

int queue_setting_schedulers(const char *sysroot, const char *disk, struct scheduler_file *ret_file)
{
	char text[1024];
	const int length = sysfs_read(sysroot, text, sizeof(text), "sys/class/block/%s/%s", disk,
		table[QUEUE_SCHEDULER].path);

	return length < 0 ? length : scheduler_file_parse(text, ret_file);
}

static int read_scheduler(const char *sysroot, const char *disk, char *ret_value)
{
	struct scheduler_file file;
	const int code = queue_setting_schedulers(sysroot, disk, &file);

	if (code)
		return code;
	sysfs_copy(ret_value, QUEUE_VALUE, scheduler_file_active(&file));
	return ret_value[0] ? 0 : -EOPNOTSUPP;
}

int queue_setting_read(
	const char *sysroot, const char *disk, enum queue_setting setting, char *ret_value)
{
	int length;

	ret_value[0] = '\0';
	if (setting == QUEUE_SCHEDULER)
		return read_scheduler(sysroot, disk, ret_value);
	length = sysfs_read(sysroot, ret_value, QUEUE_VALUE, "sys/class/block/%s/%s", disk,
		table[setting].path);
	/* wbt_lat_usec cannot be read before wbt was first switched on (queue_wb_lat_show). */
	if (length == 0 || (length == -EINVAL && setting == QUEUE_WBT))
		return -EOPNOTSUPP;
	return length < 0 ? length : 0;
}

static int make_path(const char *sysroot, const char *disk, enum queue_setting setting,
	char *ret_path, size_t size)
{
	const int length = snprintf(ret_path, size, "%s/sys/class/block/%s/%s",
		sysroot ? sysroot : "", disk, table[setting].path);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int queue_setting_writable(const char *sysroot, const char *disk, enum queue_setting setting)
{
	char path[PATH_MAX];
	const int code = make_path(sysroot, disk, setting, path, sizeof(path));

	if (code)
		return code;
	return access(path, W_OK) < 0 ? -errno : 0;
}

int queue_setting_write(
	const char *sysroot, const char *disk, enum queue_setting setting, const char *value)
{
	_cleanup_close_ int fd = -1;
	const size_t length = strlen(value);
	char path[PATH_MAX];
	const int code = make_path(sysroot, disk, setting, path, sizeof(path));
	ssize_t written;

	if (code)
		return code;
	/* sysfs takes a value by one write; O_TRUNC means something to a recorded machine only. */
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		written = write(fd, value, length);
	} while (written < 0 && errno == EINTR);
	if (written < 0)
		return -errno;
	return (size_t)written == length ? 0 : -EIO;
}

int queue_setting_inode(const char *sysroot, const char *disk, uint64_t *ret_inode)
{
	char path[PATH_MAX];
	struct stat status;
	const int code =
		sysfs_real_path(sysroot, path, sizeof(path), "sys/class/block/%s/queue", disk);

	if (code)
		return code;
	if (stat(path, &status) < 0)
		return -errno;
	*ret_inode = status.st_ino;
	return 0;
}
