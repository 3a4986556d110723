/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small reads below a root prefix: /sys, /proc and /run/udev/data of this machine or of a recorded
 * one (the idea is util-linux' `lsblk --sysroot`).
 *
 * A path is given as a printf format; sysroot NULL or "" means this machine. Everything here is
 * plain reading of small files, so a hanging drive cannot block it.
 */
#ifndef DEVICES_SYSFS_H
#define DEVICES_SYSFS_H

#include "engine/base.h"

/* True when sysroot names a recorded machine: then nothing below /dev may be opened. */
bool sysfs_is_recorded(const char *sysroot);

/* The first line without blanks around it. Its length, or -errno and an empty text. */
int sysfs_read(const char *sysroot, char *ret_text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A decimal number; one beyond 64 bits is UINT64_MAX. */
int sysfs_read_u64(const char *sysroot, uint64_t *ret_value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The first bytes as they are (binary attributes): their count, or -errno. */
int sysfs_read_bytes(const char *sysroot, void *ret_bytes, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The whole file, ended by NUL; the caller frees it. */
int sysfs_read_whole(const char *sysroot, char **ret_text, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool sysfs_exists(const char *sysroot, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Where a symbolic link leads, as it is written. */
int sysfs_read_link(const char *sysroot, char *ret_text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The path with every link resolved, still with its prefix. */
int sysfs_real_path(const char *sysroot, char *ret_text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Names in a folder, in version order (sda2 before sda10); empty when there is none. */
struct sysfs_names {
	char **names;
	size_t count;
};
struct sysfs_names sysfs_list(const char *sysroot, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sysfs_names_done(struct sysfs_names *names);
#define _cleanup_names_ __attribute__((cleanup(sysfs_names_done)))

/* What follows the last slash. */
const char *sysfs_base_name(const char *path);
/* Copies what fits; the rest is cut. */
void sysfs_copy(char *ret_text, size_t size, const char *text);
/* Removes blanks at both ends, in place. */
void sysfs_trim(char *text);

/* The kernel name behind a device number; -ENOENT when the kernel has no such device. */
int sysfs_name_of(const char *sysroot, unsigned major, unsigned minor, char *ret_name, size_t size);
/* The device number of a kernel name. */
int sysfs_number_of(
	const char *sysroot, const char *name, unsigned *ret_major, unsigned *ret_minor);
/* The device number of a path: a node, any link to it; on a recorded machine also a kernel name or
 * /dev/mapper/NAME. -ENOTBLK when something else is there (ret_mode, if wanted, tells what). */
int sysfs_number_of_path(const char *sysroot, const char *path, unsigned *ret_major,
	unsigned *ret_minor, unsigned *ret_mode);

#endif
