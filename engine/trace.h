/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every request at Q, D and C, kept in a file: the evidence for what was merged, overtaken and
 * waited for.
 *
 * A trace is a file header with a text that describes the run (JSON), then one section per cell:
 * a section header with a text that describes the cell (JSON), its records in the order of their
 * completion, and a trailer with their count and hash, so that a cut-off or changed file is
 * recognised. All fields are little endian, written field by field (engine/trace_format.h).
 * Requests that the host queue merged share one dispatch number; equal completion instants are
 * one reap (a tie).
 *
 * Writing costs one 64-byte store per request: full chunks go to a writer thread through a fixed
 * set of chunks, allocated and touched beforehand. When the disk cannot follow, the adder waits
 * and the wait is counted; nothing is dropped. Once a write has failed the rest is let go, since
 * nothing behind a gap could be read; the failure is told at the end of the cell. The thread
 * blocks all signals, so that they reach the loop that waits for them and a limit on the size of
 * files is an error and no SIGXFSZ.
 */
#ifndef ENGINE_TRACE_H
#define ENGINE_TRACE_H

#include <endian.h>
#include <string.h>

#include "engine/request.h"

#define TRACE_NEVER INT64_MIN /* an instant that was not reached */
#define TRACE_RECORD_BYTES 64
#define TRACE_TEXT_BYTES_MAX MIB /* of each description */

enum trace_flags {
	TRACE_FUA = 1,
	TRACE_MERGED = 2, /* shares its dispatch number with others */
	TRACE_HELD = 4,   /* waited for an earlier request */
	TRACE_FLAGS_ALL = 7,
};

struct trace_record {
	uint64_t offset_bytes;
	nsec_t queued_ns, dispatched_ns, completed_ns; /* since the start of the cell */
	uint64_t plan;
	uint32_t sequence; /* place in the Q stream, from 0 */
	uint32_t dispatch; /* place in the D order, from 0; shared by merged requests */
	uint32_t file;
	uint32_t length_bytes;
	int32_t result;
	uint8_t op, role, stage, flags;
};

/* What trace_writer_add() needs at hand; the rest is private to engine/trace.c. */
struct trace_writer {
	uint8_t *next, *end; /* where the next record goes; equal: the chunk is full */
};

struct trace_reader;

/* Refuses to replace an existing file that is no trace, and what is no file. -errno with a
 * sentence. */
int trace_writer_open(const char *path, const char *run_json, struct trace_writer **ret_writer,
	struct error *error);
/* Begins a cell. -errno of any write so far, -E2BIG for a text above the maximum or -ENOMEM: then
 * no cell is open. */
int trace_writer_cell(struct trace_writer *writer, const char *cell_json);
/* Ends the open cell; 0, or -errno of any write so far. What the cell left is on the disk then:
 * its writing back is not measured with the next cell. */
int trace_writer_cell_end(struct trace_writer *writer);
/* How long adders waited for the disk. */
nsec_t trace_writer_waited_ns(const struct trace_writer *writer);
/* Ends the open cell if there is one and frees the writer. -errno and a sentence when anything
 * could not be written. */
int trace_writer_close(struct trace_writer *writer, struct error *error);

/* For trace_writer_add() alone: hands the full chunk over and takes an empty one. */
void trace_writer_turn(struct trace_writer *writer);

static inline void trace_put_u32(uint8_t *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void trace_put_u64(uint8_t *bytes, uint64_t value)
{
	value = htole64(value);
	memcpy(bytes, &value, sizeof(value));
}

/* Adds to the open cell. Nothing is allocated; blocks only when the disk cannot follow. */
static inline void trace_writer_add(struct trace_writer *writer, const struct trace_record *record)
{
	uint8_t *bytes;

	if (__builtin_expect(writer->next == writer->end, 0))
		trace_writer_turn(writer);
	bytes = writer->next;
	writer->next = bytes + TRACE_RECORD_BYTES;
	trace_put_u64(bytes, record->offset_bytes);
	trace_put_u64(bytes + 8, (uint64_t)record->queued_ns);
	trace_put_u64(bytes + 16, (uint64_t)record->dispatched_ns);
	trace_put_u64(bytes + 24, (uint64_t)record->completed_ns);
	trace_put_u64(bytes + 32, record->plan);
	trace_put_u32(bytes + 40, record->sequence);
	trace_put_u32(bytes + 44, record->dispatch);
	trace_put_u32(bytes + 48, record->file);
	trace_put_u32(bytes + 52, record->length_bytes);
	trace_put_u32(bytes + 56, (uint32_t)record->result);
	bytes[60] = record->op;
	bytes[61] = record->role;
	bytes[62] = record->stage;
	bytes[63] = record->flags;
}

/* What a trace keeps of a request whose instants and result are final. start_ns is the start of
 * the cell; flags are TRACE_MERGED and TRACE_HELD, which the request alone does not tell. Of a
 * request that was left at the drive the caller sets completed_ns to TRACE_NEVER. */
static inline struct trace_record trace_record_of(
	const struct request *request, nsec_t start_ns, uint32_t dispatch, unsigned flags)
{
	return (struct trace_record){
		.offset_bytes = request->offset_bytes,
		.queued_ns = request->queued_ns - start_ns,
		.dispatched_ns = request->dispatched_ns - start_ns,
		.completed_ns = request->completed_ns - start_ns,
		.plan = request->plan->id,
		.sequence = (uint32_t)request->sequence,
		.dispatch = dispatch,
		.file = (uint32_t)request->plan->file,
		.length_bytes = request->length_bytes,
		.result = request->result,
		.op = request->op,
		.role = request->role,
		.stage = request->stage,
		.flags = (uint8_t)(flags | (request->fua ? TRACE_FUA : 0)),
	};
}

/* Reads front to back and never seeks, so that a pipe will do. Says what is wrong and at which
 * byte: -EINVAL for what is no trace, -ENOTSUP for another version, -EBADMSG for a file that is
 * cut off or was changed, else the errno of the system. After an error every further call returns
 * the same one. */
int trace_reader_open(const char *path, struct trace_reader **ret_reader, struct error *error);
/* The text that describes the run. */
const char *trace_reader_run(const struct trace_reader *reader);
/* The next cell, after skipping what is left of the last one: 1, 0 at the end, -errno. The text
 * lives until the next call. */
int trace_reader_cell(struct trace_reader *reader, const char **ret_cell_json, struct error *error);
/* The next record of the cell: 1, 0 at its end, -errno (-EBADMSG where the file is cut off; what
 * came before is good). Operation, role and flags are among those known here. */
int trace_reader_next(
	struct trace_reader *reader, struct trace_record *ret_record, struct error *error);
void trace_reader_close(struct trace_reader *reader);

#endif
