/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small reads below a root prefix; see the header. */
#include "devices/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* /proc/PID/mountinfo of a container host can be large; beyond this it is not a text to read. */
#define WHOLE_FILE_MAX ((size_t)64 * 1024 * 1024)

struct path {
	char text[PATH_MAX];
};

static int __attribute__((format(printf, 3, 0)))
make_path(struct path *path, const char *sysroot, const char *format, va_list args)
{
	const char *prefix = sysroot ? sysroot : "";
	const int used = snprintf(path->text, sizeof(path->text), "%s/", prefix);
	int more;

	if (used < 0 || (size_t)used >= sizeof(path->text))
		return -ENAMETOOLONG;
	/* Callers name paths both as `sys/...` and as the absolute names that files hold. */
	if (format[0] == '/')
		format++;
	more = vsnprintf(path->text + used, sizeof(path->text) - (size_t)used, format, args);
	if (more < 0 || (size_t)(used + more) >= sizeof(path->text))
		return -ENAMETOOLONG;
	return 0;
}

#define PATH_OR_RETURN(path, sysroot, format)                                                      \
	do {                                                                                       \
		va_list path_args;                                                                 \
		int path_error;                                                                    \
                                                                                                   \
		va_start(path_args, format);                                                       \
		path_error = make_path((path), (sysroot), (format), path_args);                    \
		va_end(path_args);                                                                 \
		if (path_error)                                                                    \
			return path_error;                                                         \
	} while (0)

static int read_start(const char *path, void *buffer, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t used = 0;

	if (fd < 0)
		return -errno;
	while (used < size) {
		const ssize_t got = read(fd, (char *)buffer + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (int)used;
}

bool sysfs_is_recorded(const char *sysroot)
{
	return sysroot && sysroot[0];
}

void sysfs_trim(char *text)
{
	size_t start = 0, end = strlen(text);

	while (end > 0 && isspace((unsigned char)text[end - 1]))
		end--;
	while (start < end && isspace((unsigned char)text[start]))
		start++;
	memmove(text, text + start, end - start);
	text[end - start] = '\0';
}

void sysfs_copy(char *ret_text, size_t size, const char *text)
{
	const size_t length = min_u64(strlen(text), size - 1);

	memmove(ret_text, text, length);
	ret_text[length] = '\0';
}

static int read_line(const char *path, char *ret_text, size_t size)
{
	const int got = read_start(path, ret_text, size - 1);

	ret_text[got < 0 ? 0 : got] = '\0';
	if (got < 0)
		return got;
	ret_text[strcspn(ret_text, "\n")] = '\0';
	sysfs_trim(ret_text);
	return (int)strlen(ret_text);
}

int sysfs_read(const char *sysroot, char *ret_text, size_t size, const char *format, ...)
{
	struct path path;

	ret_text[0] = '\0';
	PATH_OR_RETURN(&path, sysroot, format);
	return read_line(path.text, ret_text, size);
}

int sysfs_read_u64(const char *sysroot, uint64_t *ret_value, const char *format, ...)
{
	struct path path;
	char text[64], *end;
	unsigned long long value;
	int error;

	PATH_OR_RETURN(&path, sysroot, format);
	error = read_line(path.text, text, sizeof(text));
	if (error < 0)
		return error;
	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	/* strtoull answers ULLONG_MAX for what does not fit, which is what is promised. */
	value = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int sysfs_read_bytes(const char *sysroot, void *ret_bytes, size_t size, const char *format, ...)
{
	struct path path;

	PATH_OR_RETURN(&path, sysroot, format);
	return read_start(path.text, ret_bytes, size);
}

int sysfs_read_whole(const char *sysroot, char **ret_text, const char *format, ...)
{
	struct path path;
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	size_t used = 0, room = 0;

	PATH_OR_RETURN(&path, sysroot, format);
	fd = open(path.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t got;

		if (used + 1 >= room) {
			char *grown;

			room = room ? room * 2 : 8192;
			grown = room <= WHOLE_FILE_MAX ? realloc(text, room) : NULL;
			if (!grown)
				return -ENOMEM;
			text = grown;
		}
		got = read(fd, text + used, room - used - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	text[used] = '\0';
	*ret_text = text;
	text = NULL;
	return 0;
}

bool sysfs_exists(const char *sysroot, const char *format, ...)
{
	struct path path;
	va_list args;
	int error;

	va_start(args, format);
	error = make_path(&path, sysroot, format, args);
	va_end(args);
	return !error && access(path.text, F_OK) == 0;
}

int sysfs_read_link(const char *sysroot, char *ret_text, size_t size, const char *format, ...)
{
	struct path path;
	ssize_t length;

	ret_text[0] = '\0';
	PATH_OR_RETURN(&path, sysroot, format);
	length = readlink(path.text, ret_text, size - 1);
	if (length < 0)
		return -errno;
	ret_text[length] = '\0';
	return 0;
}

int sysfs_real_path(const char *sysroot, char *ret_text, size_t size, const char *format, ...)
{
	struct path path, real;

	ret_text[0] = '\0';
	PATH_OR_RETURN(&path, sysroot, format);
	if (!realpath(path.text, real.text))
		return -errno;
	if (strlen(real.text) >= size)
		return -ENAMETOOLONG;
	sysfs_copy(ret_text, size, real.text);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

struct sysfs_names sysfs_list(const char *sysroot, const char *format, ...)
{
	struct sysfs_names list = { 0 };
	struct path path;
	struct dirent *entry;
	va_list args;
	DIR *folder;
	int error;

	va_start(args, format);
	error = make_path(&path, sysroot, format, args);
	va_end(args);
	folder = error ? NULL : opendir(path.text);
	if (!folder)
		return list;
	while ((entry = readdir(folder))) {
		char **grown;

		if (entry->d_name[0] == '.')
			continue;
		grown = realloc(list.names, (list.count + 1) * sizeof(*grown));
		if (!grown)
			abort();
		list.names = grown;
		list.names[list.count] = strdup(entry->d_name);
		if (!list.names[list.count])
			abort();
		list.count++;
	}
	(void)closedir(folder);
	if (list.count > 1)
		qsort(list.names, list.count, sizeof(*list.names), compare_names);
	return list;
}

void sysfs_names_done(struct sysfs_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct sysfs_names){ 0 };
}

const char *sysfs_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int sysfs_name_of(const char *sysroot, unsigned major, unsigned minor, char *ret_name, size_t size)
{
	char link[PATH_MAX];
	const int error =
		sysfs_read_link(sysroot, link, sizeof(link), "sys/dev/block/%u:%u", major, minor);

	ret_name[0] = '\0';
	if (error)
		return error;
	sysfs_copy(ret_name, size, sysfs_base_name(link));
	return 0;
}

int sysfs_number_of(const char *sysroot, const char *name, unsigned *ret_major, unsigned *ret_minor)
{
	char text[32];
	const int error = sysfs_read(sysroot, text, sizeof(text), "sys/class/block/%s/dev", name);

	if (error < 0)
		return error;
	return sscanf(text, "%u:%u", ret_major, ret_minor) == 2 ? 0 : -EINVAL;
}

static int number_of_mapper_name(
	const char *sysroot, const char *mapper, unsigned *ret_major, unsigned *ret_minor)
{
	_cleanup_names_ struct sysfs_names all = sysfs_list(sysroot, "sys/class/block");

	for (size_t i = 0; i < all.count; i++) {
		char name[256];

		if (sysfs_read(sysroot, name, sizeof(name), "sys/class/block/%s/dm/name",
			    all.names[i]) > 0 &&
			strcmp(name, mapper) == 0)
			return sysfs_number_of(sysroot, all.names[i], ret_major, ret_minor);
	}
	return -ENOENT;
}

/* A recorded machine has no nodes, only names: a recorded link counts, then the kernel name. */
static int number_of_recorded(
	const char *sysroot, const char *path, unsigned *ret_major, unsigned *ret_minor)
{
	char link[PATH_MAX];
	const char *name = path;

	if (path[0] == '/' && sysfs_read_link(sysroot, link, sizeof(link), "%s", path) == 0)
		name = link;
	else if (strncmp(path, "/dev/mapper/", strlen("/dev/mapper/")) == 0)
		return number_of_mapper_name(sysroot, sysfs_base_name(path), ret_major, ret_minor);
	else if (path[0] == '/' && strncmp(path, "/dev/", strlen("/dev/")) != 0)
		return -ENOTBLK;
	return sysfs_number_of(sysroot, sysfs_base_name(name), ret_major, ret_minor);
}

int sysfs_number_of_path(const char *sysroot, const char *path, unsigned *ret_major,
	unsigned *ret_minor, unsigned *ret_mode)
{
	struct stat status;

	if (ret_mode)
		*ret_mode = 0;
	if (sysfs_is_recorded(sysroot))
		return number_of_recorded(sysroot, path, ret_major, ret_minor);
	if (stat(path, &status) < 0)
		return -errno;
	if (ret_mode)
		*ret_mode = status.st_mode;
	if (!S_ISBLK(status.st_mode))
		return -ENOTBLK;
	*ret_major = major(status.st_rdev);
	*ret_minor = minor(status.st_rdev);
	return 0;
}
