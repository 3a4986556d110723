/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cell of a trace in the words of other tools.
 *
 * fio: an iolog of version 3 (fio(1), "Trace file format v3"), to be replayed with --read_iolog.
 * The file in it is called "target", so that a replay writes nowhere until --replay_redirect says
 * where. fio's iolog has no FUA: such writes are plain ones, and whoever exports is told.
 *
 * blkparse: the text that blkparse(1) prints by default, of the events Q, M and F (merged behind
 * or before), D and C.
 */
#ifndef TOOLS_TRACE_EXPORT_H
#define TOOLS_TRACE_EXPORT_H

#include <stdio.h>

#include "tools/trace_lines.h"

#define TRACE_EXPORT_TARGET "target"

/* The requests as the stage saw them, in its order and at its instants. ret_fua: how many writes
 * lost their FUA. -ENOMEM with a sentence. Errors of the stream stay in it. */
int trace_export_fio(const struct trace_cell *cell, enum trace_stage stage, FILE *stream,
	uint64_t *ret_fua, struct error *error);

/* Of the device that the numbers name. The same. */
int trace_export_blkparse(const struct trace_cell *cell, unsigned device_major,
	unsigned device_minor, FILE *stream, struct error *error);

#endif
