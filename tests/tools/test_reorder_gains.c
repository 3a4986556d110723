/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Order and overlap are told apart as far as what was measured allows, and no further. */
#include "tests/support/check.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/golden.h"
#include "tools/reorder_gains.h"

#define NEAR(value, expected) assert_true(fabs((value) - (expected)) < 1e-9)

static struct reorder_gains compute(struct reorder_throughput throughput, bool order_kept)
{
	struct reorder_gains gains;

	reorder_gains_compute(&throughput, 1, order_kept, &gains);
	return gains;
}

/* First come first served: all of the gain is overlap, and noise in the replay changes nothing. */
static void first_come_first_served_gains_nothing_by_order(void **state)
{
	struct reorder_gains gains =
		compute((struct reorder_throughput){ 100, 274, 100.3, 0 }, true);

	(void)state;
	assert_true(gains.order.value == 1 && gains.together.value == 1);
	NEAR(gains.total.value, 2.74);
	NEAR(gains.overlap.value, 2.74);
	NEAR(gains.control.value, 1.003);
	/* The same by measurement on a drive in virtual time, where repeats are equal. */
	gains = compute((struct reorder_throughput){ 100.7, 274, 100.7, 274 }, false);
	assert_true(gains.order.value == 1);
	NEAR(gains.together.value, 1);
}

static void three_throughputs_leave_the_rest_open(void **state)
{
	struct reorder_gains gains =
		compute((struct reorder_throughput){ 100, 175, 140, 0 }, false);

	(void)state;
	NEAR(gains.order.value, 1.4);
	NEAR(gains.rest.value, 1.25);
	NEAR(gains.total.value, 1.75);
	assert_true(isnan(gains.overlap.value) && isnan(gains.together.value));
	assert_true(isnan(gains.order.low) && isnan(gains.control.value));
}

static void the_fourth_parts_overlap_from_together(void **state)
{
	struct reorder_gains gains =
		compute((struct reorder_throughput){ 100, 175, 140, 104 }, false);

	(void)state;
	NEAR(gains.overlap.value, 1.04);
	NEAR(gains.together.value, 1.75 / 1.4 / 1.04);
	NEAR(gains.order.value * gains.overlap.value * gains.together.value, gains.total.value);
}

static void what_is_missing_is_unknown(void **state)
{
	struct reorder_gains gains = compute((struct reorder_throughput){ 100, 175, 0, 0 }, false);

	(void)state;
	NEAR(gains.total.value, 1.75);
	assert_true(isnan(gains.order.value) && isnan(gains.rest.value));
	reorder_gains_compute(NULL, 0, false, &gains);
	assert_true(isnan(gains.total.value));
}

/* Five pairs with gains 1.9 to 2.1 around 2 in logarithms: the interval by hand. */
static void intervals_come_with_five_repeats(void **state)
{
	struct reorder_throughput repeats[5];
	struct reorder_gains gains;
	double spread = log(1.1), half = 2.7764451051977987 * spread * sqrt(2.5) / sqrt(5);

	(void)state;
	for (int i = 0; i < 5; i++) {
		/* What a seed does to both throughputs of a pair is no noise of the gain. */
		double seed = 50 + 10 * i;

		repeats[i] = (struct reorder_throughput){ seed, seed * 4,
			seed * 2 * exp((i - 2) * spread), 0 };
	}
	reorder_gains_compute(repeats, 5, false, &gains);
	NEAR(gains.order.value, 2);
	NEAR(gains.order.low, 2 * exp(-half));
	NEAR(gains.order.high, 2 * exp(half));
	NEAR(gains.total.low, 4);
	NEAR(gains.total.high, 4);
	reorder_gains_compute(repeats, 4, false, &gains);
	assert_true(isnan(gains.order.low) && !isnan(gains.order.value));
	repeats[3].drive_single = 0;
	reorder_gains_compute(repeats, 5, false, &gains);
	assert_true(isnan(gains.order.value));
}

static void one_arm_is_claimed_only_where_it_is_likely(void **state)
{
	struct device device = { .rotational = true, .transport = "sata" };

	(void)state;
	assert_int_equal(reorder_gains_arms(&device), ARMS_ONE);
	device.raid_volume = true;
	assert_int_equal(reorder_gains_arms(&device), ARMS_MANY);
	device = (struct device){ .rotational = false, .transport = "sata" };
	assert_int_equal(reorder_gains_arms(&device), ARMS_MANY);
	device = (struct device){ .rotational = true, .transport = "loop", .memory_backed = true };
	assert_int_equal(reorder_gains_arms(&device), ARMS_MANY);
	device = (struct device){ .rotational = true, .transport = "md" };
	assert_int_equal(reorder_gains_arms(&device), ARMS_MANY);
	device = (struct device){ .rotational = true, .transport = "virtio" };
	assert_int_equal(reorder_gains_arms(&device), ARMS_UNKNOWN);
	device = (struct device){ .rotational = true, .transport = "loop" };
	assert_int_equal(reorder_gains_arms(&device), ARMS_UNKNOWN);
}

static void the_text_is_as_agreed(void **state)
{
	static const struct {
		const char *heading;
		struct reorder_throughput throughput;
		bool order_kept;
		enum reorder_arms arms;
	} cases[] = {
		{ "three throughputs", { 1e6, 1.75e6, 1.4e6, 0 }, false, ARMS_ONE },
		{ "four", { 1e6, 1.75e6, 1.4e6, 1.04e6 }, false, ARMS_ONE },
		{ "first come first served", { 1e6, 2.74e6, 1.003e6, 0 }, true, ARMS_ONE },
		{ "the same without a replay", { 1e6, 2.74e6, 0, 0 }, true, ARMS_ONE },
		{ "two", { 1e6, 1.75e6, 0, 0 }, false, ARMS_UNKNOWN },
		{ "flash", { 40e6, 300e6, 41e6, 0 }, false, ARMS_MANY },
		{ "a loss", { 2e6, 1.5e6, 1.8e6, 0 }, false, ARMS_ONE },
	};
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reorder_gains gains = compute(cases[i].throughput, cases[i].order_kept);

		(void)fprintf(stream, "%s:\n", cases[i].heading);
		reorder_gains_print(&gains, 8, cases[i].arms, 1e-6, "MB/s", stream);
	}
	(void)fclose(stream);
	golden_check(SOURCE_DIR, "reorder/gains.txt", text);
}

static void the_document_says_what_it_means(void **state)
{
	struct reorder_gains gains =
		compute((struct reorder_throughput){ 100, 175, 140, 0 }, false);
	struct json_object *object = reorder_gains_json(&gains, ARMS_MANY, "throughput_per_s");
	struct json_object *value;

	(void)state;
	assert_true(json_object_object_get_ex(object, "meaning", &value));
	assert_string_equal(json_object_get_string(value), "parallelism, not reordering");
	assert_true(json_object_object_get_ex(object, "order", &value));
	assert_true(json_object_object_get_ex(value, "value", &value));
	NEAR(json_object_get_double(value), 1.4);
	assert_true(json_object_object_get_ex(object, "overlap", &value));
	assert_true(json_object_object_get_ex(value, "value", &value));
	assert_null(value);
	assert_true(json_object_object_get_ex(object, "throughput_per_s", &value));
	assert_true(json_object_object_get_ex(value, "kept_deep", &value));
	assert_null(value);
	(void)json_object_put(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_come_first_served_gains_nothing_by_order),
		cmocka_unit_test(three_throughputs_leave_the_rest_open),
		cmocka_unit_test(the_fourth_parts_overlap_from_together),
		cmocka_unit_test(what_is_missing_is_unknown),
		cmocka_unit_test(intervals_come_with_five_repeats),
		cmocka_unit_test(one_arm_is_claimed_only_where_it_is_likely),
		cmocka_unit_test(the_text_is_as_agreed),
		cmocka_unit_test(the_document_says_what_it_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
