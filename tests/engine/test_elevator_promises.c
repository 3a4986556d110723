/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What elevators promise, on random loads: sweeps, the nearest, bounds, ends of waits, shares.
 */
#include "tests/support/check.h"
#include "tests/support/lone_elevator.h"

#include "engine/rng.h"

/* A stock of requests for long runs: a request is free again when it has completed. */
static struct request stock[2048];
static struct request *spare[2048];
static size_t spare_count;

static void fill_spare(void)
{
	for (spare_count = 0; spare_count < ARRAY_SIZE(stock); spare_count++)
		spare[spare_count] = &stock[spare_count];
}

/* The next request, after the waits that the elevator wants. */
static struct request *begin(struct elevator *elevator, nsec_t *now_ns)
{
	struct request *request;
	nsec_t wake_ns;

	while (!(request = elevator_next(elevator, *now_ns, &wake_ns))) {
		/* Nothing is at the drive: the wait must have an end. */
		assert_true(wake_ns > *now_ns && wake_ns < NSEC_NEVER);
		*now_ns = wake_ns;
	}
	return request;
}

static void finish(struct elevator *elevator, struct request *request, nsec_t now_ns)
{
	elevator_completed(elevator, request, now_ns);
	spare[spare_count++] = request;
}

/* Serves one request that takes service_ns. */
static struct request *serve(struct elevator *elevator, nsec_t *now_ns, nsec_t service_ns)
{
	struct request *request = begin(elevator, now_ns);

	*now_ns += service_ns;
	finish(elevator, request, *now_ns);
	return request;
}

static void c_look_makes_ascending_sweeps(void **state)
{
	struct elevator *elevator = lone_elevator("c-look", NULL);
	uint64_t position = 0, low_when_turned = 0;
	unsigned turns = 0;
	nsec_t now_ns = 1;
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	fill_spare();
	for (unsigned i = 0; i < 20000; i++) {
		struct request *request;

		while (elevator->count < 64)
			(void)lone_arrive(elevator, spare[--spare_count], REQUEST_READ,
				rng_below(&rng, 1000000), 0, now_ns);
		request = serve(elevator, &now_ns, NSEC_PER_MSEC);
		if (request->offset_bytes < position) {
			/* Nothing was left above, and it turned to the lowest. */
			assert_null(lba_index_after(elevator->index, 0, position));
			low_when_turned = request->offset_bytes;
			turns++;
		} else {
			const struct request *next = lba_index_after(elevator->index, 0, position);

			assert_true(!next || next->offset_bytes >= request->offset_bytes);
		}
		for (const struct request *other = elevator->lists[0].oldest; other;
			other = other->queue_next)
			assert_true(position > request->offset_bytes
					    ? other->offset_bytes >= low_when_turned
					    : other->offset_bytes < position ||
						      other->offset_bytes >= request->offset_bytes);
		position = request_end(request);
	}
	/* 64 waiting, uniformly: a sweep serves about twice as many as wait. */
	assert_in_range(turns, 20000 / 200, 20000 / 80);
	elevator_free(elevator);
}

static void sstf_picks_the_nearest(void **state)
{
	struct elevator *elevator = lone_elevator("sstf", NULL);
	uint64_t position = 0;
	nsec_t now_ns = 1;
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	fill_spare();
	for (unsigned i = 0; i < 20000; i++) {
		struct request *request;
		uint64_t distance;

		while (elevator->count < 32)
			(void)lone_arrive(elevator, spare[--spare_count], REQUEST_READ,
				rng_below(&rng, 1000000), 0, now_ns);
		request = serve(elevator, &now_ns, NSEC_PER_MSEC);
		distance = request->offset_bytes > position ? request->offset_bytes - position
							    : position - request->offset_bytes;
		for (const struct request *other = elevator->lists[0].oldest; other;
			other = other->queue_next)
			assert_true(distance <= (other->offset_bytes > position
								? other->offset_bytes - position
								: position - other->offset_bytes));
		position = request_end(request);
	}
	elevator_free(elevator);
}

/* Reads that come near the head without end, writes that wait too or not, and now and then a read
 * far off, one at a time: it waits for its expiry, the batch that runs, one batch of writes, and
 * its own service. Returns the longest such wait. */
static nsec_t wait_far_off(struct rng *rng, bool writes)
{
	const nsec_t service_ns = 4 * NSEC_PER_MSEC;
	const nsec_t bound_ns = 500 * NSEC_PER_MSEC + (16 + 16 + 1) * service_ns;
	struct elevator *elevator = lone_elevator("deadline", NULL);
	nsec_t now_ns = 1, came_ns = 0, longest_ns = 0;
	uint64_t near = 0, written = 0; /* no two writes on one place, below 40,000 of them */
	struct request *far = NULL;
	unsigned far_count = 0;

	fill_spare();
	for (unsigned i = 0; i < 20000; i++) {
		struct request *request;

		/* New reads only just above: without the expiry the far one would starve. */
		while (elevator->lists[REQUEST_READ].count < 8) {
			near += 8 + rng_below(rng, 100);
			(void)lone_arrive(elevator, spare[--spare_count], REQUEST_READ, FAR + near,
				0, now_ns);
		}
		while (writes && elevator->lists[REQUEST_WRITE].count < 40)
			(void)lone_arrive(elevator, spare[--spare_count], REQUEST_WRITE,
				8 * written++ + (FAR << 4) + 8 * 40000 * rng_below(rng, 100000), 0,
				now_ns);
		if (!far && rng_below(rng, 50) == 0) {
			far = lone_arrive(elevator, spare[--spare_count], REQUEST_READ,
				8 * rng_below(rng, 10000), 0, now_ns);
			came_ns = now_ns;
		}
		request = serve(elevator, &now_ns, service_ns);
		if (request == far) {
			longest_ns = now_ns - came_ns > longest_ns ? now_ns - came_ns : longest_ns;
			far = NULL;
			far_count++;
		}
		assert_true(!far || now_ns - came_ns <= bound_ns);
	}
	assert_true(far_count > 50);
	elevator_free(elevator);
	return longest_ns;
}

static void deadline_keeps_its_bound(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	/* Batches of writes part the sweeps, each of which starts at the oldest. */
	assert_true(wait_far_off(&rng, true) > 0);
	/* Without them nothing but its expiry brings the far read up. */
	assert_true(wait_far_off(&rng, false) >= 500 * NSEC_PER_MSEC);
}

/* No more than antic_expire after the last completion something goes, whatever comes. */
static void anticipation_ends(void **state)
{
	struct elevator *elevator = lone_elevator("anticipatory", NULL);
	const nsec_t expire_ns = elevator->options.antic_expire_ns;
	nsec_t now_ns = 1, idle_ns = 0;
	unsigned waits = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	fill_spare();
	for (unsigned i = 0; i < 30000; i++) {
		const nsec_t before_ns = now_ns;
		struct request *request;
		nsec_t wake_ns;

		if (!elevator->count || rng_below(&rng, 4))
			(void)lone_arrive(elevator, spare[--spare_count],
				rng_below(&rng, 3) ? REQUEST_READ : REQUEST_WRITE,
				8 * (uint64_t)i + 8 * 30000 * rng_below(&rng, 5000),
				(uint32_t)rng_below(&rng, LONE_STREAMS), now_ns);
		request = elevator_next(elevator, now_ns, &wake_ns);
		if (!request) {
			assert_true(wake_ns > now_ns && wake_ns <= now_ns + expire_ns);
			now_ns += 1 + (nsec_t)rng_below(&rng, (uint64_t)(wake_ns - now_ns));
			idle_ns += now_ns - before_ns;
			assert_true(idle_ns <= expire_ns);
			waits++;
			continue;
		}
		idle_ns = 0;
		now_ns += (nsec_t)rng_below(&rng, 10 * NSEC_PER_MSEC);
		elevator_completed(elevator, request, now_ns);
		spare[spare_count++] = request;
		if (elevator->count > 1000)
			while (elevator->count > 10)
				(void)serve(elevator, &now_ns, NSEC_PER_MSEC);
	}
	assert_true(waits > 1000);
	elevator_free(elevator);
}

/* Two streams with always something queued, one near and quick, one anywhere and slow: each gets
 * half of the time. */
static void cfq_shares_time_evenly(void **state)
{
	static const struct {
		uint64_t span; /* sectors */
		nsec_t service_ns;
	} kinds[] = {
		{ 1000000, NSEC_PER_MSEC },
		{ 1000000, 2 * NSEC_PER_MSEC },
		{ 100000000, 5 * NSEC_PER_MSEC },
	};
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	for (unsigned a = 0; a < ARRAY_SIZE(kinds); a++)
		for (unsigned b = 0; b < ARRAY_SIZE(kinds); b++) {
			struct elevator *elevator = lone_elevator("cfq", NULL);
			const unsigned kind[2] = { a, b };
			nsec_t now_ns = 1, got_ns[2] = { 0, 0 };

			fill_spare();
			while (now_ns < 60 * NSEC_PER_SEC) {
				struct request *request;
				uint32_t stream;

				for (stream = 0; stream < 2; stream++)
					while (elevator->lists[stream].count < 16)
						(void)lone_arrive(elevator, spare[--spare_count],
							REQUEST_READ,
							stream * FAR +
								rng_below(&rng,
									kinds[kind[stream]].span),
							stream, now_ns);
				request = begin(elevator, &now_ns);
				stream = request_stream(request);
				now_ns += kinds[kind[stream]].service_ns;
				got_ns[stream] += kinds[kind[stream]].service_ns;
				finish(elevator, request, now_ns);
			}
			/* Within 5 %; and the drive never stood still. */
			assert_true(got_ns[0] + got_ns[1] >= 60 * NSEC_PER_SEC - 1);
			if (got_ns[0] * 100 < got_ns[1] * 95 || got_ns[1] * 100 < got_ns[0] * 95)
				fail_msg("%u and %u: %lld to %lld", a, b, (long long)got_ns[0],
					(long long)got_ns[1]);
			elevator_free(elevator);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_look_makes_ascending_sweeps),
		cmocka_unit_test(sstf_picks_the_nearest),
		cmocka_unit_test(deadline_keeps_its_bound),
		cmocka_unit_test(anticipation_ends),
		cmocka_unit_test(cfq_shares_time_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
