/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything that is mounted, in our mount namespace and in those of all other processes
 * (/proc/PID/mountinfo, proc(5)).
 *
 * Devices are matched by number and never by name. File systems that have a number of their own
 * (btrfs: major 0) are resolved through the source that they were mounted from.
 */
#ifndef DEVICES_MOUNTS_H
#define DEVICES_MOUNTS_H

#include "engine/base.h"

struct mount {
	unsigned major, minor; /* of the block device; 0:N when there is none */
	char *point, *type, *source;
	unsigned pid;     /* a process of the namespace; 0 = our own namespace */
	char process[32]; /* its name */
};

struct mount_list {
	struct mount *mounts;
	size_t count;
};

/* -errno with a sentence when not even our own namespace can be read. */
int mounts_read(const char *sysroot, struct mount_list *ret_mounts, struct error *error);
void mounts_done(struct mount_list *mounts);
#define _cleanup_mounts_ __attribute__((cleanup(mounts_done)))

/* Appends the lines of one mountinfo text; lines that cannot be understood are passed over. Used
 * by mounts_read and by tests of odd inputs. */
void mounts_parse(struct mount_list *mounts, const char *text, unsigned pid, const char *process);

/* The mount of our own namespace that holds an absolute path, or NULL. */
const struct mount *mounts_holding(const struct mount_list *mounts, const char *path);

/* Undoes \040 and the like, in place. */
void mounts_unescape(char *text);

#endif
