/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A load's operations as text, one per line, as the original performs them on its files:
 *
 *   C NAME BYTES   create    A NAME BYTES   append    R NAME BYTES   read    D NAME   delete
 *
 * NAME is PostMark's: [location/][s<subdirectory>/]<number>. A wasted half leaves no line, as it
 * leaves no trace in the original. `# run N` stands before the second and every later run.
 */
#ifndef TOOLS_OPERATIONS_H
#define TOOLS_OPERATIONS_H

#include <stdio.h>

#include "fsmodel/postmark_file.h"

struct report;

/* Writes every run's operations. -ENOMEM when a slot table does not fit, -EIO when the stream
 * does not take it. */
int operations_print(const struct postmark_runs *runs, FILE *stream, struct error *error);

/* Plays every run silently and makes one row per run: how many of everything, in all and by
 * halves, so that read + appended + appends wasted = transactions. -ENOMEM. */
int operations_count(
	const struct postmark_runs *runs, struct report **ret_report, struct error *error);

/* Bytes as PostMark's report words them, from its single-precision counter. */
struct operations_megabytes {
	char text[48];
};
struct operations_megabytes operations_megabytes(float bytes);

#endif
