/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: the tree stays sound at its edges, where nodes are split at their end and so hold a single
 * entry, and where such nodes empty again below several levels.
 * Method: a window of numbers that grows and shrinks at either side by random steps, so that every
 * fill of the outermost nodes occurs; after each step the whole tree is verified.
 */
#include "fsmodel/btree.h"

#include "engine/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void change(struct btree *tree, uint64_t number, bool adds)
{
	const struct btree_entry entry = { number, 1 + number % 7 };
	struct btree_place place;

	assert_int_equal(arena_reserve(tree->nodes, btree_reserve_for_insert(tree)), 0);
	if (!tree->summed) {
		btree_exchange(tree, &entry, !adds, &entry, adds);
		return;
	}
	(void)btree_seek(tree, (struct btree_entry){ number, BTREE_NUMBER_MAX }, &place);
	if (adds)
		btree_insert_after(tree, &place, entry);
	else
		btree_remove(tree, &place);
}

static void play(uint64_t seed, bool summed, uint64_t size)
{
	uint64_t low = UINT64_C(1) << 30, high = low; /* the tree holds low .. high - 1 */
	struct arena nodes;
	struct btree tree;
	struct rng rng;

	arena_init(&nodes, BTREE_NODE_BYTES);
	assert_int_equal(btree_init(&tree, &nodes, summed), 0);
	rng_seed(&rng, seed, RNG_LAYOUT);
	while (high - low < size) {
		if (rng_below(&rng, 2) || seed % 2)
			change(&tree, --low, true);
		else
			change(&tree, high++, true);
	}
	for (int i = 0; i < 1500; i++) {
		/* One step back and two forth at one side, or the other way round. */
		const bool grows = rng_below(&rng, 4) > 0, at_low = rng_below(&rng, 2);

		for (int step = 0; step < 3; step++) {
			const bool adds = (step != 1) == grows;

			if (at_low && adds)
				change(&tree, --low, true);
			else if (at_low)
				change(&tree, low++, false);
			else if (adds)
				change(&tree, high++, true);
			else
				change(&tree, --high, false);
			assert_int_equal(
				btree_verify(&tree), nodes.touched_count - nodes.free_count);
			assert_int_equal(tree.count, high - low);
		}
	}
	while (high > low)
		change(&tree, rng_below(&rng, 2) ? --high : low++, false);
	assert_int_equal(btree_verify(&tree), 1);
	arena_done(&nodes);
}

static void test_edges_stay_sound(void **state)
{
	const char *text = getenv("SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 0) : 20261130;

	(void)state;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < 2; i++) {
		play(seed + i, true, 5000);
		play(seed + i, false, 5000);
		play(seed + i, true, 150);
		play(seed + i, false, 150);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges_stay_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
