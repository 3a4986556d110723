/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What weakens a cell's figures, in sentences: too short, bound by the processor, another depth at
 * the device than asked for (with the likely cause), merged by the kernel, no effect expected.
 */
#ifndef TOOLS_CELL_NOTES_H
#define TOOLS_CELL_NOTES_H

struct run_session;
struct cell_result;

/* Adds to result->notes; everything else of the result must be final. */
void cell_notes_add(const struct run_session *session, struct cell_result *result);

#endif
