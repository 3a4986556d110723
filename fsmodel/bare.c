/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files as bare extents; see the header. */
#include "fsmodel/bare.h"

#include <stdlib.h>

/* The 32-bit link of a file's record; from LINK_RING on it is an extent's number + LINK_RING. */
#define LINK_ABSENT 0u /* no such file */
#define LINK_INLINE 1u /* at most one extent, which the record itself tells */
#define LINK_RING 2u

#define NUMBER_BITS 48
#define NUMBER_MAX ((UINT64_C(1) << NUMBER_BITS) - 1)

static struct bare_record record(uint64_t first, uint64_t second, uint32_t link)
{
	assert(first <= NUMBER_MAX && second <= NUMBER_MAX);
	return (struct bare_record){ {
		first | second << NUMBER_BITS,
		second >> 16 | (uint64_t)link << 32,
	} };
}

static uint64_t record_first(struct bare_record packed)
{
	return packed.words[0] & NUMBER_MAX;
}

static uint64_t record_second(struct bare_record packed)
{
	return packed.words[0] >> NUMBER_BITS | (packed.words[1] & UINT32_MAX) << 16;
}

static uint32_t record_link(struct bare_record packed)
{
	return (uint32_t)(packed.words[1] >> 32);
}

static struct bare *bare_of(struct layout *layout)
{
	return container_of(layout, struct bare, layout);
}

static struct bare_record *extent_record(const struct bare *bare, uint32_t number)
{
	return arena_at(&bare->extents, number);
}

static uint64_t blocks_of(const struct bare *bare, uint64_t bytes)
{
	return divide_up(bytes, bare->layout.config.block_bytes);
}

/* A walk over a file's extents, in the order of its blocks. */
struct cursor {
	const struct bare *bare;
	struct bare_record file;
	uint32_t number; /* of the extent seen last */
	bool started;
};

static bool cursor_next(struct cursor *cursor, struct extent *ret_extent)
{
	const uint32_t link = record_link(cursor->file);
	struct bare_record packed;

	if (link == LINK_INLINE) {
		*ret_extent = (struct extent){ record_first(cursor->file),
			blocks_of(cursor->bare, record_second(cursor->file)) };
		if (cursor->started || !ret_extent->length_blocks)
			return false;
		cursor->started = true;
		return true;
	}
	if (!cursor->started)
		cursor->number = link - LINK_RING;
	else if (cursor->number == link - LINK_RING)
		return false;
	cursor->started = true;
	cursor->number = record_link(*extent_record(cursor->bare, cursor->number));
	packed = *extent_record(cursor->bare, cursor->number);
	*ret_extent = (struct extent){ record_first(packed), record_second(packed) };
	return true;
}

/* The block behind the file's last one; the file has blocks. */
static uint64_t end_of(const struct bare *bare, struct bare_record file)
{
	const uint32_t link = record_link(file);

	if (link != LINK_INLINE)
		file = *extent_record(bare, link - LINK_RING);
	return record_first(file) +
	       (link == LINK_INLINE ? blocks_of(bare, record_second(file)) : record_second(file));
}

/* Joins an extent to the file's end; its size becomes a whole number of blocks. -ENOMEM. */
static int add_extent(struct bare *bare, struct bare_record *file, struct extent extent)
{
	const uint64_t block_bytes = bare->layout.config.block_bytes;
	const uint64_t old_blocks = blocks_of(bare, record_second(*file));
	const uint64_t bytes = (old_blocks + extent.length_blocks) * block_bytes;
	uint32_t link = record_link(*file), number;
	struct bare_record *last;
	int result;

	if (!old_blocks || (link == LINK_INLINE && end_of(bare, *file) == extent.start_block)) {
		*file = record(
			old_blocks ? record_first(*file) : extent.start_block, bytes, LINK_INLINE);
		return 0;
	}
	if (link != LINK_INLINE && end_of(bare, *file) == extent.start_block) {
		last = extent_record(bare, link - LINK_RING);
		*last = record(record_first(*last), record_second(*last) + extent.length_blocks,
			record_link(*last));
		*file = record(record_first(*file), bytes, link);
		return 0;
	}
	result = arena_reserve(&bare->extents, 2);
	if (result < 0)
		return result;
	if (link == LINK_INLINE) {
		number = arena_take(&bare->extents);
		*extent_record(bare, number) = record(record_first(*file), old_blocks, number);
		link = number + LINK_RING;
	}
	number = arena_take(&bare->extents);
	last = extent_record(bare, link - LINK_RING);
	*extent_record(bare, number) =
		record(extent.start_block, extent.length_blocks, record_link(*last));
	*last = record(record_first(*last), record_second(*last), number);
	*file = record(record_first(*file), bytes, number + LINK_RING);
	return 0;
}

/* Gives back what was taken before: it cannot be free already, and what its taking split, nodes
 * included, is there to be merged again. */
static void give_back(struct bare *bare, struct extent extent)
{
	const int result = freespace_release(bare->space, extent);

	assert(result == 0);
	bare->layout.used_blocks -= extent.length_blocks;
}

/* Cuts a file whose extents form a ring to its first keep_blocks blocks. */
static void trim_ring(struct bare *bare, struct bare_record *file, uint64_t keep_blocks)
{
	const uint64_t bytes = keep_blocks * bare->layout.config.block_bytes;
	const uint32_t last = record_link(*file) - LINK_RING;
	const uint32_t first = record_link(*extent_record(bare, last));
	uint32_t number = first, kept = ARENA_NONE;
	bool more = true;

	while (more) {
		struct bare_record *packed = extent_record(bare, number);
		const uint32_t next = record_link(*packed);
		const uint64_t start = record_first(*packed), length = record_second(*packed);
		const uint64_t keep = min_u64(length, keep_blocks);

		more = number != last;
		if (keep < length)
			give_back(bare, (struct extent){ start + keep, length - keep });
		if (keep) {
			*packed = record(start, keep, next);
			kept = number;
		} else {
			arena_give(&bare->extents, number);
		}
		keep_blocks -= keep;
		number = next;
	}
	if (kept == ARENA_NONE) {
		*file = record(0, 0, LINK_INLINE);
	} else if (kept == first) {
		*file = record(record_first(*extent_record(bare, first)), bytes, LINK_INLINE);
		arena_give(&bare->extents, first);
	} else {
		struct bare_record *packed = extent_record(bare, kept);

		*packed = record(record_first(*packed), record_second(*packed), first);
		*file = record(record_first(*file), bytes, kept + LINK_RING);
	}
}

/* Cuts the file to its first keep_blocks blocks; its size becomes a whole number of blocks. */
static void trim(struct bare *bare, struct bare_record *file, uint64_t keep_blocks)
{
	const uint64_t blocks = blocks_of(bare, record_second(*file));
	const uint64_t start = record_first(*file);

	if (record_link(*file) != LINK_INLINE) {
		trim_ring(bare, file, keep_blocks);
		return;
	}
	if (keep_blocks < blocks)
		give_back(bare, (struct extent){ start + keep_blocks, blocks - keep_blocks });
	*file = record(start, keep_blocks * bare->layout.config.block_bytes, LINK_INLINE);
}

/* Lets the file grow by `blocks` from goal on, or changes nothing. */
static int grow(struct bare *bare, struct bare_record *file, uint64_t blocks, uint64_t goal)
{
	const struct bare_record before = *file;
	const uint64_t old_blocks = blocks_of(bare, record_second(*file));
	int result = 0;

	if (blocks > freespace_blocks(bare->space))
		return -ENOSPC;
	while (blocks && result == 0) {
		struct extent taken = { goal, 0 };
		const bool in_place = old_blocks && goal == end_of(bare, *file) &&
				      bare->placement->grows_in_place;
		const int64_t grown = in_place ? freespace_extend(bare->space, goal, blocks) : 0;

		if (grown > 0)
			taken.length_blocks = (uint64_t)grown;
		else if (grown == 0)
			result = bare->placement->take(bare, goal, blocks, &taken);
		else
			result = (int)grown;
		if (result < 0)
			break;
		bare->layout.used_blocks += taken.length_blocks;
		result = add_extent(bare, file, taken);
		if (result < 0)
			give_back(bare, taken);
		blocks -= taken.length_blocks;
		goal = taken.start_block + taken.length_blocks;
	}
	if (result < 0) {
		trim(bare, file, old_blocks);
		*file = record(record_first(*file), record_second(before), record_link(*file));
	}
	bare->layout.peak_blocks = max_u64(bare->layout.peak_blocks, bare->layout.used_blocks);
	return result;
}

static void account(struct bare *bare)
{
	bare->layout.memory_bytes = sizeof(*bare) + freespace_memory_bytes(bare->space) +
				    arena_memory_bytes(&bare->extents) +
				    bare->files_touched * sizeof(*bare->files);
}

/* Adds the transfers of blocks from .. to - 1 of the file. Pieces end at multiples of
 * request_bytes from the start of their extent, and are never longer than max_request_bytes. */
static void add_requests(const struct bare *bare, struct bare_record file, enum request_op op,
	uint8_t stage, uint64_t from, uint64_t to, struct plan *plan)
{
	const struct layout_config *config = &bare->layout.config;
	const uint64_t block_bytes = config->block_bytes;
	const uint64_t longest = min_u64(config->max_request_bytes, UINT32_MAX) / block_bytes;
	const uint64_t grid = config->request_bytes / block_bytes;
	struct cursor cursor = { .bare = bare, .file = file };
	struct extent extent;
	uint64_t start = 0; /* of the extent, in the file */

	while (start < to && cursor_next(&cursor, &extent)) {
		const uint64_t end = min_u64(extent.length_blocks, to - min_u64(to, start));
		uint64_t at = from > start ? from - start : 0;

		while (at < end) {
			uint64_t length = min_u64(end - at, longest);

			if (grid)
				length = min_u64(length, grid - at % grid);
			(void)plan_add(plan, op, ROLE_DATA, stage,
				(extent.start_block + at) * block_bytes,
				(uint32_t)(length * block_bytes));
			at += length;
		}
		start += extent.length_blocks;
	}
}

static int check_config(const struct layout_config *config, struct error *error)
{
	if (!config->block_bytes || config->block_bytes % 512)
		return error_set(error, -EINVAL, "block size %u is not a multiple of 512 bytes",
			config->block_bytes);
	if (!config->block_count || config->block_count > FREESPACE_BLOCKS_MAX)
		return error_set(error, -EINVAL,
			"%llu blocks: a layout needs 1 to %llu; choose another --size",
			(unsigned long long)config->block_count,
			(unsigned long long)FREESPACE_BLOCKS_MAX);
	if (config->first_block > INT64_MAX / config->block_bytes - config->block_count)
		return error_set(error, -EINVAL,
			"first block %llu lies beyond what an offset can say; lower --offset",
			(unsigned long long)config->first_block);
	if (config->first_block + config->block_count > NUMBER_MAX)
		return error_set(error, -EINVAL,
			"blocks up to %llu lie beyond the highest block number, 2^48 - 1",
			(unsigned long long)(config->first_block + config->block_count));
	if (config->span_blocks > config->block_count)
		return error_set(error, -EINVAL,
			"a span of %llu blocks does not fit into %llu; lower --span",
			(unsigned long long)config->span_blocks,
			(unsigned long long)config->block_count);
	if (config->span_blocks && !config->files_expected)
		return error_set(error, -EINVAL,
			"a span of %llu blocks needs the number of files that share it",
			(unsigned long long)config->span_blocks);
	if (config->request_bytes % config->block_bytes)
		return error_set(error, -EINVAL,
			"request size %llu is not a multiple of the block of %u bytes",
			(unsigned long long)config->request_bytes, config->block_bytes);
	if (config->max_request_bytes < config->block_bytes)
		return error_set(error, -EINVAL,
			"largest request %llu is below the block of %u bytes; raise --max-request",
			(unsigned long long)config->max_request_bytes, config->block_bytes);
	return 0;
}

int bare_format(const struct layout_config *config, const struct layout_ops *ops,
	const struct bare_placement *placement, struct layout **ret_layout, struct error *error)
{
	struct bare *bare;
	int result = check_config(config, error);

	if (result < 0)
		return result;
	bare = calloc(1, sizeof(*bare));
	if (!bare)
		return error_set(error, -ENOMEM, "no memory for a layout");
	bare->layout.ops = ops;
	bare->layout.config = *config;
	bare->placement = placement;
	arena_init(&bare->extents, sizeof(struct bare_record));
	rng_seed(&bare->rng, config->seed, RNG_LAYOUT);
	bare->files = calloc(max_u64(config->files_max, 1), sizeof(*bare->files));
	result = bare->files ? freespace_new(config->first_block, config->block_count, &bare->space)
			     : -ENOMEM;
	if (result < 0) {
		bare_free(&bare->layout);
		return error_set(
			error, result, "no memory for a layout of %u files", config->files_max);
	}
	account(bare);
	*ret_layout = &bare->layout;
	return 0;
}

/* The record of a slot, or NULL when the slot is beyond the table or holds no file. */
static struct bare_record *file_at(struct bare *bare, uint32_t slot)
{
	if (slot >= bare->layout.config.files_max || record_link(bare->files[slot]) == LINK_ABSENT)
		return NULL;
	return &bare->files[slot];
}

int bare_create(
	struct layout *layout, uint32_t slot, uint64_t bytes, nsec_t time_ns, struct plan *plan)
{
	struct bare *bare = bare_of(layout);
	struct bare_record file = record(0, 0, LINK_INLINE);
	int result;

	(void)time_ns;
	if (slot >= layout->config.files_max)
		return -EINVAL;
	if (file_at(bare, slot))
		return -EEXIST;
	if (bytes > NUMBER_MAX - layout->config.block_bytes)
		return -EFBIG;
	result = grow(bare, &file, blocks_of(bare, bytes), bare->placement->goal(bare));
	if (result == 0) {
		bare->files[slot] = record(record_first(file), bytes, record_link(file));
		bare->files_touched = max_u64(bare->files_touched, (uint64_t)slot + 1);
		bare->created_count++;
		add_requests(bare, bare->files[slot], REQUEST_WRITE, 0, 0, UINT64_MAX, plan);
	}
	account(bare);
	return result;
}

int bare_append(
	struct layout *layout, uint32_t slot, uint64_t bytes, nsec_t time_ns, struct plan *plan)
{
	struct bare *bare = bare_of(layout);
	struct bare_record *file = file_at(bare, slot);
	const uint64_t block_bytes = layout->config.block_bytes;
	uint64_t old_bytes, old_blocks, goal;
	bool has_tail;
	int result;

	(void)time_ns;
	if (!file)
		return -ENOENT;
	old_bytes = record_second(*file);
	old_blocks = blocks_of(bare, old_bytes);
	has_tail = old_bytes % block_bytes != 0;
	if (bytes > NUMBER_MAX - block_bytes - old_bytes)
		return -EFBIG;
	if (!bytes)
		return 0;
	goal = old_blocks ? end_of(bare, *file) : bare->placement->goal(bare);
	result = grow(bare, file, blocks_of(bare, old_bytes + bytes) - old_blocks, goal);
	if (result == 0) {
		const bool reads = has_tail && layout->config.tail_read;

		*file = record(record_first(*file), old_bytes + bytes, record_link(*file));
		if (reads)
			add_requests(
				bare, *file, REQUEST_READ, 0, old_blocks - 1, old_blocks, plan);
		add_requests(
			bare, *file, REQUEST_WRITE, reads, old_blocks - has_tail, UINT64_MAX, plan);
	}
	account(bare);
	return result;
}

int bare_read(struct layout *layout, uint32_t slot, nsec_t time_ns, struct plan *plan)
{
	struct bare *bare = bare_of(layout);
	const struct bare_record *file = file_at(bare, slot);

	(void)time_ns;
	if (!file)
		return -ENOENT;
	add_requests(bare, *file, REQUEST_READ, 0, 0, UINT64_MAX, plan);
	return 0;
}

int bare_remove(struct layout *layout, uint32_t slot, nsec_t time_ns, struct plan *plan)
{
	struct bare *bare = bare_of(layout);
	struct bare_record *file = file_at(bare, slot);

	(void)time_ns;
	(void)plan;
	if (!file)
		return -ENOENT;
	trim(bare, file, 0);
	*file = record(0, 0, LINK_ABSENT);
	account(bare);
	return 0;
}

int bare_sync(struct layout *layout, nsec_t time_ns, struct plan *plan)
{
	(void)layout;
	(void)time_ns;
	(void)plan;
	return 0;
}

int bare_walk(const struct layout *layout, layout_visit_fn visit, void *user)
{
	const struct bare *bare = container_of(layout, const struct bare, layout);

	for (uint64_t slot = 0; slot < bare->files_touched; slot++) {
		struct cursor cursor = { .bare = bare, .file = bare->files[slot] };
		struct extent extent;

		if (record_link(cursor.file) == LINK_ABSENT)
			continue;
		while (cursor_next(&cursor, &extent)) {
			const int result = visit(user, extent, ROLE_DATA, slot);

			if (result)
				return result;
		}
	}
	return freespace_walk(bare->space, visit, user);
}

void bare_free(struct layout *layout)
{
	struct bare *bare;

	if (!layout)
		return;
	bare = bare_of(layout);
	freespace_free(bare->space);
	arena_done(&bare->extents);
	free(bare->files);
	free(bare);
}
