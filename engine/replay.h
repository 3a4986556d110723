/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace as a source: the requests that a drive got, sent again in an order of choice. It is the
 * control that tells order from overlap. A drive with d requests to choose from gains in two ways:
 * it may serve them in a better order, and it never waits for the next one. Sent one at a time in
 * the order in which it completed them before, only the order is left.
 *
 * Every order sends the same set: one plan with one request for each merged request of the trace
 * that completed, with its range, operation, role and FUA, flushes included. So runs of two orders
 * moved the same bytes and are compared by the time they took. What the drive got one at a time is
 * what it got at once: nothing is merged anew or cut.
 *
 * Order is kept only with one plan in flight (scheduler_config.plans = 1, depth 1): with more, a
 * request that overlaps an earlier one is held and later ones pass it. One at a time, stages and
 * overlaps are kept by construction in the order of dispatch and of completion: a request of a
 * later stage, or one that overlaps, was sent after the earlier one completed. In the queued order
 * a merged request stands where its first child stood, so a later child may precede what it waited
 * for; contents are made anew, hence nothing is harmed but the likeness. At larger depths stages
 * are not kept; the conflict index still keeps overlaps and the order on one file.
 *
 * Stamps: the file is the trace's, the generation is the place in the replay, so that a stale
 * sector of any earlier write can be told. The source is pure and reads no file.
 */
#ifndef ENGINE_REPLAY_H
#define ENGINE_REPLAY_H

#include "engine/source.h"
#include "engine/trace.h"

enum replay_order {
	REPLAY_QUEUED,     /* the place in the Q stream; of a merged request that of its first */
	REPLAY_DISPATCHED, /* as the drive got them */
	REPLAY_COMPLETED,  /* as the drive completed them; of one reap, as dispatched */
};

struct replay_config {
	const struct trace_record *records; /* of one cell; not needed after replay_new */
	size_t count;
	enum replay_order order;
	uint64_t area_offset_bytes, area_bytes; /* what may be touched on the target */
	uint32_t block_bytes;                   /* its logical block */
};

/* -EBADMSG for a damaged trace, -ERANGE when a request lies outside the area or is no multiple of
 * the block (the sentence names it), -ENODATA when nothing completed, -ENOMEM. */
int replay_new(const struct replay_config *config, struct source **ret_source, struct error *error);

/* How many requests the source sends in all, flushes included. */
uint64_t replay_count(const struct source *source);

#endif
