/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is kept of a run: per request operation the count, bytes, errors and two histograms (host
 * time, queued to dispatched; drive time, dispatched to completed), the same times for the
 * requests of creates and appends, the extent of the run and, from the
 * sum of the drive times, the mean number of transfers at the drive (Little's law). A series of
 * windows over time may be attached. Nothing is corrected afterwards.
 */
#ifndef ENGINE_RECORDER_H
#define ENGINE_RECORDER_H

#include "engine/histogram.h"
#include "engine/request.h"
#include "engine/series.h"

/* Times of the writes that one kind of file operation made. */
struct recorder_kind {
	struct histogram drive;
	struct histogram host;
};

enum recorder_kinds { RECORDER_CREATE, RECORDER_APPEND, RECORDER_KINDS };

struct recorder_operation {
	uint64_t completed; /* without error */
	uint64_t bytes;
	uint64_t errors;
	struct histogram drive;
	struct histogram host;
};

struct recorder_failure {
	struct request request; /* copy; plan and buffer pointers are not valid any more */
	int error;
};

struct recorder {
	struct recorder_operation operations[REQUEST_OPS];
	struct recorder_kind kinds[RECORDER_KINDS];
	nsec_t first_dispatch_ns, last_completion_ns; /* of transfers; 0 before the first */
	bool started;
	nsec_t at_drive_ns; /* transfers at the drive, summed over them; merged ones count once */
	struct recorder_failure first_failure; /* error 0 while there is none */
	struct series *series;                 /* may be NULL */
};

void recorder_clear(struct recorder *recorder, struct series *series);

/* Adds a request whose instants and result are final. error is 0 or -errno as judged. */
static inline void recorder_add(struct recorder *recorder, const struct request *request, int error)
{
	struct recorder_operation *operation = &recorder->operations[request->op];
	nsec_t drive_ns = request->completed_ns - request->dispatched_ns;

	if (!recorder->started || request->dispatched_ns < recorder->first_dispatch_ns) {
		recorder->first_dispatch_ns = request->dispatched_ns;
		recorder->started = true;
	}
	if (request->completed_ns > recorder->last_completion_ns)
		recorder->last_completion_ns = request->completed_ns;
	histogram_add(&operation->drive, drive_ns);
	histogram_add(&operation->host, request->dispatched_ns - request->queued_ns);
	if (request->plan->kind == PLAN_CREATE || request->plan->kind == PLAN_APPEND) {
		struct recorder_kind *kind =
			&recorder->kinds[request->plan->kind == PLAN_CREATE ? RECORDER_CREATE
									    : RECORDER_APPEND];

		histogram_add(&kind->drive, drive_ns);
		histogram_add(&kind->host, request->dispatched_ns - request->queued_ns);
	}
	if (__builtin_expect(error != 0, 0)) {
		if (!operation->errors++ && !recorder->first_failure.error) {
			recorder->first_failure.request = *request;
			recorder->first_failure.error = error;
		}
	} else {
		operation->completed++;
		operation->bytes += request->length_bytes;
	}
	if (recorder->series)
		series_add(recorder->series, request->completed_ns, drive_ns, request->length_bytes,
			request->op == REQUEST_WRITE);
}

/* Last completion - first dispatch; 0 when nothing ran. */
nsec_t recorder_elapsed_ns(const struct recorder *recorder);

/* Mean number of transfers (no flushes) at the drive over that time. */
double recorder_depth_mean(const struct recorder *recorder);
uint64_t recorder_errors(const struct recorder *recorder);

#endif
