/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The requests of a trace's cell as one stage of the path saw them: at Q each by
 * itself, at D and C merged ones as the one that they became.
 */
#ifndef TOOLS_TRACE_LINES_H
#define TOOLS_TRACE_LINES_H

#include "tools/trace_cell.h"

/* The stages of the path by their letters in blktrace. */
enum trace_stage { TRACE_STAGE_Q, TRACE_STAGE_D, TRACE_STAGE_C, TRACE_STAGES };

/* One line of a listing. */
struct trace_line {
	nsec_t time_ns;        /* at the stage, since the start of the cell */
	uint64_t offset_bytes; /* of the first of the merged ones */
	uint64_t length_bytes; /* of all of them */
	size_t order;          /* place among the records of the first of them */
	int64_t result;        /* of the first that failed, else what was transferred in all */
	uint8_t op;
	bool fua, metadata;
};

struct trace_lines {
	struct trace_line *lines;
	size_t count;
};

/* R, W, N (no data: a flush) and the marks around it as blkparse writes them. */
struct trace_rwbs {
	char text[8];
};

/* The requests that reached the stage, in its order: Q by instant and place in the stream, D by
 * the number of their dispatch, C as they came back. -ENOMEM. */
int trace_lines_new(
	const struct trace_cell *cell, enum trace_stage stage, struct trace_lines *ret_lines);
void trace_lines_done(struct trace_lines *lines);

struct trace_rwbs trace_rwbs(const struct trace_line *line);

/* Compares records by dispatch, then by their order at Q; for qsort over pointers to them. */
int trace_compare_dispatch(const void *a, const void *b);

#endif
