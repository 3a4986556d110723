/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recorded machines for tests; see the header. */
#include "tests/support/sysroot.h"

#include "engine/base.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_path(const struct sysroot *sysroot, const char *path, char *ret_path, size_t size)
{
	const int length = snprintf(ret_path, size, "%s/%s", sysroot->path, path);

	assert(length > 0 && (size_t)length < size);
	for (char *slash = strchr(ret_path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(ret_path, 0700);
		*slash = '/';
	}
}

void sysroot_write(const struct sysroot *sysroot, const char *path, const void *bytes, size_t size)
{
	char full[PATH_MAX];
	int fd;

	make_path(sysroot, path, full, sizeof(full));
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert(fd >= 0);
	assert(write(fd, bytes, size) == (ssize_t)size);
	(void)close(fd);
}

static void make_link(const struct sysroot *sysroot, const char *path, const char *target)
{
	char full[PATH_MAX];

	make_path(sysroot, path, full, sizeof(full));
	assert(symlink(target, full) == 0);
}

static void link_device(const struct sysroot *sysroot, const char *dev_path, const char *number)
{
	char folder[PATH_MAX], link[PATH_MAX], target[2 * PATH_MAX];
	const char *name;

	(void)snprintf(folder, sizeof(folder), "%s", dev_path);
	*strrchr(folder, '/') = '\0';
	name = strrchr(folder, '/') + 1;
	(void)snprintf(target, sizeof(target), "../../../%s", folder);
	(void)snprintf(link, sizeof(link), "sys/dev/block/%s", number);
	make_link(sysroot, link, target);
	(void)snprintf(link, sizeof(link), "sys/class/block/%.64s", name);
	make_link(sysroot, link, target);
}

static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && (text[1] == 'n' || text[1] == 't')) {
			*out++ = text[1] == 'n' ? '\n' : '\t';
			text += 2;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

static void add_line(const struct sysroot *sysroot, char *line)
{
	char *tab = strchr(line, '\t'), *arrow = strstr(line, " -> ");
	size_t length;

	if (!tab && arrow) {
		*arrow = '\0';
		make_link(sysroot, line, arrow + strlen(" -> "));
		return;
	}
	assert(tab || !"a line of a tree is PATH<TAB>CONTENT or PATH -> TARGET");
	*tab++ = '\0';
	tab += strspn(tab, "\t");
	unescape(tab);
	length = strlen(line);
	if (length > 4 && strcmp(line + length - 4, "/dev") == 0 &&
		strncmp(line, "sys/devices/", strlen("sys/devices/")) == 0)
		link_device(sysroot, line, tab);
	tab[strlen(tab) + 1] = '\0';
	tab[strlen(tab)] = '\n';
	sysroot_write(sysroot, line, tab, strlen(tab));
}

void sysroot_new(struct sysroot *sysroot, const char *text)
{
	const size_t size = strlen(text) + 2;
	_cleanup_free_ char *copy = calloc(1, size);
	char *rest = copy, *line;
	const char *folder = getenv("TMPDIR");

	assert(copy);
	memcpy(copy, text, size - 2);
	(void)snprintf(sysroot->path, sizeof(sysroot->path), "%s/sysroot-XXXXXX",
		folder && folder[0] ? folder : "/tmp");
	assert(mkdtemp(sysroot->path));
	while ((line = strsep(&rest, "\n"))) {
		char *room;

		if (!line[0] || line[0] == '#')
			continue;
		/* Room for the final newline that files in sysfs have. */
		room = calloc(1, strlen(line) + 2);
		assert(room);
		memcpy(room, line, strlen(line));
		add_line(sysroot, room);
		free(room);
	}
}

void sysroot_open(struct sysroot *sysroot, const char *source_folder, const char *name)
{
	_cleanup_free_ char *text = calloc(1, 1 << 16);
	char path[PATH_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/tests/golden/sysroots/%s.tree", source_folder, name);
	file = fopen(path, "re");
	assert(file && text);
	assert(fread(text, 1, (1 << 16) - 2, file) > 0);
	(void)fclose(file);
	sysroot_new(sysroot, text);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

void sysroot_done(struct sysroot *sysroot)
{
	(void)nftw(sysroot->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	sysroot->path[0] = '\0';
}
