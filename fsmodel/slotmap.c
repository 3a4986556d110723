/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fsmodel/slotmap.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64

/* Words of all levels together; the top level is a single word. */
static size_t words_total(uint32_t slot_count)
{
	size_t total = 0;
	size_t words = slot_count;

	do {
		words = divide_up(words, WORD_BITS);
		total += words;
	} while (words > 1);
	return total;
}

size_t slotmap_memory_bytes(uint32_t slot_count)
{
	return words_total(slot_count) * sizeof(uint64_t);
}

int slotmap_init(struct slotmap *map, uint32_t slot_count)
{
	size_t words = slot_count;
	uint64_t *next;

	assert(slot_count > 0);
	*map = (struct slotmap){ .slot_count = slot_count };
	map->words = malloc(slotmap_memory_bytes(slot_count));
	if (!map->words)
		return -ENOMEM;

	next = map->words;
	do {
		assert(map->level_count < SLOTMAP_LEVELS_MAX);
		words = divide_up(words, WORD_BITS);
		map->levels[map->level_count++] = next;
		next += words;
	} while (words > 1);
	slotmap_reset(map);
	return 0;
}

void slotmap_done(struct slotmap *map)
{
	free(map->words);
	*map = (struct slotmap){ 0 };
}

void slotmap_reset(struct slotmap *map)
{
	size_t bits = map->slot_count;

	for (unsigned level = 0; level < map->level_count; level++) {
		const size_t full = bits / WORD_BITS;
		const unsigned rest = bits % WORD_BITS;

		memset(map->levels[level], 0xff, full * sizeof(uint64_t));
		if (rest)
			map->levels[level][full] = (UINT64_C(1) << rest) - 1;
		bits = divide_up(bits, WORD_BITS);
	}
}

uint32_t slotmap_lowest(const struct slotmap *map)
{
	uint64_t index = 0;

	for (unsigned level = map->level_count; level-- > 0;) {
		const uint64_t word = map->levels[level][index];

		if (!word)
			return SLOTMAP_NONE;
		index = index * WORD_BITS + (unsigned)__builtin_ctzll(word);
	}
	return (uint32_t)index;
}

bool slotmap_is_free(const struct slotmap *map, uint32_t slot)
{
	assert(slot < map->slot_count);
	return map->levels[0][slot / WORD_BITS] >> (slot % WORD_BITS) & 1;
}

void slotmap_take(struct slotmap *map, uint32_t slot)
{
	uint32_t index = slot;

	assert(slotmap_is_free(map, slot));
	for (unsigned level = 0; level < map->level_count; level++) {
		uint64_t *word = &map->levels[level][index / WORD_BITS];

		*word &= ~(UINT64_C(1) << (index % WORD_BITS));
		if (*word)
			return;
		index /= WORD_BITS;
	}
}

void slotmap_give(struct slotmap *map, uint32_t slot)
{
	uint32_t index = slot;

	assert(!slotmap_is_free(map, slot));
	for (unsigned level = 0; level < map->level_count; level++) {
		uint64_t *word = &map->levels[level][index / WORD_BITS];
		const bool was_empty = !*word;

		*word |= UINT64_C(1) << (index % WORD_BITS);
		if (!was_empty)
			return;
		index /= WORD_BITS;
	}
}
