/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pool as a source: its account against PostMark's own, rewinding, the estimate against what
 * is really drawn, and a device that fills in the middle.
 */
#include "tests/support/check.h"

#include <string.h>

#include "fsmodel/named_pools.h"
#include "fsmodel/pool.h"

#define PLANS 16

static struct postmark_config load;
static struct request_pool requests;

static struct pool_config config_for(const char *layout, uint64_t blocks)
{
	return (struct pool_config){
		.load = &load,
		.layout = layout_find(layout),
		.operation_time_ns = 3 * NSEC_PER_MSEC,
		.plans_max = PLANS,
		.layout_config = {
			.first_block = 256,
			.block_count = blocks,
			.block_bytes = 4096,
			.files_max = 2 * (uint32_t)load.files,
			.files_expected = (uint64_t)load.files,
			.seed = 42,
			.max_request_bytes = 512 * KIB,
		},
	};
}

static void small_load(void)
{
	postmark_config_default(&load);
	load.size_low_bytes = 9216;
	load.size_high_bytes = 15360;
	load.files = 200;
	load.transactions = 2000;
}

struct drawn {
	uint64_t plans, requests, read_bytes, written_bytes, hash;
};

/* Draws a stage with PLANS operations in flight that complete in a shuffled order. */
static struct drawn draw_stage(struct pool *pool, enum pool_stage stage)
{
	struct source *source = pool_source(pool, stage);
	struct plan plans[PLANS];
	struct drawn drawn = { 0 };
	unsigned open = 0;
	bool more = true;

	while (more || open) {
		if (more && open < PLANS) {
			plan_clear(&plans[open], &requests);
			more = source->ops->next(source, &plans[open]) == 1;
			if (!more)
				continue;
			drawn.plans++;
			for (struct request *r = plans[open].first; r; r = r->next) {
				drawn.requests++;
				drawn.hash = drawn.hash * 1000003 + r->offset_bytes * 2 + r->op +
					     r->length_bytes;
				*(r->op == REQUEST_READ ? &drawn.read_bytes
							: &drawn.written_bytes) += r->length_bytes;
			}
			open++;
			continue;
		}
		unsigned which = (unsigned)(drawn.plans * 7 % open);

		source->ops->done(source, &plans[which]);
		plan_release(&plans[which]);
		plans[which] = plans[--open];
	}
	return drawn;
}

/* Every pair is complete; wasted halves count as done and the totals add up. */
static void the_account_is_postmarks(void **state)
{
	const struct named_pool *named = named_pool_find("SS");
	struct pool_config config;
	const struct pool_counts *counts;
	const struct postmark_counts *of_load;
	struct pool *pool;

	(void)state;
	named_pool_config(named, PAPER_DISK_SMALL, &load);
	config = config_for("contiguous", 100000);
	assert_int_equal(pool_new(&config, &pool, NULL), 0);
	(void)draw_stage(pool, POOL_CREATION);
	assert_int_equal(pool_counts(pool)->operations[POSTMARK_CREATE], 10000);
	(void)draw_stage(pool, POOL_TRANSACTIONS);
	counts = pool_counts(pool);
	assert_int_equal(counts->transactions, 100000);
	assert_int_equal(counts->transactions_failed, 0);
	assert_int_equal(counts->operations[POSTMARK_READ] + counts->operations[POSTMARK_APPEND] +
				 counts->wasted_appends,
		100000);
	assert_int_equal(counts->operations[POSTMARK_CREATE] + counts->operations[POSTMARK_DELETE] +
				 counts->wasted_creates,
		100000);
	assert_int_equal(counts->wasted_appends, 384);
	assert_int_equal(layout_judge(pool_layout(pool), NULL), 0);
	pool_cleanup(pool);
	of_load = pool_load_counts(pool);
	/* PostMark 1.53's own run of SS (Debian postmark 1.53-2). */
	assert_int_equal(of_load->created, 59947);
	assert_int_equal(of_load->read, 50036);
	assert_int_equal(of_load->appended, 49580);
	assert_int_equal(of_load->deleted, 59947);
	assert_int_equal(of_load->written_bytes, 791108526);
	assert_int_equal(of_load->read_bytes, 658823732);
	assert_int_equal(counts->asked_read_bytes, 658823732);
	assert_int_equal(pool_layout(pool)->used_blocks, 0);
	pool_free(pool);
	postmark_config_done(&load);
}

static void a_rewound_pool_draws_the_same_again(void **state)
{
	static const char *const names[] = { "contiguous", "scatter" };

	(void)state;
	small_load();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pool_config config = config_for(names[i], 5000);
		struct drawn creation, first, again;
		struct pool *pool;

		assert_int_equal(pool_new(&config, &pool, NULL), 0);
		creation = draw_stage(pool, POOL_CREATION);
		first = draw_stage(pool, POOL_TRANSACTIONS);
		assert_int_equal(pool_rewind(pool, true, NULL), 0);
		again = draw_stage(pool, POOL_TRANSACTIONS);
		assert_int_equal(first.hash, again.hash);
		assert_int_equal(first.requests, again.requests);
		pool_cleanup(pool);
		assert_int_equal(pool_rewind(pool, false, NULL), 0);
		again = draw_stage(pool, POOL_CREATION);
		assert_int_equal(creation.hash, again.hash);
		pool_free(pool);
	}
}

static void the_estimate_is_what_is_drawn(void **state)
{
	struct pool_config config;
	struct pool_estimate estimate;
	struct drawn creation, transactions;
	struct pool *pool;

	(void)state;
	small_load();
	config = config_for("contiguous", 5000);
	assert_int_equal(pool_estimate(&config, &estimate, NULL), 0);
	assert_int_equal(pool_new(&config, &pool, NULL), 0);
	creation = draw_stage(pool, POOL_CREATION);
	transactions = draw_stage(pool, POOL_TRANSACTIONS);
	assert_int_equal(estimate.creation.written_bytes, creation.written_bytes);
	assert_int_equal(estimate.transactions.requests, transactions.requests);
	assert_int_equal(estimate.transactions.read_bytes, transactions.read_bytes);
	assert_int_equal(estimate.transactions.written_bytes, transactions.written_bytes);
	assert_int_equal(estimate.peak_blocks, pool_layout(pool)->peak_blocks);
	assert_true(estimate.first_byte >= 256 * 4096);
	assert_true(estimate.end_byte <= (256 + 5000) * 4096);
	assert_int_equal(estimate.worst_bytes, 2 * 200 * 16384);
	pool_free(pool);
}

static void a_full_device_gives_counted_failures(void **state)
{
	struct pool_config config;
	struct pool *pool;
	const struct pool_counts *counts;
	uint64_t missing;

	(void)state;
	small_load();
	config = config_for("contiguous", 650); /* 200 files of about 3.5 blocks do not fit */
	assert_int_equal(pool_new(&config, &pool, NULL), 0);
	(void)draw_stage(pool, POOL_CREATION);
	missing = pool_counts(pool)->no_space;
	assert_true(missing > 0);
	(void)draw_stage(pool, POOL_TRANSACTIONS);
	counts = pool_counts(pool);
	assert_true(counts->no_space > 0 && counts->no_file > 0);
	assert_int_equal(counts->transactions + counts->transactions_failed, 2000);
	assert_true(counts->transactions_failed > 0);
	assert_int_equal(layout_judge(pool_layout(pool), NULL), 0);
	pool_free(pool);
}

static void reading_back_reads_every_live_file_once(void **state)
{
	struct pool_config config;
	struct pool *pool;
	struct drawn drawn;

	(void)state;
	small_load();
	config = config_for("contiguous", 5000);
	assert_int_equal(pool_new(&config, &pool, NULL), 0);
	(void)draw_stage(pool, POOL_CREATION);
	(void)draw_stage(pool, POOL_TRANSACTIONS);
	drawn = draw_stage(pool, POOL_READBACK);
	assert_int_equal(drawn.plans, pool_load_counts(pool)->live_files);
	assert_int_equal(drawn.read_bytes, pool_layout(pool)->used_blocks * 4096);
	assert_int_equal(drawn.written_bytes, 0);
	pool_free(pool);
}

/* Both biases at -1: transactions of no halves at all, as PostMark counts them. */
static void transactions_without_halves_count(void **state)
{
	struct pool_config config;
	struct pool *pool;
	struct drawn drawn;

	(void)state;
	small_load();
	load.bias_read = -1;
	load.bias_create = -1;
	config = config_for("contiguous", 5000);
	assert_int_equal(pool_new(&config, &pool, NULL), 0);
	(void)draw_stage(pool, POOL_CREATION);
	drawn = draw_stage(pool, POOL_TRANSACTIONS);
	assert_int_equal(drawn.plans, 0);
	assert_int_equal(pool_counts(pool)->transactions, 2000);
	pool_free(pool);
}

static int prepare(void **state)
{
	(void)state;
	return request_pool_init(&requests, 4096);
}

static int tear_down(void **state)
{
	(void)state;
	request_pool_done(&requests);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_account_is_postmarks),
		cmocka_unit_test(a_rewound_pool_draws_the_same_again),
		cmocka_unit_test(the_estimate_is_what_is_drawn),
		cmocka_unit_test(a_full_device_gives_counted_failures),
		cmocka_unit_test(reading_back_reads_every_live_file_once),
		cmocka_unit_test(transactions_without_halves_count),
	};

	return cmocka_run_group_tests(tests, prepare, tear_down);
}
