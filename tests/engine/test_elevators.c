/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each elevator by scenario tables, arrivals in and dispatch order out, as its documentation says
 * it; and the options.
 */
#include "tests/support/check.h"
#include "tests/support/lone_elevator.h"

#include <string.h>

/* A step of a scenario, at an instant in microseconds. */
enum act {
	END,
	READ,  /* arrives */
	WRITE, /* arrives */
	SENT,  /* the drive takes what is next: the request at that sector */
	DONE,  /* that request completes */
	WAITS, /* the drive gets nothing; ask again at the instant `sector` (us), 0: no instant */
};

struct step {
	nsec_t at_us;
	enum act act;
	uint64_t sector;
	uint32_t stream;
};

struct scenario {
	const char *what;
	const char *elevator;
	const char *options[4];
	struct step steps[40];
};

static struct request requests[64];

static void play(const struct scenario *scenario)
{
	struct elevator *elevator = lone_elevator(scenario->elevator, scenario->options);
	unsigned count = 0;

	for (const struct step *step = scenario->steps; step->act != END; step++) {
		const nsec_t now_ns = step->at_us * NSEC_PER_USEC;
		const unsigned number = (unsigned)(step - scenario->steps);
		struct request *request = NULL;
		nsec_t wake_ns;

		if (step->act == READ || step->act == WRITE) {
			(void)lone_arrive(elevator, &requests[count++],
				step->act == READ ? REQUEST_READ : REQUEST_WRITE, step->sector,
				step->stream, now_ns);
		} else if (step->act == DONE) {
			for (unsigned i = 0; i < count; i++)
				if (requests[i].offset_bytes == step->sector * SECTOR)
					request = &requests[i];
			assert_non_null(request);
			elevator_completed(elevator, request, now_ns);
			request->offset_bytes = UINT64_MAX;
		} else {
			request = elevator_next(elevator, now_ns, &wake_ns);
			if (step->act == SENT &&
				(!request || request->offset_bytes != step->sector * SECTOR))
				fail_msg("%s, %s, step %u: sector %lld instead of %llu",
					scenario->elevator, scenario->what, number,
					request ? (long long)(request->offset_bytes / SECTOR) : -1,
					(unsigned long long)step->sector);
			if (step->act == WAITS &&
				(request || (step->sector ? wake_ns / NSEC_PER_USEC !=
								    (nsec_t)step->sector
							  : wake_ns != NSEC_NEVER)))
				fail_msg("%s, %s, step %u: sector %lld, wake %lld us",
					scenario->elevator, scenario->what, number,
					request ? (long long)(request->offset_bytes / SECTOR) : -1,
					(long long)(wake_ns / NSEC_PER_USEC));
		}
	}
	elevator_free(elevator);
}

static const struct scenario simple[] = {
	{ "order of arrival", "noop", { NULL },
		{
			{ 1, READ, 500, 0 },
			{ 1, WRITE, 100, 0 },
			{ 1, READ, 900, 0 },
			{ 2, SENT, 500, 0 },
			{ 2, SENT, 100, 0 },
			{ 2, WRITE, 50, 0 },
			{ 3, SENT, 900, 0 },
			{ 3, SENT, 50, 0 },
			{ 3, WAITS, 0, 0 },
		} },
	{ "one sweep, then from the bottom", "c-look", { NULL },
		{
			{ 1, READ, 500, 0 },
			{ 1, WRITE, 100, 0 },
			{ 1, READ, 900, 0 },
			{ 2, SENT, 100, 0 },
			{ 2, READ, 50, 0 },
			{ 2, READ, 300, 0 },
			{ 3, SENT, 300, 0 },
			{ 3, SENT, 500, 0 },
			{ 3, SENT, 900, 0 },
			{ 3, SENT, 50, 0 },
			{ 3, WAITS, 0, 0 },
		} },
	{ "equal offsets by age, in sweeps", "c-look", { NULL },
		{
			{ 1, READ, 100, 0 },
			{ 1, READ, 100, 1 },
			{ 1, READ, 300, 0 },
			{ 2, SENT, 100, 0 },
			{ 2, SENT, 300, 0 },
			{ 3, SENT, 100, 0 },
		} },
	{ "the nearest of both sides", "sstf", { NULL },
		{
			{ 1, READ, 1000, 0 },
			{ 1, READ, 1300, 0 },
			{ 1, WRITE, 900, 0 },
			{ 1, READ, 1100, 0 },
			{ 2, SENT, 900, 0 },
			{ 2, SENT, 1000, 0 },
			{ 2, SENT, 1100, 0 },
			{ 2, READ, 1000, 0 },
			{ 2, SENT, 1000, 0 },
			{ 2, SENT, 1300, 0 },
		} },
	{ "ahead when both are as far", "sstf", { NULL },
		{
			{ 1, READ, 992, 0 },
			{ 2, SENT, 992, 0 },
			{ 3, READ, 900, 0 },
			{ 3, READ, 1100, 0 },
			{ 4, SENT, 1100, 0 },
			{ 4, SENT, 900, 0 },
		} },
};

static const struct scenario deadline[] = {
	{ "a batch ascends from the oldest", "deadline", { NULL },
		{
			{ 1, READ, 500, 0 },
			{ 1, READ, 100, 0 },
			{ 1, READ, 900, 0 },
			{ 1, READ, 700, 0 },
			{ 2, SENT, 500, 0 },
			{ 2, SENT, 700, 0 },
			{ 2, SENT, 900, 0 },
			{ 2, SENT, 100, 0 },
		} },
	{ "writes wait for two batches of reads", "deadline", { "fifo_batch=2", NULL },
		{
			{ 1, WRITE, 100, 0 },
			{ 1, WRITE, 200, 0 },
			{ 1, WRITE, 300, 0 },
			{ 2, READ, 1000, 0 },
			{ 2, READ, 1100, 0 },
			{ 2, READ, 1200, 0 },
			{ 2, READ, 1300, 0 },
			{ 2, READ, 1400, 0 },
			{ 3, SENT, 1000, 0 },
			{ 3, SENT, 1100, 0 },
			{ 3, SENT, 1200, 0 },
			{ 3, SENT, 1300, 0 },
			{ 3, SENT, 100, 0 },
			{ 3, SENT, 200, 0 },
			{ 3, SENT, 1400, 0 },
			{ 3, SENT, 300, 0 },
		} },
	{ "writes_starved is how many batches", "deadline",
		{ "fifo_batch=1", "writes_starved=0", NULL },
		{
			{ 1, READ, 1000, 0 },
			{ 1, READ, 1100, 0 },
			{ 1, WRITE, 100, 0 },
			{ 2, SENT, 100, 0 },
			{ 2, SENT, 1000, 0 },
			{ 2, SENT, 1100, 0 },
		} },
	{ "the next batch starts at an expired read", "deadline", { "fifo_batch=2", NULL },
		{
			{ 1, READ, 900, 0 },
			{ 1, READ, 100, 0 },
			{ 2, SENT, 900, 0 },
			{ 3, READ, 950, 0 },
			{ 3, READ, 1000, 0 },
			{ 3, READ, 1050, 0 },
			{ 499999, SENT, 950, 0 },  /* the batch goes on ... */
			{ 499999, SENT, 1000, 0 }, /* ... and so does the next: nothing expired */
			{ 500001, SENT, 1050, 0 }, /* expired in mid-batch: not yet */
			{ 500001, SENT, 100, 0 },
		} },
	{ "an expired read breaks the sweep", "deadline", { "fifo_batch=2", NULL },
		{
			{ 1, READ, 900, 0 },
			{ 1, READ, 100, 0 },
			{ 2, SENT, 900, 0 },
			{ 3, READ, 950, 0 },
			{ 3, READ, 1000, 0 },
			{ 3, READ, 200, 0 },
			{ 4, SENT, 950, 0 },
			{ 500001, SENT, 100, 0 },
			{ 500001, SENT, 200, 0 },
			{ 500001, SENT, 1000, 0 },
		} },
	{ "writes expire after five seconds", "deadline", { "fifo_batch=1", NULL },
		{
			{ 1, WRITE, 900, 0 },
			{ 1, WRITE, 100, 0 },
			{ 2, SENT, 900, 0 },
			{ 3, WRITE, 950, 0 },
			{ 3, WRITE, 1000, 0 },
			{ 5000000, SENT, 950, 0 },
			{ 5000001, SENT, 100, 0 },
			{ 5000001, SENT, 1000, 0 },
		} },
};

static const struct scenario anticipatory[] = {
	{ "after a read the drive waits for the stream's next", "anticipatory", { NULL },
		{
			{ 1, READ, 1000, 1 }, { 2, SENT, 1000, 0 }, { 3, READ, FAR, 2 },
			{ 4, WAITS, 0, 0 }, /* the read is at the drive */
			{ 1000, DONE, 1000, 0 }, { 1000, WAITS, 7666, 0 }, { 2000, WAITS, 7666, 0 },
			{ 3000, READ, 1008, 1 }, { 3000, SENT, 1008, 0 }, { 4000, DONE, 1008, 0 },
			{ 4000, WAITS, 10666, 0 }, { 10667, SENT, FAR, 0 }, /* it did not come */
		} },
	{ "a near read of another stream is as good", "anticipatory", { NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 2, SENT, 1000, 0 },
			{ 3, READ, FAR, 2 },
			{ 1000, DONE, 1000, 0 },
			{ 1000, WAITS, 7666, 0 },
			{ 2000, READ, 5000, 3 },
			{ 2000, SENT, 5000, 0 },
		} },
	{ "a write of the stream ends the wait", "anticipatory", { NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 2, SENT, 1000, 0 },
			{ 3, READ, FAR, 2 },
			{ 1000, DONE, 1000, 0 },
			{ 1000, WAITS, 7666, 0 },
			{ 2000, WRITE, 5000, 1 },
			{ 2000, SENT, FAR, 0 },
		} },
	{ "reads of one stream need not wait for each other", "anticipatory", { NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 1, READ, FAR, 1 },
			{ 2, SENT, 1000, 0 },
			{ 2, SENT, FAR, 0 },
		} },
	{ "antic_expire 0 never waits", "anticipatory", { "antic_expire=0ms", NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 2, SENT, 1000, 0 },
			{ 3, READ, FAR, 2 },
			{ 4, SENT, FAR, 0 },
			{ 5, READ, 99, 3 },
			{ 6, SENT, 99, 0 },
		} },
	{ "it sweeps, and goes back when that is less than half as far", "anticipatory", { NULL },
		{
			{ 1, READ, 5000, 0 },
			{ 1, READ, 4900, 0 },
			{ 1, READ, 5400, 0 },
			{ 1, READ, 4000, 0 },
			{ 2, SENT, 4000, 0 },
			{ 2, SENT, 4900, 0 },
			{ 2, SENT, 5000, 0 },
			{ 3, READ, 4808, 0 },
			{ 4, SENT, 5400, 0 },
			{ 5, SENT, 4808, 0 },
			{ 6, READ, 4716, 0 },
			{ 6, READ, 5100, 0 },
			{ 7, SENT, 4716, 0 },
		} },
	{ "writes go when no read is expected", "anticipatory", { NULL },
		{
			{ 1, WRITE, 700, 0 },
			{ 1, WRITE, 300, 0 },
			{ 2, SENT, 700, 0 },
			{ 2, SENT, 300, 0 },
		} },
	{ "another direction waits for the batch to leave the drive", "anticipatory", { NULL },
		{
			{ 1, WRITE, 700, 0 },
			{ 2, SENT, 700, 0 },
			{ 3, READ, 300, 0 },
			{ 4, WAITS, 0, 0 },
			{ 5, DONE, 700, 0 },
			{ 6, SENT, 300, 0 },
		} },
	{ "a write batch has its count", "anticipatory", { "write_batch_expire=20ms", NULL },
		{
			{ 1, WRITE, 100, 0 },
			{ 1, WRITE, 200, 0 },
			{ 1, WRITE, 300, 0 },
			{ 2, SENT, 100, 0 },
			{ 3, READ, 900, 0 },
			{ 4, SENT, 200, 0 },
			{ 5, WAITS, 0, 0 },
			{ 6, DONE, 100, 0 },
			{ 7, WAITS, 0, 0 },
			{ 8, DONE, 200, 0 },
			{ 9, SENT, 900, 0 },
		} },
	{ "reads give way after their batch's time", "anticipatory",
		{ "read_batch_expire=10ms", "antic_expire=0ms", NULL },
		{
			{ 1, READ, 100, 0 },
			{ 1, READ, 200, 0 },
			{ 1, READ, 300, 0 },
			{ 1, WRITE, 700, 0 },
			{ 2, SENT, 100, 0 },
			{ 9000, SENT, 200, 0 },
			{ 10002, WAITS, 0, 0 },
			{ 10003, DONE, 100, 0 },
			{ 10004, WAITS, 0, 0 },
			{ 10005, DONE, 200, 0 },
			{ 10006, SENT, 700, 0 },
		} },
	{ "an expired read goes before the sweep, once", "anticipatory", { NULL },
		{
			{ 1, READ, 100, 0 }, { 1, READ, 200, 0 }, { 1, READ, 300, 0 },
			{ 1, READ, 400, 0 }, { 1, READ, 150, 0 }, { 2, SENT, 100, 0 },
			{ 3, READ, 110, 0 }, { 130000, SENT, 200, 0 }, /* not 110 */
			{ 130001, SENT, 300, 0 }, /* expired or not, on with the sweep */
		} },
	{ "a stream that thinks for long is not waited for", "anticipatory", { NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 2, SENT, 1000, 0 },
			{ 3, DONE, 1000, 0 },
			{ 15000, READ, 1008, 1 },
			{ 15001, SENT, 1008, 0 },
			{ 15002, DONE, 1008, 0 },
			{ 35000, READ, 1016, 1 },
			{ 35001, SENT, 1016, 0 },
			{ 35002, READ, FAR, 2 },
			{ 35003, SENT, FAR, 0 },
		} },
};

static const struct scenario cfq[] = {
	{ "streams take turns; a slice waits for the stream's next read", "cfq", { NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 1, READ, FAR, 2 },
			{ 1, READ, 1100, 1 },
			{ 2, SENT, 1000, 0 },
			{ 3, SENT, 1100, 0 },
			{ 4, WAITS, 0, 0 },
			{ 1000, DONE, 1000, 0 },
			{ 1001, WAITS, 0, 0 },
			{ 2000, DONE, 1100, 0 },
			{ 2000, WAITS, 10000, 0 },
			{ 9000, WAITS, 10000, 0 },
			{ 9001, READ, 1200, 1 },
			{ 9001, SENT, 1200, 0 },
			{ 9500, DONE, 1200, 0 },
			{ 9500, WAITS, 17500, 0 },
			{ 17500, SENT, FAR, 0 },
		} },
	{ "a slice is 100 ms of time", "cfq", { NULL },
		{
			{ 1000, READ, 1000, 1 },
			{ 1000, READ, 1100, 1 },
			{ 1000, READ, 1200, 1 },
			{ 1000, READ, FAR, 2 },
			{ 1000, SENT, 1000, 0 },
			{ 2000, DONE, 1000, 0 },
			{ 101000, SENT, 1100, 0 },
			{ 101000, DONE, 1100, 0 },
			{ 101001, SENT, FAR, 0 },
		} },
	{ "a slice that ends cuts a round short", "cfq", { "quantum=3", NULL },
		{
			{ 1000, READ, 1000, 1 },
			{ 1000, READ, 1100, 1 },
			{ 1000, READ, 1200, 1 },
			{ 1000, READ, 1300, 1 },
			{ 1000, READ, FAR, 2 },
			{ 1000, SENT, 1000, 0 },
			{ 101000, SENT, 1100, 0 },
			{ 101001, SENT, FAR, 0 },
		} },
	{ "slice_idle 0: a round each", "cfq", { "quantum=2", "slice_idle=0ms", NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 1, READ, 1100, 1 },
			{ 1, READ, 1200, 1 },
			{ 1, READ, FAR, 2 },
			{ 1, READ, FAR + 100, 2 },
			{ 1, READ, FAR + 200, 2 },
			{ 2, SENT, 1000, 0 },
			{ 2, SENT, 1100, 0 },
			{ 2, SENT, FAR, 0 },
			{ 2, SENT, FAR + 100, 0 },
			{ 3, SENT, 1200, 0 },
			{ 3, SENT, FAR + 200, 0 },
		} },
	{ "a turn of writes ends after a number of them", "cfq",
		{ "quantum=1", "slice_async_rq=1", NULL },
		{
			{ 1, WRITE, 0, 0 },
			{ 1, WRITE, 10, 1 },
			{ 1, WRITE, 20, 2 },
			{ 1, WRITE, 30, 0 },
			{ 1, WRITE, 40, 1 },
			{ 1, WRITE, 50, 2 },
			{ 1, WRITE, 60, 0 },
			{ 1, WRITE, 70, 1 },
			{ 1, WRITE, 80, 2 },
			{ 2, SENT, 0, 0 },
			{ 2, READ, FAR, 3 },
			{ 2, SENT, 10, 0 },
			{ 2, SENT, 20, 0 },
			{ 2, SENT, 30, 0 },
			{ 2, SENT, 40, 0 },
			{ 2, SENT, 50, 0 },
			{ 2, SENT, 60, 0 },
			{ 2, SENT, 70, 0 },
			{ 3, SENT, FAR, 0 },
		} },
	{ "the drive is not kept for writes", "cfq", { NULL },
		{
			{ 1, WRITE, 1000, 0 },
			{ 2, SENT, 1000, 0 },
			{ 3, READ, FAR, 1 },
			{ 4, WAITS, 0, 0 },
			{ 5, DONE, 1000, 0 },
			{ 6, SENT, FAR, 0 },
		} },
	{ "a stream that writes is not waited for", "cfq", { NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 2, SENT, 1000, 0 },
			{ 3, READ, FAR, 2 },
			{ 1000, DONE, 1000, 0 },
			{ 1000, WAITS, 9000, 0 },
			{ 2000, WRITE, 1008, 1 },
			{ 2001, SENT, FAR, 0 },
		} },
	{ "an expired read goes first, once a slice", "cfq", { "quantum=8", NULL },
		{
			{ 1, READ, 1000, 1 },
			{ 1, READ, 5000, 1 },
			{ 2, READ, 1100, 1 },
			{ 2, READ, 1200, 1 },
			{ 3, SENT, 1000, 0 },
			{ 4, SENT, 1100, 0 },
			{ 126000, SENT, 5000, 0 },
			{ 126000, SENT, 1200, 0 },
		} },
	{ "a short way back at twice its length", "cfq", { NULL },
		{
			{ 1, READ, 100000, 1 },
			{ 2, SENT, 100000, 0 },
			{ 3, READ, 99908, 1 },
			{ 3, READ, 100308, 1 },
			{ 4, SENT, 99908, 0 },
			{ 5, READ, 99815, 1 },
			{ 6, SENT, 99815, 0 },
			{ 6, READ, 99000, 1 },
			{ 7, SENT, 100308, 0 },
		} },
	{ "no way back beyond back_seek_max", "cfq", { "back_seek_max=4KiB", NULL },
		{
			{ 1, READ, 100000, 1 },
			{ 2, SENT, 100000, 0 },
			{ 3, READ, 99990, 1 },
			{ 3, READ, FAR, 1 },
			{ 4, SENT, FAR, 0 },
			{ 5, SENT, 99990, 0 },
		} },
};

static void play_all(const struct scenario *scenarios, size_t count)
{
	for (size_t i = 0; i < count; i++)
		play(&scenarios[i]);
}

static void simple_ones(void **state)
{
	(void)state;
	play_all(simple, ARRAY_SIZE(simple));
}

static void deadline_as_documented(void **state)
{
	(void)state;
	play_all(deadline, ARRAY_SIZE(deadline));
}

static void anticipatory_as_documented(void **state)
{
	(void)state;
	play_all(anticipatory, ARRAY_SIZE(anticipatory));
}

static void cfq_as_documented(void **state)
{
	(void)state;
	play_all(cfq, ARRAY_SIZE(cfq));
}

static void options_are_set_by_name(void **state)
{
	static const struct {
		const char *elevator, *text, *sentence;
	} wrong[] = {
		{ "noop", "quantum=4", "the elevator noop has no options: leave out `quantum=4`" },
		{ "deadline", "quantum=4",
			"the elevator deadline has no option `quantum`: it has "
			"read_expire, write_expire, writes_starved, fifo_batch, front_merges" },
		{ "deadline", "fifo_batch", "`fifo_batch` has no value: write fifo_batch=VALUE" },
		{ "deadline", "fifo_batch=0", "`fifo_batch=0` is outside 1 to 4294967295" },
		{ "cfq", "slice_sync=0ms", "`slice_sync=0ms` is outside 1 to 3600000000000 ns" },
		{ "cfq", "quantum=many", NULL },
		{ "cfq", "slice_idle=-1ms", NULL },
	};
	const struct elevator_ops *ops = elevator_find("cfq");
	struct elevator_options options;

	(void)state;
	elevator_options_default(ops, &options);
	assert_int_equal(options.quantum, 4);
	assert_int_equal(options.read_expire_ns, 0);
	assert_int_equal(elevator_options_set(ops, &options, "slice_idle=2ms", NULL), 0);
	assert_int_equal(options.slice_idle_ns, 2 * NSEC_PER_MSEC);
	assert_int_equal(elevator_options_set(ops, &options, "back_seek_max=1MiB", NULL), 0);
	assert_int_equal(options.back_seek_max_bytes, MIB);
	assert_int_equal(elevator_options_set(ops, &options, "quantum=9", NULL), 0);
	assert_int_equal(elevator_options_get(&options, &ops->options[0]), 9);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error error = { 0 };

		ops = elevator_find(wrong[i].elevator);
		elevator_options_default(ops, &options);
		assert_true(elevator_options_set(ops, &options, wrong[i].text, &error) < 0);
		if (wrong[i].sentence)
			assert_string_equal(error.text, wrong[i].sentence);
		assert_true(strlen(error.text) > 0);
	}
	assert_null(elevator_find("as"));
}

/* The defaults of the kernels of the era. */
static void defaults_are_those_of_linux(void **state)
{
	struct elevator_options options;

	(void)state;
	elevator_options_default(elevator_find("deadline"), &options);
	assert_int_equal(options.read_expire_ns, 500 * NSEC_PER_MSEC);
	assert_int_equal(options.write_expire_ns, 5000 * NSEC_PER_MSEC);
	assert_int_equal(options.writes_starved, 2);
	assert_int_equal(options.fifo_batch, 16);
	assert_int_equal(options.front_merges, 1);
	elevator_options_default(elevator_find("anticipatory"), &options);
	assert_int_equal(options.read_expire_ns, 125 * NSEC_PER_MSEC);
	assert_int_equal(options.write_expire_ns, 250 * NSEC_PER_MSEC);
	assert_int_equal(options.read_batch_expire_ns, 500 * NSEC_PER_MSEC);
	assert_int_equal(options.write_batch_expire_ns, 125 * NSEC_PER_MSEC);
	assert_in_range(options.antic_expire_ns, 6600000, 6700000);
	elevator_options_default(elevator_find("cfq"), &options);
	assert_int_equal(options.quantum, 4);
	assert_int_equal(options.fifo_expire_sync_ns, 125 * NSEC_PER_MSEC);
	assert_int_equal(options.fifo_expire_async_ns, 250 * NSEC_PER_MSEC);
	assert_int_equal(options.back_seek_max_bytes, 16 * MIB);
	assert_int_equal(options.back_seek_penalty, 2);
	assert_int_equal(options.slice_sync_ns, 100 * NSEC_PER_MSEC);
	assert_int_equal(options.slice_async_ns, 40 * NSEC_PER_MSEC);
	assert_int_equal(options.slice_async_rq, 2);
	assert_int_equal(options.slice_idle_ns, 8 * NSEC_PER_MSEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_ones),
		cmocka_unit_test(deadline_as_documented),
		cmocka_unit_test(anticipatory_as_documented),
		cmocka_unit_test(cfq_as_documented),
		cmocka_unit_test(options_are_set_by_name),
		cmocka_unit_test(defaults_are_those_of_linux),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
