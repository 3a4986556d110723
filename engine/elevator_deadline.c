/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * deadline: ascending sweeps in batches of one direction, and a look at the oldest request before
 * each batch (Linux 2.6 Documentation/block/deadline-iosched.txt).
 *
 * A batch is up to fifo_batch requests, each the next one above the last. A new batch prefers
 * reads, but after writes_starved batches of reads with writes waiting it is the writes' turn. It
 * goes on where the last one ended, except when its direction's oldest request has expired, the
 * direction changes, or nothing lies above: then it starts at the oldest. So the oldest read waits
 * for read_expire, the batch that runs, and at most one batch of writes.
 */
#include "engine/elevator.h"

struct deadline {
	struct elevator elevator;
	uint64_t position; /* the end of what was sent last */
	uint8_t op;        /* direction of the batch; the list too */
	uint64_t batched;  /* sent in this batch; 0 before the first */
	uint64_t starved;  /* batches of reads that writes have waited for */
};

static uint32_t lists(uint32_t streams)
{
	(void)streams;
	return 2;
}

static uint32_t list(const struct elevator *elevator, const struct request *request)
{
	(void)elevator;
	return request->op;
}

static void init(struct elevator *elevator)
{
	elevator->front_merges = elevator->options.front_merges;
}

static enum request_op choose_direction(struct deadline *deadline)
{
	const struct elevator *elevator = &deadline->elevator;

	if (elevator->lists[REQUEST_READ].count) {
		if (!elevator->lists[REQUEST_WRITE].count)
			return REQUEST_READ;
		if (deadline->starved++ < elevator->options.writes_starved)
			return REQUEST_READ;
	}
	deadline->starved = 0;
	return REQUEST_WRITE;
}

static bool has_expired(const struct elevator *elevator, enum request_op op, nsec_t now_ns)
{
	const nsec_t expire_ns = op == REQUEST_READ ? elevator->options.read_expire_ns
						    : elevator->options.write_expire_ns;

	return now_ns - elevator->lists[op].oldest->entered_ns >= expire_ns;
}

static struct request *next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	struct deadline *deadline = container_of(elevator, struct deadline, elevator);
	struct request *request = NULL;

	(void)ret_wake_ns;
	if (deadline->batched)
		request = lba_index_after(elevator->index, deadline->op, deadline->position);
	if (!request || deadline->batched >= elevator->options.fifo_batch) {
		const enum request_op op = choose_direction(deadline);

		if (!request || op != deadline->op || has_expired(elevator, op, now_ns))
			request = elevator->lists[op].oldest;
		deadline->op = (uint8_t)op;
		deadline->batched = 0;
	}
	deadline->batched++;
	deadline->position = request_end(request);
	return request;
}

#define FIELD(field) offsetof(struct elevator_options, field)

/* Defaults: Linux 2.6 block/deadline-iosched.c, at any HZ. */
static const struct elevator_option options[] = {
	{ "read_expire", ELEVATOR_DURATION, FIELD(read_expire_ns),
		500 * NSEC_PER_MSEC, /* read_expire = HZ / 2 */
		0, 3600 * NSEC_PER_SEC, "a read older than that goes first" },
	{ "write_expire", ELEVATOR_DURATION, FIELD(write_expire_ns),
		5 * NSEC_PER_SEC, /* write_expire = 5 * HZ */
		0, 3600 * NSEC_PER_SEC, "a write older than that goes first" },
	{ "writes_starved", ELEVATOR_COUNT, FIELD(writes_starved), 2, /* writes_starved = 2 */
		0, UINT32_MAX, "batches of reads before one of writes" },
	{ "fifo_batch", ELEVATOR_COUNT, FIELD(fifo_batch), 16, /* fifo_batch = 16 */
		1, UINT32_MAX, "requests in a batch" },
	{ "front_merges", ELEVATOR_COUNT, FIELD(front_merges), 1, /* front_merges = 1 */
		0, 1, "whether requests may be merged at their front" },
	{ .name = NULL },
};

const struct elevator_ops elevator_deadline_ops = {
	.name = "deadline",
	.summary = "ascending batches, reads first, the expired before all",
	.options = options,
	.bytes = sizeof(struct deadline),
	.sorted = true,
	.lists = lists,
	.list = list,
	.init = init,
	.next = next,
};
