/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities in and out: each spelling that other tools misread has its one meaning here. */
#include "engine/rng.h"
#include "engine/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void sizes_mean_what_they_say(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} right[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "4GiB", 4 * GIB },
		{ "4G", 4 * GIB },
		{ "4g", 4 * GIB },
		{ "4Gi", 4 * GIB },
		{ "4GB", 4000000000 },
		{ "9k", 9216 },
		{ "9K", 9216 },
		{ "9KiB", 9216 },
		{ "9kB", 9000 },
		{ "1.5T", TIB + TIB / 2 },
		{ "2TB", 2000000000000 },
		{ "0.5KiB", 512 },
		{ "16777215T", UINT64_C(16777215) * TIB },
		{ "18446744073709551615", UINT64_MAX },
		{ "3m", 3 * MIB },
		{ "3MB", 3000000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		struct error error = { 0 };
		uint64_t bytes = 0;

		assert_int_equal(units_parse_size(right[i].text, &bytes, &error), 0);
		assert_true(bytes == right[i].bytes);
	}
}

static void odd_sizes_are_refused_and_quoted(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} wrong[] = {
		{ "0x1000", -EINVAL },
		{ "15 KB", -EINVAL },
		{ "15KB", -EINVAL },
		{ "-1", -EINVAL },
		{ "+1", -EINVAL },
		{ "1e9", -EINVAL },
		{ "18446744073709551616", -ERANGE },
		{ "16777216T", -ERANGE },
		{ "9k15", -EINVAL },
		{ "", -EINVAL },
		{ "K", -EINVAL },
		{ " 4K", -EINVAL },
		{ "4K ", -EINVAL },
		{ "4gb", -EINVAL },
		{ "4Gib", -EINVAL },
		{ "4GIB", -EINVAL },
		{ "1.", -EINVAL },
		{ ".5K", -EINVAL },
		{ "1.0001K", -EINVAL },
		{ "1,5T", -EINVAL },
		{ "1.2.3K", -EINVAL },
		{ "4B", -EINVAL },
		{ "1.5", -EINVAL },
		{ "1.0", -EINVAL },
		{ "0.0000000000000000001T", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error error = { 0 };
		uint64_t bytes = 77;
		char quoted[80];

		assert_int_equal(units_parse_size(wrong[i].text, &bytes, &error), wrong[i].rc);
		assert_int_equal(error.code, wrong[i].rc);
		(void)snprintf(quoted, sizeof(quoted), "\"%s\"", wrong[i].text);
		assert_non_null(strstr(error.text, quoted));
		assert_true(bytes == 77);
	}
}

static void whole_numbers_have_digits_only(void **state)
{
	static const char *const wrong[] = { "", "-1", "+1", " 1", "1 ", "1.0", "0x10", "1e3", "1K",
		"18446744073709551616" };
	uint64_t value = 0;

	(void)state;
	assert_int_equal(units_parse_u64("18446744073709551615", &value, NULL), 0);
	assert_true(value == UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_true(units_parse_u64(wrong[i], &value, NULL) < 0);
}

static void durations_are_exact(void **state)
{
	static const struct {
		const char *text;
		nsec_t ns;
	} right[] = {
		{ "3ms", 3 * NSEC_PER_MSEC },
		{ "1.5us", 1500 },
		{ "2", 2 * NSEC_PER_SEC },
		{ "0.25", NSEC_PER_SEC / 4 },
		{ "10min", 600 * NSEC_PER_SEC },
		{ "2h", 7200 * NSEC_PER_SEC },
		{ "7ns", 7 },
		{ "1s", NSEC_PER_SEC },
	};
	static const char *const wrong[] = { "", "-1s", "1 s", "1m", "1S", "0.5ns", "1e3", "1sec",
		"2600000h", "99999999999999999999s" };
	nsec_t ns = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		assert_int_equal(units_parse_duration(right[i].text, &ns, NULL), 0);
		assert_true(ns == right[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error error = { 0 };

		assert_true(units_parse_duration(wrong[i], &ns, &error) < 0);
		assert_non_null(strstr(error.text, wrong[i]));
	}
}

static void shares_lie_above_zero_up_to_one(void **state)
{
	static const char *const wrong[] = { "0", "0%", "1.01", "101%", "-0.5", "", "%", "25 %",
		"x", "0,5", "1e-1", "0.00" };
	double value = 0;

	(void)state;
	assert_int_equal(units_parse_fraction("0.25", &value, NULL), 0);
	assert_true(value == 0.25);
	assert_int_equal(units_parse_fraction("25%", &value, NULL), 0);
	assert_true(value == 0.25);
	assert_int_equal(units_parse_fraction("12.5%", &value, NULL), 0);
	assert_true(value == 0.125);
	assert_int_equal(units_parse_fraction("1", &value, NULL), 0);
	assert_int_equal(units_parse_fraction("100%", &value, NULL), 0);
	assert_true(value == 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_true(units_parse_fraction(wrong[i], &value, NULL) < 0);
}

static void check_list(const char *text, const uint32_t *values, size_t count)
{
	struct units_list list = { 0 };

	assert_int_equal(units_parse_list(text, &list, NULL), 0);
	assert_int_equal(list.count, count);
	assert_memory_equal(list.values, values, count * sizeof(*values));
	units_list_done(&list);
	assert_null(list.values);
}

#define CHECK_LIST(text, ...)                                                                      \
	check_list(text, (const uint32_t[]){ __VA_ARGS__ },                                        \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void lists_double_or_step(void **state)
{
	static const char *const wrong[] = { "", "0", "1,", ",1", "1,,2", "4-1", "1-", "-1",
		"1-8/0", "1-8/", "a", "1;2", "1 2", "4294967296", "1-4294967295/1", "0-4" };

	(void)state;
	CHECK_LIST("1,2,4", 1, 2, 4);
	CHECK_LIST("1-64", 1, 2, 4, 8, 16, 32, 64);
	CHECK_LIST("3-50", 3, 6, 12, 24, 48, 50);
	CHECK_LIST("8-16/4", 8, 12, 16);
	CHECK_LIST("1-10/4", 1, 5, 9);
	CHECK_LIST("5-5", 5);
	CHECK_LIST("5-5/3", 5);
	CHECK_LIST("8,1-4,2,8", 8, 1, 2, 4);
	CHECK_LIST("4294967295", UINT32_MAX);
	CHECK_LIST("2147483648-4294967295", UINT32_C(2147483648), UINT32_MAX);
	CHECK_LIST("1-4294967295/99999999999", 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct units_list list = { 0 };
		struct error error = { 0 };

		assert_true(units_parse_list(wrong[i], &list, &error) < 0);
		assert_non_null(strstr(error.text, wrong[i]));
		assert_null(list.values);
	}
}

static void text_out_is_short_and_rounds_into_the_next_unit(void **state)
{
	(void)state;
	assert_string_equal(units_format_size(0).text, "0 B");
	assert_string_equal(units_format_size(1023).text, "1023 B");
	assert_string_equal(units_format_size(1024).text, "1 KiB");
	assert_string_equal(units_format_size(1536).text, "1.5 KiB");
	assert_string_equal(units_format_size(MIB - 1).text, "1.0 MiB");
	assert_string_equal(units_format_size(4 * GIB).text, "4 GiB");
	assert_string_equal(units_format_size(139250893).text, "132.8 MiB");
	assert_string_equal(units_format_size(UINT64_MAX).text, "16.0 EiB");

	assert_string_equal(units_format_duration(0).text, "0 ns");
	assert_string_equal(units_format_duration(950).text, "950 ns");
	assert_string_equal(units_format_duration(1000).text, "1.00 us");
	assert_string_equal(units_format_duration(1234567).text, "1.23 ms");
	assert_string_equal(units_format_duration(999999).text, "1.00 ms");
	assert_string_equal(units_format_duration(123456789).text, "123 ms");
	assert_string_equal(units_format_duration(999999999).text, "1.0 s");
	assert_string_equal(units_format_duration(2 * NSEC_PER_SEC).text, "2.0 s");
	assert_string_equal(
		units_format_duration(59 * NSEC_PER_SEC + 960 * NSEC_PER_MSEC).text, "1 min 00 s");
	assert_string_equal(units_format_duration(65 * NSEC_PER_SEC).text, "1 min 05 s");
	assert_string_equal(units_format_duration(3840 * NSEC_PER_SEC).text, "1 h 04 min");
	assert_string_equal(units_format_duration(-1500).text, "-1.50 us");
	assert_string_equal(units_format_duration(INT64_MIN).text, "-2562047 h 47 min");

	assert_string_equal(units_format_count(0).text, "0");
	assert_string_equal(units_format_count(7).text, "7");
	assert_string_equal(units_format_count(1.5).text, "1.50");
	assert_string_equal(units_format_count(0.0123).text, "0.012");
	assert_string_equal(units_format_count(999).text, "999");
	assert_string_equal(units_format_count(999.7).text, "1.00k");
	assert_string_equal(units_format_count(12345).text, "12.3k");
	assert_string_equal(units_format_count(999499).text, "999k");
	assert_string_equal(units_format_count(999600).text, "1.00M");
	assert_string_equal(units_format_count(-2500).text, "-2.50k");
	assert_string_equal(units_format_count(0.0 / 0.0).text, "-");
}

/* Whatever a person types, the same text never parses to two values, and a size written out in
 * bytes comes back. */
static void written_sizes_come_back(void **state)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : 42;
	struct rng rng;
	static const char alphabet[] = "0123456789.kKMGTiB eE-+x";

	(void)state;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	rng_seed(&rng, seed, RNG_LOAD);
	for (int round = 0; round < 20000; round++) {
		char text[24], written[24];
		size_t length = rng_below(&rng, 10);
		uint64_t bytes, again;

		for (size_t i = 0; i < length; i++)
			text[i] = alphabet[rng_below(&rng, sizeof(alphabet) - 1)];
		text[length] = '\0';
		if (units_parse_size(text, &bytes, NULL) < 0)
			continue;
		(void)snprintf(written, sizeof(written), "%llu", (unsigned long long)bytes);
		assert_int_equal(units_parse_size(written, &again, NULL), 0);
		assert_true(again == bytes);
		assert_null(strpbrk(text, " eE-+x"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_mean_what_they_say),
		cmocka_unit_test(odd_sizes_are_refused_and_quoted),
		cmocka_unit_test(whole_numbers_have_digits_only),
		cmocka_unit_test(durations_are_exact),
		cmocka_unit_test(shares_lie_above_zero_up_to_one),
		cmocka_unit_test(lists_double_or_step),
		cmocka_unit_test(text_out_is_short_and_rounds_into_the_next_unit),
		cmocka_unit_test(written_sizes_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
