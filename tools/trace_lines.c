/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace_lines.h"

#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* A total order: whatever the file says, the listing is always the same. */
static int compare_queued(const void *pointer_a, const void *pointer_b)
{
	const struct trace_record *a = *(const struct trace_record *const *)pointer_a;
	const struct trace_record *b = *(const struct trace_record *const *)pointer_b;

	if (a->queued_ns != b->queued_ns)
		return a->queued_ns < b->queued_ns ? -1 : 1;
	if (a->sequence != b->sequence)
		return compare(a->sequence, b->sequence);
	return compare((uintptr_t)a, (uintptr_t)b);
}

int trace_compare_dispatch(const void *pointer_a, const void *pointer_b)
{
	const struct trace_record *a = *(const struct trace_record *const *)pointer_a;
	const struct trace_record *b = *(const struct trace_record *const *)pointer_b;

	if (a->dispatch != b->dispatch)
		return compare(a->dispatch, b->dispatch);
	return compare_queued(pointer_a, pointer_b);
}

static int compare_order(const void *pointer_a, const void *pointer_b)
{
	const struct trace_line *a = pointer_a, *b = pointer_b;

	return compare(a->order, b->order);
}

static nsec_t instant(const struct trace_record *record, enum trace_stage stage)
{
	switch (stage) {
	case TRACE_STAGE_Q:
		return record->queued_ns;
	case TRACE_STAGE_D:
		return record->dispatched_ns;
	default:
		return record->completed_ns;
	}
}

static struct trace_line line_of(
	const struct trace_cell *cell, const struct trace_record *record, enum trace_stage stage)
{
	return (struct trace_line){
		.time_ns = instant(record, stage),
		.offset_bytes = record->offset_bytes,
		.length_bytes = record->length_bytes,
		.order = (size_t)(record - cell->records),
		.result = record->result,
		.op = record->op,
		.fua = record->flags & TRACE_FUA,
		.metadata = record->role != ROLE_DATA,
	};
}

/* A further request becomes part of the line. */
static void merge(struct trace_line *line, const struct trace_line *part)
{
	if (part->offset_bytes < line->offset_bytes)
		line->offset_bytes = part->offset_bytes;
	line->length_bytes += part->length_bytes;
	if (part->order < line->order) {
		line->order = part->order;
		line->time_ns = part->time_ns;
	}
	if (line->result >= 0)
		line->result = part->result < 0 ? part->result : line->result + part->result;
	line->fua |= part->fua;
	line->metadata |= part->metadata;
}

int trace_lines_new(
	const struct trace_cell *cell, enum trace_stage stage, struct trace_lines *ret_lines)
{
	size_t room = cell->count ? cell->count : 1, count = 0;
	_cleanup_free_ const struct trace_record **sorted = calloc(room, sizeof(*sorted));
	struct trace_line *lines = calloc(room, sizeof(*lines));
	struct trace_lines result = { lines, 0 };

	if (!sorted || !lines) {
		free(lines);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cell->count; i++)
		if (instant(&cell->records[i], stage) != TRACE_NEVER)
			sorted[count++] = &cell->records[i];
	qsort(sorted, count, sizeof(*sorted),
		stage == TRACE_STAGE_Q ? compare_queued : trace_compare_dispatch);
	for (size_t i = 0; i < count; i++) {
		const struct trace_line line = line_of(cell, sorted[i], stage);

		if (stage != TRACE_STAGE_Q && i > 0 &&
			sorted[i]->dispatch == sorted[i - 1]->dispatch)
			merge(&lines[result.count - 1], &line);
		else
			lines[result.count++] = line;
	}
	if (stage == TRACE_STAGE_C)
		qsort(lines, result.count, sizeof(*lines), compare_order);
	*ret_lines = result;
	return 0;
}

void trace_lines_done(struct trace_lines *lines)
{
	free(lines->lines);
	*lines = (struct trace_lines){ 0 };
}

/* By fill_rwbs() in blkparse_fmt.c of blktrace 1.3: a flush is a request without data that has
 * the flag before the letter, FUA has it behind, metadata comes last. */
struct trace_rwbs trace_rwbs(const struct trace_line *line)
{
	static const char *const letters[] = {
		[REQUEST_READ] = "R",
		[REQUEST_WRITE] = "W",
		[REQUEST_FLUSH] = "FN",
	};
	bool transfer = line->op != REQUEST_FLUSH;
	struct trace_rwbs rwbs;
	char *end = stpcpy(rwbs.text, letters[line->op]);

	if (transfer && line->fua)
		*end++ = 'F';
	if (transfer && line->metadata)
		*end++ = 'M';
	*end = '\0';
	return rwbs;
}
