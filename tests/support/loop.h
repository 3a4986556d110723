/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scratch loop devices for tests: a file on a disk (below $TMPDIR, else /var/tmp), attached to a
 * loop device of its own. Whatever is still attached is detached when the program ends, also by a
 * failed assertion or a signal, and its file is removed.
 */
#ifndef TESTS_SUPPORT_LOOP_H
#define TESTS_SUPPORT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum loop_flags {
	LOOP_READ_ONLY = 1,
	LOOP_PARTITIONS = 2, /* the kernel makes nodes for the partitions that it finds */
};

struct loop {
	int fd; /* of the backing file; the caller may write through it */
	char file[256];
	char node[32]; /* "/dev/loop3" */
};

/* True for root with a loop driver. */
bool loop_is_possible(void);

/* A new scratch file of size_bytes, not attached; blocks are allocated. Asserts on failure. */
void loop_make_file(struct loop *loop, uint64_t size_bytes);
/* Attaches the file: size_bytes of it, logical blocks of block_bytes (0 = 512). */
void loop_attach(struct loop *loop, unsigned flags, unsigned block_bytes);
void loop_detach(struct loop *loop);
/* Both, and the way back. */
void loop_new(struct loop *loop, uint64_t size_bytes);
void loop_done(struct loop *loop);

/* FNV-1a over the whole backing file: equal before and after a command that only looks. */
uint64_t loop_checksum(const struct loop *loop);

#endif
