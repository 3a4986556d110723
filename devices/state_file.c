/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A record on disk, and the lock that says whose it is; see the header. */
#include "devices/state_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".state"
#define SUFFIX_NEW ".new"

/* What remains of NAME_MAX for the identity, with a hash and both suffixes behind it. */
#define NAME_USED_MAX 200

/* Who only looks at a record holds its lock for microseconds; who uses the device, for long. */
#define LOCK_ATTEMPTS 5
#define LOCK_PAUSE_USEC 10000

struct path {
	char text[PATH_MAX + NAME_MAX + 16];
};

static struct path path_of(const char *folder, const char *name, const char *suffix)
{
	struct path path;

	(void)snprintf(path.text, sizeof(path.text), "%s/%s%s", folder, name, suffix);
	return path;
}

static int sync_folder(const char *folder)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int sync_parent(const char *folder)
{
	struct path parent = path_of(folder, "..", "");

	return sync_folder(parent.text);
}

int state_folder_open(const char *path, char *ret_folder, size_t size, struct error *error)
{
	_cleanup_free_ char *real = NULL;
	const bool made = mkdir(path, 0700) == 0;
	struct stat status;

	if (!made && errno != EEXIST)
		return error_set(error, -errno,
			"the folder for records, %s, cannot be made: %s; without a record nothing "
			"is changed; --state-dir names another",
			path, strerror(errno));
	real = realpath(path, NULL);
	if (!real || stat(real, &status) < 0)
		return error_set(error, -errno, "the folder for records, %s, cannot be opened: %s",
			path, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return error_set(error, -ENOTDIR, "%s is no folder, and records need one", path);
	if (status.st_uid != geteuid() || (status.st_mode & 022))
		return error_set(error, -EPERM,
			"%s may be written by others, who could have any value put into a device; "
			"chown it to the user and chmod 0700, or name another by --state-dir",
			path);
	if (strlen(real) >= size)
		return error_set(error, -ENAMETOOLONG, "%s is too long a path", path);
	if (made && sync_parent(real))
		return error_set(
			error, -errno, "%s cannot be written to disk: %s", path, strerror(errno));
	sysfs_copy(ret_folder, size, real);
	return 0;
}

static bool is_record(const char *name)
{
	const size_t length = strlen(name), suffix = strlen(SUFFIX);

	return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

struct sysfs_names state_folder_list(const char *folder)
{
	struct sysfs_names names = sysfs_list(NULL, "%s", folder);
	size_t kept = 0;

	for (size_t i = 0; i < names.count; i++) {
		if (is_record(names.names[i]))
			names.names[kept++] = names.names[i];
		else
			free(names.names[i]);
	}
	names.count = kept;
	return names;
}

void state_file_name(const char *identity, char *ret_name, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, draft-eastlake-fnv */
	char name[DEVICE_TEXT * 2 * 3 + 1] = "", end[32] = SUFFIX;
	size_t used = 0;

	for (const char *at = identity; *at; at++) {
		const unsigned char byte = (unsigned char)*at;
		const bool plain = isalnum(byte) || (used && strchr("._:-", byte));

		hash = (hash ^ byte) * UINT64_C(0x100000001b3);
		used += (size_t)snprintf(
			name + used, sizeof(name) - used, plain ? "%c" : "%%%02X", byte);
		assert(used < sizeof(name));
	}
	if (used > NAME_USED_MAX)
		(void)snprintf(end, sizeof(end), "-%016" PRIx64 SUFFIX, hash);
	(void)snprintf(ret_name, size, "%.*s%s", NAME_USED_MAX, name, end);
}

/* 1 and the record, 0 for an empty file. */
static int read_record(int fd, struct state_record *ret_record, struct error *error)
{
	char text[STATE_RECORD_TEXT + 1];
	const ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
	int code;

	*ret_record = (struct state_record){ 0 };
	if (length < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	if (length == 0)
		return 0;
	text[length] = '\0';
	code = state_record_parse(text, ret_record, error);
	return code ? code : 1;
}

static bool still_named(int fd, const char *path)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* The descriptor of the locked file, or -errno. */
static int lock_path(const char *path, bool create, struct state_record *ret_record)
{
	for (int attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
		const int fd =
			open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);
		int code = 0;

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			code = errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (!code && still_named(fd, path))
			return fd;
		if (code == -EBUSY)
			(void)read_record(fd, ret_record, NULL);
		(void)close(fd);
		if (code && code != -EBUSY)
			return code;
		(void)usleep(LOCK_PAUSE_USEC);
	}
	return -EBUSY;
}

int state_file_lock(const char *folder, const char *name, bool create, struct state_file *ret_file,
	struct state_record *ret_record, struct error *error)
{
	const struct path path = path_of(folder, name, "");
	struct error reason = { 0 };
	struct state_file file;
	int code;

	*ret_record = (struct state_record){ 0 };
	file.fd = lock_path(path.text, create, ret_record);
	if (file.fd == -EBUSY || file.fd == -ENOENT)
		return file.fd;
	if (file.fd < 0)
		return error_set(error, file.fd, "the record %s cannot be opened: %s", path.text,
			strerror(-file.fd));
	code = read_record(file.fd, ret_record, &reason);
	if (code < 0)
		(void)error_set(error, code,
			"the record %s: %s; look into it, then `bareplatter "
			"restore --forget %s` removes it",
			path.text, reason.text, name);
	if (code < 0 && code != -EBADMSG) {
		(void)close(file.fd);
		return code;
	}
	sysfs_copy(file.folder, sizeof(file.folder), folder);
	sysfs_copy(file.name, sizeof(file.name), name);
	*ret_file = file;
	return code;
}

/* A locked file with the record in it, on disk. */
static int write_new(const char *path, const struct state_record *record)
{
	char text[STATE_RECORD_TEXT];
	const size_t length = state_record_write(record, text, sizeof(text));
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	ssize_t written;
	int code = 0;

	if (fd < 0)
		return -errno;
	written = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -1 : write(fd, text, length);
	if (written < 0)
		code = -errno;
	else if ((size_t)written != length)
		code = -ENOSPC;
	else if (fsync(fd) < 0)
		code = -errno;
	if (!code)
		return fd;
	(void)close(fd);
	(void)unlink(path);
	return code;
}

int state_file_save(struct state_file *file, const struct state_record *record, struct error *error)
{
	const struct path path = path_of(file->folder, file->name, "");
	const struct path new = path_of(file->folder, file->name, SUFFIX_NEW);
	const int fd = write_new(new.text, record);
	int code = fd < 0 ? fd : 0;

	if (fd >= 0 && rename(new.text, path.text) < 0) {
		code = -errno;
		(void)unlink(new.text);
		(void)close(fd);
	} else if (fd >= 0) {
		(void)close(file->fd);
		file->fd = fd;
		code = sync_folder(file->folder);
	}
	return code ? error_set(error, code, "the record %s cannot be written: %s", path.text,
			      strerror(-code))
		    : 0;
}

int state_file_peek(
	const char *folder, const char *name, struct state_record *ret_record, struct error *error)
{
	const struct path path = path_of(folder, name, "");
	_cleanup_close_ int fd = open(path.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct error reason = { 0 };
	int code;

	if (fd < 0)
		return error_set(error, -errno, "the record %s cannot be opened: %s", path.text,
			strerror(errno));
	code = read_record(fd, ret_record, &reason);
	return code < 0 ? error_set(error, code, "the record %s: %s", path.text, reason.text)
			: code;
}

int state_file_remove(struct state_file *file, struct error *error)
{
	const struct path path = path_of(file->folder, file->name, "");
	const struct path new = path_of(file->folder, file->name, SUFFIX_NEW);
	int code = unlink(path.text) < 0 ? -errno : 0;

	/* Left by a process that was killed while it wrote. */
	(void)unlink(new.text);
	if (!code)
		code = sync_folder(file->folder);

	state_file_close(file);
	return code ? error_set(error, code, "the record %s cannot be removed: %s", path.text,
			      strerror(-code))
		    : 0;
}

void state_file_close(struct state_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
}
