/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same rows as table, JSON and CSV: equal figures, null that is not zero, no locale. */
#include "tools/report.h"

#include <json-c/json.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/rng.h"
#include "tests/support/golden.h"

static const struct report_column columns[] = {
	{ "window_start_ns", "START", report_format_duration, true, 0 },
	{ "window_end_ns", "END", report_format_duration, true, 0 },
	{ "cache", "CACHE", NULL, true, 0 },
	{ "depth", "DEPTH", NULL, true, 0 },
	{ "read_bytes", "READ", report_format_size, true, 1 },
	{ "iops", "IOPS", report_format_count, true, 0 },
	{ "depth_mean", "MEAN", report_format_tenths, true, 2 },
	{ "read.drive_time_ns.p50", "P50", report_format_duration, true, 3 },
	{ "read.drive_time_ns.p99_9", NULL, NULL, false, 0 },
	{ "read.requests", NULL, NULL, false, 0 },
	{ "drift_ns", NULL, NULL, false, 0 },
	{ "verified", NULL, NULL, false, 0 },
	{ "histogram", NULL, NULL, false, 0 },
};

/* A busy window, then a stall: nothing was read in it, so its rate is 0 and its latency is not
 * there, which is another thing. */
static struct report *example(void)
{
	struct report *report = report_new(columns, ARRAY_SIZE(columns));
	struct report_row *row = report_row(report);

	report_set_u64(row, "window_start_ns", 0);
	report_set_u64(row, "window_end_ns", 50000000);
	report_set_text(row, "cache", "wb, \"plain\"");
	report_set_u64(row, "depth", 32);
	report_set_u64(row, "read_bytes", UINT64_MAX);
	report_set_double(row, "iops", 12345.678901234567);
	report_set_double(row, "depth_mean", 31.96);
	report_set_u64(row, "read.drive_time_ns.p50", 1234567);
	report_set_u64(row, "read.drive_time_ns.p99_9", 9007199254740993);
	report_set_u64(row, "read.requests", 617);
	report_set_i64(row, "drift_ns", -5);
	report_set_bool(row, "verified", true);
	report_set_json(row, "histogram", json_tokener_parse("{\"1000\": 17}"));
	row = report_row(report);
	report_set_u64(row, "window_start_ns", 50000000);
	report_set_u64(row, "window_end_ns", 100000000);
	report_set_text(row, "cache", "");
	report_set_u64(row, "depth", 1);
	report_set_u64(row, "read_bytes", 0);
	report_set_double(row, "iops", 0);
	report_set_double(row, "depth_mean", NAN);
	report_set_u64(row, "read.requests", 0);
	report_set_bool(row, "verified", false);
	return report;
}

static char *table_text(const struct report *report, size_t width, bool exact)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(report_table(report, stream, width, exact, NULL), 0);
	assert_int_equal(fclose(stream), 0);
	return text;
}

static char *csv_text(const struct report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	report_csv(report, stream);
	assert_int_equal(fclose(stream), 0);
	return text;
}

static char *json_text(const struct report *report)
{
	struct json_object *array = report_json(report);
	char *text = NULL;

	assert_true(asprintf(&text, "%s\n",
			    json_object_to_json_string_ext(array, JSON_C_TO_STRING_PRETTY)) > 0);
	(void)json_object_put(array);
	return text;
}

static void check_golden(const struct report *report)
{
	_cleanup_free_ char *table = table_text(report, 0, false);
	_cleanup_free_ char *exact = table_text(report, 0, true);
	_cleanup_free_ char *json = json_text(report);
	_cleanup_free_ char *csv = csv_text(report);

	golden_check(SOURCE_DIR, "report/rows.txt", table);
	golden_check(SOURCE_DIR, "report/rows-exact.txt", exact);
	golden_check(SOURCE_DIR, "report/rows.json", json);
	golden_check(SOURCE_DIR, "report/rows.csv", csv);
}

static void the_three_views_are_as_agreed(void **state)
{
	struct report *report = example();

	(void)state;
	check_golden(report);
	report_free(report);
}

static struct json_object *at(struct json_object *object, const char *path)
{
	char copy[64], *save = NULL;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	for (char *name = strtok_r(copy, ".", &save); name; name = strtok_r(NULL, ".", &save))
		if (!json_object_object_get_ex(object, name, &object))
			fail_msg("no key %s", path);
	return object;
}

static void json_reads_back_with_types_and_nulls(void **state)
{
	struct report *report = example();
	_cleanup_free_ char *text = json_text(report);
	struct json_object *array = json_tokener_parse(text);
	struct json_object *busy = json_object_array_get_idx(array, 0);
	struct json_object *stalled = json_object_array_get_idx(array, 1);

	(void)state;
	assert_int_equal(json_object_array_length(array), 2);
	assert_true(json_object_get_uint64(at(busy, "read_bytes")) == UINT64_MAX);
	assert_true(json_object_is_type(at(busy, "read_bytes"), json_type_int));
	assert_true(
		json_object_get_int64(at(busy, "read.drive_time_ns.p99_9")) == 9007199254740993);
	assert_true(json_object_get_double(at(busy, "iops")) == 12345.678901234567);
	assert_true(json_object_get_int64(at(busy, "drift_ns")) == -5);
	assert_int_equal(json_object_get_int(at(busy, "histogram.1000")), 17);
	assert_true(json_object_is_type(at(stalled, "iops"), json_type_double));
	assert_true(json_object_get_double(at(stalled, "iops")) == 0);
	assert_null(at(stalled, "read.drive_time_ns.p50"));
	assert_null(at(stalled, "depth_mean"));
	assert_null(at(stalled, "histogram"));
	assert_true(json_object_is_type(at(stalled, "verified"), json_type_boolean));
	(void)json_object_put(array);
	report_free(report);
}

static void a_table_keeps_to_the_width(void **state)
{
	struct report *report = example();

	(void)state;
	for (size_t width = 50; width < 100; width++) {
		_cleanup_free_ char *text = table_text(report, width, false);
		size_t column = 0;

		for (const char *c = text; *c; c++) {
			column = *c == '\n' ? 0 : column + 1;
			assert_true(column <= width);
		}
		assert_non_null(strstr(text, "IOPS"));
		assert_true((strstr(text, "P50") != NULL) <= (strstr(text, "MEAN") != NULL));
	}
	report_free(report);
}

static void columns_are_chosen_by_label(void **state)
{
	struct report *report = example();
	struct faults faults = { 0 };
	_cleanup_free_ char *table = NULL, *csv = NULL;

	(void)state;
	assert_int_equal(report_select(report, "iops,BOGUS,depth,", &faults), -EINVAL);
	assert_int_equal(faults.count, 3);
	assert_non_null(strstr(faults.text[0], "\"BOGUS\""));
	assert_non_null(strstr(faults.text[2], "START END CACHE DEPTH"));
	faults_done(&faults);
	assert_int_equal(report_select(report, "iops,DEPTH", &faults), 0);
	table = table_text(report, 5, true);
	assert_string_equal(table, "              IOPS DEPTH\n12345.678901234567    32\n"
				   "               0.0     1\n");
	csv = csv_text(report);
	assert_string_equal(csv, "iops,depth\r\n12345.678901234567,32\r\n0.0,1\r\n");
	report_free(report);
}

static void an_empty_report_is_whole(void **state)
{
	struct report *report = report_new(columns, ARRAY_SIZE(columns));
	_cleanup_free_ char *json = json_text(report);
	_cleanup_free_ char *csv = csv_text(report);
	_cleanup_free_ char *table = table_text(report, 80, false);
	struct json_object *array = json_tokener_parse(json);

	(void)state;
	assert_true(json_object_is_type(array, json_type_array));
	assert_non_null(table);
	assert_ptr_equal(strchr(csv, '\n'), csv + strlen(csv) - 1);
	(void)json_object_put(array);
	report_free(report);
}

static void bytes_that_are_no_text_do_not_spoil_json(void **state)
{
	static const struct {
		const char *in, *out;
	} texts[] = {
		{ "plain", "plain" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbe", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbe" },
		{ "a\xff"
		  "b",
			"a\xef\xbf\xbd"
			"b" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "tab\tquote\"", "tab\tquote\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json_object *string = report_json_text(texts[i].in);

		assert_string_equal(json_object_get_string(string), texts[i].out);
		(void)json_object_put(string);
	}
}

static void any_double_reads_back_the_same(void **state)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : 42;
	struct rng rng;

	(void)state;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	rng_seed(&rng, seed, RNG_DATA);
	for (int round = 0; round < 5000; round++) {
		union {
			uint64_t bits;
			double value;
		} any = { .bits = rng_next(&rng) };

		if (!isfinite(any.value))
			continue;
		assert_true(strtod(report_number_text(any.value).text, NULL) == any.value);
	}
	assert_string_equal(report_number_text(0.1).text, "0.1");
	assert_string_equal(report_number_text(3).text, "3.0");
}

/* A locale with a decimal comma is only there when somebody installed one. */
static void a_decimal_comma_changes_nothing(void **state)
{
	struct report *report;

	(void)state;
	if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) {
		print_message("no locale with a decimal comma here\n");
		skip();
	}
	assert_string_equal(localeconv()->decimal_point, ",");
	report = example();
	check_golden(report);
	report_free(report);
	(void)setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_views_are_as_agreed),
		cmocka_unit_test(json_reads_back_with_types_and_nulls),
		cmocka_unit_test(a_table_keeps_to_the_width),
		cmocka_unit_test(columns_are_chosen_by_label),
		cmocka_unit_test(an_empty_report_is_whole),
		cmocka_unit_test(bytes_that_are_no_text_do_not_spoil_json),
		cmocka_unit_test(any_double_reads_back_the_same),
		cmocka_unit_test(a_decimal_comma_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
