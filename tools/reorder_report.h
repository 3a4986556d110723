/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The figures of tools/reordering as rows of a report: `reorder` prints them, a run puts the same
 * object into each of its cells. Unknown figures are null.
 */
#ifndef TOOLS_REORDER_REPORT_H
#define TOOLS_REORDER_REPORT_H

#include "tools/reordering.h"
#include "tools/report.h"

/* As many as a document lists of those that waited too long; the count is always whole. */
#define REORDER_STARVED_LISTED 1000u

struct report *reorder_report_new(void);

/* A row; commands are the cell's cache_commands, "" when unknown. */
void reorder_report_add(struct report *report, unsigned cell, const char *commands,
	const struct reordering *reordering);

/* The row of one cell alone, for the cell of a document. */
struct json_object *reorder_report_json(
	unsigned cell, const char *commands, const struct reordering *reordering);

/* At most lines of those that waited too long, and how many more there are; nothing for none. */
void reorder_report_starved(const struct reordering *reordering, unsigned lines, FILE *stream);

#endif
