/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * anticipatory: batches of reads and writes by time, and after a read a short wait for the next
 * read of the same stream, which is likely to be near (Iyer and Druschel, "Anticipatory scheduling:
 * a disk scheduling framework to overcome deceptive idleness in synchronous I/O", SOSP 2001; Linux
 * 2.6 Documentation/block/as-iosched.txt, whose four policies follow).
 *
 * 1. One-way sweep by LBA; back by at most 512 MiB when that is less than half as far.
 * 2. Once per expire time the oldest of the batch's direction is looked at and goes first if it
 *    has waited that long.
 * 3. Batches of one direction alternate while both wait, each with its time; the next batch
 *    waits until nothing of the last is at the drive. Write batches are also bounded by a count
 * that adapts, since a drive's cache takes many writes in no time.
 * 4. After a read: if the next candidate is of the same stream or near, it goes; else, if that
 *    stream's think time promises a read soon, nothing goes until it comes, something near comes,
 * or antic_expire after the completion has passed. While the read is at the drive the decision
 *    waits for it, so reads of different streams go one at a time.
 *
 * Left out: what the kernel learns from processes that exit. Streams do not.
 */
#include "engine/elevator.h"
#include "engine/elevator_history.h"

/* Seeks back: at most MAXBACK (1024*1024 sectors), at twice the cost (as-iosched.txt, policy 1). */
#define BACK_BYTES (1024 * 1024 * UINT64_C(512))
#define BACK_PENALTY 2

#define THINK_MAX_NS (20 * NSEC_PER_MSEC)  /* as-iosched.c: MAX_THINKTIME = HZ / 50 */
#define NEAR_SECTORS UINT64_C(8192)        /* as_close_req(): at once; doubles every ms ... */
#define NEAR_UNTIL_NS (20 * NSEC_PER_MSEC) /* as_close_req(): ... until then; later all is near */
#define BATCH_COUNT_NS                                                                             \
	(10 * NSEC_PER_MSEC) /* as_init_queue(): write batch time / 10 at HZ 1000                  \
			      */
#define BATCH_COUNT_LEAST 2  /* as_init_queue() */

#define NO_STREAM UINT32_MAX

enum wait_state {
	WAIT_NOT,      /* nothing to wait for, or something was sent since */
	WAIT_DRIVE,    /* for the stream's read to complete */
	WAIT_NEXT,     /* for its next one */
	WAIT_FINISHED, /* over: the next request goes whatever it is */
};

struct stream {
	struct elevator_history history;
	size_t waiting; /* requests in the lists */
	bool started;   /* has sent a read before */
	bool completed; /* a read of it has completed before */
};

struct anticipatory {
	struct elevator elevator;
	struct stream *streams;
	uint64_t position[2]; /* the end of what was sent last, by direction */
	nsec_t checked_ns[2]; /* when the oldest was looked at */

	bool begun;    /* a first request has come */
	uint8_t op;    /* direction of the batch; the list too */
	bool changing; /* the last batch is still at the drive */
	bool fresh;    /* a read batch whose first read has not completed */
	bool idled;    /* the write batch was alone: its time says nothing */
	nsec_t batch_end_ns;
	uint64_t writes_left; /* of the write batch */
	uint64_t write_count; /* of the next write batch */

	enum wait_state wait;
	uint32_t stream;  /* of the read that was sent last, or NO_STREAM after a write */
	bool stream_done; /* it has completed */
	nsec_t stream_done_ns;

	/* What to expect of a stream that has no history yet: how others began. */
	uint64_t new_think_total_ns, new_think_mean_ns;
	uint64_t new_seek_total_sectors, new_seek_mean_sectors;
};

static struct anticipatory *of(struct elevator *elevator)
{
	return container_of(elevator, struct anticipatory, elevator);
}

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
	struct anticipatory *as = of(elevator);

	as->streams = elevator->per_stream;
	as->stream = NO_STREAM;
	as->op = REQUEST_READ;
	as->write_count = max_u64(BATCH_COUNT_LEAST,
		(uint64_t)(elevator->options.write_batch_expire_ns / BATCH_COUNT_NS));
}

/* Learns from a read that arrives for the stream. */
static void learn(
	struct anticipatory *as, struct stream *stream, const struct request *read, nsec_t now_ns)
{
	struct elevator_history *history = &stream->history;

	if (stream->started) {
		nsec_t think_ns = 0;

		if (stream->completed && !stream->waiting)
			think_ns = now_ns - history->last_end_ns;
		if (think_ns >= THINK_MAX_NS)
			think_ns = THINK_MAX_NS - 1;
		if (!history->think_samples) {
			as->new_think_total_ns =
				history_decay(as->new_think_total_ns, (uint64_t)think_ns);
			as->new_think_mean_ns = as->new_think_total_ns / 256;
		}
		history_think(history, think_ns);
		if (!history->seek_samples) {
			as->new_seek_total_sectors = history_decay(as->new_seek_total_sectors,
				history_distance_sectors(history->position, read->offset_bytes));
			as->new_seek_mean_sectors = as->new_seek_total_sectors / 256;
		}
		history_seek(history, read);
	}
	history->position = request_end(read);
	stream->started = true;
}

/* Whether a read of another stream is near enough to be taken for the one that is waited for. */
static bool is_near(const struct anticipatory *as, const struct stream *stream,
	const struct request *read, nsec_t now_ns)
{
	const struct elevator_history *history = &stream->history;
	const uint64_t last = as->position[as->op], first = read->offset_bytes;
	uint64_t near_bytes = NEAR_SECTORS * HISTORY_SECTOR_BYTES;

	if (as->wait != WAIT_NOT && as->stream_done) {
		const nsec_t waited_ns = now_ns - as->stream_done_ns;

		if (waited_ns > NEAR_UNTIL_NS || waited_ns > as->elevator.options.antic_expire_ns)
			return true;
		near_bytes <<= waited_ns / NSEC_PER_MSEC;
	}
	if (last <= first + near_bytes / 2 && first <= last + near_bytes)
		return true;
	return history_distance_sectors(last, first) <
	       (history->seek_samples ? history->seek_mean_sectors : as->new_seek_mean_sectors);
}

/* Whether there is no point in waiting (longer), given the best candidate (or NULL). */
static bool is_pointless(struct anticipatory *as, const struct request *candidate, nsec_t now_ns)
{
	const nsec_t expire_ns = as->elevator.options.antic_expire_ns;
	struct stream *stream = &as->streams[as->stream];
	const struct elevator_history *history = &stream->history;

	if (candidate && request_stream(candidate) == as->stream)
		return true;
	if (as->stream_done && now_ns - as->stream_done_ns >= expire_ns)
		return true;
	if (stream->waiting)
		return true;
	if (candidate && candidate->op == REQUEST_READ && is_near(as, stream, candidate, now_ns)) {
		/* Streams that work in one place learn from each other. */
		learn(as, stream, candidate, now_ns);
		return true;
	}
	return (history->think_samples ? history->think_mean_ns : as->new_think_mean_ns) >
	       (uint64_t)expire_ns;
}

static void inserted(struct elevator *elevator, struct request *request, nsec_t now_ns)
{
	struct anticipatory *as = of(elevator);
	struct stream *stream = &as->streams[request_stream(request)];

	if (!as->begun) {
		as->begun = true;
		as->batch_end_ns = now_ns + elevator->options.read_batch_expire_ns;
	}
	if (request->op == REQUEST_READ)
		learn(as, stream, request, now_ns);
	stream->waiting++;
	if ((as->wait == WAIT_DRIVE || as->wait == WAIT_NEXT) && is_pointless(as, request, now_ns))
		as->wait = WAIT_FINISHED;
}

static void absorbed(struct elevator *elevator, const struct request *request)
{
	of(elevator)->streams[request_stream(request)].waiting--;
}

/* Whether the batch's oldest has expired; looks only once per expire time, for many expired
 * requests would make every one a seek. */
static bool oldest_expired(struct anticipatory *as, nsec_t now_ns)
{
	const struct elevator_options *options = &as->elevator.options;
	const nsec_t expire_ns =
		as->op == REQUEST_READ ? options->read_expire_ns : options->write_expire_ns;
	const struct request *oldest = as->elevator.lists[as->op].oldest;

	if (now_ns - as->checked_ns[as->op] < expire_ns)
		return false;
	as->checked_ns[as->op] = now_ns;
	return oldest && now_ns - oldest->entered_ns > expire_ns;
}

static bool batch_is_over(const struct anticipatory *as, nsec_t now_ns)
{
	if (as->changing || as->fresh)
		return false;
	return now_ns > as->batch_end_ns || (as->op == REQUEST_WRITE && !as->writes_left);
}

/* The last batch has left the drive. Reads keep its end until the first of them is back: that tells
 * how long the writes took. */
static void begin_batch(struct anticipatory *as, nsec_t now_ns)
{
	as->changing = false;
	as->fresh = as->op == REQUEST_READ;
	if (as->op == REQUEST_WRITE)
		as->batch_end_ns = now_ns + as->elevator.options.write_batch_expire_ns;
}

/* Hands the request over, or NULL while the last batch is still at the drive. */
static struct request *send(struct anticipatory *as, struct request *request, nsec_t now_ns)
{
	if (oldest_expired(as, now_ns))
		request = as->elevator.lists[as->op].oldest;
	if (as->changing) {
		if (as->elevator.at_drive)
			return NULL;
		begin_batch(as, now_ns);
	}
	as->wait = WAIT_NOT;
	as->stream_done = false;
	as->position[as->op] = request_end(request);
	as->stream = as->op == REQUEST_READ ? request_stream(request) : NO_STREAM;
	as->streams[request_stream(request)].waiting--;
	if (as->op == REQUEST_WRITE && as->writes_left)
		as->writes_left--;
	return request;
}

/* Begins a batch, of the other direction where that waits. */
static struct request *send_first(struct anticipatory *as, nsec_t now_ns)
{
	const struct elevator_list *queued = as->elevator.lists;
	const uint8_t was = as->op;

	if (!queued[REQUEST_WRITE].count || (queued[REQUEST_READ].count && was == REQUEST_WRITE)) {
		as->op = REQUEST_READ;
	} else {
		as->op = REQUEST_WRITE;
		as->fresh = false;
		as->writes_left = as->write_count;
		as->idled = false;
	}
	as->changing = as->changing || as->op != was;
	as->checked_ns[as->op] = now_ns;
	return send(as, queued[as->op].oldest, now_ns);
}

/* Whether the wait that was begun goes on. */
static bool still_waits(struct anticipatory *as, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	if (as->wait == WAIT_DRIVE)
		return true;
	if (as->wait != WAIT_NEXT)
		return false;
	*ret_wake_ns = as->stream_done_ns + as->elevator.options.antic_expire_ns;
	if (now_ns < *ret_wake_ns)
		return true;
	*ret_wake_ns = NSEC_NEVER;
	as->wait = WAIT_FINISHED;
	return false;
}

static struct request *next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	struct anticipatory *as = of(elevator);
	const bool reads = elevator->lists[REQUEST_READ].count;
	const bool writes = elevator->lists[REQUEST_WRITE].count;
	struct request *request;

	if (as->op == REQUEST_WRITE && !reads && (!as->writes_left || !writes))
		as->idled = true;
	if (still_waits(as, now_ns, ret_wake_ns) || (as->changing && elevator->at_drive))
		return NULL;
	if (reads && writes && batch_is_over(as, now_ns))
		return send_first(as, now_ns);
	request =
		elevator_one_way(elevator, as->op, as->position[as->op], BACK_BYTES, BACK_PENALTY);
	if (as->op == REQUEST_READ && elevator->options.antic_expire_ns) {
		if (oldest_expired(as, now_ns))
			return send(as, elevator->lists[REQUEST_READ].oldest, now_ns);
		if (as->stream != NO_STREAM && as->wait != WAIT_FINISHED &&
			!is_pointless(as, request, now_ns)) {
			as->wait = as->stream_done ? WAIT_NEXT : WAIT_DRIVE;
			(void)still_waits(as, now_ns, ret_wake_ns);
			return NULL;
		}
	}
	if (!request)
		return send_first(as, now_ns);
	/* The batch's time runs only while the other direction waits. */
	if (!writes)
		as->batch_end_ns = now_ns + elevator->options.read_batch_expire_ns;
	return send(as, request, now_ns);
}

/* The first read after a write batch is back: took the writes too long, or could there have been
 * more of them? */
static void adapt_write_count(struct anticipatory *as, nsec_t now_ns)
{
	const nsec_t batch_ns = as->elevator.options.write_batch_expire_ns;
	nsec_t took_ns = now_ns - as->batch_end_ns + batch_ns;

	if (took_ns < 0)
		took_ns = 0;
	if (took_ns > batch_ns && !as->idled)
		as->write_count =
			took_ns > 3 * batch_ns ? as->write_count / 2 : as->write_count - 1;
	else if (took_ns < batch_ns && !as->writes_left)
		as->write_count =
			batch_ns > 3 * took_ns ? as->write_count * 2 : as->write_count + 1;
	/* The queue bounds a batch anyway; without an upper end the count would overflow. */
	as->write_count = min_u64(max_u64(as->write_count, 1), UINT32_MAX);
}

static void completed(struct elevator *elevator, const struct request *request, nsec_t now_ns)
{
	struct anticipatory *as = of(elevator);
	const uint32_t stream = request_stream(request);

	if (as->changing && elevator->at_drive == 1)
		begin_batch(as, now_ns);
	/* A batch's time counts from when its direction is really served. */
	if (as->fresh && as->op == request->op) {
		adapt_write_count(as, now_ns);
		as->batch_end_ns = now_ns + elevator->options.read_batch_expire_ns;
		as->fresh = false;
	}
	if (as->stream == stream) {
		as->stream_done = true;
		as->stream_done_ns = now_ns;
		if (as->wait == WAIT_DRIVE)
			as->wait = WAIT_NEXT;
	}
	if (request->op == REQUEST_READ) {
		as->streams[stream].completed = true;
		as->streams[stream].history.last_end_ns = now_ns;
	}
}

#define FIELD(field) offsetof(struct elevator_options, field)

/* Defaults: Linux 2.6.16 block/as-iosched.c. */
static const struct elevator_option options[] = {
	{ "read_expire", ELEVATOR_DURATION, FIELD(read_expire_ns),
		125 * NSEC_PER_MSEC, /* default_read_expire = HZ / 8 */
		0, 3600 * NSEC_PER_SEC, "a read older than that goes first, once per that time" },
	{ "write_expire", ELEVATOR_DURATION, FIELD(write_expire_ns),
		250 * NSEC_PER_MSEC, /* default_write_expire = HZ / 4 */
		0, 3600 * NSEC_PER_SEC, "a write older than that goes first, once per that time" },
	{ "read_batch_expire", ELEVATOR_DURATION, FIELD(read_batch_expire_ns),
		500 * NSEC_PER_MSEC, /* default_read_batch_expire = HZ / 2 */
		0, 3600 * NSEC_PER_SEC, "how long reads go on while writes wait" },
	{ "write_batch_expire", ELEVATOR_DURATION, FIELD(write_batch_expire_ns),
		125 * NSEC_PER_MSEC, /* default_write_batch_expire = HZ / 8 */
		0, 3600 * NSEC_PER_SEC, "how long writes go on while reads wait" },
	{ "antic_expire", ELEVATOR_DURATION, FIELD(antic_expire_ns),
		NSEC_PER_SEC / 150, /* default_antic_expire = HZ / 150 */
		0, 3600 * NSEC_PER_SEC, "how long to wait for a near read; 0: never" },
	{ .name = NULL },
};

const struct elevator_ops elevator_anticipatory_ops = {
	.name = "anticipatory",
	.summary = "batches by time; after a read waits for a near one of its stream",
	.options = options,
	.bytes = sizeof(struct anticipatory),
	.sorted = true,
	.stream_bytes = sizeof(struct stream),
	.lists = lists,
	.list = list,
	.init = init,
	.inserted = inserted,
	.next = next,
	.completed = completed,
	.absorbed = absorbed,
};
