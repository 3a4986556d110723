/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbered items in huge pages; see the header. */
#include "fsmodel/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void arena_init(struct arena *arena, uint32_t item_bytes)
{
	assert(item_bytes >= sizeof(uint32_t) && !(item_bytes & (item_bytes - 1)));
	*arena = (struct arena){ .item_bytes = item_bytes, .free_first = ARENA_NONE };
	while ((uint64_t)item_bytes << (arena->chunk_shift + 1) <= ARENA_CHUNK_BYTES)
		arena->chunk_shift++;
}

void arena_done(struct arena *arena)
{
	for (uint32_t i = 0; i < arena->chunk_count; i++)
		free(arena->chunks[i]);
	free(arena->chunks);
	*arena = (struct arena){ 0 };
}

static int add_chunk(struct arena *arena)
{
	const uint64_t items = ((uint64_t)arena->chunk_count + 1) << arena->chunk_shift;
	unsigned char **grown;
	void *chunk;

	if (items > UINT32_MAX)
		return -ENOMEM;
	grown = realloc(arena->chunks, ((size_t)arena->chunk_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	arena->chunks = grown;
	chunk = aligned_alloc(ARENA_CHUNK_BYTES, ARENA_CHUNK_BYTES);
	if (!chunk)
		return -ENOMEM;
	/* A kernel without huge pages says no: slower, nothing else. */
	(void)madvise(chunk, ARENA_CHUNK_BYTES, MADV_HUGEPAGE);
	arena->chunks[arena->chunk_count++] = chunk;
	return 0;
}

int arena_reserve(struct arena *arena, uint32_t count)
{
	for (;;) {
		const uint64_t items = (uint64_t)arena->chunk_count << arena->chunk_shift;
		int result;

		if (items - arena->touched_count + arena->free_count >= count)
			return 0;
		result = add_chunk(arena);
		if (result < 0)
			return result;
	}
}

uint32_t arena_take(struct arena *arena)
{
	const uint32_t number = arena->free_first;

	if (number != ARENA_NONE) {
		memcpy(&arena->free_first, arena_at(arena, number), sizeof(arena->free_first));
		arena->free_count--;
		return number;
	}
	assert(arena->touched_count < (uint64_t)arena->chunk_count << arena->chunk_shift);
	return arena->touched_count++;
}

void arena_give(struct arena *arena, uint32_t number)
{
	assert(number < arena->touched_count);
	memcpy(arena_at(arena, number), &arena->free_first, sizeof(arena->free_first));
	arena->free_first = number;
	arena->free_count++;
}

size_t arena_memory_bytes(const struct arena *arena)
{
	return (size_t)arena->touched_count * arena->item_bytes +
	       arena->chunk_count * sizeof(*arena->chunks);
}
