/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: one contract for all back ends, on a loop device and on a file.
 * Method: the same suite for each pair. Random requests run against a copy of the device in
 * memory; slot s alone owns the blocks s, s + slots, ... so that nothing in flight overlaps.
 * Loop parts are left out without root or loop devices.
 */
#include "tests/support/check.h"
#include "tests/support/loop.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "engine/backend.h"
#include "engine/buffers.h"
#include "engine/clock.h"
#include "engine/rng.h"

#define BLOCK_BYTES 4096u
#define BLOCKS 2048u
#define SIZE_BYTES ((uint64_t)BLOCKS * BLOCK_BYTES)
#define SLOTS_MAX 136u
#define RUN_MAX 4u /* blocks in one request */

struct cell {
	const struct backend_ops *ops;
	const struct target *target;
};

struct rig {
	struct backend *backend;
	struct buffers buffers;
	unsigned depth;
	unsigned flushes;
	bool null;
	unsigned outstanding;
	bool at_drive[SLOTS_MAX];
	struct request requests[SLOTS_MAX];
};

static const int claim_token;
static uint64_t seed;
static char scratch[] = "/var/tmp/bareplatter-backend-XXXXXX";
static struct loop loop;
static struct target targets[3];
static char image[BLOCKS * BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));

/* --- Targets -------------------------------------------------------------------------------- */

/* The loop half needs root; where REQUIRE promises loop devices their lack is a failure. */
static int open_loop(void)
{
	const char *promised = getenv("REQUIRE");

	if (!loop_is_possible()) {
		print_message("no loop device can be made here: the loop half is skipped\n");
		return promised && strstr(promised, "loop") ? -1 : 0;
	}
	loop_new(&loop, SIZE_BYTES);
	targets[2].fd = open(loop.node, O_RDWR | O_DIRECT | O_CLOEXEC);
	return targets[2].fd < 0 ? -1 : 0;
}

static int set_up(void **state)
{
	int fd = mkstemp(scratch);

	(void)state;
	seed = check_seed();
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)SIZE_BYTES) != 0)
		return -1;
	(void)close(fd);
	for (unsigned i = 0; i < ARRAY_SIZE(targets); i++)
		targets[i] = (struct target){ .fd = -1,
			.writable = true,
			.rotational = false,
			.claim = (const struct claim *)&claim_token,
			.size_bytes = SIZE_BYTES,
			.logical_block_bytes = 512,
			.physical_block_bytes = 4096,
			.name = scratch };
	targets[0].kind = TARGET_NULL;
	targets[0].name = "null";
	targets[1].kind = TARGET_FILE;
	targets[1].fd = open(scratch, O_RDWR | O_DIRECT | O_CLOEXEC);
	targets[2].kind = TARGET_BLOCK;
	targets[2].name = loop.node;
	return targets[1].fd < 0 ? -1 : open_loop();
}

static int tear_down(void **state)
{
	(void)state;
	if (targets[2].fd >= 0) {
		(void)close(targets[2].fd);
		loop_done(&loop);
	}
	(void)close(targets[1].fd);
	(void)unlink(scratch);
	return 0;
}

/* --- Rig ------------------------------------------------------------------------------------ */

static void rig_open(struct rig *rig, const struct cell *cell, unsigned depth, unsigned flushes,
	enum backend_submit submit)
{
	struct backend_config config = {
		.target = cell->target, .flushes = flushes, .submit = submit
	};
	struct error error = { 0 };

	if (cell->target->fd < 0 && cell->target->kind != TARGET_NULL)
		skip();
	memset(rig, 0, sizeof(*rig));
	rig->depth = depth < cell->ops->depth_max ? depth : cell->ops->depth_max;
	rig->flushes = flushes;
	rig->null = cell->ops == &backend_null_ops;
	config.depth = rig->depth;
	assert_int_equal(buffers_open(&rig->buffers, rig->depth + flushes, RUN_MAX * BLOCK_BYTES,
				 true, true, seed, NULL),
		0);
	config.buffers = rig->buffers.memory;
	config.buffers_bytes = rig->buffers.bytes;
	if (cell->ops->open(&config, &rig->backend, &error) < 0)
		fail_msg("%s", error.text);
	assert_ptr_equal(rig->backend->ops, cell->ops);
	assert_true(strlen(rig->backend->level) > 0);
}

static void rig_close(struct rig *rig)
{
	rig->backend->ops->close(rig->backend);
	buffers_close(&rig->buffers);
}

static struct request *rig_make(struct rig *rig, unsigned slot, enum request_op op,
	uint64_t offset_bytes, uint32_t length_bytes)
{
	struct request *request = &rig->requests[slot];

	assert_false(rig->at_drive[slot]);
	rig->at_drive[slot] = true;
	rig->outstanding++;
	*request = (struct request){ .op = (uint8_t)op,
		.slot = slot,
		.result = INT32_MIN,
		.offset_bytes = offset_bytes,
		.length_bytes = length_bytes,
		.buffer = op == REQUEST_FLUSH
				  ? NULL
				  : buffers_area(&rig->buffers, slot, op == REQUEST_WRITE) };
	return request;
}

static void rig_send(struct rig *rig, unsigned slot, enum request_op op, uint64_t offset_bytes,
	uint32_t length_bytes)
{
	struct request *request = rig_make(rig, slot, op, offset_bytes, length_bytes);

	rig->backend->ops->submit(rig->backend, &request, 1);
}

/* One wait; every request that comes back was at the drive and is so no more. */
static unsigned rig_wait(
	struct rig *rig, nsec_t deadline_ns, struct request *done[], unsigned done_max)
{
	int count = rig->backend->ops->wait(rig->backend, deadline_ns, done, done_max);

	assert_in_range(count, 0, done_max);
	for (int i = 0; i < count; i++) {
		unsigned slot = done[i]->slot;

		assert_ptr_equal(done[i], &rig->requests[slot]);
		assert_true(rig->at_drive[slot]);
		assert_int_not_equal(done[i]->result, INT32_MIN);
		rig->at_drive[slot] = false;
		rig->outstanding--;
	}
	return (unsigned)count;
}

static void rig_drain(struct rig *rig)
{
	struct request *done[SLOTS_MAX];

	while (rig->outstanding)
		(void)rig_wait(rig, NSEC_NEVER, done, SLOTS_MAX);
}

/* --- Random traffic ------------------------------------------------------------------------- */

static void fill_body(struct request *request, struct rng *rng)
{
	uint64_t *words = request->buffer;

	for (unsigned i = 0; i < request->length_bytes / sizeof(*words); i++)
		words[i] = rng_next(rng);
	memcpy(image + request->offset_bytes, request->buffer, request->length_bytes);
}

/* A random request on a group of blocks that only this slot uses. */
static struct request *draw(struct rig *rig, struct rng *rng, unsigned slot)
{
	unsigned groups = BLOCKS / RUN_MAX / rig->depth;
	uint64_t group = rng_below(rng, groups) * rig->depth + slot;
	uint64_t first = rng_below(rng, RUN_MAX);
	uint64_t count = 1 + rng_below(rng, RUN_MAX - first);
	enum request_op op = rng_below(rng, 2) ? REQUEST_WRITE : REQUEST_READ;
	struct request *request = rig_make(rig, slot, op, (group * RUN_MAX + first) * BLOCK_BYTES,
		(uint32_t)count * BLOCK_BYTES);

	if (op == REQUEST_WRITE) {
		request->fua = rng_below(rng, 16) == 0;
		fill_body(request, rng);
	} else {
		memset(request->buffer, 0xdb, request->length_bytes);
	}
	return request;
}

static void judge(const struct rig *rig, const struct request *request)
{
	assert_int_equal(request->result, request->length_bytes);
	if (request->op == REQUEST_READ && !rig->null)
		assert_memory_equal(
			request->buffer, image + request->offset_bytes, request->length_bytes);
}

static void blank(const struct target *target)
{
	memset(image, 0, sizeof(image));
	if (target->fd >= 0)
		assert_int_equal(pwrite(target->fd, image, sizeof(image), 0), sizeof(image));
}

static void play(struct rig *rig, unsigned total)
{
	struct request *batch[SLOTS_MAX], *done[SLOTS_MAX];
	unsigned sent = 0, completed = 0, count = 0;
	struct rng rng;

	rng_seed(&rng, seed + rig->depth, RNG_LOAD);
	for (; sent < total && sent < rig->depth; sent++)
		batch[count++] = draw(rig, &rng, sent);
	while (completed < total) {
		unsigned done_max = 1 + (unsigned)rng_below(&rng, SLOTS_MAX);

		if (count)
			rig->backend->ops->submit(rig->backend, batch, count);
		count = 0;
		for (unsigned i = rig_wait(rig, NSEC_NEVER, done, done_max); i-- > 0;) {
			judge(rig, done[i]);
			completed++;
			if (sent < total) {
				batch[count++] = draw(rig, &rng, done[i]->slot);
				sent++;
			}
		}
	}
	assert_int_equal(rig->outstanding, 0);
}

static void test_reads_return_what_was_written(void **state)
{
	static const unsigned depths[] = { 1, 7, 32, 128 };
	const struct cell *cell = *state;
	struct rig rig;

	for (unsigned i = 0; i < ARRAY_SIZE(depths) * 2; i++) {
		unsigned depth = depths[i / 2];

		if (depth > cell->ops->depth_max)
			continue;
		rig_open(&rig, cell, depth, 0, i % 2 ? SUBMIT_SINGLE : SUBMIT_BATCH);
		blank(cell->target);
		play(&rig, 600);
		rig_close(&rig);
	}
}

/* Signals every 100 us interrupt calls of all kinds; nothing may be lost or doubled. */
static void ignore_signal(int number)
{
	(void)number;
}

static void set_storm(long interval_us)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	struct itimerval timer = { { 0, interval_us }, { 0, interval_us } };

	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void test_signals_lose_nothing(void **state)
{
	const struct cell *cell = *state;
	struct rig rig;

	rig_open(&rig, cell, 16, 0, SUBMIT_BATCH);
	blank(cell->target);
	set_storm(100);
	play(&rig, 1000);
	set_storm(0);
	rig_close(&rig);
}

/* --- Single rules --------------------------------------------------------------------------- */

static void test_a_signal_ends_the_wait(void **state)
{
	struct request *done[SLOTS_MAX];
	struct rig rig;

	rig_open(&rig, *state, 4, 0, SUBMIT_BATCH);
	set_storm(2000);
	assert_int_equal(rig_wait(&rig, NSEC_NEVER, done, SLOTS_MAX), 0);
	set_storm(0);
	rig_close(&rig);
}

static void test_a_deadline_ends_the_wait(void **state)
{
	struct request *done[SLOTS_MAX];
	struct rig rig;
	nsec_t deadline_ns;

	rig_open(&rig, *state, 4, 0, SUBMIT_BATCH);
	assert_int_equal(rig_wait(&rig, 0, done, SLOTS_MAX), 0);
	deadline_ns = clock_now(&clock_monotonic) + 5 * NSEC_PER_MSEC;
	assert_int_equal(rig_wait(&rig, deadline_ns, done, SLOTS_MAX), 0);
	assert_true(clock_now(&clock_monotonic) >= deadline_ns);
	rig_send(&rig, 0, REQUEST_READ, 0, BLOCK_BYTES);
	while (!rig_wait(&rig, 0, done, SLOTS_MAX))
		;
	judge(&rig, done[0]);
	rig_close(&rig);
}

/* Depth transfers and all flushes are taken at once, and done_max is kept. */
static void test_every_slot_can_be_at_the_drive(void **state)
{
	struct request *batch[SLOTS_MAX], *done[SLOTS_MAX];
	struct rig rig;

	rig_open(&rig, *state, 128, 8, SUBMIT_BATCH);
	for (unsigned round = 0; round < 3; round++) {
		unsigned slots = rig.depth + rig.flushes;

		for (unsigned slot = 0; slot < slots; slot++)
			batch[slot] = rig_make(&rig, slot,
				slot < rig.depth ? REQUEST_READ : REQUEST_FLUSH,
				slot < rig.depth ? (uint64_t)slot * BLOCK_BYTES : 0,
				slot < rig.depth ? BLOCK_BYTES : 0);
		rig.backend->ops->submit(rig.backend, batch, slots);
		while (rig.outstanding) {
			unsigned count = rig_wait(&rig, NSEC_NEVER, done, 5);

			for (unsigned i = 0; i < count; i++)
				assert_int_equal(done[i]->result, done[i]->length_bytes);
		}
	}
	rig_close(&rig);
}

/* A bad request comes back as its own result; its neighbours in the batch do not notice. */
static void test_errors_are_results(void **state)
{
	const struct cell *cell = *state;
	struct rig rig;

	for (unsigned single = 0; single < 2; single++) {
		rig_open(&rig, cell, 4, 0, single ? SUBMIT_SINGLE : SUBMIT_BATCH);
		if (rig.depth == 4) {
			rig_send(&rig, 1, REQUEST_READ, 0, BLOCK_BYTES);
			rig_send(&rig, 2, REQUEST_READ, BLOCK_BYTES, BLOCK_BYTES);
		}
		rig_send(&rig, 0, REQUEST_READ, 1, BLOCK_BYTES - 1);
		if (rig.depth == 4)
			rig_send(&rig, 3, REQUEST_READ, 2 * BLOCK_BYTES, BLOCK_BYTES);
		rig_drain(&rig);
		/* ext4 reads what is not aligned through its cache. */
		if (cell->target->kind == TARGET_BLOCK || rig.requests[0].result < 0)
			assert_int_equal(rig.requests[0].result, -EINVAL);
		for (unsigned slot = 1; slot < rig.depth; slot++)
			assert_int_equal(rig.requests[slot].result, BLOCK_BYTES);
		rig_send(&rig, 0, REQUEST_READ, SIZE_BYTES, BLOCK_BYTES);
		rig_drain(&rig);
		assert_true(rig.requests[0].result <= 0);
		rig_send(&rig, 0, REQUEST_READ, SIZE_BYTES - 512, BLOCK_BYTES);
		rig_drain(&rig);
		assert_true(rig.requests[0].result < (int)BLOCK_BYTES);
		rig_close(&rig);
	}
}

/* Closing at once, with all requests on their way, then unmapping their memory. */
static void test_close_leaves_requests_behind(void **state)
{
	const struct cell *cell = *state;
	struct request *done[SLOTS_MAX];
	struct rig rig;

	for (unsigned round = 0; round < 10; round++) {
		rig_open(&rig, cell, 64, 0, SUBMIT_BATCH);
		for (unsigned slot = 0; slot < rig.depth; slot++)
			rig_send(&rig, slot, REQUEST_READ, (uint64_t)slot * BLOCK_BYTES,
				BLOCK_BYTES);
		if (round % 2)
			(void)rig_wait(&rig, 0, done, 1);
		rig_close(&rig);
	}
	rig_open(&rig, cell, 4, 0, SUBMIT_BATCH);
	rig_send(&rig, 0, REQUEST_READ, 0, BLOCK_BYTES);
	rig_drain(&rig);
	assert_int_equal(rig.requests[0].result, BLOCK_BYTES);
	rig_close(&rig);
}

static void test_impossible_depths_are_refused(void **state)
{
	const struct cell *cell = *state;
	struct backend_config config = { .target = cell->target };
	struct error error = { 0 };
	struct backend *backend;

	assert_int_equal(cell->ops->open(&config, &backend, &error), -EINVAL);
	assert_non_null(strstr(error.text, "depth 0"));
	error = (struct error){ 0 };
	config.depth = cell->ops->depth_max + 1;
	assert_int_equal(cell->ops->open(&config, &backend, &error), -EINVAL);
	assert_non_null(strstr(error.text, cell->ops->name));
}

/* --- Commands ------------------------------------------------------------------------------- */

struct counters {
	unsigned long long writes, flushes;
};

static struct counters read_counters(void)
{
	struct counters counters = { 0 };
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/sys/block/%s/stat", loop.node + strlen("/dev/"));
	file = fopen(path, "re");
	assert_non_null(file);
	/* Fields 5 and 16 of Documentation/block/stat.rst. */
	assert_int_equal(fscanf(file,
				 "%*u %*u %*u %*u %llu %*u %*u %*u %*u %*u %*u %*u %*u %*u "
				 "%*u %llu",
				 &counters.writes, &counters.flushes),
		2);
	(void)fclose(file);
	return counters;
}

static void expect_commands(const struct cell *cell, const char *what, unsigned writes,
	unsigned flushes, const struct counters *before)
{
	struct counters after = read_counters();

	print_message("%s: %s: %llu writes, %llu flushes\n", cell->ops->name, what,
		after.writes - before->writes, after.flushes - before->flushes);
	assert_int_equal(after.writes - before->writes, writes);
	assert_int_equal(after.flushes - before->flushes, flushes);
}

static void write_durably(struct rig *rig, bool durable)
{
	for (unsigned i = 0; i < 20; i++) {
		struct request *request =
			rig_make(rig, 0, REQUEST_WRITE, (uint64_t)i * BLOCK_BYTES, BLOCK_BYTES);

		request->fua = durable;
		rig->backend->ops->submit(rig->backend, &request, 1);
		rig_drain(rig);
		assert_int_equal(request->result, BLOCK_BYTES);
	}
}

/* At depth 1 a durable write is one write and one flush on a device with a cache and without
 * FUA, in every engine; a plain write is no flush, and a flush is a flush (which the kernel
 * counts as an empty write besides). */
static void test_all_engines_send_the_same_commands(void **state)
{
	const struct cell *cell = *state;
	struct counters before;
	struct rig rig;

	rig_open(&rig, cell, 1, 1, SUBMIT_BATCH);
	before = read_counters();
	write_durably(&rig, false);
	expect_commands(cell, "20 writes", 20, 0, &before);
	before = read_counters();
	write_durably(&rig, true);
	expect_commands(cell, "20 durable writes", 20, 20, &before);
	before = read_counters();
	for (unsigned i = 0; i < 5; i++) {
		rig_send(&rig, 1, REQUEST_FLUSH, 0, 0);
		rig_drain(&rig);
		assert_int_equal(rig.requests[1].result, 0);
	}
	expect_commands(cell, "5 flushes", 5, 5, &before);
	rig_close(&rig);
}

/* --- The suite, once for each pair ---------------------------------------------------------- */

#define RULE(function, first)                                                                      \
	{                                                                                          \
#function, function, first                                                         \
	}

static const struct {
	const char *name;
	CMUnitTestFunction function;
	enum { ON_NULL, ON_FILE, ON_LOOP } first; /* and on all the kinds behind it */
} rules[] = {
	RULE(test_reads_return_what_was_written, ON_NULL),
	RULE(test_signals_lose_nothing, ON_NULL),
	RULE(test_a_signal_ends_the_wait, ON_NULL),
	RULE(test_a_deadline_ends_the_wait, ON_NULL),
	RULE(test_every_slot_can_be_at_the_drive, ON_NULL),
	RULE(test_errors_are_results, ON_FILE),
	RULE(test_close_leaves_requests_behind, ON_NULL),
	RULE(test_impossible_depths_are_refused, ON_NULL),
	RULE(test_all_engines_send_the_same_commands, ON_LOOP),
};

#define CELLS 7

static void add_tests(
	struct cell *cell, size_t kind, struct CMUnitTest *tests, char (*names)[96], size_t *count)
{
	static const char *const kinds[] = { "null", "file", "loop" };

	for (size_t rule = 0; rule < ARRAY_SIZE(rules); rule++) {
		if (kind < rules[rule].first)
			continue;
		(void)snprintf(names[*count], sizeof(names[0]), "%s on %s: %s", cell->ops->name,
			kinds[kind], rules[rule].name);
		tests[*count] = (struct CMUnitTest){ .name = names[*count],
			.test_func = rules[rule].function,
			.initial_state = cell };
		++*count;
	}
}

int main(void)
{
	static struct cell cells[CELLS];
	static char names[CELLS * ARRAY_SIZE(rules)][96];
	static struct CMUnitTest tests[CELLS * ARRAY_SIZE(rules)];
	size_t cell_count = 0, count = 0;

	for (size_t i = 0; backends[i]; i++) {
		bool null = backends[i] == &backend_null_ops;
		size_t last = null ? ON_NULL : ON_LOOP;

		for (size_t kind = null ? ON_NULL : ON_FILE; kind <= last; kind++) {
			struct cell *cell = &cells[cell_count++];

			*cell = (struct cell){ backends[i], &targets[kind] };
			add_tests(cell, kind, tests, names, &count);
		}
	}
	assert(cell_count == CELLS);
	return _cmocka_run_group_tests("backend", tests, count, set_up, tear_down);
}
