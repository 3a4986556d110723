/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steady state on made-up series: claimed too early (a falling drive), never (a rate that swings),
 * and only after a change of level; never a loop without end.
 */
#include "tests/support/check.h"

#include <string.h>

#include "engine/rng.h"
#include "tools/steady.h"

#define ROWS 60

static struct series_row rows[ROWS];

static void fill(double (*rate)(unsigned second, struct rng *rng))
{
	struct rng rng;

	rng_seed(&rng, 7, RNG_LOAD);
	for (unsigned i = 0; i < ROWS; i++)
		rows[i] = (struct series_row){
			.start_ns = i * NSEC_PER_SEC,
			.end_ns = (i + 1) * NSEC_PER_SEC,
			.reads = (uint64_t)rate(i, &rng),
		};
}

static double falling(unsigned second, struct rng *rng)
{
	(void)rng;
	return 100000.0 / (1 + second);
}

static double noisy_flat(unsigned second, struct rng *rng)
{
	(void)second;
	return 1000 + (double)rng_below(rng, 100);
}

static double two_levels(unsigned second, struct rng *rng)
{
	(void)rng;
	return second < 20 ? (second % 2 ? 5000 : 9000) : 800;
}

static double swinging(unsigned second, struct rng *rng)
{
	(void)rng;
	return second % 2 ? 500 : 1000;
}

static double slow_disk(unsigned second, struct rng *rng)
{
	(void)second;
	return 20 + (double)rng_below(rng, 21);
}

static void a_falling_rate_is_not_steady(void **state)
{
	struct steady steady;

	(void)state;
	fill(falling);
	steady = steady_judge(&steady_rule_default, rows, 20);
	assert_false(steady.reached);
	assert_int_equal(steady.rounds, 20);
}

static void noise_around_a_level_is_steady_at_once(void **state)
{
	struct steady steady;

	(void)state;
	fill(noisy_flat);
	steady = steady_judge(&steady_rule_default, rows, ROWS);
	assert_true(steady.reached);
	assert_int_equal(steady.from_ns, 0);
	assert_int_equal(steady.to_ns, 5 * NSEC_PER_SEC);
	assert_true(steady.mean_per_s > 1000 && steady.mean_per_s < 1100);
}

static void a_change_of_level_is_steady_after_it(void **state)
{
	struct steady steady;

	(void)state;
	fill(two_levels);
	steady = steady_judge(&steady_rule_default, rows, ROWS);
	assert_true(steady.reached);
	assert_int_equal(steady.from_ns, 20 * NSEC_PER_SEC);
}

static void swinging_never_settles(void **state)
{
	(void)state;
	fill(swinging);
	assert_false(steady_judge(&steady_rule_default, rows, ROWS).reached);
	assert_false(steady_judge(&steady_rule_default, rows, 0).reached);
}

/* At 30 requests a second a round of one second holds nothing but noise: rounds get longer. */
static void rounds_count_operations_too(void **state)
{
	struct steady steady;

	(void)state;
	fill(slow_disk);
	steady = steady_judge(&steady_rule_default, rows, ROWS);
	assert_true(steady.rounds < ROWS / 3 && steady.rounds >= 5);
}

static void the_rule_is_told(void **state)
{
	struct steady_text text = steady_rule_text(&steady_rule_default);

	(void)state;
	assert_non_null(strstr(text.text, "range within 20 %"));
	assert_non_null(strstr(text.text, "slope within 10 %"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_falling_rate_is_not_steady),
		cmocka_unit_test(noise_around_a_level_is_steady_at_once),
		cmocka_unit_test(a_change_of_level_is_steady_after_it),
		cmocka_unit_test(swinging_never_settles),
		cmocka_unit_test(rounds_count_operations_too),
		cmocka_unit_test(the_rule_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
