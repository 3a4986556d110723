/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an allocation costs with 10 million free extents, beside a plain glibc tree of as many keys
 * in the same run (rounds of both, interleaved), and what a live file costs in memory.
 *
 * The mix keeps the number of extents: pairs of one allocation (near a random goal, best fit in
 * everything, best fit within a range, by turns) and one release of what was taken before. One
 * call of the tree is tfind + tdelete + tsearch of a random key divided by three.
 *
 * Usage: bench_freespace [EXTENTS [CALLS PER ROUND]]
 */
#include "engine/clock.h"
#include "engine/rng.h"
#include "fsmodel/freespace.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 9
#define HELD 4096 /* allocations are held this long before they are given back */

static double now_ns(void)
{
	return (double)clock_now(&clock_monotonic);
}

static void must(int result)
{
	if (result < 0)
		abort();
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values)
{
	double sorted[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		sorted[i] = values[i];
	qsort(sorted, ROUNDS, sizeof(sorted[0]), by_value);
	return sorted[ROUNDS / 2];
}

/* Free extents of 1 to 31 blocks at random, one owned block behind each, and nothing else. */
static struct freespace *fragmented(uint64_t extents, struct rng *rng, uint64_t *ret_blocks)
{
	struct freespace *space;
	struct rng again = *rng;
	uint64_t blocks = 0, block = 0;

	for (uint64_t i = 0; i < extents; i++)
		blocks += 2 + rng_below(rng, 31);
	must(freespace_new(0, blocks, &space));
	for (uint64_t i = 0; i < extents; i++) {
		block += 1 + rng_below(&again, 31);
		must(freespace_take(space, (struct extent){ block++, 1 }));
	}
	*ret_blocks = blocks;
	return space;
}

static void allocate(struct freespace *space, struct rng *rng, uint64_t blocks, int kind,
	struct extent *ret_taken)
{
	const uint64_t length = 1 + rng_below(rng, 4);
	const uint64_t goal = rng_below(rng, blocks);
	struct extent range = { 0, blocks };

	if (kind == 2)
		range = (struct extent){ goal / 32768 * 32768, 32768 }; /* an ext4 group */
	if (kind == 0)
		must(freespace_near(space, goal, length, ret_taken));
	else if (freespace_best_fit(space, length, range, ret_taken) < 0)
		must(freespace_near(space, goal, length, ret_taken));
}

struct cost {
	double take_ns[3][ROUNDS];
	double release_ns[ROUNDS];
};

/* One round: batches of one verb each, so that the clock is read rarely. */
static void play_space(struct freespace *space, struct rng *rng, uint64_t blocks, long calls,
	int round, struct cost *cost)
{
	static struct extent held[HELD];
	double release_ns = 0;
	long releases = 0;

	for (int kind = 0; kind < 3; kind++) {
		double take_ns = 0;
		long takes = 0;

		while (takes < calls / 6) {
			double start = now_ns();

			for (int i = 0; i < HELD; i++)
				allocate(space, rng, blocks, kind, &held[i]);
			take_ns += now_ns() - start;
			start = now_ns();
			for (int i = 0; i < HELD; i++)
				must(freespace_release(space, held[i]));
			release_ns += now_ns() - start;
			takes += HELD;
			releases += HELD;
		}
		cost->take_ns[kind][round] = take_ns / (double)takes;
	}
	cost->release_ns[round] = release_ns / (double)releases;
}

static int by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double play_tree(void **root, uint64_t *keys, uint64_t count, struct rng *rng, long calls)
{
	const double start = now_ns();

	for (long i = 0; i < calls / 3; i++) {
		uint64_t *key = &keys[rng_below(rng, count)];

		if (!tfind(key, root, by_key))
			abort();
		tdelete(key, root, by_key);
		*key = rng_next(rng);
		if (!tsearch(key, root, by_key))
			abort();
	}
	return (now_ns() - start) / (double)(calls / 3 * 3);
}

static void bench_time(uint64_t extents, long calls)
{
	uint64_t *keys = malloc(extents * sizeof(*keys));
	static struct cost cost;
	double tree_ns[ROUNDS], worst_ratio[ROUNDS];
	struct freespace *space;
	void *root = NULL;
	uint64_t blocks;
	struct rng rng;

	rng_seed(&rng, 42, RNG_LAYOUT);
	space = fragmented(extents, &rng, &blocks);
	if (!keys)
		abort();
	for (uint64_t i = 0; i < extents; i++) {
		keys[i] = rng_next(&rng);
		if (!tsearch(&keys[i], &root, by_key))
			abort();
	}
	printf("free extents: %llu at start\n", (unsigned long long)freespace_extents(space));
	/* Aged first: nodes that rising keys have filled to the brim split at the first touch. */
	play_space(space, &rng, blocks, (long)extents, 0, &cost);
	for (int round = 0; round < ROUNDS; round++) {
		double worst;

		play_space(space, &rng, blocks, calls, round, &cost);
		tree_ns[round] = play_tree(&root, keys, extents, &rng, calls / 4);
		worst = cost.release_ns[round];
		for (int kind = 0; kind < 3; kind++)
			if (cost.take_ns[kind][round] > worst)
				worst = cost.take_ns[kind][round];
		worst_ratio[round] = worst / tree_ns[round];
	}
	printf("free extents: %llu at end\n", (unsigned long long)freespace_extents(space));
	printf("near                 %7.0f ns\n", median(cost.take_ns[0]));
	printf("best fit             %7.0f ns\n", median(cost.take_ns[1]));
	printf("best fit in a group  %7.0f ns\n", median(cost.take_ns[2]));
	printf("release              %7.0f ns\n", median(cost.release_ns));
	printf("glibc tree, per call %7.0f ns\n", median(tree_ns));
	printf("slowest verb / tree  %7.2f (at most 2)\n", median(worst_ratio));
	freespace_verify(space);
	freespace_free(space);
}

/* A pool of one-extent files: packed; with a gap behind each (the span is about three times the
 * pool); and that pool after as many removals and creations of random files. */
static void bench_memory(uint32_t files, uint64_t span_blocks, bool aged)
{
	const struct layout_config config = {
		.block_count = (uint64_t)files * 16,
		.block_bytes = 4096,
		.files_max = files,
		.span_blocks = span_blocks,
		.files_expected = files,
		.max_request_bytes = 512 * 1024,
	};
	struct request_pool pool;
	struct layout *layout;
	struct plan plan;
	struct rng rng;

	rng_seed(&rng, 42, RNG_LOAD);
	must(request_pool_init(&pool, 64));
	plan_clear(&plan, &pool);
	must(layout_find("contiguous")->format(&config, &layout, NULL));
	for (uint32_t slot = 0; slot < files; slot++) {
		must(layout->ops->create(layout, slot, 4096 * (1 + rng_below(&rng, 4)), 0, &plan));
		plan_release(&plan);
	}
	for (uint32_t i = 0; aged && i < files; i++) {
		const uint32_t slot = (uint32_t)rng_below(&rng, files);

		must(layout->ops->remove(layout, slot, 0, &plan));
		must(layout->ops->create(layout, slot, 4096 * (1 + rng_below(&rng, 4)), 0, &plan));
		plan_release(&plan);
	}
	printf("%8u files, %-17s %5.1f bytes a file (%.1f with twice the slots)\n", files,
		aged          ? "aged:"
		: span_blocks ? "gap behind each:"
			      : "packed:",
		(double)layout->memory_bytes / files,
		(double)layout->memory_bytes / files + (double)sizeof(uint64_t[2]));
	layout->ops->free(layout);
	request_pool_done(&pool);
}

int main(int argc, char **argv)
{
	const uint64_t extents = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	const long calls = argc > 2 ? strtol(argv[2], NULL, 10) : 400000;

	bench_time(extents, calls);
	for (uint32_t files = 1000000; files <= 10000000; files *= 10) {
		bench_memory(files, 0, false);
		bench_memory(files, (uint64_t)files * 8, false);
		bench_memory(files, (uint64_t)files * 8, true);
	}
	return 0;
}
