/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/cell_notes.h"

#include <string.h>

#include "tools/run_cell.h"

#define TOO_SHORT_NS (NSEC_PER_SEC * 9 / 10) /* a cell of --time 1s is long enough */
#define CPU_BOUND_SHARE 0.95                 /* of one processor */
#define DEPTH_SHARE 0.80 /* of the engine's depth that the device should have seen */
#define SPLIT_FROM 1.05  /* requests at the device per request sent */

static void note_time(const struct cell_result *result, struct faults *notes)
{
	if (result->status != CELL_COMPLETE || result->elapsed_ns >= TOO_SHORT_NS)
		return;
	faults_add(notes, "too short: %s give rough rates",
		result->elapsed_ns > 0 ? units_format_duration(result->elapsed_ns).text
				       : "no time and no requests");
}

static void note_processor(
	const struct run_session *session, const struct cell_result *result, struct faults *notes)
{
	double share =
		result->elapsed_ns > 0 ? (double)result->cpu_ns / (double)result->elapsed_ns : 0;

	if (session->claim->target.kind != TARGET_NULL && share >= CPU_BOUND_SHARE)
		faults_add(notes,
			"bound by the processor: %.0f %% of one was used, the device may "
			"be faster",
			share * 100);
}

/* The likely cause of a device depth below the engine's. */
static const char *depth_cause(const struct run_session *session, const struct cell_result *result)
{
	if (result->punts)
		return "worker threads of io_uring sent them";
	if (result->workers)
		return "worker threads of io_uring sent requests: more were outstanding than the "
		       "device has tags";
	if (strcmp(result->engine, "sync") == 0)
		return "the sync engine holds one request";
	/* Seen on Linux 6.18, with fio as well: 3 of 32, where mq-deadline lets 29 in. */
	if (strcmp(session->claim->device.transport, "loop") == 0 &&
		!result->cell.elevator->is_kernel)
		return "a loop device takes few requests at once under scheduler none";
	if (strcmp(session->claim->device.transport, "zram") == 0)
		return "the device completes requests while they are submitted";
	return "requests complete faster than one thread submits them";
}

static void note_depth(
	const struct run_session *session, const struct cell_result *result, struct faults *notes)
{
	double engine = recorder_depth_mean(session->recorder);
	double device = cell_device_depth(result);
	double split = cell_requests_per_io(result);
	const struct device *of = &session->claim->device;

	if (session->claim->target.kind != TARGET_BLOCK)
		return;
	if (device < 0) {
		faults_add(notes,
			"no counters: the kernel keeps none for %s (queue/iostats is 0, "
			"or there is no stat file)",
			of->name);
		return;
	}
	if (of->queue_depth && result->cell.depth > of->queue_depth)
		faults_add(notes,
			"host-queued: the drive takes %u requests, the rest of depth %u "
			"waits in the kernel",
			of->queue_depth, result->cell.depth);
	else if (of->nr_requests && result->cell.depth > of->nr_requests)
		faults_add(notes,
			"host-queued: the queue of %s has %u requests, depth %u exceeds "
			"them",
			of->name, of->nr_requests, result->cell.depth);
	if (split > SPLIT_FROM)
		faults_add(notes,
			"split: the device saw %.2f requests for each one sent; lower "
			"--max-request",
			split);
	/* At depth 1 the time between a completion and the next request is the whole difference. */
	if (result->cell.depth > 1 && result->elapsed_ns >= TOO_SHORT_NS / 2 &&
		device < DEPTH_SHARE * engine)
		faults_add(notes, "the device held %.1f requests on average, the engine %.1f: %s",
			device, engine, depth_cause(session, result));
}

static void note_counters(
	const struct run_session *session, const struct cell_result *result, struct faults *notes)
{
	uint64_t merges = result->counters.read_merges + result->counters.write_merges;
	const struct recorder_failure *failure = &session->recorder->first_failure;

	/* A kernel's elevator is there to merge; elsewhere every merge is one too many. */
	if (result->counters.valid && merges &&
		!(result->cell.elevator->is_kernel && result->cell.merge))
		faults_add(notes, "the kernel merged %llu requests", (unsigned long long)merges);
	if (result->cell.cache != CACHE_AS_IS &&
		(strcmp(result->cache_commands, "no effect expected") == 0 ||
			strcmp(result->cache_commands, "none") == 0))
		faults_add(notes, "wb and wt send the same: the target has no volatile write cache "
				  "that the kernel knows of");
	if (result->pool.no_space)
		faults_add(notes, "%llu operations found no room, %llu more their file missing",
			(unsigned long long)result->pool.no_space,
			(unsigned long long)result->pool.no_file);
	if (failure->error)
		faults_add(notes,
			"%llu requests failed; the first: %s of %u bytes at byte %llu: %s",
			(unsigned long long)recorder_errors(session->recorder),
			failure->request.op == REQUEST_READ    ? "read"
			: failure->request.op == REQUEST_WRITE ? "write"
							       : "flush",
			failure->request.length_bytes,
			(unsigned long long)failure->request.offset_bytes,
			failure->request.result >= 0 ? "short transfer"
						     : strerror(-failure->error));
}

void cell_notes_add(const struct run_session *session, struct cell_result *result)
{
	if (result->punts && strcmp(result->engine, "io_uring") == 0)
		faults_add(&result->notes,
			"%s lacks RWF_NOWAIT, so io_uring hands every request to worker threads: "
			"use --engine libaio, or auto",
			session->claim->target.name);
	if (result->trace_waited_ns > 0)
		faults_add(&result->notes, "requests waited %s for the disk that takes the trace",
			units_format_duration(result->trace_waited_ns).text);
	if (result->fallback[0])
		faults_add(&result->notes, "engine %s: %s", result->engine, result->fallback);
	if (result->status == CELL_INTERRUPTED)
		faults_add(&result->notes, "interrupted: only what was complete by then");
	if (result->status == CELL_ABANDONED)
		faults_add(&result->notes, "left at once: %u requests were still at the drive",
			result->scheduler.abandoned);
	note_time(result, &result->notes);
	note_processor(session, result, &result->notes);
	note_depth(session, result, &result->notes);
	note_counters(session, result, &result->notes);
}
