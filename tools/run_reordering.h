/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The summary of each traced cell: in which order the drive served it. */
#ifndef TOOLS_RUN_REORDERING_H
#define TOOLS_RUN_REORDERING_H

#include "engine/base.h"

struct run_report;

/* Reads the finished trace and sets "reordering" in the row of each of its cells, in order. What
 * cannot be told is left null; -errno with a sentence when the trace cannot be read. */
int run_reordering_add(const char *trace_path, struct run_report *report, struct error *error);

#endif
