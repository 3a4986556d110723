/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Goal: the tree of free slots answers as a walk over the table would. Method: random takes and
 * gives at many table sizes, compared with an array of flags after every step. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "engine/rng.h"
#include "fsmodel/slotmap.h"

static uint32_t naive_lowest(const bool *used, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!used[i])
			return i;
	}
	return SLOTMAP_NONE;
}

static void compare(uint32_t count, struct rng *rng)
{
	bool *used = calloc(count, sizeof(*used));
	struct slotmap map;

	assert_non_null(used);
	assert_int_equal(slotmap_init(&map, count), 0);
	for (int step = 0; step < 600; step++) {
		/* Full tables must come up too: half of the steps take the lowest. */
		const uint32_t lowest = naive_lowest(used, count);
		const uint32_t any = (uint32_t)rng_below(rng, count);
		const uint32_t slot = lowest != SLOTMAP_NONE && rng_below(rng, 2) ? lowest : any;

		assert_int_equal(slotmap_lowest(&map), lowest);
		assert_int_equal(slotmap_is_free(&map, slot), !used[slot]);
		if (used[slot])
			slotmap_give(&map, slot);
		else
			slotmap_take(&map, slot);
		used[slot] = !used[slot];
	}
	slotmap_reset(&map);
	assert_int_equal(slotmap_lowest(&map), 0);
	for (uint32_t i = 0; i < count; i++)
		slotmap_take(&map, i);
	assert_int_equal(slotmap_lowest(&map), SLOTMAP_NONE);
	slotmap_give(&map, count - 1);
	assert_int_equal(slotmap_lowest(&map), count - 1);
	slotmap_done(&map);
	free(used);
}

static void test_equals_a_walk(void **state)
{
	static const uint32_t counts[] = { 1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 262145 };
	const char *text = getenv("SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
	struct rng rng;

	(void)state;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	rng_seed(&rng, seed, RNG_LOAD);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		compare(counts[i], &rng);
	for (int i = 0; i < 50; i++)
		compare(1 + (uint32_t)rng_below(&rng, 9000), &rng);
}

static void test_memory_is_about_a_bit_per_slot(void **state)
{
	(void)state;
	assert_int_equal(slotmap_memory_bytes(64), 8);
	assert_int_equal(slotmap_memory_bytes(65), 2 * 8 + 8);
	assert_true(slotmap_memory_bytes(20000000) < 20000000 / 8 * 1.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_a_walk),
		cmocka_unit_test(test_memory_is_about_a_bit_per_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
