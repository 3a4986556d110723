/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/steady.h"

#include <stdio.h>

#define ROUNDS_MAX 32

const struct steady_rule steady_rule_default = {
	.rounds = 5,
	.round_ns = NSEC_PER_SEC,
	.round_operations = 100, /* assumed: 10 % noise of a Poisson count */
	.range_share = 0.20,
	.slope_share = 0.10,
};

struct round {
	nsec_t start_ns, end_ns;
	double rate;
};

static bool fulfils(const struct steady_rule *rule, const struct round *rounds, double *ret_mean)
{
	double sum = 0, low = rounds[0].rate, high = low, slope = 0, weight = 0;
	double middle = (rule->rounds - 1) / 2.0;

	for (unsigned i = 0; i < rule->rounds; i++) {
		sum += rounds[i].rate;
		low = rounds[i].rate < low ? rounds[i].rate : low;
		high = rounds[i].rate > high ? rounds[i].rate : high;
	}
	*ret_mean = sum / rule->rounds;
	/* Least squares over the round's number. */
	for (unsigned i = 0; i < rule->rounds; i++) {
		slope += (i - middle) * (rounds[i].rate - *ret_mean);
		weight += (i - middle) * (i - middle);
	}
	slope = weight > 0 ? slope / weight * (rule->rounds - 1) : 0;
	if (slope < 0)
		slope = -slope;
	return *ret_mean > 0 && high - low <= rule->range_share * *ret_mean &&
	       slope <= rule->slope_share * *ret_mean;
}

/* Gathers windows into the next round; false when the series ends before it is full. */
static bool next_round(const struct steady_rule *rule, const struct series_row *rows, size_t count,
	size_t *position, struct round *ret_round)
{
	uint64_t operations = 0;
	struct round round;

	if (*position == count)
		return false;
	round.start_ns = rows[*position].start_ns;
	while (*position < count) {
		const struct series_row *row = &rows[(*position)++];

		operations += row->reads + row->writes;
		round.end_ns = row->end_ns;
		if (round.end_ns - round.start_ns >= rule->round_ns &&
			operations >= rule->round_operations) {
			round.rate = (double)operations * NSEC_PER_SEC /
				     (double)(round.end_ns - round.start_ns);
			*ret_round = round;
			return true;
		}
	}
	return false;
}

struct steady steady_judge(
	const struct steady_rule *rule, const struct series_row *rows, size_t count)
{
	struct steady steady = { 0 };
	struct round window[ROUNDS_MAX];
	size_t position = 0;

	assert(rule->rounds >= 2 && rule->rounds <= ROUNDS_MAX);
	while (!steady.reached) {
		if (steady.rounds >= rule->rounds)
			for (unsigned i = 1; i < rule->rounds; i++)
				window[i - 1] = window[i];
		if (!next_round(rule, rows, count, &position,
			    &window[steady.rounds < rule->rounds ? steady.rounds
								 : rule->rounds - 1]))
			break;
		steady.rounds++;
		if (steady.rounds >= rule->rounds)
			steady.reached = fulfils(rule, window, &steady.mean_per_s);
	}
	if (steady.reached) {
		steady.from_ns = window[0].start_ns;
		steady.to_ns = window[rule->rounds - 1].end_ns;
	} else {
		steady.mean_per_s = 0;
	}
	return steady;
}

struct steady_text steady_rule_text(const struct steady_rule *rule)
{
	struct steady_text text;

	(void)snprintf(text.text, sizeof(text.text),
		"%u rounds of at least %lld s and %llu operations: range within %.0f %% of the "
		"mean, slope within %.0f %%",
		rule->rounds, (long long)(rule->round_ns / NSEC_PER_SEC),
		(unsigned long long)rule->round_operations, rule->range_share * 100,
		rule->slope_share * 100);
	return text;
}
