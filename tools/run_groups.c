/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_groups.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

struct interval interval_of(const double *values, size_t count)
{
	struct interval interval = { .count = count };

	if (!count)
		return interval;
	interval.mean = gsl_stats_mean(values, 1, count);
	interval.low = interval.mean;
	interval.high = interval.mean;
	if (count >= GROUP_REPEATS_MIN) {
		double half = gsl_cdf_tdist_Pinv(0.975, (double)(count - 1)) *
			      gsl_stats_sd(values, 1, count) / sqrt((double)count);

		interval.low -= half;
		interval.high += half;
	}
	return interval;
}
