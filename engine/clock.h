/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time as an argument: whoever needs an instant is given a clock. On a device it is
 * CLOCK_MONOTONIC (engine/clock.c, the one file that may call it); tests and a simulated drive
 * put a number in its place. Reading it costs about 27 ns through the vDSO, so the scheduler
 * reads it once per batch and not once per request.
 */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include "engine/base.h"

struct clock {
	nsec_t (*now)(const struct clock *clock);
};

/* The monotonic clock of the machine. */
extern const struct clock clock_monotonic;

/* Wall-clock seconds since 1970 as RFC 3339 text with offset, for result files only. */
struct clock_text {
	char text[40];
};
struct clock_text clock_wall_text(void);

/* A clock that stands still until it is set; for tests. */
struct clock_manual {
	struct clock clock;
	nsec_t time_ns;
};
nsec_t clock_manual_now(const struct clock *clock);

static inline nsec_t clock_now(const struct clock *clock)
{
	return clock->now(clock);
}

#endif
