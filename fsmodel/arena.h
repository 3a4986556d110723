/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An arena of equal items that are known by number: half the size of pointers, and what was given
 * back is used again first. It grows in chunks of 2 MiB, each aligned and advised to be one huge
 * page: with tens of millions of items most of a random walk's time would else go to the TLB.
 * Items never move; memory once touched is kept until the end.
 */
#ifndef FSMODEL_ARENA_H
#define FSMODEL_ARENA_H

#include "engine/base.h"

#define ARENA_CHUNK_BYTES (2 * MIB)
#define ARENA_NONE UINT32_MAX

struct arena {
	unsigned char **chunks;
	uint32_t chunk_count;
	uint32_t item_bytes;    /* a power of two */
	uint32_t chunk_shift;   /* log2 of the items in a chunk */
	uint32_t touched_count; /* items 0 .. touched_count - 1 were in use at some time */
	uint32_t free_first;    /* given back: a list through the items themselves */
	uint32_t free_count;
};

void arena_init(struct arena *arena, uint32_t item_bytes);
void arena_done(struct arena *arena);

/* Makes sure that the next count takes succeed; -ENOMEM changes nothing. */
int arena_reserve(struct arena *arena, uint32_t count);

/* A reserved item (asserted); what it contains is undefined. */
uint32_t arena_take(struct arena *arena);
void arena_give(struct arena *arena, uint32_t number);

/* What was touched, the items given back included. */
size_t arena_memory_bytes(const struct arena *arena);

static inline void *arena_at(const struct arena *arena, uint32_t number)
{
	const uint32_t within = number & ((UINT32_C(1) << arena->chunk_shift) - 1);

	return arena->chunks[number >> arena->chunk_shift] + (size_t)within * arena->item_bytes;
}

#endif
