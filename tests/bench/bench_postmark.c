/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one operation of the load costs, beside the numbers that it has to draw: interleaved pairs
 * of the SS pool played silently and of as many bare outputs of the generator. */
#include <stdio.h>
#include <stdlib.h>
#include <gsl/gsl_rng.h>

#include "engine/clock.h"
#include "fsmodel/named_pools.h"

#define PAIRS 9

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, PAIRS, sizeof(*values), compare);
	return values[PAIRS / 2];
}

int main(int argc, char **argv)
{
	const struct named_pool *pool = named_pool_find(argc > 1 ? argv[1] : "SS");
	struct postmark_config config;
	struct postmark *postmark;
	struct postmark_operation operation;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937_1999);
	double operation_ns[PAIRS], ratio[PAIRS];
	uint64_t draws_before, operations = 0;
	unsigned long sum = 0;

	if (!pool || !rng)
		return 2;
	named_pool_config(pool, PAPER_DISK_SMALL, &config);
	if (postmark_new(&config, &postmark) < 0)
		return 1;
	draws_before = postmark_counts(postmark)->draws;
	for (int pair = 0; pair < PAIRS; pair++) {
		nsec_t start, played, drawn;

		postmark_restart(postmark);
		operations = 0;
		start = clock_now(&clock_monotonic);
		while (postmark_next(postmark, &operation))
			operations++;
		played = clock_now(&clock_monotonic);
		for (uint64_t i = draws_before; i < postmark_counts(postmark)->draws; i++)
			sum += gsl_rng_get(rng);
		drawn = clock_now(&clock_monotonic);
		operation_ns[pair] = (double)(played - start) / (double)operations;
		ratio[pair] = (double)(played - start) / (double)(drawn - played);
	}
	printf("%s: %llu operations, %.1f draws each: %.1f ns an operation, %.2f x its bare draws "
	       "(median of %d, checksum %lu)\n",
		pool->name, (unsigned long long)operations,
		(double)(postmark_counts(postmark)->draws - draws_before) / (double)operations,
		median(operation_ns), median(ratio), PAIRS, sum);
	postmark_free(postmark);
	gsl_rng_free(rng);
	return 0;
}
