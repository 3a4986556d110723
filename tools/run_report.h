/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cells as rows: one column table for text, JSON and CSV. Where a figure has no meaning it is
 * null: no transactions in a pattern, no flushes where the kernel counts none.
 */
#ifndef TOOLS_RUN_REPORT_H
#define TOOLS_RUN_REPORT_H

#include "tools/report.h"
#include "tools/run_cell.h"

struct run_report {
	struct report *report;
	struct report_column *columns; /* owned */
	struct report_row **rows;      /* in the order of addition; owned */
	size_t row_count;
	char (*keys)[64]; /* of the generated columns; owned */
};

int run_report_new(const struct run_plan *plan, struct run_report *ret_report);
void run_report_done(struct run_report *report);

/* The rows so far, counted from 0. */
size_t run_report_count(const struct run_report *report);
struct report_row *run_report_row(const struct run_report *report, size_t number);

/* Adds the cell's row; the session's recorder and series are still the cell's. */
void run_report_add(struct run_report *report, const struct run_session *session,
	const struct cell_result *result);

#endif
