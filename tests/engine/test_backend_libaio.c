/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: what the kernel may do to libaio loses nothing.
 * Method: the system calls are replaced by ones that take less than offered, refuse for a while
 * or for good; the same reads and flushes must all come back once, with the right result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/backend_libaio.h"
#include "engine/buffers.h"

#define BLOCK_BYTES 4096u
#define DEPTH 16u
#define FLUSHES 2u
#define SLOTS (DEPTH + FLUSHES)

static char scratch[] = "/var/tmp/bareplatter-libaio-XXXXXX";
static struct target target;
static struct buffers buffers;
static struct libaio_calls real;
static unsigned submit_calls, getevents_calls;
static bool flush_is_known;
static long at_drive; /* taken by submit_partly(), not yet returned */

static int set_up(void **state)
{
	int fd = mkstemp(scratch);
	unsigned char block[BLOCK_BYTES];

	(void)state;
	for (unsigned i = 0; i < DEPTH && fd >= 0; i++) {
		memset(block, (int)i + 1, sizeof(block));
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return -1;
	}
	(void)close(fd);
	target = (struct target){ .kind = TARGET_FILE,
		.name = scratch,
		.logical_block_bytes = 512,
		.size_bytes = DEPTH * BLOCK_BYTES,
		.fd = open(scratch, O_RDONLY | O_DIRECT) };
	real = backend_libaio_calls;
	if (target.fd < 0)
		return -1;
	return buffers_open(&buffers, SLOTS, BLOCK_BYTES, true, false, 1, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	buffers_close(&buffers);
	(void)close(target.fd);
	(void)unlink(scratch);
	return 0;
}

static int restore(void **state)
{
	(void)state;
	backend_libaio_calls = real;
	submit_calls = 0;
	getevents_calls = 0;
	flush_is_known = false;
	at_drive = 0;
	return 0;
}

static struct backend *open_backend(enum backend_submit submit)
{
	struct backend_config config = { .target = &target,
		.depth = DEPTH,
		.flushes = FLUSHES,
		.submit = submit,
		.buffers = buffers.memory,
		.buffers_bytes = buffers.bytes };
	struct backend *backend;
	struct error error = { 0 };

	if (backend_libaio_ops.open(&config, &backend, &error) < 0)
		fail_msg("%s", error.text);
	return backend;
}

/* Reads every block and flushes twice; every request comes back once, with its own content. */
static void read_all(struct backend *backend)
{
	struct request requests[SLOTS], *batch[SLOTS], *done[SLOTS];
	bool seen[SLOTS] = { false };
	unsigned count = 0;

	for (unsigned i = 0; i < SLOTS; i++) {
		bool flush = i % 9 == 4;
		unsigned block = i - (i > 4) - (i > 13);

		requests[i] = (struct request){ .op = flush ? REQUEST_FLUSH : REQUEST_READ,
			.offset_bytes = flush ? 0 : (uint64_t)block * BLOCK_BYTES,
			.length_bytes = flush ? 0 : BLOCK_BYTES,
			.slot = i,
			.buffer = flush ? NULL : buffers_area(&buffers, i, false) };
		batch[i] = &requests[i];
	}
	backend->ops->submit(backend, batch, SLOTS);
	while (count < SLOTS) {
		int ret = backend->ops->wait(backend, NSEC_NEVER, done, 3);

		assert_in_range(ret, 0, 3);
		for (int i = 0; i < ret; i++, count++) {
			unsigned slot = done[i]->slot;
			const unsigned char *body = done[i]->buffer;

			at_drive--;
			assert_false(seen[slot]);
			seen[slot] = true;
			assert_int_equal(done[i]->result, done[i]->length_bytes);
			if (body)
				assert_int_equal(body[BLOCK_BYTES - 1],
					done[i]->offset_bytes / BLOCK_BYTES + 1);
		}
	}
}

static void play(enum backend_submit submit)
{
	struct backend *backend = open_backend(submit);

	for (unsigned round = 0; round < 4; round++)
		read_all(backend);
	backend->ops->close(backend);
}

static int submit_counting(struct io_context *context, long count, struct iocb *blocks[])
{
	submit_calls++;
	return real.submit(context, count, blocks);
}

static void test_a_batch_is_one_call(void **state)
{
	(void)state;
	backend_libaio_calls.submit = submit_counting;
	play(SUBMIT_BATCH);
	assert_int_equal(submit_calls, 4);
	submit_calls = 0;
	play(SUBMIT_SINGLE);
	assert_int_equal(submit_calls, 4 * SLOTS);
}

static int submit_partly(struct io_context *context, long count, struct iocb *blocks[])
{
	int taken;

	if (++submit_calls % 3 == 0 && at_drive)
		return -EAGAIN;
	if (submit_calls % 5 == 0)
		return -EINTR;
	taken = real.submit(context, count > 2 ? count - 2 : 1, blocks);
	at_drive += taken > 0 ? taken : 0;
	return taken;
}

static void test_partial_submission_is_continued(void **state)
{
	(void)state;
	backend_libaio_calls.submit = submit_partly;
	play(SUBMIT_BATCH);
	play(SUBMIT_SINGLE);
	assert_true(submit_calls > 16);
}

static int submit_without_flush(struct io_context *context, long count, struct iocb *blocks[])
{
	long plain = 0;

	while (plain < count && blocks[plain]->aio_lio_opcode != IOCB_CMD_FDSYNC)
		plain++;
	if (plain)
		return real.submit(context, plain, blocks);
	assert_false(flush_is_known);
	flush_is_known = true;
	return -EINVAL;
}

/* Old kernels and some files refuse IO_CMD_FDSYNC: learned once, then done by fdatasync. */
static void test_refused_flush_is_done_by_call(void **state)
{
	(void)state;
	backend_libaio_calls.submit = submit_without_flush;
	play(SUBMIT_BATCH);
	assert_true(flush_is_known);
}

static int submit_never(struct io_context *context, long count, struct iocb *blocks[])
{
	(void)context;
	(void)count;
	(void)blocks;
	return -EAGAIN;
}

/* With nothing at the drive there is nothing to wait for: the refusal is the result. */
static void test_lasting_refusal_is_a_result(void **state)
{
	struct backend *backend = open_backend(SUBMIT_BATCH);
	struct request request = {
		.op = REQUEST_READ, .length_bytes = BLOCK_BYTES, .buffer = buffers.memory
	};
	struct request *batch = &request, *done[4];

	(void)state;
	backend_libaio_calls.submit = submit_never;
	backend->ops->submit(backend, &batch, 1);
	assert_int_equal(backend->ops->wait(backend, NSEC_NEVER, done, 4), 1);
	assert_ptr_equal(done[0], &request);
	assert_int_equal(request.result, -EAGAIN);
	backend->ops->close(backend);
}

static int setup_without_magic(int events, struct io_context **context)
{
	int ret = real.setup(events, context);

	if (ret == 0)
		((unsigned *)*context)[4] = 0;
	return ret;
}

static int getevents_counting(struct io_context *context, long count_min, long count_max,
	struct io_event *events, struct timespec *timeout)
{
	getevents_calls++;
	return real.getevents(context, count_min, count_max, events, timeout);
}

static void test_unknown_ring_is_left_alone(void **state)
{
	struct backend *backend;

	(void)state;
	backend_libaio_calls.setup = setup_without_magic;
	backend_libaio_calls.getevents = getevents_counting;
	backend = open_backend(SUBMIT_BATCH);
	assert_non_null(strstr(backend->level, "io_getevents"));
	read_all(backend);
	assert_true(getevents_calls > 0);
	backend->ops->close(backend);
}

static int refusal;

static int setup_refused(int events, struct io_context **context)
{
	(void)events;
	(void)context;
	return refusal;
}

static void test_refused_setup_says_what_to_do(void **state)
{
	static const struct {
		int code;
		const char *text;
	} refusals[] = {
		{ -EAGAIN, "sysctl fs.aio-max-nr=" },
		{ -ENOSYS, "--engine sync" },
		{ -EPERM, "seccomp" },
		{ -ENOMEM, "18 requests" },
	};
	struct backend_config config = { .target = &target, .depth = DEPTH, .flushes = FLUSHES };
	struct backend *backend;

	(void)state;
	backend_libaio_calls.setup = setup_refused;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct error error = { 0 };

		refusal = refusals[i].code;
		assert_int_equal(backend_libaio_ops.open(&config, &backend, &error), refusal);
		assert_non_null(strstr(error.text, refusals[i].text));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_batch_is_one_call, restore),
		cmocka_unit_test_teardown(test_partial_submission_is_continued, restore),
		cmocka_unit_test_teardown(test_refused_flush_is_done_by_call, restore),
		cmocka_unit_test_teardown(test_lasting_refusal_is_a_result, restore),
		cmocka_unit_test_teardown(test_unknown_ring_is_left_alone, restore),
		cmocka_unit_test_teardown(test_refused_setup_says_what_to_do, restore),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
