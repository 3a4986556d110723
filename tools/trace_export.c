/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace_export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/trace_print.h"

static int no_memory(const struct trace_cell *cell, struct error *error)
{
	return error_set(error, -ENOMEM, "no memory to sort the %zu requests of cell %u",
		cell->count, cell->number);
}

/* Instants before the start of the cell there are none in a sound trace. */
static uint64_t not_negative(nsec_t time_ns)
{
	return time_ns < 0 ? 0 : (uint64_t)time_ns;
}

/* fio 3.33's iolog.c counts in microseconds and needs offset and length with a sync too. */
int trace_export_fio(const struct trace_cell *cell, enum trace_stage stage, FILE *stream,
	uint64_t *ret_fua, struct error *error)
{
	static const char *const actions[] = {
		[REQUEST_READ] = "read",
		[REQUEST_WRITE] = "write",
		[REQUEST_FLUSH] = "sync",
	};
	struct trace_lines lines;
	uint64_t last_us = 0;

	if (trace_lines_new(cell, stage, &lines) < 0)
		return no_memory(cell, error);
	*ret_fua = 0;
	(void)fputs("fio version 3 iolog\n0 " TRACE_EXPORT_TARGET " add\n0 " TRACE_EXPORT_TARGET
		    " open\n",
		stream);
	for (size_t i = 0; i < lines.count; i++) {
		const struct trace_line *line = &lines.lines[i];

		last_us = max_u64(last_us, not_negative(line->time_ns) / NSEC_PER_USEC);
		*ret_fua += line->op == REQUEST_WRITE && line->fua;
		(void)fprintf(stream,
			"%" PRIu64 " " TRACE_EXPORT_TARGET " %s %" PRIu64 " %" PRIu64 "\n", last_us,
			actions[line->op], line->offset_bytes, line->length_bytes);
	}
	(void)fprintf(stream, "%" PRIu64 " " TRACE_EXPORT_TARGET " close\n", last_us);
	trace_lines_done(&lines);
	return 0;
}

struct blkparse {
	FILE *stream;
	unsigned device_major, device_minor;
	unsigned long long sequence;
	struct trace_lines stages[TRACE_STAGES];
	char *merges; /* by record: M or F when it joined another one, else 0 */
};

/* What stands in front of every line: process_default() in blkparse_fmt.c of blktrace 1.3. There
 * is one CPU and no process but this one. */
static void print_head(struct blkparse *out, char action, const struct trace_line *line)
{
	uint64_t time_ns = not_negative(line->time_ns);

	(void)fprintf(out->stream, "%3u,%-3u %2d %8llu %5" PRIu64 ".%09" PRIu64 " %5u %2c %3s ",
		out->device_major, out->device_minor, 0, ++out->sequence, time_ns / NSEC_PER_SEC,
		time_ns % NSEC_PER_SEC, 0, action, trace_rwbs(line).text);
}

/* Lines of requests without data leave the place out, except at their completion. */
static void print_event(struct blkparse *out, char action, const struct trace_line *line)
{
	uint64_t sector = line->offset_bytes / TRACE_SECTOR_BYTES;
	uint64_t sectors = line->length_bytes / TRACE_SECTOR_BYTES;

	print_head(out, action, line);
	if (sectors)
		(void)fprintf(out->stream, "%" PRIu64 " + %" PRIu64 " ", sector, sectors);
	else if (action == 'C')
		(void)fprintf(out->stream, "%" PRIu64 " ", sector);
	/* struct blk_io_trace holds the negative errno in 16 bits without sign. */
	if (action == 'C')
		(void)fprintf(out->stream, "[%u]\n",
			line->result < 0 ? (unsigned)(uint16_t)line->result : 0);
	else
		(void)fputs("[bareplatter]\n", out->stream);
}

/* Who joined whom: of the requests with one dispatch number the first at Q is the one that the
 * others were merged with, behind or before it. */
static int find_merges(const struct trace_cell *cell, struct blkparse *out)
{
	size_t room = cell->count ? cell->count : 1, count = 0;
	_cleanup_free_ const struct trace_record **sorted = calloc(room, sizeof(*sorted));
	const struct trace_record *parent = NULL;

	out->merges = calloc(room, 1);
	if (!sorted || !out->merges)
		return -ENOMEM;
	for (size_t i = 0; i < cell->count; i++)
		if (cell->records[i].dispatched_ns != TRACE_NEVER)
			sorted[count++] = &cell->records[i];
	qsort(sorted, count, sizeof(*sorted), trace_compare_dispatch);
	for (size_t i = 0; i < count; i++) {
		if (!parent || sorted[i]->dispatch != parent->dispatch)
			parent = sorted[i];
		else
			out->merges[sorted[i] - cell->records] =
				sorted[i]->offset_bytes < parent->offset_bytes ? 'F' : 'M';
	}
	return 0;
}

/* The next event of all stages. Where instants are equal Q comes before D before C, so that no
 * request is complete before it was sent. */
static enum trace_stage next_stage(const struct blkparse *out, const size_t at[TRACE_STAGES])
{
	enum trace_stage next = TRACE_STAGES;

	for (enum trace_stage stage = TRACE_STAGE_Q; stage < TRACE_STAGES; stage++) {
		const struct trace_lines *lines = &out->stages[stage];

		if (at[stage] < lines->count &&
			(next == TRACE_STAGES || lines->lines[at[stage]].time_ns <
							 out->stages[next].lines[at[next]].time_ns))
			next = stage;
	}
	return next;
}

static void print_events(struct blkparse *out)
{
	static const char letters[] = { 'Q', 'D', 'C' };
	size_t at[TRACE_STAGES] = { 0 };
	enum trace_stage stage;

	while ((stage = next_stage(out, at)) != TRACE_STAGES) {
		const struct trace_line *line = &out->stages[stage].lines[at[stage]++];

		print_event(out, letters[stage], line);
		if (stage == TRACE_STAGE_Q && out->merges[line->order])
			print_event(out, out->merges[line->order], line);
	}
}

int trace_export_blkparse(const struct trace_cell *cell, unsigned device_major,
	unsigned device_minor, FILE *stream, struct error *error)
{
	struct blkparse out = {
		.stream = stream, .device_major = device_major, .device_minor = device_minor
	};
	int r = find_merges(cell, &out);

	for (enum trace_stage stage = TRACE_STAGE_Q; r == 0 && stage < TRACE_STAGES; stage++)
		r = trace_lines_new(cell, stage, &out.stages[stage]);
	if (r == 0)
		print_events(&out);
	for (enum trace_stage stage = TRACE_STAGE_Q; stage < TRACE_STAGES; stage++)
		trace_lines_done(&out.stages[stage]);
	free(out.merges);
	return r < 0 ? no_memory(cell, error) : 0;
}
