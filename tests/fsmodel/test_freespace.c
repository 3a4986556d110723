/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: every verb of freespace does what its contract says, and both trees stay sound.
 * Method: random sequences of all verbs against a map of one byte per block that is searched
 * naively. Ranges from a handful of blocks (everything runs full and empty) to enough extents
 * for trees of three and more levels; the mix drifts between filling and emptying.
 */
#include "fsmodel/freespace.h"

#include "engine/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct model {
	uint64_t first_block;
	uint64_t count;
	bool *free; /* by block from first_block */
};

static uint64_t seed_from_environment(void)
{
	const char *text = getenv("SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 0) : 20261130;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/* The length of the run of free blocks from block on. */
static uint64_t run_at(const struct model *model, uint64_t block)
{
	uint64_t end = block;

	while (end < model->count && model->free[end])
		end++;
	return end - block;
}

static bool starts_at(const struct model *model, uint64_t block)
{
	return model->free[block] && (block == 0 || !model->free[block - 1]);
}

static bool model_first_from(
	const struct model *model, uint64_t from, uint64_t length, uint64_t *ret_block)
{
	for (uint64_t i = from; i < model->count; i++) {
		if (starts_at(model, i) && run_at(model, i) >= length) {
			*ret_block = i;
			return true;
		}
	}
	return false;
}

static bool model_near(
	const struct model *model, uint64_t goal, uint64_t length, uint64_t *ret_block)
{
	if (run_at(model, goal) >= length) {
		*ret_block = goal;
		return true;
	}
	return model_first_from(model, goal + 1, length, ret_block) ||
	       model_first_from(model, 0, length, ret_block);
}

static bool model_best(const struct model *model, uint64_t length, uint64_t low, uint64_t high,
	uint64_t *ret_block)
{
	uint64_t best = UINT64_MAX;

	for (uint64_t i = low; i < high && i < model->count; i++) {
		if (starts_at(model, i) && run_at(model, i) >= length && run_at(model, i) < best) {
			best = run_at(model, i);
			*ret_block = i;
		}
	}
	return best != UINT64_MAX;
}

static void model_set(struct model *model, struct extent extent, bool value)
{
	for (uint64_t i = 0; i < extent.length_blocks; i++) {
		bool *block = &model->free[extent.start_block - model->first_block + i];

		assert_true(*block != value);
		*block = value;
	}
}

/* Checks the answer of a verb that takes length blocks against where the model has them. */
static void expect_taken(struct model *model, int result, struct extent taken, bool found,
	uint64_t block, uint64_t length)
{
	assert_int_equal(result, found ? 0 : -ENOSPC);
	if (!found)
		return;
	assert_int_equal(taken.start_block, model->first_block + block);
	assert_int_equal(taken.length_blocks, length);
	model_set(model, taken, false);
}

static void try_near(struct freespace *space, struct model *model, struct rng *rng, uint64_t length)
{
	const uint64_t goal = rng_below(rng, model->count);
	struct extent taken = { 0 };
	uint64_t block = 0;
	const bool found = model_near(model, goal, length, &block);

	expect_taken(model, freespace_near(space, model->first_block + goal, length, &taken), taken,
		found, block, length);
}

static void try_first_fit(struct freespace *space, struct model *model, uint64_t length)
{
	struct extent taken = { 0 };
	uint64_t block = 0;
	const bool found = model_first_from(model, 0, length, &block);

	expect_taken(
		model, freespace_first_fit(space, length, &taken), taken, found, block, length);
}

static void try_best_fit(
	struct freespace *space, struct model *model, struct rng *rng, uint64_t length)
{
	/* Sometimes everything, often a narrow range that begins before or ends past the area. */
	const bool whole = rng_below(rng, 3) == 0;
	const uint64_t width = rng_below(rng, model->count + 2) >> rng_below(rng, 6);
	const uint64_t low = whole ? 0 : rng_below(rng, model->count + 2);
	const struct extent range = { model->first_block + low, whole ? UINT64_MAX : width };
	struct extent taken = { 0 };
	uint64_t block = 0;
	const bool found =
		model_best(model, length, low, whole ? model->count : low + width, &block);

	expect_taken(model, freespace_best_fit(space, length, range, &taken), taken, found, block,
		length);
}

static void try_take(struct freespace *space, struct model *model, struct rng *rng, uint64_t length)
{
	const uint64_t block = rng_below(rng, model->count);
	const struct extent wanted = { model->first_block + block, length };
	const bool is_free = run_at(model, block) >= length;

	assert_int_equal(freespace_take(space, wanted), is_free ? 0 : -EBUSY);
	if (is_free)
		model_set(model, wanted, false);
}

static void try_extend(
	struct freespace *space, struct model *model, struct rng *rng, uint64_t length)
{
	const uint64_t block = rng_below(rng, model->count + 1);
	const uint64_t run = block < model->count ? run_at(model, block) : 0;
	const struct extent taken = { model->first_block + block, min_u64(run, length) };

	assert_int_equal(freespace_extend(space, taken.start_block, length), taken.length_blocks);
	model_set(model, taken, false);
}

static void try_release(
	struct freespace *space, struct model *model, struct rng *rng, uint64_t length)
{
	const uint64_t block = rng_below(rng, model->count);
	const struct extent extent = { model->first_block + block, length };
	bool is_owned = block + length <= model->count;

	for (uint64_t i = block; is_owned && i < block + length; i++)
		is_owned = !model->free[i];
	assert_int_equal(freespace_release(space, extent), is_owned ? 0 : -EINVAL);
	if (is_owned)
		model_set(model, extent, true);
}

static void check_questions(
	const struct freespace *space, const struct model *model, struct rng *rng)
{
	const uint64_t block = rng_below(rng, model->count + 1);
	struct extent largest = { model->first_block, 0 };
	uint64_t total = 0, below = 0;

	for (uint64_t i = 0; i < model->count; i++) {
		const uint64_t run = starts_at(model, i) ? run_at(model, i) : 0;

		if (run > largest.length_blocks)
			largest = (struct extent){ model->first_block + i, run };
		total += model->free[i];
		below += model->free[i] && i < block;
	}
	assert_int_equal(freespace_blocks(space), total);
	assert_int_equal(freespace_largest(space).length_blocks, largest.length_blocks);
	if (total)
		assert_int_equal(freespace_largest(space).start_block, largest.start_block);
	assert_int_equal(freespace_rank(space, model->first_block + block), below);
	if (block < model->count && model->free[block])
		assert_int_equal(freespace_select(space, below), model->first_block + block);
}

struct comparison {
	const struct model *model;
	uint64_t next;
	uint64_t extents;
};

static int compare_extent(void *user, struct extent extent, enum request_role role, uint64_t owner)
{
	struct comparison *comparison = user;
	const struct model *model = comparison->model;
	const uint64_t start = extent.start_block - model->first_block;

	(void)role;
	assert_true(owner == LAYOUT_OWNER_FREE);
	for (; comparison->next < start; comparison->next++)
		assert_false(model->free[comparison->next]);
	assert_true(starts_at(model, start));
	assert_int_equal(run_at(model, start), extent.length_blocks);
	comparison->next = start + extent.length_blocks;
	comparison->extents++;
	return 0;
}

static void compare(const struct freespace *space, const struct model *model)
{
	struct comparison comparison = { .model = model };

	freespace_verify(space);
	assert_int_equal(freespace_walk(space, compare_extent, &comparison), 0);
	for (; comparison.next < model->count; comparison.next++)
		assert_false(model->free[comparison.next]);
	assert_int_equal(freespace_extents(space), comparison.extents);
}

/* Gives all back and expects the one extent of the beginning. */
static void release_all(struct freespace *space, struct model *model)
{
	for (uint64_t i = 0; i < model->count; i++) {
		const struct extent extent = { model->first_block + i, 1 };

		assert_int_equal(freespace_release(space, extent), model->free[i] ? -EINVAL : 0);
		model->free[i] = true;
	}
	compare(space, model);
	assert_int_equal(freespace_extents(space), 1);
	assert_int_equal(freespace_largest(space).length_blocks, model->count);
}

static void play(uint64_t seed, uint64_t count, uint64_t length_max, int operations)
{
	struct model model = { .first_block = 1000, .count = count };
	const int check_every = operations / 50 + 1;
	struct freespace *space;
	struct rng rng;

	rng_seed(&rng, seed ^ count ^ length_max << 32, RNG_LAYOUT);
	assert_int_equal(freespace_new(model.first_block, count, &space), 0);
	model.free = malloc(count);
	assert_non_null(model.free);
	memset(model.free, true, count);
	for (int i = 0; i < operations; i++) {
		const uint64_t length = 1 + rng_below(&rng, length_max);
		/* Four phases, in turn: mostly taking, then mostly giving back. */
		const bool giving = rng_below(&rng, 8) < (i * 4LL / operations % 2 ? 7 : 2);

		switch (giving ? 5 : rng_below(&rng, 5)) {
		case 0:
			try_near(space, &model, &rng, length);
			break;
		case 1:
			try_first_fit(space, &model, length);
			break;
		case 2:
			try_best_fit(space, &model, &rng, length);
			break;
		case 3:
			try_take(space, &model, &rng, length);
			break;
		case 4:
			try_extend(space, &model, &rng, length);
			break;
		default:
			try_release(space, &model, &rng, length);
			break;
		}
		if (i % check_every == 0) {
			check_questions(space, &model, &rng);
			compare(space, &model);
		}
	}
	compare(space, &model);
	release_all(space, &model);
	free(model.free);
	freespace_free(space);
}

static void test_every_verb_agrees_with_a_map(void **state)
{
	const uint64_t seed = seed_from_environment();

	(void)state;
	play(seed, 1, 2, 1000);
	play(seed, 7, 3, 20000);
	play(seed, 64, 9, 200000);
	play(seed, 1000, 5, 200000);
	play(seed, 1000, 200, 100000);
	play(seed, 20000, 2, 60000);
	play(seed, 200000, 1, 4000);
}

/* Goal: trees of several levels in both directions of growth and decay, where the naive model
 * would be too slow. Every second block is taken, in rising, falling or random order; the free
 * ones between are then as many extents. They are given back in the same or in the opposite
 * order: the second empties nodes that were split at their end. */
static void fragment(uint64_t seed, int order, bool last_first)
{
	const uint64_t count = 120000;
	uint64_t *blocks = malloc(count / 2 * sizeof(*blocks));
	struct freespace *space;
	struct rng rng;

	assert_non_null(blocks);
	rng_seed(&rng, seed, RNG_LAYOUT);
	for (uint64_t i = 0; i < count / 2; i++)
		blocks[i] = order == 1 ? count - 1 - 2 * i : 2 * i + 1;
	for (uint64_t i = count / 2; order == 2 && i > 1; i--) {
		const uint64_t other = rng_below(&rng, i), block = blocks[other];

		blocks[other] = blocks[i - 1];
		blocks[i - 1] = block;
	}
	assert_int_equal(freespace_new(0, count, &space), 0);
	for (uint64_t i = 0; i < count / 2; i++)
		assert_int_equal(freespace_take(space, (struct extent){ blocks[i], 1 }), 0);
	freespace_verify(space);
	assert_int_equal(freespace_extents(space), count / 2);
	assert_int_equal(freespace_select(space, count / 4), count / 2);
	for (uint64_t i = 0; i < count / 2; i++) {
		const uint64_t block = blocks[last_first ? count / 2 - 1 - i : i];

		assert_int_equal(freespace_release(space, (struct extent){ block, 1 }), 0);
		if (i < 4 || i % (count / 8) == 0)
			freespace_verify(space);
	}
	freespace_verify(space);
	assert_int_equal(freespace_extents(space), 1);
	freespace_free(space);
	free(blocks);
}

static void test_fragmented_space_grows_and_heals(void **state)
{
	const uint64_t seed = seed_from_environment();

	(void)state;
	for (int order = 0; order < 3; order++) {
		fragment(seed, order, false);
		fragment(seed, order, true);
	}
}

/* One long extent behind many short ones must be found from any goal, and nothing longer. */
static void test_near_skips_what_is_too_short(void **state)
{
	const uint64_t count = 100000;
	struct freespace *space;
	struct extent taken;

	(void)state;
	assert_int_equal(freespace_new(0, count, &space), 0);
	for (uint64_t block = 1; block < count - 4; block += 2)
		assert_int_equal(freespace_take(space, (struct extent){ block, 1 }), 0);
	assert_int_equal(freespace_near(space, 0, 5, &taken), -ENOSPC);
	assert_int_equal(freespace_near(space, 10, 4, &taken), 0);
	assert_int_equal(taken.start_block, count - 4);
	assert_int_equal(freespace_near(space, 10, 2, &taken), -ENOSPC);
	assert_int_equal(freespace_release(space, (struct extent){ 1, 1 }), 0);
	assert_int_equal(freespace_near(space, 50001, 3, &taken), 0);
	assert_int_equal(taken.start_block, 0);
	freespace_verify(space);
	freespace_free(space);
}

static void test_ranges_that_cannot_be_kept_are_refused(void **state)
{
	struct freespace *space;
	struct extent taken;

	(void)state;
	assert_int_equal(freespace_new(0, 0, &space), -EINVAL);
	assert_int_equal(freespace_new(0, FREESPACE_BLOCKS_MAX + 1, &space), -EINVAL);
	assert_int_equal(freespace_new(UINT64_MAX - 5, 6, &space), -EINVAL);
	assert_int_equal(freespace_new(17, FREESPACE_BLOCKS_MAX, &space), 0);
	assert_int_equal(freespace_release(space, (struct extent){ 17, 1 }), -EINVAL);
	assert_int_equal(freespace_take(space, (struct extent){ 16, 1 }), -EBUSY);
	assert_int_equal(freespace_near(space, 17 + FREESPACE_BLOCKS_MAX - 1, 1, &taken), 0);
	assert_int_equal(freespace_first_fit(space, FREESPACE_BLOCKS_MAX - 1, &taken), 0);
	assert_int_equal(freespace_blocks(space), 0);
	assert_int_equal(freespace_first_fit(space, 1, &taken), -ENOSPC);
	assert_int_equal(freespace_release(space, (struct extent){ 0, 20 }), -EINVAL);
	assert_int_equal(freespace_release(space, taken), 0);
	freespace_verify(space);
	freespace_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_verb_agrees_with_a_map),
		cmocka_unit_test(test_fragmented_space_grows_and_heals),
		cmocka_unit_test(test_near_skips_what_is_too_short),
		cmocka_unit_test(test_ranges_that_cannot_be_kept_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
