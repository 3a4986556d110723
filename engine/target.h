/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What requests are sent to: an open descriptor and its geometry.
 *
 * A writable target on a block device or an existing file can only be made by devices/claim
 * (after every check); it carries that claim as an opaque token and the engine asserts it, so
 * unsafe use is a programming error and not a forgotten check.
 */
#ifndef ENGINE_TARGET_H
#define ENGINE_TARGET_H

#include "engine/base.h"

enum target_kind { TARGET_BLOCK, TARGET_FILE, TARGET_NULL };

struct claim;

struct target {
	enum target_kind kind;
	int fd; /* O_DIRECT; -1 for TARGET_NULL */
	bool writable;
	const struct claim *claim; /* proof of the right to write; NULL when read-only */
	uint64_t size_bytes;
	uint32_t logical_block_bytes; /* alignment of offsets, lengths and memory */
	uint32_t physical_block_bytes;
	bool rotational;
	const char *name; /* as the user gave it; owned by whoever made the target */
};

static inline void target_assert_writable(const struct target *target)
{
	assert(target->kind == TARGET_NULL || (target->writable && target->claim));
}

#endif
