/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cell of a trace for people and for awk: one line `time_us rwbs lba sectors` per request at one
 * stage, in that stage's order. Sectors are of 512 bytes, as everywhere in Linux.
 */
#ifndef TOOLS_TRACE_PRINT_H
#define TOOLS_TRACE_PRINT_H

#include <stdio.h>

#include "tools/trace_lines.h"

#define TRACE_SECTOR_BYTES 512u

/* -ENOMEM with a sentence. Errors of the stream stay in it. */
int trace_print(
	const struct trace_cell *cell, enum trace_stage stage, FILE *stream, struct error *error);

#endif
