/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far one order is from another: who overtook whom, and Kendall's distance in windows.
 *
 * Both take the completion instants of requests that are listed in the order of their dispatch.
 * Instants that are equal are one reap: the order within is not known, so a pair of them counts
 * half, its mean over both possibilities.
 */
#ifndef TOOLS_OVERTAKES_H
#define TOOLS_OVERTAKES_H

#include "engine/base.h"

/* Of one request, among those dispatched later. */
struct overtakes {
	uint32_t earlier; /* completed before it */
	uint32_t tied;    /* completed with it */
};

static inline double overtakes_of(const struct overtakes *overtakes)
{
	return overtakes->earlier + 0.5 * overtakes->tied;
}

/* Fills ret_overtakes[count] in O(n log n) by a Fenwick tree (P. Fenwick, "A new data structure
 * for cumulative frequency tables", Software: Practice and Experience 24(3), 1994) over the order
 * of completion. -ENOMEM. */
int overtakes_count(const nsec_t *completed_ns, size_t count, struct overtakes *ret_overtakes);

/*
 * Kendall's distance (M. Kendall, "A new measure of rank correlation", Biometrika 30, 1938): the
 * share of pairs that completed in the other order than they were dispatched; 0 in order, 1
 * reversed. Taken in consecutive windows of `window` requests in the order of dispatch, a last
 * short one left out, then the mean over the windows.
 *
 * Why windows of the depth: only requests that meet at the drive can be exchanged, and at most
 * depth of them meet; over the whole run nearly all pairs are far apart and the distance would be
 * 0 for every drive. Why consecutive and not sliding ones: each window is a permutation of its
 * own, every request counts once, and windows are samples that share no request. A drive can
 * reach every value: one that always takes the newest reverses each window. One that takes any of
 * its d requests by chance passes a pair k apart with 1/2 (1 - 1/d)^k, which gives 0.25 at d = 2
 * and 1/e = 0.37 at large d: that, not 1/2, is "without any order".
 *
 * ret_distance is NaN and ret_windows 0 where there is no window (a window below 2, too few
 * requests). -ENOMEM.
 */
int overtakes_kendall(const nsec_t *completed_ns, size_t count, size_t window, double *ret_distance,
	uint64_t *ret_windows);

#endif
