/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Free extents in two trees; see the header. Inside, blocks are counted from 0. An entry of
 * by_start is (start, length) and summed; one of by_length is (length, start).
 */
#include "fsmodel/freespace.h"

#include "fsmodel/btree.h"

#include <stdlib.h>

/* How many lengths best fit tries before it looks at every extent of the range instead. */
#define BEST_FIT_SEEKS 16

struct freespace {
	struct arena nodes;
	struct btree by_start;
	struct btree by_length;
	uint64_t first_block;
	uint64_t block_count;
	uint64_t free_blocks;
};

static struct btree_entry pair(uint64_t first, uint64_t second)
{
	return (struct btree_entry){ first, second };
}

static struct btree_entry reversed(struct btree_entry entry)
{
	return pair(entry.second, entry.first);
}

/* The last extent that starts at or before block. */
static bool seek_start(const struct freespace *space, uint64_t block, struct btree_place *place)
{
	return btree_seek(&space->by_start, pair(block, BTREE_NUMBER_MAX), place);
}

/* Every verb changes by_start by at most one insertion and by_length by at most two. */
static int reserve(struct freespace *space)
{
	return arena_reserve(
		&space->nodes, btree_reserve_for_insert(&space->by_start) +
				       2 * (btree_reserve_for_insert(&space->by_length) + 1));
}

int freespace_new(uint64_t first_block, uint64_t block_count, struct freespace **ret_space)
{
	struct freespace *space;
	int result;

	if (block_count < 1 || block_count > FREESPACE_BLOCKS_MAX ||
		first_block > UINT64_MAX - block_count)
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	arena_init(&space->nodes, BTREE_NODE_BYTES);
	space->first_block = first_block;
	space->block_count = block_count;
	space->free_blocks = block_count;
	result = btree_init(&space->by_start, &space->nodes, true);
	if (result == 0)
		result = btree_init(&space->by_length, &space->nodes, false);
	if (result < 0) {
		freespace_free(space);
		return result;
	}
	btree_exchange(&space->by_start, NULL, 0, &(struct btree_entry){ 0, block_count }, 1);
	btree_exchange(&space->by_length, NULL, 0, &(struct btree_entry){ block_count, 0 }, 1);
	*ret_space = space;
	return 0;
}

void freespace_free(struct freespace *space)
{
	if (!space)
		return;
	arena_done(&space->nodes);
	free(space);
}

/* Takes length blocks from start on out of the extent at place, which holds them. */
static int take_at(struct freespace *space, struct btree_place *place, uint64_t start,
	uint64_t length, struct extent *ret_taken)
{
	const struct btree_entry whole = btree_get(&space->by_start, place);
	const uint64_t head = start - whole.first;
	const uint64_t tail = whole.second - head - length;
	const struct btree_entry after = pair(start + length, tail);
	const struct btree_entry removed = reversed(whole);
	const int result = reserve(space);
	struct btree_entry added[2];
	unsigned added_count = 0;

	if (result < 0)
		return result;
	if (head)
		added[added_count++] = pair(head, whole.first);
	if (tail)
		added[added_count++] = reversed(after);
	btree_exchange(&space->by_length, &removed, 1, added, added_count);
	if (head)
		btree_replace(&space->by_start, place, pair(whole.first, head));
	if (head && tail)
		btree_insert_after(&space->by_start, place, after);
	else if (tail)
		btree_replace(&space->by_start, place, after);
	else if (!head)
		btree_remove(&space->by_start, place);
	space->free_blocks -= length;
	*ret_taken = (struct extent){ space->first_block + start, length };
	return 0;
}

int freespace_near(
	struct freespace *space, uint64_t goal, uint64_t length_blocks, struct extent *ret_taken)
{
	const uint64_t wanted = goal - space->first_block;
	struct btree_place place;
	struct btree_entry found;

	assert(length_blocks && wanted < space->block_count);
	if (length_blocks > space->block_count)
		return -ENOSPC;
	if (seek_start(space, wanted, &place)) {
		found = btree_get(&space->by_start, &place);
		if (found.first + found.second >= wanted + length_blocks)
			return take_at(space, &place, wanted, length_blocks, ret_taken);
	}
	if (!btree_next_fit(&space->by_start, &place, length_blocks) &&
		!btree_first_fit(&space->by_start, &place, length_blocks))
		return -ENOSPC;
	found = btree_get(&space->by_start, &place);
	return take_at(space, &place, found.first, length_blocks, ret_taken);
}

int freespace_first_fit(struct freespace *space, uint64_t length_blocks, struct extent *ret_taken)
{
	return freespace_near(space, space->first_block, length_blocks, ret_taken);
}

/* To the first extent that starts at or behind start and is long enough. */
static bool seek_fit(
	const struct freespace *space, uint64_t length, uint64_t start, struct btree_place *place)
{
	const struct btree *tree = &space->by_start;

	if (seek_start(space, start, place)) {
		const struct btree_entry entry = btree_get(tree, place);

		if (entry.first == start && entry.second >= length)
			return true;
	}
	return btree_next_fit(tree, place, length);
}

/* The lowest extent of the shortest length that is at least length and starts in start .. end - 1,
 * sought length by length. 1 found, 0 there is none, -1 too many lengths to look at. */
static int seek_lengths(const struct freespace *space, uint64_t length, uint64_t start,
	uint64_t end, struct btree_entry *ret_found)
{
	const struct btree *tree = &space->by_length;
	const uint64_t wanted = length;
	struct btree_place place;

	for (int seeks = 0; seeks < BEST_FIT_SEEKS; seeks++) {
		struct btree_entry entry;

		/* The first entry that is not below (length, start). */
		if (!btree_seek(tree, pair(length, start), &place) ||
			(entry = btree_get(tree, &place)).first != length ||
			entry.second != start) {
			if (!btree_next(tree, &place))
				return 0;
			entry = btree_get(tree, &place);
		}
		if (entry.second >= start && entry.second < end) {
			*ret_found = reversed(entry);
			return 1;
		}
		length = entry.second < start ? entry.first : entry.first + 1;
		/* Before more is tried: is there any at all? */
		if (seeks == 0 && (!seek_fit(space, wanted, start, &place) ||
					  btree_get(&space->by_start, &place).first >= end))
			return 0;
	}
	return -1;
}

/* The same, extent by extent of the range, skipping those that are too short. */
static bool scan_range(const struct freespace *space, uint64_t length, uint64_t start, uint64_t end,
	struct btree_entry *ret_found)
{
	const struct btree *tree = &space->by_start;
	struct btree_place place;
	bool more = seek_fit(space, length, start, &place);
	bool found = false;

	for (; more; more = btree_next_fit(tree, &place, length)) {
		const struct btree_entry entry = btree_get(tree, &place);

		if (entry.first >= end)
			break;
		if (!found || entry.second < ret_found->second)
			*ret_found = entry;
		found = true;
	}
	return found;
}

int freespace_best_fit(struct freespace *space, uint64_t length_blocks, struct extent range,
	struct extent *ret_taken)
{
	const uint64_t area_end = space->first_block + space->block_count;
	const uint64_t low = max_u64(range.start_block, space->first_block);
	const uint64_t room = area_end - min_u64(range.start_block, area_end);
	const uint64_t high =
		range.length_blocks > room ? area_end : range.start_block + range.length_blocks;
	struct btree_entry found;
	struct btree_place place;
	int answer;

	assert(length_blocks);
	if (length_blocks > space->block_count || low >= high)
		return -ENOSPC;
	answer = seek_lengths(
		space, length_blocks, low - space->first_block, high - space->first_block, &found);
	if (answer < 0)
		answer = scan_range(space, length_blocks, low - space->first_block,
			high - space->first_block, &found);
	if (!answer)
		return -ENOSPC;
	(void)seek_start(space, found.first, &place);
	return take_at(space, &place, found.first, length_blocks, ret_taken);
}

static bool is_inside(const struct freespace *space, struct extent extent)
{
	return extent.start_block >= space->first_block &&
	       extent.start_block - space->first_block < space->block_count &&
	       extent.length_blocks <=
		       space->block_count - (extent.start_block - space->first_block);
}

int freespace_take(struct freespace *space, struct extent extent)
{
	const uint64_t start = extent.start_block - space->first_block;
	struct btree_place place;
	struct btree_entry found;

	assert(extent.length_blocks);
	if (!is_inside(space, extent) || !seek_start(space, start, &place))
		return -EBUSY;
	found = btree_get(&space->by_start, &place);
	if (found.first + found.second < start + extent.length_blocks)
		return -EBUSY;
	return take_at(space, &place, start, extent.length_blocks, &extent);
}

int64_t freespace_extend(struct freespace *space, uint64_t block, uint64_t want_blocks)
{
	const uint64_t start = block - space->first_block;
	struct extent taken;
	struct btree_place place;
	struct btree_entry found;
	int result;

	assert(want_blocks);
	if (start >= space->block_count || !seek_start(space, start, &place))
		return 0;
	found = btree_get(&space->by_start, &place);
	if (found.first + found.second <= start)
		return 0;
	result = take_at(space, &place, start,
		min_u64(want_blocks, found.first + found.second - start), &taken);
	return result < 0 ? result : (int64_t)taken.length_blocks;
}

int freespace_release(struct freespace *space, struct extent extent)
{
	struct btree_entry merged =
		pair(extent.start_block - space->first_block, extent.length_blocks);
	struct btree_entry before = { 0 }, after = { 0 }, removed[2], added;
	struct btree_place place, next;
	unsigned removed_count = 0;
	bool has_before, has_after;
	int result;

	assert(extent.length_blocks);
	if (!is_inside(space, extent))
		return -EINVAL;
	has_before = seek_start(space, merged.first, &place);
	next = place;
	has_after = btree_next(&space->by_start, &next);
	if (has_before)
		before = btree_get(&space->by_start, &place);
	if (has_after)
		after = btree_get(&space->by_start, &next);
	if ((has_before && before.first + before.second > merged.first) ||
		(has_after && merged.first + merged.second > after.first))
		return -EINVAL;
	result = reserve(space);
	if (result < 0)
		return result;
	has_before = has_before && before.first + before.second == merged.first;
	has_after = has_after && merged.first + merged.second == after.first;
	if (has_after) {
		merged.second += after.second;
		removed[removed_count++] = reversed(after);
	}
	if (has_before) {
		merged = pair(before.first, before.second + merged.second);
		removed[removed_count++] = reversed(before);
	}
	added = reversed(merged);
	btree_exchange(&space->by_length, removed, removed_count, &added, 1);
	if (has_before) {
		btree_replace(&space->by_start, &place, merged);
		if (has_after)
			btree_remove(&space->by_start, &next);
	} else if (has_after) {
		btree_replace(&space->by_start, &next, merged);
	} else {
		btree_insert_after(&space->by_start, &place, merged);
	}
	space->free_blocks += extent.length_blocks;
	return 0;
}

struct extent freespace_largest(const struct freespace *space)
{
	const uint64_t length = btree_largest(&space->by_start);
	struct btree_place place;

	if (!length)
		return (struct extent){ 0 };
	(void)btree_first_fit(&space->by_start, &place, length);
	return (struct extent){ space->first_block + btree_get(&space->by_start, &place).first,
		length };
}

uint64_t freespace_rank(const struct freespace *space, uint64_t block)
{
	const uint64_t wanted = block - space->first_block;
	struct btree_place place;
	struct btree_entry entry;

	if (block <= space->first_block)
		return 0;
	if (wanted >= space->block_count)
		return space->free_blocks;
	if (!seek_start(space, wanted, &place))
		return 0;
	entry = btree_get(&space->by_start, &place);
	return btree_sum_before(&space->by_start, &place) +
	       min_u64(entry.second, wanted - entry.first);
}

uint64_t freespace_select(const struct freespace *space, uint64_t rank)
{
	struct btree_entry entry;

	assert(rank < space->free_blocks);
	entry = btree_select(&space->by_start, &rank);
	return space->first_block + entry.first + rank;
}

uint64_t freespace_blocks(const struct freespace *space)
{
	return space->free_blocks;
}

uint64_t freespace_extents(const struct freespace *space)
{
	return space->by_start.count;
}

size_t freespace_memory_bytes(const struct freespace *space)
{
	return sizeof(*space) + arena_memory_bytes(&space->nodes);
}

int freespace_walk(const struct freespace *space, layout_visit_fn visit, void *user)
{
	struct btree_place place;

	if (!btree_first_fit(&space->by_start, &place, 0))
		return 0;
	do {
		const struct btree_entry entry = btree_get(&space->by_start, &place);
		const struct extent extent = { space->first_block + entry.first, entry.second };
		const int result = visit(user, extent, ROLE_DATA, LAYOUT_OWNER_FREE);

		if (result)
			return result;
	} while (btree_next(&space->by_start, &place));
	return 0;
}

void freespace_verify(const struct freespace *space)
{
	uint32_t nodes = btree_verify(&space->by_start);
	uint64_t blocks = 0, end = 0;
	struct btree_place start_place, length_place;
	bool more = btree_first_fit(&space->by_start, &start_place, 0);

	nodes += btree_verify(&space->by_length);
	assert(nodes == space->nodes.touched_count - space->nodes.free_count);
	assert(space->by_start.count == space->by_length.count);
	for (; more; more = btree_next(&space->by_start, &start_place)) {
		const struct btree_entry entry = btree_get(&space->by_start, &start_place);
		struct btree_entry twin;

		assert(entry.second && (blocks == 0 || entry.first > end));
		end = entry.first + entry.second;
		blocks += entry.second;
		assert(btree_seek(&space->by_length, reversed(entry), &length_place));
		twin = btree_get(&space->by_length, &length_place);
		assert(twin.first == entry.second && twin.second == entry.first);
	}
	assert(blocks == space->free_blocks && end <= space->block_count);
}
