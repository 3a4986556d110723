/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules of the request path, each on random plans against a back end in virtual time that
 * counts and asserts at every wait (tests/support/model_backend).
 */
#include "tests/support/check.h"
#include "tests/support/model_backend.h"

#include <string.h>

#include "engine/scheduler.h"

#define FILES 40

/* Random plans: 1-4 requests in up to 3 stages, on a small area so that much overlaps. */
struct load {
	struct source source;
	struct rng rng;
	uint64_t plans_left, drawn, finished, failed;
	uint64_t area_blocks;
	bool single_reads, flushes, files;
	uint64_t open_transactions[4096]; /* halves in flight by transaction */
	uint64_t transactions_seen;
	uint64_t last_written[FILES]; /* plan id, to check the order on one file */
	const struct scheduler_config *config;
	uint64_t in_flight_max;
	bool reader_open;
};

static int load_next(struct source *source, struct plan *plan)
{
	struct load *load = container_of(source, struct load, source);
	unsigned count = load->single_reads ? 1 : 1 + (unsigned)rng_below(&load->rng, 4);
	uint8_t stage = 0;

	if (!load->plans_left)
		return 0;
	load->plans_left--;
	assert_false(load->config->reads == READS_BLOCKING && load->reader_open);
	plan->id = ++load->drawn;
	plan->transaction = load->drawn / 2;
	plan->file = load->files ? rng_below(&load->rng, FILES) : 0;
	plan->kind = PLAN_PATTERN;
	for (unsigned i = 0; i < count; i++) {
		enum request_op op = !load->single_reads && rng_below(&load->rng, 2) ? REQUEST_WRITE
										     : REQUEST_READ;

		if (i && rng_below(&load->rng, 3) == 0)
			stage++;
		if (i && load->flushes && rng_below(&load->rng, 8) == 0)
			(void)plan_add(plan, REQUEST_FLUSH, ROLE_COMMIT, ++stage, 0, 0);
		else
			(void)plan_add(plan, op, ROLE_DATA, stage,
				4096 * (rng_below(&load->rng, load->area_blocks) * 4 + i), 4096);
	}
	if (plan->first->op == REQUEST_READ)
		load->reader_open = true;
	load->open_transactions[plan->transaction % 4096]++;
	load->in_flight_max = max_u64(load->in_flight_max, load->drawn - load->finished);
	return 1;
}

static void load_done(struct source *source, const struct plan *plan)
{
	struct load *load = container_of(source, struct load, source);

	load->finished++;
	load->failed += plan->error != 0;
	load->open_transactions[plan->transaction % 4096]--;
	if (plan->first->op == REQUEST_READ)
		load->reader_open = false;
	if (plan->file && plan->writes) {
		assert_true(load->last_written[plan->file] < plan->id);
		load->last_written[plan->file] = plan->id;
	}
	for (const struct request *r = plan->first; r && !plan->error; r = r->next) {
		assert_true(r->queued_ns <= r->dispatched_ns);
		assert_true(r->dispatched_ns <= r->completed_ns);
		if (r->next && r->next->stage > r->stage)
			assert_true(r->next->dispatched_ns >= r->completed_ns);
	}
}

static const struct source_ops load_ops = { .next = load_next, .done = load_done };

static struct recorder recorder;

struct bench {
	struct load load;
	struct clock_manual clock;
	struct model_backend model;
	struct target target;
	struct scheduler_config config;
	struct scheduler_signals signals;
	struct scheduler_result result;
};

static void bench_init(struct bench *bench, unsigned depth, uint64_t plans, uint64_t seed)
{
	memset(bench, 0, sizeof(*bench));
	bench->clock.clock.now = clock_manual_now;
	bench->clock.time_ns = 1;
	bench->target = (struct target){ .kind = TARGET_NULL, .fd = -1 };
	bench->load.source = (struct source){
		.ops = &load_ops,
		.requests_per_plan_max = 8,
		.request_bytes_max = 4096,
	};
	bench->load.plans_left = plans;
	bench->load.area_blocks = 50;
	bench->load.config = &bench->config;
	rng_seed(&bench->load.rng, seed, RNG_LOAD);
	model_backend_init(&bench->model, &bench->clock, depth, seed);
	bench->config = (struct scheduler_config){
		.clock = &bench->clock.clock,
		.source = &bench->load.source,
		.backend = &bench->model.backend,
		.target = &bench->target,
		.recorder = &recorder,
		.depth = depth,
		.flushes = 4,
		.window = 128,
		.plans = 256,
		.signals = &bench->signals,
	};
}

static void bench_run(struct bench *bench)
{
	struct scheduler *scheduler;
	struct error error = { 0 };

	recorder_clear(&recorder, NULL);
	assert_int_equal(scheduler_new(&bench->config, &scheduler, &error), 0);
	assert_int_equal(scheduler_run(scheduler, &bench->result, &error), 0);
	scheduler_free(scheduler);
}

static void every_rule_holds_on_random_plans(void **state)
{
	static const unsigned depths[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	uint64_t seed = check_seed();
	uint64_t hash = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		struct bench bench;

		bench_init(&bench, depths[i], 3000, seed);
		bench.load.flushes = true;
		bench.load.files = true;
		bench_run(&bench);
		assert_int_equal(bench.result.end, SCHEDULER_COMPLETE);
		assert_int_equal(bench.load.finished, 3000);
		assert_int_equal(bench.result.plans, 3000);
		assert_int_equal(bench.result.requests_queued, bench.model.submitted);
		assert_int_equal(bench.result.requests_dispatched, bench.model.submitted);
		assert_int_equal(recorder.operations[REQUEST_READ].completed +
					 recorder.operations[REQUEST_WRITE].completed +
					 recorder.operations[REQUEST_FLUSH].completed,
			bench.model.submitted);
		assert_true(bench.result.held > 0);
		/* The stream is the same whatever the depth. */
		assert_true(!hash || hash == bench.result.q_stream_hash);
		hash = bench.result.q_stream_hash;
	}
}

/* Whatever sorts and merges between Q and D: the same stream, every request once, every rule. */
static void every_elevator_sends_the_same_stream(void **state)
{
	uint64_t seed = check_seed();
	uint64_t hash = 0, queued = 0;

	(void)state;
	for (size_t i = 0; elevators[i]; i++)
		for (int merge = 0; merge < 2; merge++) {
			struct bench bench;

			bench_init(&bench, 4, 3000, seed);
			bench.load.flushes = true;
			bench.load.files = true;
			bench.config.elevator = elevators[i];
			elevator_options_default(elevators[i], &bench.config.elevator_options);
			bench.config.merge = merge;
			bench.config.max_request_bytes = 64 * KIB;
			bench_run(&bench);
			assert_int_equal(bench.load.finished, 3000);
			assert_true(!hash || hash == bench.result.q_stream_hash);
			assert_true(!queued || queued == bench.result.requests_queued);
			hash = bench.result.q_stream_hash;
			queued = bench.result.requests_queued;
			assert_int_equal(bench.result.requests_dispatched, bench.model.submitted);
			assert_int_equal(bench.result.requests_dispatched,
				queued - bench.result.merges.back - bench.result.merges.front -
					bench.result.merges.gaps);
			assert_true(merge || bench.result.requests_dispatched == queued);
		}
	assert_true(queued > 3000);
}

/* Independent reads: the drive holds exactly depth at every wait until the source ends. */
static void depth_is_exact_at_every_wait(void **state)
{
	static const unsigned depths[] = { 1, 2, 3, 7, 32, 64, 128 };
	uint64_t seed = check_seed();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		struct bench bench;
		uint64_t partial;

		bench_init(&bench, depths[i], 5000, seed);
		bench.load.single_reads = true;
		bench.load.area_blocks = UINT64_C(1) << 30;
		bench_run(&bench);
		partial = bench.model.waits - bench.model.full_waits;
		assert_int_equal(bench.result.waits, bench.model.waits);
		assert_int_equal(bench.result.starved_waits, partial);
		/* Only the drain at the end may run below depth. */
		assert_true(partial <= depths[i]);
		assert_true(recorder_depth_mean(&recorder) <= depths[i] + 1e-9);
		assert_true(recorder_depth_mean(&recorder) > 0.9 * depths[i]);
	}
}

static void window_and_plans_bound_what_is_drawn(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 2, 2000, check_seed());
	bench.load.single_reads = true;
	bench.load.area_blocks = UINT64_C(1) << 30;
	bench.config.window = 8;
	bench_run(&bench);
	/* The window and the one that waits for room in it. */
	assert_int_equal(bench.load.in_flight_max, 8 + 1);

	bench_init(&bench, 2, 2000, check_seed());
	bench.load.single_reads = true;
	bench.config.plans = 5;
	bench_run(&bench);
	assert_int_equal(bench.load.in_flight_max, 5);
}

static void blocking_reads_draw_nothing_meanwhile(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 16, 2000, check_seed());
	bench.config.reads = READS_BLOCKING;
	bench_run(&bench); /* load_next asserts it */
	assert_int_equal(bench.load.finished, 2000);

	bench_init(&bench, 16, 500, check_seed());
	bench.config.reads = READS_BLOCKING;
	bench.load.single_reads = true;
	bench_run(&bench);
	assert_int_equal(bench.load.in_flight_max, 1);
	assert_int_equal(bench.result.waits, 500);
}

static void one_transaction_waits(void *user, struct model_backend *model)
{
	(void)user;
	for (unsigned i = 1; i < model->count; i++)
		assert_int_equal(model->at_drive[i]->plan->transaction,
			model->at_drive[0]->plan->transaction);
}

static void strict_order_runs_one_transaction_at_a_time(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 16, 2000, check_seed());
	bench.config.order = ORDER_STRICT;
	bench.model.waiting = one_transaction_waits;
	bench_run(&bench);
	assert_int_equal(bench.load.finished, 2000);
	/* Both halves, and the next one drawn but not started. */
	assert_true(bench.load.in_flight_max <= 3);
}

static void depth_one_keeps_the_stream_order(void **state)
{
	struct bench bench;
	uint64_t expected = 0;
	struct rng rng;
	uint64_t seed = check_seed();

	(void)state;
	bench_init(&bench, 1, 500, seed);
	bench.load.single_reads = true;
	bench_run(&bench);
	rng_seed(&rng, seed, RNG_LOAD);
	for (int i = 0; i < 500; i++)
		expected = expected * 31 + 4096 * (rng_below(&rng, 50) * 4);
	assert_int_equal(bench.model.order_hash, expected);
}

static int32_t fail_some(void *user, const struct request *request)
{
	(void)user;
	if (request->sequence % 97 == 5)
		return -EIO;
	return request->sequence % 101 == 7 ? (int32_t)request->length_bytes - 512
					    : (int32_t)request->length_bytes;
}

/* Errors and short transfers are data: counted, later stages cancelled, the run goes on. */
static void errors_are_counted_and_cancel_later_stages(void **state)
{
	struct bench bench;
	uint64_t handled;

	(void)state;
	bench_init(&bench, 8, 3000, check_seed());
	bench.load.files = true;
	bench.model.result = fail_some;
	bench_run(&bench);
	handled = recorder_errors(&recorder) + recorder.operations[REQUEST_READ].completed +
		  recorder.operations[REQUEST_WRITE].completed;
	assert_int_equal(bench.load.finished, 3000);
	assert_int_equal(bench.result.end, SCHEDULER_COMPLETE);
	assert_true(bench.load.failed > 0);
	assert_int_equal(bench.load.failed, bench.result.plan_errors);
	assert_true(bench.result.requests_cancelled > 0);
	assert_int_equal(handled, bench.model.submitted);
	assert_int_equal(recorder.first_failure.error, -EIO);
}

static int32_t lose_device(void *user, const struct request *request)
{
	(void)user;
	return request->sequence >= 300 ? -ENODEV : (int32_t)request->length_bytes;
}

static void a_lost_device_ends_the_run(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 8, 100000, check_seed());
	bench.model.result = lose_device;
	bench_run(&bench);
	assert_int_equal(bench.result.end, SCHEDULER_DEVICE_LOST);
	assert_int_equal(bench.model.count, 0);
	assert_true(bench.load.drawn < 1000);
}

static void interrupt_at_200(void *user, struct model_backend *model)
{
	struct bench *bench = user;

	if (model->waits == 200)
		bench->signals.stop++;
}

static void the_first_signal_drains_the_second_leaves(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 8, 100000, check_seed());
	bench.model.waiting = interrupt_at_200;
	bench.model.user = &bench;
	bench_run(&bench);
	assert_int_equal(bench.result.end, SCHEDULER_INTERRUPTED);
	assert_int_equal(bench.model.count, 0);
	assert_true(bench.model.submitted > 0);
	assert_int_equal(bench.result.requests_dispatched, bench.model.submitted);

	bench_init(&bench, 8, 100000, check_seed());
	bench.signals.stop = 1;
	bench_run(&bench);
	assert_int_equal(bench.result.end, SCHEDULER_INTERRUPTED);
	assert_int_equal(bench.model.submitted, 0);
}

static void second_signal(void *user, struct model_backend *model)
{
	struct bench *bench = user;

	if (model->waits == 50)
		bench->signals.stop = 2;
}

static void leaving_at_once_tells_what_is_left_behind(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 8, 100000, check_seed());
	bench.load.single_reads = true;
	bench.load.area_blocks = UINT64_C(1) << 30;
	bench.model.waiting = second_signal;
	bench.model.user = &bench;
	bench_run(&bench);
	assert_int_equal(bench.result.end, SCHEDULER_ABANDONED);
	assert_int_equal(bench.result.abandoned, bench.model.count);
	assert_true(bench.model.count >= 5);
}

static void the_time_limit_stops_drawing_and_drains(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 8, UINT64_MAX, check_seed());
	bench.config.time_limit_ns = 20 * NSEC_PER_MSEC;
	bench_run(&bench);
	assert_int_equal(bench.result.end, SCHEDULER_TIME_UP);
	assert_int_equal(bench.load.finished, bench.load.drawn);
	assert_true(bench.result.finished_ns - bench.result.started_ns >= 20 * NSEC_PER_MSEC);
}

static void ask_for_status(void *user, struct model_backend *model)
{
	struct bench *bench = user;

	if (model->waits == 100) {
		bench->signals.tick = 1;
		model->clock->time_ns += 30 * NSEC_PER_SEC;
	}
}

static struct scheduler_status told;

static void keep_status(void *user, const struct scheduler_status *status)
{
	(void)user;
	told = *status;
}

/* A drive that does not answer is named by its oldest request: place, operation, age. */
static void a_tick_names_the_oldest_request(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, 4, 2000, check_seed());
	bench.model.waiting = ask_for_status;
	bench.model.user = &bench;
	bench.config.on_tick = keep_status;
	bench_run(&bench);
	assert_true(told.oldest_age_ns >= 30 * NSEC_PER_SEC);
	assert_true(told.oldest.length_bytes == 4096 && told.at_drive >= 1);
	assert_true(told.requests_completed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_holds_on_random_plans),
		cmocka_unit_test(every_elevator_sends_the_same_stream),
		cmocka_unit_test(depth_is_exact_at_every_wait),
		cmocka_unit_test(window_and_plans_bound_what_is_drawn),
		cmocka_unit_test(blocking_reads_draw_nothing_meanwhile),
		cmocka_unit_test(strict_order_runs_one_transaction_at_a_time),
		cmocka_unit_test(depth_one_keeps_the_stream_order),
		cmocka_unit_test(errors_are_counted_and_cancel_later_stages),
		cmocka_unit_test(a_lost_device_ends_the_run),
		cmocka_unit_test(the_first_signal_drains_the_second_leaves),
		cmocka_unit_test(leaving_at_once_tells_what_is_left_behind),
		cmocka_unit_test(the_time_limit_stops_drawing_and_drains),
		cmocka_unit_test(a_tick_names_the_oldest_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
