/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Playing one cell: the pool (created once, rewound between cells), the engine, the counters
 * around it, the closing flush, the verification. What it finds is data; it prints nothing.
 */
#ifndef TOOLS_RUN_CELL_H
#define TOOLS_RUN_CELL_H

#include "devices/counters.h"
#include "tools/run_plan.h"
#include "tools/run_trace.h"

struct run_session {
	const struct run_plan *plan;
	const struct claim *claim;
	struct scheduler_signals *signals;
	struct buffers buffers;
	struct recorder *recorder;
	struct series *series;   /* NULL unless --series or a time-ended cell wants it */
	struct run_trace *trace; /* does nothing unless it was opened */
	struct shadow *shadow;   /* only with --verify */
	uint16_t run;            /* for the stamps */
	struct postmark_config load;
	struct pool *pool;
	const struct layout_ops *pool_layout;
	unsigned pool_repeat;
	bool pool_fresh;       /* as creation left it */
	bool single;           /* batches were seen out of order: one per system call */
	bool lasting_harm;     /* requests were left at the drive: memory must stay */
	uint32_t inflight_max; /* of the cell, sampled at ticks */
	void (*on_tick)(void *user, const struct scheduler_status *status);
	void *user;
};

enum cell_status {
	CELL_COMPLETE,
	CELL_FAILED, /* I/O or data errors */
	CELL_INTERRUPTED,
	CELL_ABANDONED, /* left at once: requests were still at the drive */
	CELL_DEVICE_LOST,
	CELL_STATUSES
};
extern const char *const cell_status_names[];

struct cell_result {
	struct cell cell;
	enum cell_status status;
	const char *cache_commands; /* by the commands sent: plain, fua, write+flush ... */
	const char *submit;         /* batch or single */
	char engine[16];
	char engine_level[160];
	char fallback[512]; /* why --engine auto did not take io_uring */
	bool punts;
	struct scheduler_result scheduler;
	struct pool_counts pool;     /* of the transactions */
	struct postmark_counts load; /* of the whole PostMark run, cleanup included */
	nsec_t elapsed_ns, flush_ns; /* flush_ns: -1 when none was sent */
	nsec_t trace_waited_ns;      /* for the disk that takes the trace */
	nsec_t cpu_ns;               /* user and system, all threads */
	struct counters counters;    /* of the device, over the cell and its closing flush */
	uint32_t inflight_max;
	unsigned workers; /* io-wq threads seen at the end */
	struct stamp_report verify;
	uint64_t readback_files; /* read back after the cell; 0 without --verify */
	struct faults notes;     /* sentences for people: what weakens the figures */
};

int run_session_open(struct run_session *session, const struct run_plan *plan,
	struct scheduler_signals *signals, struct error *error);
void run_session_close(struct run_session *session);

/* Writes the pool that the cell needs unless it is there already; result as of a cell. Returns 1
 * when something was played, 0 when nothing was needed, -errno. */
int run_create(struct run_session *session, const struct cell *cell, struct cell_result *ret_result,
	struct error *error);

/* Plays the cell. I/O errors are in the result; -errno when it could not be played. */
int run_cell(struct run_session *session, const struct cell *cell, struct cell_result *ret_result,
	struct error *error);
/* What the cell plays: the layout's, the pattern's name, or "replay". */
const char *run_cell_load(const struct run_plan *plan, const struct cell *cell);

void cell_result_done(struct cell_result *result);

/* transactions (or blocks) a second; 0 when nothing took any time. */
double cell_rate(uint64_t count, nsec_t elapsed_ns);

/* Depth as the device saw it, by Little's law; negative when there are no counters. */
double cell_device_depth(const struct cell_result *result);

/* Requests at the device per request sent; negative when there are no counters. */
double cell_requests_per_io(const struct cell_result *result);

#endif
