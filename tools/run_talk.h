/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a run says to people on stderr while it goes: progress, notes, the watchdog's line about a
 * drive that does not answer. The watchdog's and the notes' sentences go to the document as well.
 */
#ifndef TOOLS_RUN_TALK_H
#define TOOLS_RUN_TALK_H

#include "tools/document.h"
#include "tools/progress.h"
#include "tools/run_cell.h"

struct run_talk {
	struct progress progress;
	struct progress_state state;
	struct run_session *session;
	const struct run_plan *plan;
	struct document *document;
	nsec_t started_ns, cell_started_ns;
	size_t cell;
	nsec_t warned_ns;      /* when the watchdog spoke last; 0: not yet */
	struct faults notes;   /* first sentence of each kind */
	size_t note_cells[64]; /* how many cells had that kind */
};

void run_talk_start(struct run_talk *talk, struct run_session *session, const struct run_plan *plan,
	struct document *document);

/* A line at once, outside the progress line. */
void run_talk_say(struct run_talk *talk, const char *text);

/* Cell `number` (from 1) of the plan enters a phase. */
void run_talk_cell(
	struct run_talk *talk, const struct run_plan *plan, size_t number, const char *phase);

/* For run_session.on_tick. */
void run_talk_tick(void *user, const struct scheduler_status *status);

/* Gathers a cell's notes. */
void run_talk_notes(struct run_talk *talk, const struct cell_result *result, size_t number);

/* Prints each kind of note once. */
void run_talk_end(struct run_talk *talk);

/* The lines above a table. */
void run_talk_heading(FILE *stream, const struct run_plan *plan);

#endif
