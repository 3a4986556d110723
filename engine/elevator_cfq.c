/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cfq: complete fairness queueing with time slices (Axboe, "Linux Block IO - present and future",
 * OLS 2004, for the queues; its time-sliced form, Linux 2.6.13 to 2.6.20 block/cfq-iosched.c and
 * later Documentation/block/cfq-iosched.txt, for slices and idling).
 *
 * Each stream's reads have a queue of their own; all writes share one, as write-back did in the
 * kernel. Queues take turns. The active one has the drive for a slice, slice_sync or slice_async,
 * counted from its first request, in rounds of up to quantum requests:
 * - writes: the slice also ends after a number of requests that slice_async_rq scales;
 * - reads: an active queue that has run empty keeps the drive for up to slice_idle, since its
 * stream will probably read on nearby; not so if the stream's mean think time is longer than that,
 * and only briefly for one that seeks far;
 * - a queue that is not worth waiting for gets one round a turn.
 * Within a queue: a one-way sweep with short ways back, and once a slice the oldest if it has
 * expired.
 *
 * All streams are of one priority (best effort, 4). Left out with priorities: preemption, which
 * in these kernels never came about between equals. One difference: the kernel hands the driver a
 * round as a whole; here a slice that ends cuts its round short.
 */
#include "engine/elevator.h"
#include "engine/elevator_history.h"

#define SAMPLES_VALID 80                     /* cfq-iosched.c: sample_valid(), 256 = 1 */
#define FAR_SECTORS (128 * 1024)             /* cfq-iosched.c: CIC_SEEKY */
#define FAR_IDLE_NS (2 * NSEC_PER_MSEC)      /* cfq_arm_slice_timer() */
#define TAGGED_DEPTH 4                       /* cfq_activate_request(): more shows a drive queue */
#define ASYNC_ROUNDS (2 * (1 + (8 - 1 - 4))) /* cfq_prio_to_maxrq() at priority 4 of 0 .. 7 */

#define NONE UINT32_MAX

struct queue {
	struct elevator_history history; /* of the stream, for a queue of reads */
	uint32_t before, behind;         /* in the ring */
	bool in_ring;                    /* something waits */
	size_t at_drive;
	nsec_t slice_end_ns;  /* 0 before the slice's first request */
	nsec_t idle_until_ns; /* 0 when not idling */
	bool fresh;           /* has had no slice yet */
	bool worth_idling;
	bool must_send;      /* waited for: goes even if its slice has ended */
	bool oldest_checked; /* an expired one went already, in this slice */
};

struct cfq {
	struct elevator elevator;
	struct queue *queues; /* one per stream, then that of the writes, then the ring's anchor */
	uint32_t writes, anchor;
	uint32_t active;     /* or NONE */
	uint64_t round_left; /* requests that the active queue may still send in this round */
	uint64_t slice_sent; /* requests sent in the slice */
	uint64_t position;   /* the end of what was sent last */
	bool tagged;         /* the drive queues requests itself */
};

static struct cfq *of(struct elevator *elevator)
{
	return container_of(elevator, struct cfq, elevator);
}

static uint32_t lists(uint32_t streams)
{
	return streams + 1;
}

static uint32_t list(const struct elevator *elevator, const struct request *request)
{
	return request->op == REQUEST_WRITE ? elevator->streams : request_stream(request);
}

static void init(struct elevator *elevator)
{
	struct cfq *cfq = of(elevator);

	cfq->writes = elevator->streams;
	cfq->anchor = elevator->streams + 1;
	cfq->active = NONE;
	cfq->queues = elevator->per_stream;
	for (uint32_t i = 0; i <= cfq->anchor; i++) {
		cfq->queues[i].before = cfq->queues[i].behind = i;
		cfq->queues[i].fresh = true;
		cfq->queues[i].worth_idling = true;
	}
}

static void ring_remove(struct cfq *cfq, uint32_t which)
{
	struct queue *queue = &cfq->queues[which];

	queue->in_ring = false;
	cfq->queues[queue->before].behind = queue->behind;
	cfq->queues[queue->behind].before = queue->before;
}

/* Queues without a slice so far go before the others, in order of arrival; a served one last. */
static void ring_add(struct cfq *cfq, uint32_t which)
{
	struct queue *queue = &cfq->queues[which];
	uint32_t behind = cfq->anchor;

	queue->in_ring = true;
	if (queue->fresh)
		do
			behind = cfq->queues[behind].behind;
		while (behind != cfq->anchor && cfq->queues[behind].fresh);
	queue->behind = behind;
	queue->before = cfq->queues[behind].before;
	cfq->queues[queue->before].behind = which;
	cfq->queues[behind].before = which;
}

/* The active queue's turn is over. */
static void end_slice(struct cfq *cfq)
{
	struct queue *queue = &cfq->queues[cfq->active];

	queue->fresh = false;
	queue->must_send = false;
	queue->idle_until_ns = 0;
	if (queue->in_ring) {
		ring_remove(cfq, cfq->active);
		ring_add(cfq, cfq->active);
	}
	cfq->active = NONE;
	cfq->round_left = 0;
	cfq->slice_sent = 0;
}

/* The next queue's turn: the first in the ring with nothing at the drive, since one whose requests
 * are still there has hardly ended its turn; else the first. */
static void begin_slice(struct cfq *cfq)
{
	uint32_t which = cfq->queues[cfq->anchor].behind;
	struct queue *queue;

	while (which != cfq->anchor && cfq->queues[which].at_drive)
		which = cfq->queues[which].behind;
	if (which == cfq->anchor)
		which = cfq->queues[cfq->anchor].behind;
	queue = &cfq->queues[which];
	queue->slice_end_ns = 0;
	queue->oldest_checked = false;
	cfq->active = which;
}

/* Lets the active queue, which is empty, keep the drive for a while; false when that is not worth
 * it. */
static bool begin_idling(struct cfq *cfq, nsec_t now_ns)
{
	struct queue *queue = &cfq->queues[cfq->active];
	nsec_t idle_ns = cfq->elevator.options.slice_idle_ns;

	if (!idle_ns || !queue->worth_idling || cfq->active == cfq->writes)
		return false;
	if (idle_ns > queue->slice_end_ns - now_ns)
		idle_ns = queue->slice_end_ns - now_ns;
	if (queue->history.seek_samples > SAMPLES_VALID &&
		queue->history.seek_mean_sectors > FAR_SECTORS && idle_ns > FAR_IDLE_NS)
		idle_ns = FAR_IDLE_NS;
	if (idle_ns <= 0)
		return false;
	queue->idle_until_ns = now_ns + idle_ns;
	queue->must_send = true;
	return true;
}

static void learn(struct cfq *cfq, struct queue *queue, const struct request *read, nsec_t now_ns)
{
	struct elevator_history *history = &queue->history;
	const nsec_t idle_ns = cfq->elevator.options.slice_idle_ns;
	const nsec_t think_ns = history->last_end_ns ? now_ns - history->last_end_ns : 0;

	history_think(history, think_ns < 2 * idle_ns ? think_ns : 2 * idle_ns);
	history_seek(history, read);
	history->position = request_end(read);
	if (!idle_ns || (cfq->tagged && history->seek_mean_sectors > FAR_SECTORS))
		queue->worth_idling = false;
	else if (history->think_samples > SAMPLES_VALID)
		queue->worth_idling = history->think_mean_ns <= (uint64_t)idle_ns;
}

static void inserted(struct elevator *elevator, struct request *request, nsec_t now_ns)
{
	struct cfq *cfq = of(elevator);
	struct queue *queue = &cfq->queues[request->list];

	if (!queue->in_ring)
		ring_add(cfq, request->list);
	if (request->op == REQUEST_READ) {
		learn(cfq, queue, request, now_ns);
		queue->idle_until_ns = 0;
	} else if (cfq->active == request_stream(request) &&
		   cfq->queues[cfq->active].idle_until_ns) {
		/* The stream writes: it will not read at once. */
		end_slice(cfq);
	}
}

static void absorbed(struct elevator *elevator, const struct request *request)
{
	if (!elevator->lists[request->list].count)
		ring_remove(of(elevator), request->list);
}

/* Makes a queue that has requests the active one; false when the drive is left to the queue that
 * is active but empty. */
static bool choose_queue(struct cfq *cfq, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	struct queue *queue;

	if (cfq->active != NONE) {
		queue = &cfq->queues[cfq->active];
		if (cfq->elevator.lists[cfq->active].count) {
			if (queue->must_send || !queue->slice_end_ns ||
				now_ns <= queue->slice_end_ns)
				return true;
		} else if (now_ns <= queue->slice_end_ns) {
			if (queue->at_drive)
				return false;
			if (queue->idle_until_ns ? now_ns < queue->idle_until_ns
						 : begin_idling(cfq, now_ns)) {
				*ret_wake_ns = queue->idle_until_ns;
				return false;
			}
		}
		end_slice(cfq);
	}
	begin_slice(cfq);
	return true;
}

static struct request *choose_request(struct cfq *cfq, struct queue *queue, nsec_t now_ns)
{
	const struct elevator_options *options = &cfq->elevator.options;
	struct request *oldest = cfq->elevator.lists[cfq->active].oldest;
	const nsec_t expire_ns = cfq->active == cfq->writes ? options->fifo_expire_async_ns
							    : options->fifo_expire_sync_ns;

	if (!queue->oldest_checked && now_ns - oldest->entered_ns > expire_ns) {
		queue->oldest_checked = true;
		return oldest;
	}
	return elevator_one_way(&cfq->elevator, cfq->active, cfq->position,
		options->back_seek_max_bytes, options->back_seek_penalty);
}

/* Whether the active queue's turn ends with the round that it has just finished. */
static bool round_ends_turn(const struct cfq *cfq)
{
	if (!cfq->queues[cfq->active].worth_idling)
		return true;
	return cfq->active == cfq->writes &&
	       cfq->slice_sent >= ASYNC_ROUNDS * cfq->elevator.options.slice_async_rq;
}

static struct request *next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	struct cfq *cfq = of(elevator);
	const struct elevator_options *options = &elevator->options;
	struct request *request;
	struct queue *queue;

	if (!choose_queue(cfq, now_ns, ret_wake_ns))
		return NULL;
	if (!cfq->round_left)
		cfq->round_left = options->quantum;
	queue = &cfq->queues[cfq->active];
	request = choose_request(cfq, queue, now_ns);
	cfq->position = request_end(request);
	queue->must_send = false;
	queue->idle_until_ns = 0;
	queue->at_drive++;
	if (elevator->at_drive + 1 > TAGGED_DEPTH)
		cfq->tagged = true;
	if (!queue->slice_end_ns && cfq->active == cfq->writes)
		queue->slice_end_ns = now_ns + options->slice_async_ns;
	else if (!queue->slice_end_ns)
		queue->slice_end_ns = now_ns + options->slice_sync_ns;
	cfq->slice_sent++;
	cfq->round_left--;
	if (elevator->lists[cfq->active].count == 1) {
		ring_remove(cfq, cfq->active);
		cfq->round_left = 0;
	}
	if (!cfq->round_left && round_ends_turn(cfq))
		end_slice(cfq);
	return request;
}

static void completed(struct elevator *elevator, const struct request *request, nsec_t now_ns)
{
	struct cfq *cfq = of(elevator);
	struct queue *queue = &cfq->queues[request->list];

	queue->at_drive--;
	if (request->op == REQUEST_READ)
		queue->history.last_end_ns = now_ns;
	if (queue->at_drive)
		return;
	if (cfq->active == request->list && !queue->in_ring) {
		(void)begin_idling(cfq, now_ns);
	} else if (cfq->active != request->list && queue->in_ring) {
		ring_remove(cfq, request->list);
		ring_add(cfq, request->list);
	}
}

#define FIELD(field) offsetof(struct elevator_options, field)

/* Defaults: Linux 2.6.20 block/cfq-iosched.c. */
static const struct elevator_option options[] = {
	{ "quantum", ELEVATOR_COUNT, FIELD(quantum), 4, /* cfq_quantum = 4 */
		1, UINT32_MAX, "requests in a round" },
	{ "fifo_expire_sync", ELEVATOR_DURATION, FIELD(fifo_expire_sync_ns),
		125 * NSEC_PER_MSEC, /* cfq_fifo_expire[1] = HZ / 8 */
		0, 3600 * NSEC_PER_SEC, "a read older than that goes first, once a slice" },
	{ "fifo_expire_async", ELEVATOR_DURATION, FIELD(fifo_expire_async_ns),
		250 * NSEC_PER_MSEC, /* cfq_fifo_expire[0] = HZ / 4 */
		0, 3600 * NSEC_PER_SEC, "a write older than that goes first, once a slice" },
	{ "back_seek_max", ELEVATOR_SIZE, FIELD(back_seek_max_bytes),
		16 * MIB, /* cfq_back_max = 16 * 1024 KiB */
		0, UINT32_MAX *UINT64_C(1024), "how far the sweep may go back" },
	{ "back_seek_penalty", ELEVATOR_COUNT, FIELD(back_seek_penalty),
		2, /* cfq_back_penalty = 2 */
		1, 1024, "how much dearer a way back is" },
	{ "slice_sync", ELEVATOR_DURATION, FIELD(slice_sync_ns),
		100 * NSEC_PER_MSEC, /* cfq_slice_sync = HZ / 10 */
		1, 3600 * NSEC_PER_SEC, "a turn of one stream's reads" },
	{ "slice_async", ELEVATOR_DURATION, FIELD(slice_async_ns),
		40 * NSEC_PER_MSEC, /* cfq_slice_async = HZ / 25 */
		1, 3600 * NSEC_PER_SEC, "a turn of the writes" },
	{ "slice_async_rq", ELEVATOR_COUNT, FIELD(slice_async_rq), 2, /* cfq_slice_async_rq = 2 */
		1, UINT32_MAX, "an eighth of the writes in a turn" },
	{ "slice_idle", ELEVATOR_DURATION, FIELD(slice_idle_ns),
		8 * NSEC_PER_MSEC, /* cfq_slice_idle = HZ / 125 */
		0, 3600 * NSEC_PER_SEC, "how long a turn waits for another read; 0: never" },
	{ .name = NULL },
};

const struct elevator_ops elevator_cfq_ops = {
	.name = "cfq",
	.summary = "streams take turns of equal time; waits for the next read of one",
	.options = options,
	.bytes = sizeof(struct cfq),
	.sorted = true,
	.stream_bytes = sizeof(struct queue),
	.lists = lists,
	.list = list,
	.init = init,
	.inserted = inserted,
	.next = next,
	.completed = completed,
	.absorbed = absorbed,
};
