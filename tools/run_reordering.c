/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_reordering.h"

#include "tools/reorder_report.h"
#include "tools/reordering.h"
#include "tools/run_report.h"
#include "tools/trace_cell.h"

/* A summary needs the figures, not the requests. */
#define STARVED_LISTED 16

static int add_one(
	const struct trace_cell *cell, struct report_row *row, unsigned number, struct error *error)
{
	const char *sent = trace_cell_cache_commands(cell);
	const struct reordering_config config = {
		.scope = reordering_scope_of(sent, 0),
		.depth = trace_cell_depth(cell),
		.starved_max = STARVED_LISTED,
	};
	struct reordering reordering;
	int r = reordering_measure(cell->records, cell->count, &config, &reordering, error);

	if (r < 0)
		return r;
	report_set_json(row, "reordering", reorder_report_json(number, sent, &reordering));
	reordering_done(&reordering);
	return 0;
}

int run_reordering_add(const char *trace_path, struct run_report *report, struct error *error)
{
	struct trace_reader *reader;
	unsigned number = 0;
	int r = trace_reader_open(trace_path, &reader, error);

	if (r < 0)
		return r;
	while (r >= 0 && number < run_report_count(report)) {
		struct trace_cell cell;

		r = trace_cell_next(reader, &cell, error);
		if (r <= 0)
			break;
		number++;
		r = add_one(&cell, run_report_row(report, number - 1), number, error);
		trace_cell_done(&cell);
	}
	trace_reader_close(reader);
	return r < 0 ? r : 0;
}
