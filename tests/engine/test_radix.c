/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted, stable, nothing lost; instants below 0 come first. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "engine/radix.h"
#include "engine/rng.h"

static int compare(const void *a, const void *b)
{
	const struct radix_item *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

static void sorts_as_the_library_does(void **state)
{
	enum { MAX = 300 };
	struct radix_item items[MAX], expected[MAX], scratch[MAX];
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	for (int round = 0; round < 500; round++) {
		size_t count = rng_below(&rng, MAX);
		/* From few different keys to all 64 bits. */
		unsigned shift = (unsigned)rng_below(&rng, 64);

		for (size_t i = 0; i < count; i++) {
			items[i].key = rng_next(&rng) >> shift;
			items[i].index = (uint32_t)i;
			expected[i] = items[i];
		}
		qsort(expected, count, sizeof(*expected), compare);
		radix_sort(items, scratch, count);
		for (size_t i = 0; i < count; i++) {
			assert_true(items[i].key == expected[i].key);
			assert_int_equal(items[i].index, expected[i].index);
		}
	}
}

static void instants_keep_their_order(void **state)
{
	static const nsec_t rising[] = { INT64_MIN, -5, -1, 0, 1, INT64_MAX };

	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(rising); i++)
		assert_true(radix_key(rising[i - 1]) < radix_key(rising[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_as_the_library_does),
		cmocka_unit_test(instants_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
