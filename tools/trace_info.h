/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a trace holds, one row per cell: what was played, how many requests of each kind, their
 * bytes, how many were merged, how long it took, and whether the cell is whole.
 */
#ifndef TOOLS_TRACE_INFO_H
#define TOOLS_TRACE_INFO_H

#include "engine/trace.h"

struct report;

/* Reads the trace to its end. ret_report is set in any case and holds every cell that was begun,
 * the last one marked as cut off when the file is: then -errno with a sentence. */
int trace_info(struct trace_reader *reader, struct report **ret_report, struct error *error);

#endif
