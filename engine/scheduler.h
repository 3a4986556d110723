/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop between a source and a back end, and the gate that keeps the depth exact.
 *
 *   source -> plan -> [held] -> window (host queue, Q) -> depth gate -> back end (D) -> recorder
 * (C)
 *
 * Operations are drawn in the source's order. A request enters the host queue when its stage is
 * open, nothing that it must wait for is unfinished (else it is held; later ones may pass) and its
 * direction has room in the window (as many reads and as many writes as Linux's nr_requests).
 * From there up to `depth` transfers are at the drive. At every blocking wait exactly depth are at
 * the drive, or nothing is dispatchable (a starved wait). Flushes are not counted.
 *
 * Nothing is allocated after scheduler_new; one clock reading per wait and one per submission.
 */
#ifndef ENGINE_SCHEDULER_H
#define ENGINE_SCHEDULER_H

#include <signal.h>

#include "engine/backend.h"
#include "engine/buffers.h"
#include "engine/clock.h"
#include "engine/host_queue.h"
#include "engine/recorder.h"
#include "engine/source.h"
#include "engine/stamp.h"
#include "engine/trace.h"

/* Set by signal handlers, read by the loop; a signal interrupts the wait. */
struct scheduler_signals {
	volatile sig_atomic_t stop; /* 1: stop drawing, drain, report; 2 and more: leave at once */
	volatile sig_atomic_t tick; /* report progress */
};

struct scheduler_status {
	nsec_t now_ns; /* since the start of the run */
	uint64_t requests_completed;
	uint64_t bytes_completed;
	uint64_t errors;
	unsigned at_drive;
	double depth_mean; /* at the drive so far */
	bool draining;
	nsec_t oldest_age_ns;  /* of the request longest at the drive; 0 when none */
	struct request oldest; /* copy */
};

enum scheduler_reads { READS_ASYNC, READS_BLOCKING };
enum scheduler_order { ORDER_FREE, ORDER_STRICT };

struct scheduler_config {
	const struct clock *clock;
	struct source *source;
	struct backend *backend;
	const struct target *target;
	struct buffers *buffers; /* NULL: requests carry no data (null back end) */
	struct recorder *recorder;
	unsigned depth;                      /* transfers at the drive */
	unsigned flushes;                    /* flushes at the drive besides; at least 1 */
	unsigned window;                     /* requests allocated per direction, >= depth */
	unsigned plans;                      /* operations in flight */
	const struct elevator_ops *elevator; /* NULL: noop */
	struct elevator_options elevator_options;
	bool merge;
	uint32_t max_request_bytes; /* of a merged request */
	uint32_t streams;           /* a plan's stream is below that; 0 means 1 */
	struct trace_writer *trace; /* with an open cell; NULL: no trace */
	enum scheduler_reads reads;
	enum scheduler_order order;
	bool durable_writes;   /* every write carries fua */
	bool stamp;            /* write stamps into what is written */
	uint16_t run;          /* for the stamps */
	struct shadow *shadow; /* verify what is read; NULL: do not */
	struct stamp_report *verify;
	nsec_t time_limit_ns; /* stop drawing after that; 0 = none */
	struct scheduler_signals *signals;
	void (*on_tick)(void *user, const struct scheduler_status *status);
	void *user;
};

enum scheduler_end {
	SCHEDULER_COMPLETE,
	SCHEDULER_TIME_UP,
	SCHEDULER_INTERRUPTED, /* drained after the first signal */
	SCHEDULER_ABANDONED,   /* left with requests at the drive: their buffers must stay */
	SCHEDULER_DEVICE_LOST, /* ENODEV and its like; drained */
};

struct scheduler_result {
	enum scheduler_end end;
	uint64_t plans; /* with at least one request */
	uint64_t requests_queued;
	uint64_t requests_dispatched; /* merged ones once, flushes included */
	uint64_t requests_cancelled;  /* stages behind a failed one */
	uint64_t held;
	struct host_queue_merges merges;
	uint64_t waits;         /* blocking waits */
	uint64_t starved_waits; /* of those, with less than depth at the drive */
	uint64_t plan_errors;
	unsigned abandoned; /* requests left at the drive */
	nsec_t started_ns, finished_ns;
	uint64_t q_stream_hash; /* XXH3 over (offset, length, op, role, stage, fua) in Q order */
};

struct scheduler;

/* Asserts that a source that writes has a writable target. -ENOMEM, -EINVAL. */
int scheduler_new(const struct scheduler_config *config, struct scheduler **ret_scheduler,
	struct error *error);
void scheduler_free(struct scheduler *scheduler);

/* Runs the source to its end. 0 (I/O errors are data: see the recorder), or -errno when the back
 * end itself failed. */
int scheduler_run(
	struct scheduler *scheduler, struct scheduler_result *ret_result, struct error *error);

/* Memory that scheduler_new takes, but for a host queue that sorts, with a source of that many
 * requests per plan at most. */
size_t scheduler_memory_bytes(size_t requests_per_plan_max, unsigned window, unsigned plans);

#endif
