/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns stay in their area, keep their mix and are the same for the same seed. */
#include "tests/support/check.h"

#include <string.h>

#include "engine/pattern.h"

static struct request_pool pool;

static struct source *make(struct pattern_config config)
{
	struct source *source;

	assert_int_equal(pattern_new(&config, &source, NULL), 0);
	assert_int_equal(source->requests_per_plan_max, 1);
	return source;
}

/* The next block's request; its plan is given back at once. */
static struct request next_request(struct source *source)
{
	struct plan plan;
	struct request request;

	plan_clear(&plan, &pool);
	assert_int_equal(source->ops->next(source, &plan), 1);
	request = *plan.first;
	plan_release(&plan);
	return request;
}

static void random_blocks_fill_the_area_evenly(void **state)
{
	enum { BLOCKS = 64, DRAWS = 64000 };
	struct source *source = make((struct pattern_config){
		.kind = PATTERN_RANDREAD,
		.block_bytes = 8192,
		.area_offset_bytes = 1048576,
		.area_bytes = BLOCKS * 8192 + 4096,
		.seed = check_seed(),
	});
	unsigned hits[BLOCKS] = { 0 };

	(void)state;
	assert_true(source->reads_only);
	for (int i = 0; i < DRAWS; i++) {
		struct request request = next_request(source);

		assert_int_equal(request.op, REQUEST_READ);
		assert_int_equal(request.length_bytes, 8192);
		assert_true(request.offset_bytes >= 1048576);
		assert_int_equal((request.offset_bytes - 1048576) % 8192, 0);
		assert_true(request.offset_bytes < 1048576 + BLOCKS * 8192);
		hits[(request.offset_bytes - 1048576) / 8192]++;
	}
	/* 1000 expected each, standard deviation 31: eight of them is never by chance. */
	for (int i = 0; i < BLOCKS; i++)
		assert_in_range(hits[i], 750, 1250);
	source->ops->free(source);
}

static void the_mix_is_kept(void **state)
{
	struct source *source = make((struct pattern_config){
		.kind = PATTERN_RANDRW,
		.block_bytes = 4096,
		.area_bytes = 1 << 20,
		.read_share = 0.7,
		.seed = check_seed(),
	});
	unsigned reads = 0;

	(void)state;
	assert_false(source->reads_only);
	for (int i = 0; i < 100000; i++)
		reads += next_request(source).op == REQUEST_READ;
	assert_in_range(reads, 69000, 71000);
	source->ops->free(source);
}

static void sequential_blocks_wrap_and_count_ends(void **state)
{
	struct source *source = make((struct pattern_config){
		.kind = PATTERN_SEQWRITE,
		.block_bytes = 4096,
		.area_offset_bytes = 4096,
		.area_bytes = 3 * 4096,
		.count = 5,
	});
	static const uint64_t expected[] = { 4096, 8192, 12288, 4096, 8192 };
	struct plan plan;

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct request request = next_request(source);

		assert_int_equal(request.op, REQUEST_WRITE);
		assert_int_equal(request.offset_bytes, expected[i]);
	}
	plan_clear(&plan, &pool);
	assert_int_equal(source->ops->next(source, &plan), 0);
	source->ops->free(source);
}

static void one_seed_one_stream(void **state)
{
	struct pattern_config config = {
		.kind = PATTERN_RANDRW,
		.block_bytes = 4096,
		.area_bytes = UINT64_C(1) << 40,
		.read_share = 0.5,
		.seed = check_seed(),
	};
	struct source *a = make(config), *b = make(config), *c;
	unsigned same = 0;

	(void)state;
	config.seed++;
	c = make(config);
	for (int i = 0; i < 1000; i++) {
		struct request of_a = next_request(a), of_b = next_request(b);

		assert_int_equal(of_a.offset_bytes, of_b.offset_bytes);
		assert_int_equal(of_a.op, of_b.op);
		same += next_request(c).offset_bytes == of_a.offset_bytes;
	}
	assert_true(same < 5);
	a->ops->free(a);
	b->ops->free(b);
	c->ops->free(c);
}

static void an_area_below_one_block_is_refused(void **state)
{
	const struct pattern_config config = { .block_bytes = 4096, .area_bytes = 4095 };
	struct error error = { 0 };
	struct source *source;

	(void)state;
	assert_int_equal(pattern_new(&config, &source, &error), -EINVAL);
	assert_non_null(strstr(error.text, "4095"));
}

static int prepare(void **state)
{
	(void)state;
	return request_pool_init(&pool, 4);
}

static int tear_down(void **state)
{
	(void)state;
	request_pool_done(&pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_blocks_fill_the_area_evenly),
		cmocka_unit_test(the_mix_is_kept),
		cmocka_unit_test(sequential_blocks_wrap_and_count_ends),
		cmocka_unit_test(one_seed_one_stream),
		cmocka_unit_test(an_area_below_one_block_is_refused),
	};

	return cmocka_run_group_tests(tests, prepare, tear_down);
}
