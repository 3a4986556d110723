/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every request at Q, D and C, kept in a file: the evidence for what was merged, overtaken and
 * waited for.
 *
 * A trace is a file header with a text that describes the run (JSON), then one section per cell:
 * a section header with a text that describes the cell (JSON), its records in the order of their
 * completion, and a trailer with their count, so that a cut-off file is recognised. All fields are
 * little endian, written field by field. Requests that the host queue merged share one dispatch
 * number; equal completion instants are one reap (a tie).
 *
 * Writing costs one 64-byte store per request: full chunks go to a writer thread through a fixed
 * set of chunks, allocated and touched beforehand. When the disk cannot follow, the adder waits
 * and the wait is counted; nothing is dropped.
 */
#ifndef ENGINE_TRACE_H
#define ENGINE_TRACE_H

#include "engine/request.h"

#define TRACE_NEVER INT64_MIN /* an instant that was not reached */

enum trace_flags {
	TRACE_FUA = 1,
	TRACE_MERGED = 2, /* shares its dispatch number with others */
	TRACE_HELD = 4,   /* waited for an earlier request */
};

struct trace_record {
	uint64_t offset_bytes;
	nsec_t queued_ns, dispatched_ns, completed_ns; /* since the start of the cell */
	uint64_t plan;
	uint32_t sequence; /* place in the Q stream */
	uint32_t dispatch; /* place in the D order; shared by merged requests */
	uint32_t file;
	uint32_t length_bytes;
	int32_t result;
	uint8_t op, role, stage, flags;
};

struct trace_writer;
struct trace_reader;

/* Refuses to replace an existing file that is no trace. -errno with a sentence. */
int trace_writer_open(const char *path, const char *run_json, struct trace_writer **ret_writer,
	struct error *error);
int trace_writer_cell(struct trace_writer *writer, const char *cell_json);
void trace_writer_add(struct trace_writer *writer, const struct trace_record *record);
/* Ends the open cell; 0, or -errno of any write so far. */
int trace_writer_cell_end(struct trace_writer *writer);
/* How long adders waited for the disk. */
nsec_t trace_writer_waited_ns(const struct trace_writer *writer);
int trace_writer_close(struct trace_writer *writer, struct error *error);

/* Says what is wrong and at which byte: not a trace, another version, cut off. */
int trace_reader_open(const char *path, struct trace_reader **ret_reader, struct error *error);
const char *trace_reader_run(const struct trace_reader *reader);
/* The next cell: 1, 0 at the end, -errno. The text lives until the next call. */
int trace_reader_cell(struct trace_reader *reader, const char **ret_cell_json, struct error *error);
/* The next record of the cell: 1, 0 at its end, -errno (-EBADMSG where the file is cut off; what
 * came before is good). */
int trace_reader_next(
	struct trace_reader *reader, struct trace_record *ret_record, struct error *error);
void trace_reader_close(struct trace_reader *reader);

#endif
