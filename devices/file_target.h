/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Targets that are no device: `file:PATH,size=BYTES` and `null`.
 *
 * A file is what people without root or without a spare disk can use. It is checked as a device
 * is: what it holds, who else uses it (a loop device, swap), and by an identity of its own.
 */
#ifndef DEVICES_FILE_TARGET_H
#define DEVICES_FILE_TARGET_H

#include "devices/check.h"
#include "engine/target.h"

/* True for the two forms, and for `sim:` which is refused by the parser. */
bool file_target_is(const char *text);

/* 0, or -EINVAL with a sentence. The size is 0 when it is not stated (only null has a default). */
int file_target_parse(const char *text, enum target_kind *ret_kind, char *ret_path,
	size_t path_size, uint64_t *ret_size_bytes, struct error *error);

/* Findings about an existing file (or none about null); -ENOENT when there is no file yet. */
int file_target_check(const char *text, struct check_result *ret_result, struct error *error);

/* Makes the file with all its blocks and opens it: its descriptor, or -errno with a sentence and
 * no file left behind. */
int file_target_create(const char *path, uint64_t size_bytes, struct error *error);

/* Opens an existing file for direct I/O. */
int file_target_open(const char *path, bool write, struct error *error);

/* The block sizes that direct I/O on this descriptor needs. */
int file_target_geometry(int fd, const char *path, uint32_t *ret_logical_bytes,
	uint32_t *ret_physical_bytes, struct error *error);

#endif
