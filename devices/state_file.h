/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A record on disk, and the lock that says whose it is.
 *
 * One file per device in a folder that only its owner may enter. Whoever uses the device holds a
 * lock (flock) on the file; the kernel lets go of it when the last process that inherited it ends,
 * however it ends. So a file that can be locked and has content was left by somebody who died, and
 * an empty one by somebody who died before anything was changed.
 *
 * A record is replaced as a whole: written beside, locked, synced, renamed, and the folder synced.
 * The new file is locked before it has the name, so that there is no instant without a lock; who
 * waited for the old one sees that it has lost its name, and starts again.
 */
#ifndef DEVICES_STATE_FILE_H
#define DEVICES_STATE_FILE_H

#include "devices/state_record.h"
#include "devices/sysfs.h"

#include <limits.h>

struct state_file {
	int fd; /* -1 when closed */
	char folder[PATH_MAX];
	char name[NAME_MAX + 1];
};

/* Makes the folder (0700) where it is missing, and resolves it. One that others may write is
 * refused: a record decides what is written to a device. */
int state_folder_open(const char *path, char *ret_folder, size_t size, struct error *error);
/* Names of the records in it, whatever their state; empty when there is no folder. */
struct sysfs_names state_folder_list(const char *folder);

/* The file's name of an identity: bytes that are odd in a name become %XX. */
void state_file_name(const char *identity, char *ret_name, size_t size);

/*
 * Locks a file, made when create is set. 0: it is empty; 1: *ret_record holds what was left.
 * -EBUSY: another process holds it, *ret_record tells which (pid 0: it has not said yet).
 * -ENOENT: there is none. -EBADMSG: locked, but the content is not understood; the lock is kept so
 * that the file can be removed. Others with a sentence.
 */
int state_file_lock(const char *folder, const char *name, bool create, struct state_file *ret_file,
	struct state_record *ret_record, struct error *error);

/* The content without a lock, for looking: 1 and the record, 0 when empty, or -errno. */
int state_file_peek(
	const char *folder, const char *name, struct state_record *ret_record, struct error *error);

/* On disk when it returns 0; on failure the former record is still there. */
int state_file_save(
	struct state_file *file, const struct state_record *record, struct error *error);

/* Removes the record and lets go of it. */
int state_file_remove(struct state_file *file, struct error *error);
/* Lets go of it; the record stays. */
void state_file_close(struct state_file *file);

#endif
