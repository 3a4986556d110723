/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The trace of a run: one section per cell that is measured, nothing of the creation of pools.
 *
 * The scheduler adds the records itself, by an inline call: whoever plays a cell puts what
 * run_trace_begin() returns into the scheduler's configuration. A trace that cannot be written
 * any more does not end the run, whose figures are good; it is told at the end and makes the run
 * a failed one.
 */
#ifndef TOOLS_RUN_TRACE_H
#define TOOLS_RUN_TRACE_H

#include "engine/trace.h"

struct run_trace {
	struct trace_writer *writer; /* NULL: no trace was asked for */
	bool in_cell;
	int code; /* -errno of the first cell that could not be begun */
	nsec_t waited_ns;
};

/* Before the run, so that a path that cannot be written is told before hours of work. path NULL:
 * no trace, and every call below does nothing. -errno with a sentence. */
int run_trace_open(
	struct run_trace *trace, const char *path, const char *run_json, struct error *error);
/* Begins a cell that the text describes. Returns where its requests go; NULL for nowhere. */
struct trace_writer *run_trace_begin(struct run_trace *trace, const char *cell_json);
/* Ends the cell; when it returns the trace is on the disk. Returns how long requests of the cell
 * waited for the disk of the trace: more than 0 is worth a note. */
nsec_t run_trace_end(struct run_trace *trace);
/* -errno with a sentence when any part of the trace is missing. Also before leaving the process
 * with requests at the drive, since what is in memory would be lost. */
int run_trace_close(struct run_trace *trace, struct error *error);

#endif
