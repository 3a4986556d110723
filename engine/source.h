/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where plans come from: PostMark over a layout, a pattern, later a replay. The scheduler knows
 * sources and nothing of file systems. A source is pure: it sees no wall clock, no back end and
 * no buffer, so that the stream of requests is the same in every cell.
 */
#ifndef ENGINE_SOURCE_H
#define ENGINE_SOURCE_H

#include "engine/request.h"

struct source;

struct source_ops {
	/* Fills the (cleared) plan with the next operation. Returns 1, or 0 at the end; a plan
	 * without requests is an operation that sends nothing and is done at once. */
	int (*next)(struct source *source, struct plan *plan);

	/* The plan is complete (plan->error tells how); its requests are still readable. May be
	 * NULL. */
	void (*done)(struct source *source, const struct plan *plan);

	void (*free)(struct source *source);
};

struct source {
	const struct source_ops *ops;
	size_t requests_per_plan_max; /* bound for one plan */
	uint32_t request_bytes_max;   /* bound for one request */
	bool reads_only;              /* no plan ever writes: overlaps need not be watched */
	bool endless;                 /* never ends by itself: there is no whole stream to hash */
};

#endif
