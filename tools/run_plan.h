/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From options and a device to cells: what will be played where, decided and checked before
 * anything is sent. Pure but for the memory it takes; `plan` shows it and `run` plays it.
 */
#ifndef TOOLS_RUN_PLAN_H
#define TOOLS_RUN_PLAN_H

#include "devices/claim.h"
#include "fsmodel/pool.h"
#include "tools/run_options.h"
#include "tools/run_queue.h"
#include "tools/trace_cell.h"

/* A run's smallest point: one line of the table. */
struct cell {
	enum cache_choice cache; /* as-is, wb or wt */
	const struct run_elevator *elevator;
	bool merge;
	const struct layout_ops *layout; /* NULL for patterns and replays */
	unsigned repeat;                 /* from 0; the seed is seed + repeat */
	unsigned depth;
	enum pattern_kind pattern; /* when layout is NULL */
	double read_share;         /* of randrw */
};

struct run_plan {
	const struct run_options *options;
	const struct claim *claim;
	bool writes;     /* any cell or the pool's creation writes */
	bool is_pattern; /* no pool: a pattern, or a replay */
	bool is_replay;  /* of the records of `replay` */
	struct trace_cell replay;
	struct run_elevators elevators;
	uint64_t area_offset_bytes, area_bytes;
	uint32_t block_bytes;   /* of the layout */
	uint64_t request_bytes; /* 0: one per extent */
	uint64_t span_bytes;    /* 0: packed */
	nsec_t time_limit_ns;
	unsigned depth_max;
	uint64_t seed;
	struct postmark_config load; /* of repeat 0 */
	const char *pool_name;       /* "SS", or the command file, or "custom" */
	bool shortened;              /* fewer transactions than the pool's own */
	uint64_t transactions_own;
	struct faults notes; /* what the load asks for and has no effect here */
	struct cell *cells;
	size_t cell_count;
	struct pool_estimate *estimates; /* by layout of the list, then repeat */
	size_t estimate_count;
	size_t memory_bytes; /* of the run in all */
};

/* The TRACE of --dispatch replay-order=TRACE; NULL when that is not asked for. */
const char *run_plan_replay_of(const struct run_options *options);

/* Whether these options write at all (before a target is opened). */
bool run_plan_wants_write(const struct run_options *options);

/* Fills the plan; every fault of the combination goes to faults. Returns 0, -EINVAL for options
 * that contradict each other (exit 2), -ENOSPC for a load that does not fit (exit 4), -ENOMEM. */
int run_plan_make(const struct run_options *options, const struct claim *claim,
	struct run_plan *ret_plan, struct faults *faults);
void run_plan_done(struct run_plan *plan);

/* The layout and load of a cell. */
void run_plan_pool_config(const struct run_plan *plan, const struct layout_ops *layout,
	unsigned repeat, struct postmark_config *ret_load, struct pool_config *ret_config);

/* The estimate that belongs to a cell; NULL for patterns. */
const struct pool_estimate *run_plan_estimate(const struct run_plan *plan, const struct cell *cell);

#endif
