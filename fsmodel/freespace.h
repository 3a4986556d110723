/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The free extents of a range of blocks, in two ordered trees: by start, and by length and then
 * start (XFS keeps the same pair, fs/xfs/libxfs/xfs_alloc.c). Neighbouring free blocks always
 * form one extent.
 *
 * Deterministic: equal calls give equal answers. Every verb is O(log n) in the number of free
 * extents, but for the one limit stated at freespace_best_fit. Verbs that take return 0 and what
 * they took; -ENOSPC when no single extent can serve; -ENOMEM. On failure nothing has changed.
 * Lengths are at least 1 (asserted).
 */
#ifndef FSMODEL_FREESPACE_H
#define FSMODEL_FREESPACE_H

#include "fsmodel/layout.h"

#define FREESPACE_BLOCKS_MAX ((UINT64_C(1) << 40) - 1)

struct freespace;

/* All block_count blocks from first_block on are free. -EINVAL outside 1 .. FREESPACE_BLOCKS_MAX
 * blocks or when the end overflows, -ENOMEM. */
int freespace_new(uint64_t first_block, uint64_t block_count, struct freespace **ret_space);
void freespace_free(struct freespace *space);

/* The nearest place at or after goal (a block of the range): at goal itself if enough blocks are
 * free from there on, else at the start of the first later extent that is long enough, else,
 * from the beginning of the range, of the first that is. */
int freespace_near(
	struct freespace *space, uint64_t goal, uint64_t length_blocks, struct extent *ret_taken);

/* The start of the first extent that is long enough. */
int freespace_first_fit(struct freespace *space, uint64_t length_blocks, struct extent *ret_taken);

/* The start of the shortest extent that is long enough and starts within the range; the lowest of
 * these. O(log n) for the whole range; where extents of the right length are many but outside, at
 * most 16 searches and one pass over the extents inside. */
int freespace_best_fit(struct freespace *space, uint64_t length_blocks, struct extent range,
	struct extent *ret_taken);

/* Exactly these blocks; -EBUSY when one of them is not free or lies outside. */
int freespace_take(struct freespace *space, struct extent extent);

/* Up to want_blocks directly from block on. Returns how many were free and are now taken (maybe
 * 0, also past the end), or -ENOMEM. */
int64_t freespace_extend(struct freespace *space, uint64_t block, uint64_t want_blocks);

/* Gives blocks back, merged with both neighbours. -EINVAL when one of them is free already or
 * lies outside; -ENOMEM. */
int freespace_release(struct freespace *space, struct extent extent);

/* The longest extent, the lowest of equals; length 0 when nothing is free. */
struct extent freespace_largest(const struct freespace *space);

/* How many free blocks lie below block, and the free block below which `rank` others lie
 * (rank < free blocks, asserted): together a uniform draw among the free blocks of any range. */
uint64_t freespace_rank(const struct freespace *space, uint64_t block);
uint64_t freespace_select(const struct freespace *space, uint64_t rank);

uint64_t freespace_blocks(const struct freespace *space);
uint64_t freespace_extents(const struct freespace *space);
size_t freespace_memory_bytes(const struct freespace *space);

/* Calls visit for every free extent in rising order, as layout walk does. */
int freespace_walk(const struct freespace *space, layout_visit_fn visit, void *user);

/* For tests: asserts that both trees are sound, say the same, and that no node is lost. */
void freespace_verify(const struct freespace *space);

#endif
