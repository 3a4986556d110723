/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a series of windows settled: the rule of the SNIA Solid State Storage Performance Test
 * Specification (range and slope over five rounds), with rounds that hold both a minimum of time
 * and a minimum of operations, so that a slow disk is not judged by a handful of requests. "Not
 * reached" is a result; nothing is prolonged to reach it.
 */
#ifndef TOOLS_STEADY_H
#define TOOLS_STEADY_H

#include "engine/series.h"

struct steady_rule {
	unsigned rounds;           /* 5 (SNIA PTS, measurement window) */
	nsec_t round_ns;           /* at least this long */
	uint64_t round_operations; /* and at least so many */
	double range_share;        /* max - min within this share of the mean: 0.20 (SNIA PTS) */
	double slope_share;        /* rise of the fitted line within: 0.10 (SNIA PTS) */
};

struct steady {
	bool reached;
	nsec_t from_ns, to_ns; /* of the rounds that fulfil the rule first */
	double mean_per_s;     /* over them */
	unsigned rounds;       /* that the series gave */
};

extern const struct steady_rule steady_rule_default;

struct steady steady_judge(
	const struct steady_rule *rule, const struct series_row *rows, size_t count);

/* The rule as a sentence part, for results. */
struct steady_text {
	char text[160];
};
struct steady_text steady_rule_text(const struct steady_rule *rule);

#endif
