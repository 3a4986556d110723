/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The requests of a trace as the drive got them: records that share a dispatch number are one
 * request. What is said about the drive's order counts these, since the drive knows no others.
 */
#ifndef ENGINE_MERGED_H
#define ENGINE_MERGED_H

#include "engine/trace.h"

struct merged_request {
	uint64_t offset_bytes;
	nsec_t queued_ns; /* of the child that was queued first */
	nsec_t dispatched_ns, completed_ns;
	uint32_t length_bytes;
	uint32_t sequence; /* the lowest of its children */
	uint32_t dispatch;
	uint32_t children;
	uint32_t file; /* of the child with that sequence, as is its role */
	uint8_t op, role;
	bool fua;
	bool failed; /* the result of a child is an error */
};

struct merged {
	struct merged_request
		*requests; /* in the order of their dispatch; flushes are among them */
	size_t count;
	uint64_t unfinished; /* records that never reached the drive or never came back; left out */
};

/* -EBADMSG with a sentence when children of one request differ in what they must share
 * (operation, instants) or leave a gap; -ENOMEM. */
int merged_new(const struct trace_record *records, size_t count, struct merged *ret_merged,
	struct error *error);
void merged_done(struct merged *merged);

#endif
