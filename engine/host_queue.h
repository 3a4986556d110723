/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The host queue: what waits between the layouts (Q) and the drive (D). It merges, and asks its
 * elevator what goes next. The window (how many may wait) is the scheduler's.
 *
 * Merging, in a few words: requests that touch, of one operation, one stage number, both data or
 * both metadata, none of them FUA or a commit, become one request of at most max_request_bytes at
 * the drive, whatever plans they belong to. A new request joins a waiting one at its end or front;
 * when that closes a gap to a third, the two become one as well. An elevator may allow less (noop:
 * only with the request inserted last). Flushes are never merged and never sorted: what a flush
 * covers was complete before its stage opened, so it needs to wait for nothing and passes the
 * elevator by (as in Linux block/blk-flush.c).
 *
 * A merged request is a request of its own, from a pool made beforehand. Its parts are the
 * requests that were inserted: they keep offset, length, queued instant, plan, and are linked
 * through queue_next in the order of LBA. To walk a request's parts, merged or plain:
 *
 *     for (part = host_queue_parts(request); part; part = part->queue_next)
 *
 * How the scheduler uses it:
 *   insert      a request that may be dispatched (queued_ns is set).
 *   next        with room at the drive. The scheduler gives it a slot and a buffer; a part's share
 *               of the buffer begins part->offset_bytes - request->offset_bytes into it. It sets
 *               dispatched_ns and durable writes' fua on the request (fua set at dispatch does not
 *               keep requests from merging; set by a plan it does).
 *   completed   with result and completed_ns of the request set. Every part now carries dispatched,
 *               completed and its share of the result; the parts are returned as a chain, to be
 *               completed one by one. The merged request itself is gone.
 *
 * Waiting requests do not overlap each other unless both read (engine/conflicts holds the others
 * back), so any order is allowed. Pure: time is an argument, nothing is allocated after
 * host_queue_new, and the same calls give the same answers.
 */
#ifndef ENGINE_HOST_QUEUE_H
#define ENGINE_HOST_QUEUE_H

#include "engine/elevator.h"

struct host_queue;

struct host_queue_config {
	const struct elevator_ops *elevator;
	struct elevator_options options; /* elevator_options_default, then the user's */
	bool merge;
	uint32_t max_request_bytes; /* of a merged request; plain ones are not looked at */
	size_t capacity;            /* transfers inserted and not complete: 2 x window */
	uint32_t streams;           /* a plan's stream is below that; at least 1 */
};

/* -ENOMEM. */
int host_queue_new(const struct host_queue_config *config, struct host_queue **ret_queue);
void host_queue_free(struct host_queue *queue);

/* Memory that host_queue_new takes. */
size_t host_queue_memory_bytes(const struct host_queue_config *config);

enum host_queue_insertion {
	INSERTED,          /* waits by itself */
	INSERTED_AT_BACK,  /* merged at a waiting request's end */
	INSERTED_AT_FRONT, /* merged at a waiting request's beginning */
};

enum host_queue_insertion host_queue_insert(
	struct host_queue *queue, struct request *request, nsec_t now_ns);

/* What the drive has room for. */
enum host_queue_room { HOST_QUEUE_TRANSFER = 1, HOST_QUEUE_FLUSH = 2 };

/* The next request to dispatch, of a kind that `room` (a union of host_queue_room) allows, flushes
 * first; or NULL. With NULL and HOST_QUEUE_TRANSFER in room, nothing can be dispatched before
 * *ret_wake_ns, a completion, or an insertion, whichever is first. *ret_wake_ns is NSEC_NEVER when
 * no transfer waits, and else only while a transfer is at the drive; so whoever waits until then
 * with nothing at the drive never waits forever. */
struct request *host_queue_next(
	struct host_queue *queue, nsec_t now_ns, unsigned room, nsec_t *ret_wake_ns);

/* The request that next returned is complete. Returns its first part (the request itself for a
 * plain one). To be called before any of its plans is given back. */
struct request *host_queue_completed(
	struct host_queue *queue, struct request *request, nsec_t now_ns);

/* Waiting: as the drive would see them, and as they were inserted; with and without flushes. */
size_t host_queue_count(const struct host_queue *queue);
size_t host_queue_part_count(const struct host_queue *queue);
size_t host_queue_flush_count(const struct host_queue *queue);

struct host_queue_merges {
	uint64_t back, front; /* requests that joined a waiting one there */
	uint64_t gaps;        /* waiting ones that joined each other because of that */
};
/* Since host_queue_new. Requests inserted - (back + front + gaps) = requests for the drive. */
struct host_queue_merges host_queue_merges(const struct host_queue *queue);

static inline struct request *host_queue_parts(struct request *request)
{
	return request->children ? request->children : request;
}

#endif
