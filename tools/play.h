/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running one source to its end with everything measured around it: the engine's own figures, the
 * device's counters, the processor's time, the closing flush, a section of the trace.
 */
#ifndef TOOLS_PLAY_H
#define TOOLS_PLAY_H

#include "tools/run_cell.h"

/* One play of a source: what is asked of the engine. */
struct play {
	struct source *source;
	unsigned depth;
	bool durable;
	nsec_t time_limit_ns;
	bool flush;                          /* close with a flush */
	bool measure;                        /* into the session's series and trace */
	const struct run_elevator *elevator; /* NULL: first come first served */
	unsigned plans;                      /* operations in flight; 0: as the options say */
};

/* Whether requests go out one per system call. */
bool play_submits_single(const struct run_session *session);

/* Fills what the play tells of ret_result, whose cell and cache_commands are set. I/O errors are in
 * the result; -errno when it could not be played. */
int play_source(struct run_session *session, const struct play *play, struct cell_result *result,
	struct error *error);

#endif
