/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What it costs to analyse a trace of a million requests, by depth, and to put them into the order
 * of a replay; beside sorting the same number of keys with qsort, so that the figure means
 * something on any machine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/clock.h"
#include "engine/radix.h"
#include "engine/replay.h"
#include "engine/rng.h"
#include "tools/reordering.h"

#define COUNT 1000000u

static struct trace_record records[COUNT];
static struct reordering reordering;

/* A drive that takes any of the depth at hand; records in the order of completion. */
static void fill(unsigned depth)
{
	static uint32_t at_drive[1024];
	static nsec_t sent_ns[1024];
	struct rng rng;

	rng_seed(&rng, 42, RNG_LOAD);
	for (uint32_t i = 0; i < depth; i++) {
		at_drive[i] = i;
		sent_ns[i] = 0;
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t slot = (uint32_t)rng_below(&rng, depth);

		records[i] = (struct trace_record){
			.offset_bytes = 4096 * rng_below(&rng, 1 << 28),
			.queued_ns = sent_ns[slot],
			.dispatched_ns = sent_ns[slot],
			.completed_ns = 5000000 * (nsec_t)(i + 1),
			.sequence = at_drive[slot],
			.dispatch = at_drive[slot],
			.length_bytes = 4096,
			.result = 4096,
			.op = REQUEST_WRITE,
		};
		at_drive[slot] = depth + i;
		sent_ns[slot] = records[i].completed_ns;
	}
}

static double per_record(nsec_t begin_ns)
{
	return (double)(clock_now(&clock_monotonic) - begin_ns) / COUNT;
}

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static double time_qsort(void)
{
	uint64_t *keys = malloc(COUNT * sizeof(*keys));
	nsec_t begin_ns;
	double ns;

	if (!keys)
		exit(1);
	for (uint32_t i = 0; i < COUNT; i++)
		keys[i] = records[i].offset_bytes;
	begin_ns = clock_now(&clock_monotonic);
	qsort(keys, COUNT, sizeof(*keys), compare);
	ns = per_record(begin_ns);
	free(keys);
	return ns;
}

static double time_radix(void)
{
	struct radix_item *items = malloc(2 * COUNT * sizeof(*items));
	nsec_t begin_ns;
	double ns;

	if (!items)
		exit(1);
	for (uint32_t i = 0; i < 2 * COUNT; i++)
		items[i] = (struct radix_item){ records[i % COUNT].offset_bytes, i };
	begin_ns = clock_now(&clock_monotonic);
	radix_sort(items, items + COUNT, COUNT);
	ns = per_record(begin_ns);
	free(items);
	return ns;
}

static double time_replay(void)
{
	const struct replay_config config = {
		.records = records,
		.count = COUNT,
		.order = REPLAY_COMPLETED,
		.area_bytes = UINT64_C(1) << 41,
		.block_bytes = 4096,
	};
	nsec_t begin_ns = clock_now(&clock_monotonic);
	struct source *source;
	double ns;

	if (replay_new(&config, &source, NULL) < 0)
		exit(1);
	ns = per_record(begin_ns);
	source->ops->free(source);
	return ns;
}

int main(void)
{
	static const unsigned depths[] = { 1, 4, 32, 1024 };

	fill(1);
	printf("qsort of the keys:        %.0f ns a record\n", time_qsort());
	printf("radix_sort of the same:   %.0f ns a record\n", time_radix());
	printf("replay in drive's order:  %.0f ns a record\n", time_replay());
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		const struct reordering_config config = { REORDERING_ALL, depths[i], 0, 1000 };
		nsec_t begin_ns;

		fill(depths[i]);
		begin_ns = clock_now(&clock_monotonic);
		if (reordering_measure(records, COUNT, &config, &reordering, NULL) < 0)
			return 1;
		printf("analysis at depth %-5u:  %.0f ns a record (%.1f overtakes, distance "
		       "%.3f)\n",
			depths[i], per_record(begin_ns), reordering.overtakes_mean,
			reordering.kendall);
		reordering_done(&reordering);
	}
	return 0;
}
