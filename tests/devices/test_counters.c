/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters: fields of old and new kernels, merges, iostats off, the right node. */
#include "devices/counters.h"
#include "tests/support/sysroot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_fields(void **state)
{
	struct counters counters;

	(void)state;
	assert_true(counters_parse(
		"100 10 800 50 200 20 1600 70 3 100 120 1 2 3 4 9 30", "1 2", &counters));
	assert_int_equal(counters.reads, 100);
	assert_int_equal(counters.read_merges, 10);
	assert_int_equal(counters.read_sectors, 800);
	assert_int_equal(counters.writes, 200);
	assert_int_equal(counters.write_merges, 20);
	assert_int_equal(counters.write_sectors, 1600);
	assert_int_equal(counters.flushes, 9);
	assert_true(counters.time_in_queue_ns == 120 * NSEC_PER_MSEC);
	assert_int_equal(counters.inflight_reads, 1);
	assert_int_equal(counters.inflight_writes, 2);
	/* Eleven fields before 4.18, fifteen before 5.5. */
	assert_true(counters_parse(" 1 2 3 4 5 6 7 8 9 10 11", "0 0", &counters));
	assert_int_equal(counters.flushes, 0);
}

static void test_odd_texts(void **state)
{
	static const char *const texts[] = { "", "1 2 3", "a b c d e f g h i j k",
		"1 2 3 4 5 6 7 8 9 10 x" };
	struct counters counters;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(counters_parse(texts[i], "0 0", &counters));
	assert_false(counters_parse("1 2 3 4 5 6 7 8 9 10 11", "0", &counters));
}

static void test_nodes_of_a_machine(void **state)
{
	struct sysroot machine;
	struct device device;
	struct counters before, after, since;

	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	assert_int_equal(device_find(machine.path, "sda", &device, NULL), 0);
	before = counters_read_below(machine.path, &device);
	assert_true(before.valid);
	after = before;
	after.write_merges += 5;
	after.inflight_writes = 7;
	since = counters_since(&before, &after);
	assert_true(since.valid);
	assert_int_equal(since.write_merges, 5);
	assert_int_equal(since.reads, 0);
	assert_int_equal(since.inflight_writes, 7);
	/* Counting is switched off for this one: its file is there and stands still. */
	assert_int_equal(device_find(machine.path, "nvme0n1", &device, NULL), 0);
	assert_false(counters_read_below(machine.path, &device).valid);
	/* A partition has counters of its own, or none; never its disk's. */
	assert_int_equal(device_find(machine.path, "sdb1", &device, NULL), 0);
	assert_false(counters_read_below(machine.path, &device).valid);
	sysroot_done(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_odd_texts),
		cmocka_unit_test(test_nodes_of_a_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
