/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/buffers.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/rng.h"

#define HUGE_BYTES ((size_t)(2 * MIB))

/* A block that begins on a huge page: more is mapped, the ends are given back. */
static void *map_aligned(size_t bytes)
{
	char *map = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (map == MAP_FAILED)
		return NULL;
	before = round_up((uintptr_t)map, HUGE_BYTES) - (uintptr_t)map;
	if (before)
		(void)munmap(map, before);
	(void)munmap(map + before + bytes, HUGE_BYTES - before);
	return map + before;
}

/* Random bodies; also what makes the pages present before the first request. */
static void fill(void *memory, size_t bytes, uint64_t seed)
{
	uint64_t *words = memory;
	struct rng rng;

	rng_seed(&rng, seed, RNG_DATA);
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		words[i] = rng_next(&rng);
}

static void touch(void *memory, size_t bytes, size_t page_bytes)
{
	volatile char *pages = memory;

	for (size_t i = 0; i < bytes; i += page_bytes)
		pages[i] = 0;
}

int buffers_open(struct buffers *buffers, unsigned slots, size_t slot_bytes, bool reads,
	bool writes, uint64_t seed, struct error *error)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	bool separate = reads && writes;
	size_t areas = (size_t)slots * (separate ? 2 : 1);
	size_t area_bytes, used_bytes;
	char *memory = NULL;

	assert(slots > 0 && slot_bytes > 0 && (reads || writes));
	area_bytes = round_up(slot_bytes, page_bytes);
	if (!__builtin_mul_overflow(areas, area_bytes, &used_bytes) &&
		used_bytes < SIZE_MAX - 2 * HUGE_BYTES)
		memory = map_aligned(round_up(used_bytes, HUGE_BYTES));
	if (!memory)
		return error_set(error, -ENOMEM,
			"no memory for buffers: %zu areas of %zu bytes; use a smaller depth or "
			"smaller requests",
			areas, area_bytes);
	*buffers = (struct buffers){
		.memory = memory,
		.bytes = round_up(used_bytes, HUGE_BYTES),
		.slot_bytes = area_bytes,
		.slots = slots,
		.separate = separate,
	};
	buffers->huge = madvise(memory, buffers->bytes, MADV_HUGEPAGE) == 0;
	if (reads)
		touch(memory, slots * area_bytes, page_bytes);
	if (writes)
		fill(buffers_area(buffers, 0, true), slots * area_bytes, seed);
	return 0;
}

void buffers_close(struct buffers *buffers)
{
	if (buffers->memory)
		(void)munmap(buffers->memory, buffers->bytes);
	*buffers = (struct buffers){ 0 };
}
