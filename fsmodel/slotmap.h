/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which slots of a table are free, and which free one is the lowest.
 *
 * PostMark looks for a free slot by walking its table from the start, which costs a walk over
 * half a million used entries per create once the pool is that large. A tree of 64-bit words, each
 * bit telling whether the word below has any free slot, gives the same answer in at most six
 * steps (van Emde Boas' idea with a fixed fan-out, as the kernel's CPU masks and page allocators
 * use it). It takes 1/62 more than one bit per slot.
 */
#ifndef FSMODEL_SLOTMAP_H
#define FSMODEL_SLOTMAP_H

#include "engine/base.h"

#define SLOTMAP_LEVELS_MAX 6
#define SLOTMAP_NONE UINT32_MAX

struct slotmap {
	uint64_t *words;                      /* owned; all levels, the leaves first */
	uint64_t *levels[SLOTMAP_LEVELS_MAX]; /* into words */
	unsigned level_count;
	uint32_t slot_count;
};

/* All slots free. -ENOMEM. slot_count is at least 1. */
int slotmap_init(struct slotmap *map, uint32_t slot_count);
void slotmap_done(struct slotmap *map);

/* All slots free again. */
void slotmap_reset(struct slotmap *map);

/* The lowest free slot, or SLOTMAP_NONE. */
uint32_t slotmap_lowest(const struct slotmap *map);
bool slotmap_is_free(const struct slotmap *map, uint32_t slot);

/* take: a free slot becomes used; give: the other way round. */
void slotmap_take(struct slotmap *map, uint32_t slot);
void slotmap_give(struct slotmap *map, uint32_t slot);

/* What a map of slot_count slots takes. */
size_t slotmap_memory_bytes(uint32_t slot_count);

#endif
