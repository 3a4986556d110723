/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Merging: which requests may become one, what becomes of their parts, and on random loads with
 * every elevator that each request comes back once and only with its like.
 */
#include "tests/support/check.h"

#include <string.h>

#include "engine/host_queue.h"
#include "engine/rng.h"

#define BLOCK_BYTES 4096
#define MAX_BYTES (8 * BLOCK_BYTES)

static struct plan plans[2];

static struct host_queue *make_queue(
	const char *elevator, bool merge, size_t capacity, uint32_t streams)
{
	struct host_queue_config config = {
		.elevator = elevator_find(elevator),
		.merge = merge,
		.max_request_bytes = MAX_BYTES,
		.capacity = capacity,
		.streams = streams,
	};
	struct host_queue *queue;

	elevator_options_default(config.elevator, &config.options);
	assert_int_equal(host_queue_new(&config, &queue), 0);
	assert_true(host_queue_memory_bytes(&config) > 0);
	return queue;
}

static struct request make(enum request_op op, uint64_t block, uint32_t blocks)
{
	static uint64_t sequence;

	return (struct request){
		.op = (uint8_t)op,
		.offset_bytes = block * BLOCK_BYTES,
		.length_bytes = blocks * BLOCK_BYTES,
		.sequence = sequence++,
		.plan = &plans[0],
	};
}

static struct request *take(struct host_queue *queue, nsec_t now_ns)
{
	nsec_t wake_ns;

	return host_queue_next(queue, now_ns, HOST_QUEUE_TRANSFER, &wake_ns);
}

/* Two neighbours that differ in one thing from two that merge. */
static void only_like_requests_merge(void **state)
{
	static const struct {
		const char *what;
		struct request lower, upper; /* op, role, stage, fua */
		uint32_t lower_blocks, upper_blocks;
		bool merge;
	} cases[] = {
		{ "data and data", { .op = REQUEST_WRITE }, { .op = REQUEST_WRITE }, 1, 1, true },
		{ "two reads", { .op = REQUEST_READ }, { .op = REQUEST_READ }, 1, 1, true },
		{ "write and read", { .op = REQUEST_WRITE }, { .op = REQUEST_READ }, 1, 1, false },
		{ "read and write", { .op = REQUEST_READ }, { .op = REQUEST_WRITE }, 1, 1, false },
		{ "two kinds of metadata", { .op = REQUEST_WRITE, .role = ROLE_INODE },
			{ .op = REQUEST_WRITE, .role = ROLE_BITMAP }, 1, 1, true },
		{ "data and metadata", { .op = REQUEST_WRITE },
			{ .op = REQUEST_WRITE, .role = ROLE_INODE }, 1, 1, false },
		{ "journal and commit", { .op = REQUEST_WRITE, .role = ROLE_JOURNAL },
			{ .op = REQUEST_WRITE, .role = ROLE_COMMIT }, 1, 1, false },
		{ "commit and journal", { .op = REQUEST_WRITE, .role = ROLE_COMMIT },
			{ .op = REQUEST_WRITE, .role = ROLE_JOURNAL }, 1, 1, false },
		{ "one stage", { .op = REQUEST_WRITE, .stage = 3 },
			{ .op = REQUEST_WRITE, .stage = 3 }, 1, 1, true },
		{ "two stages", { .op = REQUEST_WRITE, .stage = 3 },
			{ .op = REQUEST_WRITE, .stage = 4 }, 1, 1, false },
		{ "fua behind", { .op = REQUEST_WRITE }, { .op = REQUEST_WRITE, .fua = true }, 1, 1,
			false },
		{ "fua before", { .op = REQUEST_WRITE, .fua = true }, { .op = REQUEST_WRITE }, 1, 1,
			false },
		{ "just fits", { .op = REQUEST_WRITE }, { .op = REQUEST_WRITE }, 3, 5, true },
		{ "too long", { .op = REQUEST_WRITE }, { .op = REQUEST_WRITE }, 4, 5, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t e = 0; elevators[e]; e++)
			for (int front = 0; front < 2; front++) {
				struct host_queue *queue =
					make_queue(elevators[e]->name, true, 2, 1);
				struct request lower = cases[i].lower, upper = cases[i].upper;

				lower.offset_bytes = 100 * BLOCK_BYTES;
				lower.length_bytes = cases[i].lower_blocks * BLOCK_BYTES;
				upper.offset_bytes = request_end(&lower);
				upper.length_bytes = cases[i].upper_blocks * BLOCK_BYTES;
				lower.plan = &plans[0];
				upper.plan = &plans[1]; /* of different plans, all of them */
				upper.sequence = 1;
				(void)host_queue_insert(queue, front ? &upper : &lower, 1);
				if (host_queue_insert(queue, front ? &lower : &upper, 2) !=
					(!cases[i].merge ? INSERTED
						: front  ? INSERTED_AT_FRONT
							 : INSERTED_AT_BACK))
					fail_msg("%s: %s, front %d", elevators[e]->name,
						cases[i].what, front);
				assert_int_equal(host_queue_count(queue), cases[i].merge ? 1 : 2);
				assert_int_equal(host_queue_part_count(queue), 2);
				host_queue_free(queue);
			}
}

static void parts_take_the_instants_and_share_the_result(void **state)
{
	static const struct {
		int32_t whole, parts[3];
	} results[] = {
		{ 4 * BLOCK_BYTES, { BLOCK_BYTES, 2 * BLOCK_BYTES, BLOCK_BYTES } },
		{ -EIO, { -EIO, -EIO, -EIO } },
		{ 2 * BLOCK_BYTES, { BLOCK_BYTES, BLOCK_BYTES, 0 } },
		{ 512, { 512, 0, 0 } },
		{ 0, { 0, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		struct host_queue *queue = make_queue("c-look", true, 8, 1);
		struct request middle = make(REQUEST_WRITE, 11, 2),
			       first = make(REQUEST_WRITE, 10, 1),
			       last = make(REQUEST_WRITE, 13, 1), *whole, *part;
		struct request *const order[] = { &first, &middle, &last };

		middle.queued_ns = 5;
		first.queued_ns = 3;
		last.queued_ns = 9;
		assert_int_equal(host_queue_insert(queue, &middle, 10), INSERTED);
		assert_int_equal(host_queue_insert(queue, &first, 10), INSERTED_AT_FRONT);
		assert_int_equal(host_queue_insert(queue, &last, 10), INSERTED_AT_BACK);
		whole = take(queue, 11);
		assert_int_equal(whole->offset_bytes, 10 * BLOCK_BYTES);
		assert_int_equal(whole->length_bytes, 4 * BLOCK_BYTES);
		assert_int_equal(whole->queued_ns, 3);
		assert_int_equal(whole->op, REQUEST_WRITE);
		part = host_queue_parts(whole);
		for (size_t j = 0; j < 3; j++, part = part->queue_next)
			assert_ptr_equal(part, order[j]);
		assert_null(part);
		whole->dispatched_ns = 20;
		whole->completed_ns = 30;
		whole->result = results[i].whole;
		part = host_queue_completed(queue, whole, 30);
		for (size_t j = 0; j < 3; j++, part = part->queue_next) {
			assert_ptr_equal(part, order[j]);
			assert_int_equal(part->result, results[i].parts[j]);
			assert_int_equal(part->dispatched_ns, 20);
			assert_int_equal(part->completed_ns, 30);
			assert_null(part->children);
		}
		assert_int_equal(first.queued_ns, 3);
		assert_int_equal(last.queued_ns, 9);
		assert_null(part);
		host_queue_free(queue);
	}
}

static void a_request_that_fills_a_gap_joins_three(void **state)
{
	(void)state;
	for (size_t e = 0; elevators[e]; e++) {
		struct host_queue *queue = make_queue(elevators[e]->name, true, 8, 1);
		const bool tail = elevators[e]->tail_merges;
		struct request lower = make(REQUEST_READ, 10, 1), upper = make(REQUEST_READ, 12, 2),
			       gap = make(REQUEST_READ, 11, 1);
		struct host_queue_merges merges;

		(void)host_queue_insert(queue, &lower, 1);
		(void)host_queue_insert(queue, &upper, 1);
		(void)host_queue_insert(queue, &gap, 1);
		merges = host_queue_merges(queue);
		assert_int_equal(merges.back + merges.front, 1);
		assert_int_equal(merges.gaps, tail ? 0 : 1);
		assert_int_equal(host_queue_count(queue), tail ? 2 : 1);
		assert_int_equal(host_queue_part_count(queue), 3);
		host_queue_free(queue);
	}
}

/* noop looks at the tail and nowhere else; a tail that is gone takes nobody. */
static void noop_merges_with_the_tail_only(void **state)
{
	struct host_queue *queue = make_queue("noop", true, 8, 1);
	struct request a = make(REQUEST_READ, 10, 1), b = make(REQUEST_READ, 50, 1),
		       c = make(REQUEST_READ, 11, 1), d = make(REQUEST_READ, 12, 1),
		       e = make(REQUEST_READ, 13, 1), *request;

	(void)state;
	assert_int_equal(host_queue_insert(queue, &a, 1), INSERTED);
	assert_int_equal(host_queue_insert(queue, &b, 1), INSERTED);
	assert_int_equal(host_queue_insert(queue, &c, 1), INSERTED);
	assert_int_equal(host_queue_insert(queue, &d, 1), INSERTED_AT_BACK);
	assert_ptr_equal(take(queue, 2), &a);
	assert_ptr_equal(take(queue, 2), &b);
	request = take(queue, 2);
	assert_ptr_equal(request->children, &c);
	assert_int_equal(host_queue_insert(queue, &e, 3), INSERTED);
	host_queue_free(queue);
}

static void deadline_can_do_without_front_merges(void **state)
{
	struct host_queue_config config = {
		.elevator = elevator_find("deadline"),
		.merge = true,
		.max_request_bytes = MAX_BYTES,
		.capacity = 8,
		.streams = 1,
	};
	struct request a = make(REQUEST_READ, 10, 1), b = make(REQUEST_READ, 50, 1),
		       before_a = make(REQUEST_READ, 9, 1), before_that = make(REQUEST_READ, 8, 1);
	struct host_queue *queue;

	(void)state;
	elevator_options_default(config.elevator, &config.options);
	assert_int_equal(
		elevator_options_set(config.elevator, &config.options, "front_merges=0", NULL), 0);
	assert_int_equal(host_queue_new(&config, &queue), 0);
	(void)host_queue_insert(queue, &a, 1);
	(void)host_queue_insert(queue, &b, 1);
	assert_int_equal(host_queue_insert(queue, &before_a, 1), INSERTED);
	/* As in the kernel, the one inserted last is tried all the same. */
	assert_int_equal(host_queue_insert(queue, &before_that, 1), INSERTED_AT_FRONT);
	host_queue_free(queue);
}

static void flushes_pass_the_elevator_by(void **state)
{
	struct host_queue *queue = make_queue("deadline", true, 8, 1);
	struct request a = make(REQUEST_WRITE, 10, 1), flush = make(REQUEST_FLUSH, 0, 0),
		       second = make(REQUEST_FLUSH, 0, 0);
	const unsigned both = HOST_QUEUE_FLUSH | HOST_QUEUE_TRANSFER;
	nsec_t wake_ns;

	(void)state;
	(void)host_queue_insert(queue, &a, 1);
	(void)host_queue_insert(queue, &flush, 1);
	(void)host_queue_insert(queue, &second, 1);
	assert_int_equal(host_queue_flush_count(queue), 2);
	assert_null(host_queue_next(queue, 2, 0, &wake_ns));
	assert_ptr_equal(host_queue_next(queue, 2, HOST_QUEUE_TRANSFER, &wake_ns), &a);
	assert_ptr_equal(host_queue_next(queue, 2, both, &wake_ns), &flush);
	assert_ptr_equal(host_queue_completed(queue, &flush, 3), &flush);
	assert_ptr_equal(host_queue_next(queue, 2, HOST_QUEUE_FLUSH, &wake_ns), &second);
	assert_null(host_queue_next(queue, 2, both, &wake_ns));
	assert_true(wake_ns == NSEC_NEVER);
	host_queue_free(queue);
}

/* A drive of some depth below a window of requests on a small area, so that much touches. */
#define BLOCKS 300
#define WINDOW 96
#define REQUESTS 6000
#define STREAMS 3

struct world {
	struct rng rng;
	struct request requests[REQUESTS];
	struct plan plans[STREAMS];
	uint8_t readers[BLOCKS + 8];
	bool writer[BLOCKS + 8];
	bool came_back[REQUESTS];
	struct request *at_drive[32];
	unsigned at_drive_count;
	unsigned inserted, completed, merged_seen;
	uint64_t order; /* a hash of what was sent, in order */
	nsec_t now_ns;
};

static struct world world;

static bool area_is_free(const struct request *request)
{
	const uint64_t first = request->offset_bytes / BLOCK_BYTES;

	for (uint64_t i = first; i < first + request->length_bytes / BLOCK_BYTES; i++)
		if (world.writer[i] || (request->op == REQUEST_WRITE && world.readers[i]))
			return false;
	return true;
}

static void mark_area(const struct request *request, int by)
{
	const uint64_t first = request->offset_bytes / BLOCK_BYTES;

	for (uint64_t i = first; i < first + request->length_bytes / BLOCK_BYTES; i++) {
		if (request->op == REQUEST_WRITE)
			world.writer[i] = by > 0;
		else
			world.readers[i] = (uint8_t)(world.readers[i] + by);
	}
}

static void insert_one(struct host_queue *queue)
{
	struct request *request = &world.requests[world.inserted];

	request->op = rng_below(&world.rng, 2) ? REQUEST_WRITE : REQUEST_READ;
	request->offset_bytes = rng_below(&world.rng, BLOCKS) * BLOCK_BYTES;
	request->length_bytes = (1 + (uint32_t)rng_below(&world.rng, 3)) * BLOCK_BYTES;
	request->role = rng_below(&world.rng, 4) ? ROLE_DATA
						 : (uint8_t)rng_below(&world.rng, REQUEST_ROLES);
	request->stage = rng_below(&world.rng, 4) == 0;
	request->fua = request->op == REQUEST_WRITE && rng_below(&world.rng, 16) == 0;
	request->plan = &world.plans[rng_below(&world.rng, STREAMS)];
	request->sequence = world.inserted;
	request->queued_ns = world.now_ns;
	if (!area_is_free(request))
		return; /* the conflict index would hold it; another is drawn */
	mark_area(request, 1);
	world.inserted++;
	(void)host_queue_insert(queue, request, world.now_ns);
}

/* Parts lie one behind the other, fill the whole, and are of one kind. */
static void judge_whole(struct request *whole, bool merge)
{
	uint64_t end = whole->offset_bytes;
	const struct request *first = host_queue_parts(whole);
	nsec_t queued_ns = NSEC_NEVER;
	unsigned parts = 0;

	for (const struct request *part = first; part; part = part->queue_next) {
		assert_int_equal(part->offset_bytes, end);
		assert_int_equal(part->op, whole->op);
		assert_int_equal(part->stage, first->stage);
		assert_int_equal(part->role == ROLE_DATA, first->role == ROLE_DATA);
		assert_true(part == whole || !part->fua);
		assert_true(part == whole || part->role != ROLE_COMMIT);
		end = request_end(part);
		if (part->queued_ns < queued_ns)
			queued_ns = part->queued_ns;
		parts++;
	}
	assert_int_equal(end, request_end(whole));
	assert_true(whole->length_bytes <= MAX_BYTES);
	assert_true(whole->queued_ns == queued_ns);
	assert_true(merge || parts == 1);
	assert_int_equal(parts > 1, whole->children != NULL);
	world.merged_seen += parts > 1;
	world.order =
		(world.order ^ (uint64_t)first->sequence ^ end) * UINT64_C(0x9e3779b97f4a7c15);
}

static void complete_one(struct host_queue *queue)
{
	const unsigned which = (unsigned)rng_below(&world.rng, world.at_drive_count);
	struct request *whole = world.at_drive[which], *next;

	world.at_drive[which] = world.at_drive[--world.at_drive_count];
	whole->dispatched_ns = whole->completed_ns = world.now_ns;
	whole->result = (int32_t)whole->length_bytes;
	for (struct request *part = host_queue_completed(queue, whole, world.now_ns); part;
		part = next) {
		next = part->queue_next;
		assert_int_equal(part->result, part->length_bytes);
		assert_true(part->completed_ns == world.now_ns);
		assert_false(world.came_back[part->sequence]);
		world.came_back[part->sequence] = true;
		mark_area(part, -1);
		world.completed++;
	}
}

/* Plays the load; returns the hash of the dispatch order. */
static uint64_t play(const char *elevator, bool merge, unsigned depth, uint64_t seed)
{
	struct host_queue *queue = make_queue(elevator, merge, WINDOW, STREAMS);
	struct host_queue_merges merges;
	unsigned dispatched = 0;

	memset(&world, 0, sizeof(world));
	rng_seed(&world.rng, seed, RNG_LOAD);
	world.now_ns = 1;
	for (uint32_t i = 0; i < STREAMS; i++)
		world.plans[i].stream = i;
	while (world.completed < REQUESTS) {
		nsec_t wake_ns = NSEC_NEVER;

		for (unsigned i = (unsigned)rng_below(&world.rng, 8); i; i--)
			if (world.inserted < REQUESTS && world.inserted - world.completed < WINDOW)
				insert_one(queue);
		while (world.at_drive_count < depth) {
			struct request *request =
				host_queue_next(queue, world.now_ns, HOST_QUEUE_TRANSFER, &wake_ns);

			if (!request)
				break;
			judge_whole(request, merge);
			world.at_drive[world.at_drive_count++] = request;
			dispatched++;
		}
		/* Nobody waits for ever: what is left out now has an instant or a completion. */
		if (world.at_drive_count < depth && host_queue_count(queue))
			assert_true(world.at_drive_count || wake_ns < NSEC_NEVER);
		if (wake_ns < NSEC_NEVER)
			assert_in_range(wake_ns - world.now_ns, 1, 10 * NSEC_PER_MSEC);
		if (!world.at_drive_count || (wake_ns < NSEC_NEVER && rng_below(&world.rng, 2))) {
			world.now_ns = wake_ns < NSEC_NEVER ? wake_ns : world.now_ns + 1000;
			continue;
		}
		world.now_ns += (nsec_t)rng_below(&world.rng, 8 * NSEC_PER_MSEC);
		complete_one(queue);
	}
	merges = host_queue_merges(queue);
	assert_int_equal(world.inserted, REQUESTS);
	assert_int_equal(dispatched, REQUESTS - merges.back - merges.front - merges.gaps);
	assert_int_equal(host_queue_count(queue), 0);
	assert_int_equal(host_queue_part_count(queue), 0);
	/* On so small an area much must have merged, with any but the tail too. */
	if (merge)
		assert_true(world.merged_seen >
			    (elevator_find(elevator)->tail_merges ? 0 : REQUESTS / 100));
	host_queue_free(queue);
	return world.order;
}

static void random_loads_come_back_whole_and_once(void **state)
{
	const uint64_t seed = check_seed();
	static const unsigned depths[] = { 1, 4, 32 };

	(void)state;
	for (size_t e = 0; elevators[e]; e++)
		for (int merge = 0; merge < 2; merge++)
			for (size_t d = 0; d < ARRAY_SIZE(depths); d++)
				(void)play(elevators[e]->name, merge, depths[d], seed + d);
}

static void the_same_input_gives_the_same_order(void **state)
{
	const uint64_t seed = check_seed();

	(void)state;
	for (size_t e = 0; elevators[e]; e++) {
		const uint64_t order = play(elevators[e]->name, true, 4, seed);

		assert_true(order == play(elevators[e]->name, true, 4, seed));
		assert_true(order != play(elevators[e]->name, true, 4, seed + 1));
	}
}

static void noop_without_merging_is_first_come_first_served(void **state)
{
	struct host_queue *queue = make_queue("noop", false, 200, 1);
	static struct request requests[200];
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	for (unsigned i = 0, sent = 0; sent < 200;) {
		if (i < 200 && rng_below(&rng, 2)) {
			requests[i] = make(REQUEST_READ, rng_below(&rng, 50), 1);
			(void)host_queue_insert(queue, &requests[i++], 1);
		} else if (sent < i) {
			assert_ptr_equal(take(queue, 1), &requests[sent++]);
		}
	}
	host_queue_free(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_like_requests_merge),
		cmocka_unit_test(parts_take_the_instants_and_share_the_result),
		cmocka_unit_test(a_request_that_fills_a_gap_joins_three),
		cmocka_unit_test(noop_merges_with_the_tail_only),
		cmocka_unit_test(deadline_can_do_without_front_merges),
		cmocka_unit_test(flushes_pass_the_elevator_by),
		cmocka_unit_test(random_loads_come_back_whole_and_once),
		cmocka_unit_test(the_same_input_gives_the_same_order),
		cmocka_unit_test(noop_without_merging_is_first_come_first_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
