/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A replay sends what the trace holds, each merged request once, in the order asked for; through
 * the scheduler one at a time the back end sees exactly that order; and what does not fit the
 * target is refused.
 */
#include "tests/support/check.h"

#include <string.h>

#include "engine/replay.h"
#include "engine/rng.h"
#include "engine/scheduler.h"
#include "tests/support/model_backend.h"

#define AREA_BYTES (UINT64_C(1) << 30)

static struct request_pool pool;

/* Sent in the order of number; the block is the place on the target in 4 KiB. */
static struct trace_record record(uint32_t number, uint64_t block, nsec_t completed_ns)
{
	return (struct trace_record){
		.offset_bytes = block * 4096,
		.completed_ns = completed_ns,
		.sequence = number,
		.dispatch = number,
		.file = 100 + number,
		.length_bytes = 4096,
		.result = 4096,
		.op = REQUEST_WRITE,
	};
}

static struct replay_config config_of(
	const struct trace_record *records, size_t count, enum replay_order order)
{
	return (struct replay_config){
		.records = records,
		.count = count,
		.order = order,
		.area_bytes = AREA_BYTES,
		.block_bytes = 512,
	};
}

static struct source *make(
	const struct trace_record *records, size_t count, enum replay_order order)
{
	struct replay_config config = config_of(records, count, order);
	struct source *source;

	assert_int_equal(replay_new(&config, &source, NULL), 0);
	assert_int_equal(source->requests_per_plan_max, 1);
	return source;
}

static int draw(struct source *source, struct request *ret_request, struct plan *ret_plan)
{
	struct plan plan;

	plan_clear(&plan, &pool);
	if (!source->ops->next(source, &plan))
		return 0;
	assert_int_equal(plan.request_count, 1);
	*ret_request = *plan.first;
	*ret_plan = plan;
	source->ops->done(source, &plan);
	plan_release(&plan);
	return 1;
}

static void assert_blocks(struct source *source, const uint64_t *blocks, size_t count)
{
	struct request request;
	struct plan plan;

	assert_int_equal(replay_count(source), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(draw(source, &request, &plan), 1);
		assert_int_equal(request.offset_bytes, blocks[i] * 4096);
	}
	assert_int_equal(draw(source, &request, &plan), 0);
	source->ops->free(source);
}

static void each_order_is_kept(void **state)
{
	/* 11 and 12 came back in one reap: they keep the order in which they were sent. */
	struct trace_record records[] = { record(3, 13, 10), record(2, 12, 20), record(1, 11, 20),
		record(0, 10, 30), record(4, 14, TRACE_NEVER) };
	static const uint64_t completed[] = { 13, 11, 12, 10 }, dispatched[] = { 10, 11, 12, 13 },
			      queued[] = { 11, 10, 13, 12 };

	(void)state;
	records[0].sequence = 7;
	records[1].sequence = 9;
	records[2].sequence = 1;
	records[3].sequence = 2;
	assert_blocks(make(records, 5, REPLAY_COMPLETED), completed, 4);
	assert_blocks(make(records, 5, REPLAY_DISPATCHED), dispatched, 4);
	assert_blocks(make(records, 5, REPLAY_QUEUED), queued, 4);
}

static void a_request_is_sent_as_it_was(void **state)
{
	struct trace_record records[] = { record(0, 9, 20), record(1, 8, 20), record(2, 50, 10),
		record(3, 0, 30) };
	struct request request;
	struct source *source;
	struct plan plan;

	(void)state;
	records[1].dispatch = 0; /* in front of the first, merged with it */
	records[0].flags = records[1].flags = TRACE_FUA | TRACE_MERGED;
	records[0].role = ROLE_INODE;
	records[2].op = REQUEST_READ;
	records[3].op = REQUEST_FLUSH;
	records[3].length_bytes = 0;
	source = make(records, 4, REPLAY_COMPLETED);
	assert_false(source->reads_only);
	assert_int_equal(source->request_bytes_max, 8192);
	assert_int_equal(replay_count(source), 3);
	assert_int_equal(draw(source, &request, &plan), 1);
	assert_int_equal(request.op, REQUEST_READ);
	assert_int_equal(plan.file, 102);
	assert_false(request.fua);
	assert_int_equal(draw(source, &request, &plan), 1);
	assert_int_equal(request.offset_bytes, 8 * 4096);
	assert_int_equal(request.length_bytes, 8192);
	assert_int_equal(request.role, ROLE_INODE);
	assert_true(request.fua && plan.writes);
	assert_int_equal(plan.generation, 2);
	assert_int_equal(draw(source, &request, &plan), 1);
	assert_int_equal(request.op, REQUEST_FLUSH);
	source->ops->free(source);
	source = make(records + 2, 1, REPLAY_COMPLETED);
	assert_true(source->reads_only);
	source->ops->free(source);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct trace_record one = record(0, 8, 1);
	struct replay_config config = config_of(&one, 1, REPLAY_COMPLETED);
	struct source *source;
	struct error below = { 0 }, above = { 0 }, block = { 0 }, nothing = { 0 }, role = { 0 };

	(void)state;
	config.area_offset_bytes = 9 * 4096;
	assert_int_equal(replay_new(&config, &source, &below), -ERANGE);
	assert_non_null(strstr(below.text, "32768"));
	config.area_offset_bytes = 4096;
	config.area_bytes = 8 * 4096 - 1;
	assert_int_equal(replay_new(&config, &source, &above), -ERANGE);
	config.area_bytes = 8 * 4096;
	config.block_bytes = 8192;
	assert_int_equal(replay_new(&config, &source, &block), -ERANGE);
	assert_non_null(strstr(block.text, "8192"));
	config.block_bytes = 4096;
	one.offset_bytes = UINT64_MAX - 4095;
	assert_int_equal(replay_new(&config, &source, NULL), -ERANGE);
	one = record(0, 8, TRACE_NEVER);
	assert_int_equal(replay_new(&config, &source, &nothing), -ENODATA);
	one = record(0, 8, 1);
	one.role = REQUEST_ROLES;
	assert_int_equal(replay_new(&config, &source, &role), -EBADMSG);
	one.role = ROLE_DATA;
	assert_int_equal(replay_new(&config, &source, NULL), 0);
	source->ops->free(source);
}

static struct recorder recorder;

/* What the back end got, in its order. */
struct arrivals {
	uint64_t offsets[600];
	size_t count;
};

static int32_t note_arrival(void *user, const struct request *request)
{
	struct arrivals *arrivals = user;

	arrivals->offsets[arrivals->count++] = request->offset_bytes;
	return (int32_t)request->length_bytes;
}

/* Overlaps all over: with plans ahead they would hold each other and be passed. */
static void one_at_a_time_the_drive_sees_that_order(void **state)
{
	enum { COUNT = 600 };
	static struct trace_record records[COUNT];
	static struct arrivals arrivals;
	uint64_t seed = check_seed();
	struct target target = { .kind = TARGET_NULL, .fd = -1 };
	struct clock_manual clock = { .clock.now = clock_manual_now, .time_ns = 1 };
	struct model_backend model;
	struct scheduler_result result;
	struct scheduler *scheduler;
	struct source *source;
	struct rng rng;

	(void)state;
	rng_seed(&rng, seed, RNG_LOAD);
	for (uint32_t i = 0; i < COUNT; i++) {
		records[i] = record(i, rng_below(&rng, 20), 1 + i + (nsec_t)rng_below(&rng, 9));
		records[i].file = (uint32_t)rng_below(&rng, 4);
	}
	source = make(records, COUNT, REPLAY_COMPLETED);
	model_backend_init(&model, &clock, 1, seed);
	model.result = note_arrival;
	model.user = &arrivals;
	recorder_clear(&recorder, NULL);
	assert_int_equal(scheduler_new(
				 &(struct scheduler_config){
					 .clock = &clock.clock,
					 .source = source,
					 .backend = &model.backend,
					 .target = &target,
					 .recorder = &recorder,
					 .depth = 1,
					 .flushes = 1,
					 .window = 128,
					 .plans = 1,
				 },
				 &scheduler, NULL),
		0);
	assert_int_equal(scheduler_run(scheduler, &result, NULL), 0);
	assert_int_equal(arrivals.count, COUNT);
	assert_int_equal(result.held, 0);
	scheduler_free(scheduler);
	source->ops->free(source);
	/* Selection, so that the expected order owes nothing to the sort that is tested. */
	for (size_t i = 0; i < COUNT; i++) {
		size_t first = COUNT;

		for (size_t k = 0; k < COUNT; k++)
			if (records[k].completed_ns != TRACE_NEVER &&
				(first == COUNT ||
					records[k].completed_ns < records[first].completed_ns))
				first = k;
		assert_int_equal(arrivals.offsets[i], records[first].offset_bytes);
		records[first].completed_ns = TRACE_NEVER;
	}
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
		cmocka_unit_test(each_order_is_kept),
		cmocka_unit_test(a_request_is_sent_as_it_was),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(one_at_a_time_the_drive_sees_that_order),
	};

	return cmocka_run_group_tests(tests, prepare, tear_down);
}
