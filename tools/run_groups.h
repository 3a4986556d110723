/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Repeats of a cell taken together: mean and 95 % interval (Student's t). An interval from fewer
 * than five repeats would say little, so none is shown then.
 */
#ifndef TOOLS_RUN_GROUPS_H
#define TOOLS_RUN_GROUPS_H

#include "engine/base.h"

#define GROUP_REPEATS_MIN 5

struct interval {
	double mean, low, high; /* low and high only with at least GROUP_REPEATS_MIN values */
	size_t count;
};

struct interval interval_of(const double *values, size_t count);

#endif
