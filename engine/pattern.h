/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Patterns: blocks of one size over an area, random or one after the other. The load that needs
 * no file pool: a drive's curve over depths, and the instrument's own cost.
 */
#ifndef ENGINE_PATTERN_H
#define ENGINE_PATTERN_H

#include "engine/source.h"

enum pattern_kind {
	PATTERN_RANDREAD,
	PATTERN_RANDWRITE,
	PATTERN_RANDRW,
	PATTERN_SEQREAD,
	PATTERN_SEQWRITE,
	PATTERN_KINDS
};

struct pattern_config {
	enum pattern_kind kind;
	uint32_t block_bytes;
	uint64_t area_offset_bytes; /* a multiple of block_bytes is not required */
	uint64_t area_bytes;        /* at least one block */
	double read_share;          /* for PATTERN_RANDRW, 0 .. 1 */
	uint64_t count;             /* blocks in all; 0: without end */
	uint64_t seed;
};

/* `randread` ...; NULL-ended, in the order of the enum. */
extern const char *const pattern_names[];
bool pattern_writes(enum pattern_kind kind);

/* -EINVAL for an area smaller than a block; -ENOMEM. */
int pattern_new(
	const struct pattern_config *config, struct source **ret_source, struct error *error);

#endif
