/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Proves that the driver gets requests in the order in which they were handed over: sends a few
 * batches of reads whose order no elevator would choose, and compares what the kernel issued.
 *
 * Linux 5.16 to 6.12 with scheduler none can issue a batch that came in one system call in
 * reverse (github.com/axboe/liburing/issues/1000: the plug's list was filled at its head); a
 * scheduler, or io_uring's workers, make other orders. Only reads are sent.
 */
#ifndef TOOLS_WIRE_CHECK_H
#define TOOLS_WIRE_CHECK_H

#include "devices/claim.h"
#include "engine/backend.h"
#include "engine/scheduler.h"

#define WIRE_CHECK_BATCHES 3u   /* a lucky order is no proof */
#define WIRE_CHECK_REQUESTS 16u /* in a batch, or the depth if that is less */

enum wire_order { WIRE_UNKNOWN, WIRE_SAME, WIRE_OTHER };
extern const char *const wire_order_names[]; /* "unknown", "same", "other" */

struct wire_result {
	enum wire_order order;
	unsigned requests;        /* of each batch */
	unsigned batches;         /* whose order is known */
	unsigned batches_other;   /* not in the order handed over */
	unsigned batches_reverse; /* among these: exactly backwards */
	unsigned first_place;     /* where the first of these differs, from 0 */
	bool abandoned;           /* reads did not come back: what they use is not freed */
	char text[512];           /* one sentence for people; never empty once checked */
};

struct wire_check_config {
	const struct claim *claim;
	const struct backend_ops *engine; /* NULL: auto */
	enum backend_submit submit;
	unsigned depth;
	const struct scheduler_signals *signals; /* may be NULL */
};

/* 0 and a result, which is WIRE_UNKNOWN with the reason wherever nothing can be seen: no tracefs,
 * null and file targets, a device without requests of its own. -errno when the engine cannot be
 * opened or fails, -EINTR after a signal, -ETIMEDOUT when reads do not come back. ret_result is
 * set in any case. */
int wire_check(const struct wire_check_config *config, struct wire_result *ret_result,
	struct error *error);

/* Compares batches of `requests` sectors each, handed over one batch after the other, with what
 * was issued; sectors that were not handed over are other people's. A request that was issued
 * more than once (the driver had no room) counts where it was issued last. */
void wire_check_judge(const uint64_t *handed, unsigned batches, unsigned requests,
	const uint64_t *issued, size_t issued_count, struct wire_result *ret_result);

/* The byte offsets of one batch on a device of this size: away from both ends, scattered, neither
 * rising nor falling, different in each batch. False when the device is too small. */
bool wire_check_offsets(uint64_t size_bytes, uint32_t block_bytes, unsigned batch,
	unsigned requests, uint64_t *ret_offsets_bytes);

#endif
