/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run over time has a row for every window: a drive that stalls for two seconds shows as rows
 * without completions, never as a gap, and an empty window has no percentiles instead of zeros.
 */
#include "tests/support/check.h"

#include "engine/series.h"

#define WINDOW (50 * NSEC_PER_MSEC)

static void stall_of_two_seconds_is_forty_empty_rows(void **state)
{
	struct series series;
	nsec_t now = 7 * NSEC_PER_SEC;
	unsigned empty = 0;

	(void)state;
	assert_int_equal(series_init(&series, WINDOW, true), 0);
	series_start(&series, now);
	for (int i = 0; i < 100; i++, now += NSEC_PER_MSEC)
		series_add(&series, now, 900 * NSEC_PER_USEC, 4096, i % 2);
	now += 2 * NSEC_PER_SEC;
	for (int i = 0; i < 60; i++, now += NSEC_PER_MSEC)
		series_add(&series, now, 2 * NSEC_PER_SEC, 4096, false);
	series_finish(&series, now);

	assert_int_equal(series.count, 2 + 40 + 2);
	for (size_t i = 0; i < series.count; i++) {
		const struct series_row *row = &series.rows[i];

		assert_int_equal(row->start_ns, i ? series.rows[i - 1].end_ns : 0);
		assert_true(row->end_ns > row->start_ns);
		if (row->reads + row->writes)
			continue;
		empty++;
		assert_int_equal(row->drive_p50_ns, -1);
		assert_int_equal(row->drive_p99_ns, -1);
		assert_int_equal(row->drive_max_ns, -1);
	}
	assert_int_equal(empty, 40);
	assert_int_equal(series.rows[0].reads, 25);
	assert_int_equal(series.rows[0].writes, 25);
	assert_int_equal(series.rows[0].write_bytes, 25 * 4096);
	assert_int_equal(series.rows[42].drive_max_ns, 2 * NSEC_PER_SEC);
	/* The last window ends where the run ended. */
	assert_int_equal(series.rows[43].end_ns, now - series.origin_ns);
	series_done(&series);
}

static void many_windows_grow(void **state)
{
	struct series series;

	(void)state;
	assert_int_equal(series_init(&series, NSEC_PER_MSEC, true), 0);
	series_start(&series, 0);
	series_add(&series, 10 * NSEC_PER_SEC, 1, 512, true);
	series_finish(&series, 10 * NSEC_PER_SEC + 1);
	assert_int_equal(series.count, 10001);
	assert_int_equal(series.rows[10000].writes, 1);
	assert_false(series.truncated);
	series_done(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stall_of_two_seconds_is_forty_empty_rows),
		cmocka_unit_test(many_windows_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
