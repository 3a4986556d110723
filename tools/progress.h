/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far a run is, on stderr only.
 *
 * On a terminal one line is rewritten in place; elsewhere a plain line follows every five seconds,
 * so that a log stays readable. SIGUSR1 prints one line at once, as with dd, also under --quiet.
 * Formatting is a pure function; time is an argument.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdio.h>

#include "engine/base.h"

struct progress_state {
	unsigned cell, cells; /* 1 of n; cells 0: not part of a series */
	const char *phase;    /* create, transactions, flush ... */
	uint64_t done, total; /* of the phase; total 0: unknown */
	const char *unit;     /* what is counted: "transactions", "requests" */
	double rate_per_s;    /* 0: not known yet */
	double depth;         /* at the drive; negative: not known */
	nsec_t left_ns;       /* of the whole run; NSEC_NEVER: unknown */
};

struct progress {
	FILE *stream;
	bool terminal, quiet;
	size_t width;   /* of the terminal; 0: unknown */
	nsec_t next_ns; /* when the next line is due */
	size_t shown;   /* columns of the line that stands there */
};

/* stderr. The width is the terminal's. */
void progress_start(struct progress *progress, bool quiet);

/* True when a line would be printed now, so that the state need not be gathered otherwise. */
bool progress_due(const struct progress *progress, nsec_t now_ns);

/* Prints when it is due. */
void progress_update(struct progress *progress, const struct progress_state *state, nsec_t now_ns);

/* Takes the line off the terminal, before other text or at the end. */
void progress_clear(struct progress *progress);

/* Lets SIGUSR1 ask for a line. */
void progress_listen(void);

/* One line of at most width columns (0: no limit), without a newline. What does not fit is left
 * out from the end, part by part. */
void progress_format(const struct progress_state *state, size_t width, char *ret_text, size_t size);

#endif
