/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything that is mounted; see the header. */
#include "devices/mounts.h"

#include "devices/sysfs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_octal(char digit)
{
	return digit >= '0' && digit <= '7';
}

void mounts_unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
			is_octal(text[3])) {
			*out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 +
					(text[3] - '0'));
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

static char *copy_or_die(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return copy;
}

/* The same mount is seen from most namespaces: the first one to show it is enough. */
static bool is_known(const struct mount_list *mounts, const struct mount *mount)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *known = &mounts->mounts[i];

		if (known->major == mount->major && known->minor == mount->minor &&
			strcmp(known->point, mount->point) == 0 &&
			strcmp(known->type, mount->type) == 0)
			return true;
	}
	return false;
}

static void add(struct mount_list *mounts, const struct mount *mount)
{
	struct mount *grown =
		realloc(mounts->mounts, (mounts->count + 1) * sizeof(*mounts->mounts));

	if (!grown)
		abort();
	mounts->mounts = grown;
	grown[mounts->count] = *mount;
	grown[mounts->count].point = copy_or_die(mount->point);
	grown[mounts->count].type = copy_or_die(mount->type);
	grown[mounts->count].source = copy_or_die(mount->source);
	mounts->count++;
}

/* `36 35 98:0 /root /point opts [optional]... - type source superopts` */
static bool parse_line(char *line, struct mount *ret_mount)
{
	char *rest = line, *field;

	for (int i = 0; (field = strsep(&rest, " ")); i++) {
		if (i == 2 && sscanf(field, "%u:%u", &ret_mount->major, &ret_mount->minor) != 2)
			return false;
		if (i == 4)
			ret_mount->point = field;
		if (i >= 6 && strcmp(field, "-") == 0)
			break;
	}
	ret_mount->type = strsep(&rest, " ");
	ret_mount->source = strsep(&rest, " ");
	if (!ret_mount->point || !ret_mount->type || !ret_mount->source)
		return false;
	mounts_unescape(ret_mount->point);
	mounts_unescape(ret_mount->source);
	return true;
}

void mounts_parse(struct mount_list *mounts, const char *text, unsigned pid, const char *process)
{
	_cleanup_free_ char *copy = copy_or_die(text);
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		struct mount mount = { .pid = pid };

		sysfs_copy(mount.process, sizeof(mount.process), process);
		if (parse_line(line, &mount) && (pid == 0 || !is_known(mounts, &mount)))
			add(mounts, &mount);
	}
}

struct namespaces {
	char (*links)[64];
	size_t count;
};

static bool is_new_namespace(struct namespaces *seen, const char *link)
{
	char(*grown)[64];

	for (size_t i = 0; i < seen->count; i++)
		if (strcmp(seen->links[i], link) == 0)
			return false;
	grown = realloc(seen->links, (seen->count + 1) * sizeof(*grown));
	if (!grown)
		abort();
	seen->links = grown;
	sysfs_copy(grown[seen->count++], sizeof(*grown), link);
	return true;
}

static void read_others(const char *sysroot, struct mount_list *mounts)
{
	_cleanup_names_ struct sysfs_names processes = sysfs_list(sysroot, "proc");
	struct namespaces seen = { 0 };
	char link[64];

	if (sysfs_read_link(sysroot, link, sizeof(link), "proc/self/ns/mnt") == 0)
		(void)is_new_namespace(&seen, link);
	for (size_t i = 0; i < processes.count; i++) {
		const char *pid = processes.names[i];
		_cleanup_free_ char *text = NULL;
		char process[32];

		if (!isdigit((unsigned char)pid[0]))
			continue;
		/* Whose namespace cannot be seen is read all the same. */
		if (sysfs_read_link(sysroot, link, sizeof(link), "proc/%s/ns/mnt", pid) == 0 &&
			!is_new_namespace(&seen, link))
			continue;
		if (sysfs_read_whole(sysroot, &text, "proc/%s/mountinfo", pid))
			continue;
		(void)sysfs_read(sysroot, process, sizeof(process), "proc/%s/comm", pid);
		mounts_parse(mounts, text, (unsigned)strtoul(pid, NULL, 10), process);
	}
	free(seen.links);
}

int mounts_read(const char *sysroot, struct mount_list *ret_mounts, struct error *error)
{
	struct mount_list mounts = { 0 };
	_cleanup_free_ char *own = NULL;
	const int result = sysfs_read_whole(sysroot, &own, "proc/self/mountinfo");

	if (result)
		return error_set(error, result,
			"%s/proc/self/mountinfo cannot be read (%s), so nobody can tell what is "
			"mounted; mount /proc first",
			sysroot ? sysroot : "", strerror(-result));
	mounts_parse(&mounts, own, 0, "");
	read_others(sysroot, &mounts);
	for (size_t i = 0; i < mounts.count; i++) {
		struct mount *mount = &mounts.mounts[i];

		if (mount->major == 0 && mount->source[0] == '/')
			(void)sysfs_number_of_path(
				sysroot, mount->source, &mount->major, &mount->minor, NULL);
	}
	*ret_mounts = mounts;
	return 0;
}

void mounts_done(struct mount_list *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		free(mounts->mounts[i].point);
		free(mounts->mounts[i].type);
		free(mounts->mounts[i].source);
	}
	free(mounts->mounts);
	*mounts = (struct mount_list){ 0 };
}

const struct mount *mounts_holding(const struct mount_list *mounts, const char *path)
{
	const struct mount *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *mount = &mounts->mounts[i];
		const size_t length = strcmp(mount->point, "/") == 0 ? 0 : strlen(mount->point);

		if (mount->pid || strncmp(path, mount->point, length) != 0 ||
			(path[length] != '/' && path[length] != '\0'))
			continue;
		/* A later mount on the same point covers the earlier one. */
		if (!best || length >= best_length) {
			best = mount;
			best_length = length;
		}
	}
	return best;
}
