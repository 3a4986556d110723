/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace_print.h"

#include <inttypes.h>

/* Nanoseconds as microseconds with 3 decimals. */
static void print_time(nsec_t time_ns, FILE *stream)
{
	uint64_t size_ns = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;

	(void)fprintf(stream, "%s%" PRIu64 ".%03" PRIu64, time_ns < 0 ? "-" : "",
		size_ns / NSEC_PER_USEC, size_ns % NSEC_PER_USEC);
}

int trace_print(
	const struct trace_cell *cell, enum trace_stage stage, FILE *stream, struct error *error)
{
	struct trace_lines lines;

	if (trace_lines_new(cell, stage, &lines) < 0)
		return error_set(error, -ENOMEM, "no memory to sort the %zu requests of cell %u",
			cell->count, cell->number);
	for (size_t i = 0; i < lines.count; i++) {
		const struct trace_line *line = &lines.lines[i];

		print_time(line->time_ns, stream);
		(void)fprintf(stream, " %s %" PRIu64 " %" PRIu64 "\n", trace_rwbs(line).text,
			line->offset_bytes / TRACE_SECTOR_BYTES,
			line->length_bytes / TRACE_SECTOR_BYTES);
	}
	trace_lines_done(&lines);
	return 0;
}
