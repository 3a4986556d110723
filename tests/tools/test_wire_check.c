/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The proof of the order at the driver. The judge is given hand-made orders: the same, reversed,
 * sorted, incomplete, with others' requests between. Then every engine is asked on a loop device:
 * what is claimed is compared with a second reading of the kernel's events, by this test.
 */
#include "tools/wire_check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices/queue_setting.h"
#include "tests/support/check.h"
#include "tests/support/loop.h"
#include "tests/support/require.h"

#define TRACEFS "/sys/kernel/tracing"

/* --- The judge ------------------------------------------------------------------------------- */

static const uint64_t handed[] = { 40, 10, 30, 20, 41, 11, 31, 21 };

static struct wire_result judge(const uint64_t *issued, size_t count)
{
	struct wire_result result;

	wire_check_judge(handed, 2, 4, issued, count, &result);
	assert_true(result.text[0] != '\0');
	return result;
}

static void test_same_order(void **state)
{
	/* Others' requests are between, and 30 was given back by the driver once. */
	const uint64_t issued[] = { 7, 30, 40, 10, 99, 30, 20, 41, 11, 31, 40000, 21, 8 };
	struct wire_result result = judge(handed, ARRAY_SIZE(handed));

	(void)state;
	assert_int_equal(result.order, WIRE_SAME);
	assert_int_equal(result.batches, 2);
	assert_int_equal(result.requests, 4);
	result = judge(issued, ARRAY_SIZE(issued));
	assert_int_equal(result.order, WIRE_SAME);
}

static void test_reversed(void **state)
{
	const uint64_t issued[] = { 20, 30, 10, 40, 21, 31, 11, 41 };
	const struct wire_result result = judge(issued, ARRAY_SIZE(issued));

	(void)state;
	assert_int_equal(result.order, WIRE_OTHER);
	assert_int_equal(result.batches_other, 2);
	assert_int_equal(result.batches_reverse, 2);
	assert_int_equal(result.first_place, 0);
	assert_non_null(strstr(result.text, "reversed 2 of 2"));
}

static void test_permuted(void **state)
{
	/* Only the second batch, from its third request on. */
	const uint64_t issued[] = { 40, 10, 30, 20, 41, 11, 21, 31 };
	const uint64_t sorted[] = { 10, 20, 30, 40, 11, 21, 31, 41 };
	struct wire_result result = judge(issued, ARRAY_SIZE(issued));

	(void)state;
	assert_int_equal(result.order, WIRE_OTHER);
	assert_int_equal(result.batches_other, 1);
	assert_int_equal(result.batches_reverse, 0);
	assert_int_equal(result.first_place, 2);
	assert_non_null(strstr(result.text, "1 of 2 batches"));
	assert_non_null(strstr(result.text, "place 3"));
	result = judge(sorted, ARRAY_SIZE(sorted));
	assert_int_equal(result.order, WIRE_OTHER);
	assert_int_equal(result.batches_reverse, 0);
}

static void test_incomplete(void **state)
{
	const uint64_t issued[] = { 40, 10, 30, 20, 41, 11, 31 };
	const uint64_t reversed[] = { 20, 30, 10, 40, 41 };
	struct wire_result result = judge(issued, ARRAY_SIZE(issued));

	(void)state;
	assert_int_equal(result.order, WIRE_UNKNOWN);
	assert_int_equal(result.batches, 1);
	result = judge(issued, 0);
	assert_int_equal(result.order, WIRE_UNKNOWN);
	assert_int_equal(result.batches, 0);
	/* One counter-example is enough. */
	result = judge(reversed, ARRAY_SIZE(reversed));
	assert_int_equal(result.order, WIRE_OTHER);
}

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Any permutation but the one handed over is another order. */
static void test_random_permutations(void **state)
{
	uint64_t seed = check_seed();

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		const unsigned count = 1 + round % WIRE_CHECK_REQUESTS;
		uint64_t sent[WIRE_CHECK_REQUESTS], issued[WIRE_CHECK_REQUESTS];
		struct wire_result result;
		bool same;

		for (unsigned i = 0; i < count; i++)
			sent[i] = issued[i] = i * 1000 + round;
		for (unsigned i = count; i > 1; i--) {
			const uint64_t j = (seed = seed * UINT64_C(6364136223846793005) + 1) >> 33;
			const uint64_t swapped = issued[i - 1];

			issued[i - 1] = issued[j % i];
			issued[j % i] = swapped;
		}
		same = memcmp(sent, issued, count * sizeof(sent[0])) == 0;
		wire_check_judge(sent, 1, count, issued, count, &result);
		assert_int_equal(result.order, same ? WIRE_SAME : WIRE_OTHER);
	}
}

static void test_offsets(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= WIRE_CHECK_REQUESTS; count++) {
		uint64_t all[WIRE_CHECK_BATCHES * WIRE_CHECK_REQUESTS];
		const unsigned total = WIRE_CHECK_BATCHES * count;
		const uint64_t size = 2 * MIB + count * 2 * WIRE_CHECK_BATCHES * 4096;

		assert_false(wire_check_offsets(size - 1, 4096, 0, count, all));
		for (unsigned batch = 0; batch < WIRE_CHECK_BATCHES; batch++) {
			const uint64_t *one = all + batch * count;
			unsigned rises = 0, falls = 0;

			assert_true(
				wire_check_offsets(size, 4096, batch, count, all + batch * count));
			for (unsigned i = 1; i < count; i++)
				one[i] > one[i - 1] ? rises++ : falls++;
			if (count > 2)
				assert_true(rises && falls);
			/* Of two, the falling order is the one that no elevator sends. */
			if (count == 2)
				assert_int_equal(falls, 1);
		}
		qsort(all, total, sizeof(all[0]), compare);
		assert_true(all[0] >= MIB && all[total - 1] + 4096 <= size - MIB);
		for (unsigned i = 0; i < total; i++) {
			assert_int_equal(all[i] % 4096, 0);
			assert_true(i == 0 || all[i] - all[i - 1] >= 2 * 4096);
		}
	}
	assert_false(wire_check_offsets(0, 4096, 0, 1, (uint64_t[1]){ 0 }));
}

/* --- Targets --------------------------------------------------------------------------------- */

static struct claim *claim(const char *text)
{
	_cleanup_faults_ struct faults faults = { 0 };
	const struct claim_request request = { .text = text };
	struct claim *claim = NULL;

	if (claim_open(&request, &claim, &faults) < 0)
		fail_msg("%s", faults.count ? faults.text[0] : text);
	return claim;
}

static void test_no_block_device(void **state)
{
	struct claim *null = claim("null");
	const struct wire_check_config config = {
		.claim = null, .engine = &backend_null_ops, .depth = 4
	};
	struct wire_result result;
	struct error error = { 0 };

	(void)state;
	assert_int_equal(wire_check(&config, &result, &error), 0);
	assert_int_equal(result.order, WIRE_UNKNOWN);
	assert_non_null(strstr(result.text, "no block device"));
	claim_close(null);
}

/* --- On a device ----------------------------------------------------------------------------- */

static struct loop loop;
static uint64_t checksum;
static char scheduler[QUEUE_VALUE];

static const char *disk(void)
{
	return loop.node + strlen("/dev/");
}

static int make_loop(void **state)
{
	(void)state;
	loop_new(&loop, 16 * MIB);
	checksum = loop_checksum(&loop);
	if (queue_setting_read(NULL, disk(), QUEUE_SCHEDULER, scheduler) < 0)
		return -1;
	return queue_setting_write(NULL, disk(), QUEUE_SCHEDULER, "none");
}

static int remove_loop(void **state)
{
	(void)state;
	assert_int_equal(loop_checksum(&loop), checksum);
	(void)queue_setting_write(NULL, disk(), QUEUE_SCHEDULER, scheduler);
	loop_done(&loop);
	return 0;
}

/* A wrapper around an engine that remembers what was handed over in which calls. */
static const struct backend_ops *inner;
static uint64_t sent[WIRE_CHECK_BATCHES * WIRE_CHECK_REQUESTS];
static unsigned sent_count, calls;
static void (*inner_submit)(struct backend *, struct request *const[], unsigned);

static void spy_submit(struct backend *backend, struct request *const requests[], unsigned count)
{
	calls++;
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(requests[i]->op, REQUEST_READ);
		assert_true(sent_count < ARRAY_SIZE(sent));
		sent[sent_count++] = requests[i]->offset_bytes / 512;
	}
	inner_submit(backend, requests, count);
}

/* Hands a batch over backwards: what a kernel that reverses does, as far as can be seen. */
static void reversing_submit(
	struct backend *backend, struct request *const requests[], unsigned count)
{
	struct request *turned[WIRE_CHECK_REQUESTS];

	for (unsigned i = 0; i < count; i++)
		turned[i] = requests[count - 1 - i];
	inner_submit(backend, turned, count);
}

static struct backend_ops wrapped;

static int wrapped_open(
	const struct backend_config *config, struct backend **ret_backend, struct error *error)
{
	const int r = inner->open(config, ret_backend, error);

	if (r == 0)
		(*ret_backend)->ops = &wrapped;
	return r;
}

static const struct backend_ops *wrap(const struct backend_ops *ops,
	void (*submit)(struct backend *, struct request *const[], unsigned))
{
	inner = ops;
	inner_submit = ops->submit;
	wrapped = *ops;
	wrapped.open = wrapped_open;
	wrapped.submit = submit;
	sent_count = calls = 0;
	return &wrapped;
}

static struct wire_result check(
	const struct backend_ops *engine, enum backend_submit submit, unsigned depth)
{
	struct claim *target = claim(loop.node);
	const struct wire_check_config config = {
		.claim = target, .engine = engine, .submit = submit, .depth = depth
	};
	struct wire_result result;
	struct error error = { 0 };

	if (wire_check(&config, &result, &error) < 0)
		fail_msg("%s", error.text);
	claim_close(target);
	return result;
}

static bool uring_is_possible(void)
{
	struct claim *target = claim(loop.node);
	const struct backend_config config = { .target = &target->target, .depth = 1 };
	struct backend *backend;
	const bool possible = backend_uring_ops.open(&config, &backend, NULL) == 0;

	if (possible)
		backend->ops->close(backend);
	claim_close(target);
	return possible;
}

static void test_engines(void **state)
{
	static const struct backend_ops *const engines[] = { &backend_uring_ops,
		&backend_libaio_ops };
	static const unsigned depths[] = { 1, 2, 4, 16, 64 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		if (engines[i] == &backend_uring_ops && !uring_is_possible())
			continue;
		for (size_t j = 0; j < 2 * ARRAY_SIZE(depths); j++) {
			const unsigned depth = depths[j / 2];
			const unsigned requests = (unsigned)min_u64(depth, WIRE_CHECK_REQUESTS);
			const struct wire_result result = check(wrap(engines[i], spy_submit),
				j % 2 ? SUBMIT_SINGLE : SUBMIT_BATCH, depth);

			print_message("%s depth %u: %s\n", engines[i]->name, depth, result.text);
			assert_int_equal(calls, WIRE_CHECK_BATCHES);
			assert_int_equal(sent_count, WIRE_CHECK_BATCHES * requests);
			assert_int_equal(result.requests, requests);
			assert_int_equal(result.batches, WIRE_CHECK_BATCHES);
			/* Batches may be turned by some kernels; single requests by none, but
			 * where io_uring hands one to a worker thread, as it may under load. */
			if (depth == 1 || (j % 2 && engines[i] == &backend_libaio_ops))
				assert_int_equal(result.order, WIRE_SAME);
			else
				assert_true(result.order == WIRE_SAME ||
					    result.batches_reverse == result.batches_other ||
					    engines[i] == &backend_uring_ops);
		}
	}
	assert_int_equal(check(&backend_sync_ops, SUBMIT_BATCH, 1).order, WIRE_SAME);
	assert_int_equal(check(NULL, SUBMIT_SINGLE, 4).order, WIRE_SAME);
}

static void test_reversing_kernel(void **state)
{
	const struct wire_result result =
		check(wrap(&backend_libaio_ops, reversing_submit), SUBMIT_SINGLE, 16);

	(void)state;
	assert_int_equal(result.order, WIRE_OTHER);
	assert_int_equal(result.batches_other, WIRE_CHECK_BATCHES);
	assert_int_equal(result.batches_reverse, WIRE_CHECK_BATCHES);
	assert_non_null(strstr(result.text, "reversed 3 of 3"));
}

/* The second reading: a trace instance of the test's own, unfiltered, with the default clock. */
static char instance[96];

static void instance_put(const char *file, const char *text)
{
	char path[192];
	FILE *stream;

	(void)snprintf(path, sizeof(path), "%s/%s", instance, file);
	stream = fopen(path, "we");
	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
}

static void instance_remove(void)
{
	if (instance[0])
		(void)rmdir(instance);
	instance[0] = '\0';
}

static void instance_make(void)
{
	(void)atexit(instance_remove);
	(void)snprintf(instance, sizeof(instance), TRACEFS "/instances/bareplatter-test-%d",
		(int)getpid());
	assert_int_equal(mkdir(instance, 0700), 0);
	instance_put("events/block/block_rq_issue/enable", "1");
}

static size_t instance_read(uint64_t *ret_sectors, size_t max)
{
	const unsigned minor = (unsigned)strtoul(disk() + strlen("loop"), NULL, 10);
	char path[192], line[512], device[32];
	size_t count = 0;
	FILE *stream;

	instance_put("tracing_on", "0");
	(void)snprintf(device, sizeof(device), ": 7,%u R", minor);
	(void)snprintf(path, sizeof(path), "%s/trace", instance);
	stream = fopen(path, "re");
	assert_non_null(stream);
	while (fgets(line, sizeof(line), stream)) {
		const char *at = strstr(line, device);

		if (!at || !(at = strstr(at, "() ")))
			continue;
		assert_true(count < max);
		ret_sectors[count++] = strtoull(at + 3, NULL, 10);
	}
	(void)fclose(stream);
	return count;
}

/* Checks once with this scheduler; what is claimed is what the second reading shows. */
static struct wire_result check_twice(const struct backend_ops *engine, const char *name)
{
	uint64_t issued[256];
	struct wire_result result;
	size_t count, first = 0;
	bool same;

	assert_int_equal(queue_setting_write(NULL, disk(), QUEUE_SCHEDULER, name), 0);
	instance_make();
	result = check(wrap(engine, spy_submit), SUBMIT_BATCH, 16);
	count = instance_read(issued, ARRAY_SIZE(issued));
	instance_remove();
	assert_int_equal(queue_setting_write(NULL, disk(), QUEUE_SCHEDULER, "none"), 0);
	print_message("%s, %s: %s\n", name, engine->name, result.text);
	/* Before the batches come reads of the claim and of the engine's opening. */
	assert_true(count >= sent_count);
	first = count - sent_count;
	same = memcmp(issued + first, sent, sent_count * sizeof(sent[0])) == 0;
	assert_int_equal(result.order, same ? WIRE_SAME : WIRE_OTHER);
	qsort(issued + first, sent_count, sizeof(sent[0]), compare);
	qsort(sent, sent_count, sizeof(sent[0]), compare);
	assert_memory_equal(issued + first, sent, sent_count * sizeof(sent[0]));
	return result;
}

static void test_second_reading(void **state)
{
	(void)state;
	(void)check_twice(&backend_libaio_ops, "none");
	if (uring_is_possible())
		(void)check_twice(&backend_uring_ops, "none");
}

/* A scheduler that sorts a batch is found out. */
static void test_sorting_scheduler(void **state)
{
	struct scheduler_file file;
	struct wire_result result;

	(void)state;
	if (queue_setting_schedulers(NULL, disk(), &file) < 0 ||
		!scheduler_file_offers(&file, "mq-deadline"))
		skip();
	result = check_twice(&backend_libaio_ops, "mq-deadline");
	assert_int_equal(result.order, WIRE_OTHER);
	assert_int_equal(result.batches_reverse, 0);
}

static void test_interrupted(void **state)
{
	struct claim *target = claim(loop.node);
	const struct scheduler_signals signals = { .stop = 1 };
	const struct wire_check_config config = {
		.claim = target, .engine = &backend_libaio_ops, .depth = 4, .signals = &signals
	};
	struct wire_result result;
	struct error error = { 0 };

	(void)state;
	assert_int_equal(wire_check(&config, &result, &error), -EINTR);
	assert_false(result.abandoned);
	claim_close(target);
}

static void test_depth_that_is_refused(void **state)
{
	struct claim *target = claim(loop.node);
	const struct wire_check_config config = {
		.claim = target, .engine = &backend_sync_ops, .depth = 4
	};
	struct wire_result result;
	struct error error = { 0 };
	char path[96];

	(void)state;
	assert_int_equal(wire_check(&config, &result, &error), -EINVAL);
	assert_non_null(strstr(error.text, "depth 4"));
	(void)snprintf(path, sizeof(path), TRACEFS "/instances/bareplatter-%d", (int)getpid());
	assert_int_not_equal(access(path, F_OK), 0);
	claim_close(target);
}

int main(void)
{
	const struct CMUnitTest pure[] = {
		cmocka_unit_test(test_same_order),
		cmocka_unit_test(test_reversed),
		cmocka_unit_test(test_permuted),
		cmocka_unit_test(test_incomplete),
		cmocka_unit_test(test_random_permutations),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_no_block_device),
	};
	const struct CMUnitTest live[] = {
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_reversing_kernel),
		cmocka_unit_test(test_second_reading),
		cmocka_unit_test(test_sorting_scheduler),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_depth_that_is_refused),
	};
	const int failed = cmocka_run_group_tests(pure, NULL, NULL);

	if (failed)
		return failed;
	require("loop", loop_is_possible());
	require("tracefs", access(TRACEFS "/instances", W_OK) == 0);
	return cmocka_run_group_tests(live, make_loop, remove_loop);
}
