/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stated error bound, and that every value is in exactly one bucket. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "engine/histogram.h"
#include "engine/rng.h"

static struct histogram histogram;

static void buckets_tile_the_range(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		uint64_t low = histogram_bucket_low(i), next = histogram_bucket_low(i + 1);

		assert_true(low < next);
		assert_int_equal(histogram_bucket(low), i);
		assert_int_equal(histogram_bucket(next - 1), i);
		if (low >= 64)
			assert_true((next - low) * 64 <= low);
	}
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static int compare(const void *a, const void *b)
{
	nsec_t x = *(const nsec_t *)a, y = *(const nsec_t *)b;

	return (x > y) - (x < y);
}

/* Percentiles against a sorted copy: within 1/128 of the true value. */
static void percentiles_keep_the_bound(void **state)
{
	enum { COUNT = 20000 };
	static nsec_t values[COUNT];
	static const double shares[] = { 0.0001, 0.01, 0.5, 0.9, 0.99, 0.999, 1 };
	struct rng rng;
	nsec_t sum = 0;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	histogram_clear(&histogram);
	for (int i = 0; i < COUNT; i++) {
		values[i] = (nsec_t)(rng_next(&rng) >> (24 + rng_below(&rng, 40)));
		histogram_add(&histogram, values[i]);
		sum += values[i];
	}
	qsort(values, COUNT, sizeof(values[0]), compare);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		size_t rank = (size_t)(shares[i] * COUNT);
		nsec_t truth = values[rank ? rank - 1 : 0];
		nsec_t told = histogram_percentile(&histogram, shares[i]);

		assert_true(llabs(told - truth) * 128 <= truth + 127);
	}
	assert_int_equal(histogram.min_ns, values[0]);
	assert_int_equal(histogram.max_ns, values[COUNT - 1]);
	assert_int_equal(histogram.sum_ns, sum);
}

static void every_value_is_in_one_bucket(void **state)
{
	uint64_t total = 0;

	(void)state;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		total += histogram.buckets[i];
	assert_int_equal(total, histogram.count);
}

static void odd_values(void **state)
{
	(void)state;
	histogram_clear(&histogram);
	assert_int_equal(histogram_percentile(&histogram, 0.5), 0);
	histogram_add(&histogram, -5);
	assert_int_equal(histogram.max_ns, 0);
	histogram_add(&histogram, INT64_MAX / 2);
	assert_int_equal(histogram_percentile(&histogram, 1), INT64_MAX / 2);
	assert_int_equal(histogram_percentile(&histogram, 0.5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_tile_the_range),
		cmocka_unit_test(percentiles_keep_the_bound),
		cmocka_unit_test(every_value_is_in_one_bucket),
		cmocka_unit_test(odd_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
