/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The proof of the order at the driver; see the header. */
#include "tools/wire_check.h"

#include <stdio.h>
#include <string.h>

#include "devices/wire_order.h"
#include "engine/buffers.h"
#include "engine/clock.h"

#define SECTOR_BYTES 512u
#define BLOCK_BYTES 4096u
#define MARGIN_BYTES MIB
#define ISSUED_MAX 1024u
/* Twice the time after which the kernel gives a command up (SD_TIMEOUT, drivers/scsi/sd.h). */
#define PATIENCE_NS (60 * NSEC_PER_SEC)

const char *const wire_order_names[] = { "unknown", "same", "other" };

/* --- What is sent, and what it proves -------------------------------------------------------- */

bool wire_check_offsets(uint64_t size_bytes, uint32_t block_bytes, unsigned batch,
	unsigned requests, uint64_t *ret_offsets_bytes)
{
	const uint64_t blocks =
		size_bytes > 2 * MARGIN_BYTES ? (size_bytes - 2 * MARGIN_BYTES) / block_bytes : 0;
	const uint64_t stratum_blocks = blocks / requests;

	assert(batch < WIRE_CHECK_BATCHES && requests > 0);
	/* One block between neighbours even when their batches differ: nothing can be merged. */
	if (stratum_blocks < 2 * WIRE_CHECK_BATCHES)
		return false;
	/* The last stratum, the first, the last but one, ...: no elevator goes that way. */
	for (unsigned i = 0; i < requests; i++) {
		const unsigned stratum = i % 2 ? i / 2 : requests - 1 - i / 2;

		ret_offsets_bytes[i] =
			round_up(MARGIN_BYTES, block_bytes) +
			(stratum * stratum_blocks + 2 * (uint64_t)batch) * block_bytes;
	}
	return true;
}

static bool contains(const uint64_t *sectors, size_t count, uint64_t sector)
{
	for (size_t i = 0; i < count; i++)
		if (sectors[i] == sector)
			return true;
	return false;
}

/* The batch's own sectors among what was issued, each at its last place; how many there are. */
static unsigned pick_batch(const uint64_t *batch, unsigned requests, const uint64_t *issued,
	size_t issued_count, uint64_t *ret_order)
{
	unsigned count = 0;

	for (size_t i = 0; i < issued_count; i++)
		if (contains(batch, requests, issued[i]) &&
			!contains(issued + i + 1, issued_count - i - 1, issued[i]))
			ret_order[count++] = issued[i];
	return count;
}

static void judge_batch(
	const uint64_t *batch, const uint64_t *order, unsigned requests, struct wire_result *result)
{
	unsigned place = 0, backwards = 0;

	while (place < requests && order[place] == batch[place])
		place++;
	if (place == requests)
		return;
	while (backwards < requests && order[backwards] == batch[requests - 1 - backwards])
		backwards++;
	if (!result->batches_other)
		result->first_place = place;
	result->batches_other++;
	result->batches_reverse += backwards == requests;
}

static void tell(unsigned batches, struct wire_result *result)
{
	if (result->batches_other) {
		result->order = WIRE_OTHER;
		if (result->batches_reverse == result->batches_other)
			(void)snprintf(result->text, sizeof(result->text),
				"the kernel reversed %u of %u batches of %u requests on their way "
				"to the driver",
				result->batches_other, result->batches, result->requests);
		else
			(void)snprintf(result->text, sizeof(result->text),
				"the kernel changed the order of %u of %u batches of %u requests "
				"on their way to the driver, first at place %u",
				result->batches_other, result->batches, result->requests,
				result->first_place + 1);
	} else if (result->batches == batches) {
		result->order = WIRE_SAME;
		(void)snprintf(result->text, sizeof(result->text),
			"%u batches of %u request%s came to the driver in the order in which they "
			"were handed over",
			batches, result->requests, result->requests == 1 ? "" : "s");
	} else {
		(void)snprintf(result->text, sizeof(result->text),
			"only %u of %u batches were seen whole on their way to the driver, so "
			"their order is not known",
			result->batches, batches);
	}
}

void wire_check_judge(const uint64_t *handed, unsigned batches, unsigned requests,
	const uint64_t *issued, size_t issued_count, struct wire_result *ret_result)
{
	uint64_t order[WIRE_CHECK_REQUESTS];

	assert(batches > 0 && requests > 0 && requests <= WIRE_CHECK_REQUESTS);
	*ret_result = (struct wire_result){ .requests = requests };
	for (unsigned i = 0; i < batches; i++) {
		const uint64_t *batch = handed + (size_t)i * requests;

		if (pick_batch(batch, requests, issued, issued_count, order) < requests)
			continue;
		ret_result->batches++;
		judge_batch(batch, order, requests, ret_result);
	}
	tell(batches, ret_result);
}

/* --- Sending --------------------------------------------------------------------------------- */

struct check {
	const struct wire_check_config *config;
	struct buffers buffers;
	struct backend *backend;
	uint32_t block_bytes;
	unsigned requests;
	unsigned failed;                                           /* reads */
	int failure;                                               /* of the first of these */
	uint64_t handed[WIRE_CHECK_BATCHES * WIRE_CHECK_REQUESTS]; /* sectors */
};

static void refuse(struct wire_result *result, const char *why)
{
	result->order = WIRE_UNKNOWN;
	(void)snprintf(result->text, sizeof(result->text), "%s", why);
}

/* Sends one batch in one call and waits for all of it. After an error, requests may still be at
 * the drive. */
static int play_batch(struct check *check, const uint64_t *offsets_bytes, struct error *error)
{
	const struct scheduler_signals *signals = check->config->signals;
	const char *name = check->config->claim->name;
	struct backend *backend = check->backend;
	struct request requests[WIRE_CHECK_REQUESTS] = { 0 };
	struct request *send[WIRE_CHECK_REQUESTS], *done[WIRE_CHECK_REQUESTS];
	const nsec_t deadline_ns = clock_now(&clock_monotonic) + PATIENCE_NS;
	unsigned left = check->requests;

	for (unsigned i = 0; i < check->requests; i++) {
		requests[i].op = REQUEST_READ;
		requests[i].offset_bytes = offsets_bytes[i];
		requests[i].length_bytes = check->block_bytes;
		requests[i].slot = i;
		requests[i].buffer = buffers_area(&check->buffers, i, false);
		send[i] = &requests[i];
	}
	backend->ops->submit(backend, send, check->requests);
	while (left) {
		const int count = backend->ops->wait(backend, deadline_ns, done, left);

		if (count < 0)
			return error_set(error, count, "%s: the %s engine failed: %s", name,
				backend->ops->name, strerror(-count));
		left -= (unsigned)count;
		if (!count && signals && signals->stop >= 2)
			return error_set(error, -EINTR, "interrupted, with %u reads of %s not back",
				left, name);
		if (!count && !backend_remaining(deadline_ns))
			return error_set(error, -ETIMEDOUT, "%s: %u reads are not back after %d s",
				name, left, (int)(PATIENCE_NS / NSEC_PER_SEC));
	}
	for (unsigned i = 0; i < check->requests; i++)
		if (requests[i].result != (int32_t)check->block_bytes && !check->failed++)
			check->failure = requests[i].result;
	return 0;
}

static int play(struct check *check, struct wire_result *result, struct error *error)
{
	const struct claim *claim = check->config->claim;
	const struct scheduler_signals *signals = check->config->signals;

	for (unsigned batch = 0; batch < WIRE_CHECK_BATCHES; batch++) {
		uint64_t offsets_bytes[WIRE_CHECK_REQUESTS];
		int r;

		if (signals && signals->stop)
			return error_set(error, -EINTR, "interrupted");
		(void)wire_check_offsets(claim->target.size_bytes, check->block_bytes, batch,
			check->requests, offsets_bytes);
		for (unsigned i = 0; i < check->requests; i++)
			check->handed[batch * check->requests + i] =
				offsets_bytes[i] / SECTOR_BYTES;
		r = play_batch(check, offsets_bytes, error);
		if (r < 0) {
			result->abandoned = true;
			return r;
		}
	}
	return 0;
}

static int open_engine(struct check *check, struct error *error)
{
	const struct wire_check_config *config = check->config;
	const struct backend_config backend = {
		.target = &config->claim->target,
		.depth = config->depth,
		.submit = config->submit,
		.buffers = check->buffers.memory,
		.buffers_bytes = check->buffers.bytes,
	};

	if (config->engine)
		return config->engine->open(&backend, &check->backend, error);
	return backend_open_auto(&backend, &check->backend, NULL, error);
}

/* What to do about another order. */
static void advise(const struct check *check, struct wire_result *result)
{
	const size_t used = strlen(result->text);
	const char *advice = "look at the device's scheduler: only none keeps an order";

	if (result->order != WIRE_OTHER)
		return;
	if (check->backend->punts)
		advice = "io_uring's workers send its requests here: use --engine libaio";
	else if (check->config->submit == SUBMIT_BATCH)
		advice = "use --submit single, and scheduler none";
	(void)snprintf(result->text + used, sizeof(result->text) - used, "; %s", advice);
}

static void judge(const struct check *check, const uint64_t *issued, size_t issued_count,
	struct wire_result *result)
{
	char why[256];

	if (check->failed) {
		(void)snprintf(why, sizeof(why),
			"%u of the reads that should prove the order failed (%s)", check->failed,
			check->failure < 0 ? strerror(-check->failure) : "too short");
		refuse(result, why);
		return;
	}
	wire_check_judge(
		check->handed, WIRE_CHECK_BATCHES, check->requests, issued, issued_count, result);
	if (result->order == WIRE_UNKNOWN && !result->batches) {
		(void)snprintf(why, sizeof(why),
			"none of the reads of %.64s was seen on its way to a driver: the device "
			"hands them to others (dm, md, multipath) and has no queue of its own",
			check->config->claim->name);
		refuse(result, why);
	}
	advise(check, result);
}

/* With buffers there: watches, sends, judges. */
static int watch_and_play(struct check *check, struct wire_result *result, struct error *error)
{
	uint64_t issued[ISSUED_MAX];
	size_t issued_count = 0;
	struct wire_watch *watch;
	struct error why = { 0 };
	int r, seen;

	if (wire_order_start(&check->config->claim->device, &watch, &why) < 0) {
		refuse(result, why.text);
		return 0;
	}
	r = open_engine(check, error);
	if (r == 0)
		r = play(check, result, error);
	seen = wire_order_stop(watch, issued, ISSUED_MAX, r == 0 ? &issued_count : NULL, &why);
	if (r == 0 && seen < 0)
		refuse(result, why.text);
	else if (r == 0)
		judge(check, issued, issued_count, result);
	if (check->backend && !result->abandoned)
		check->backend->ops->close(check->backend);
	return r;
}

int wire_check(
	const struct wire_check_config *config, struct wire_result *ret_result, struct error *error)
{
	const struct target *target = &config->claim->target;
	struct check check = {
		.config = config,
		.block_bytes = (uint32_t)max_u64(BLOCK_BYTES, target->logical_block_bytes),
		.requests = (unsigned)min_u64(config->depth, WIRE_CHECK_REQUESTS),
	};
	uint64_t offsets_bytes[WIRE_CHECK_REQUESTS];
	int r;

	*ret_result = (struct wire_result){ .requests = check.requests };
	if (target->kind != TARGET_BLOCK) {
		refuse(ret_result, "no block device, so there is no driver to look at");
		return 0;
	}
	if (!wire_check_offsets(
		    target->size_bytes, check.block_bytes, 0, check.requests, offsets_bytes)) {
		refuse(ret_result, "the device is too small for the reads that prove the order");
		return 0;
	}
	r = buffers_open(&check.buffers, check.requests, check.block_bytes, true, false, 0, error);
	if (r < 0)
		return r;
	r = watch_and_play(&check, ret_result, error);
	/* What is still at the drive may write into them. */
	if (!ret_result->abandoned)
		buffers_close(&check.buffers);
	return r;
}
