/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/clock.h"

#include <time.h>

static nsec_t monotonic_now(const struct clock *clock)
{
	struct timespec now;

	(void)clock;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

const struct clock clock_monotonic = { .now = monotonic_now };

nsec_t clock_manual_now(const struct clock *clock)
{
	return ((const struct clock_manual *)clock)->time_ns;
}

struct clock_text clock_wall_text(void)
{
	struct clock_text text;
	struct timespec now;
	struct tm calendar;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &calendar);
	(void)strftime(text.text, sizeof(text.text), "%Y-%m-%dT%H:%M:%S+00:00", &calendar);
	return text;
}
