/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Latency histograms, log-linear: exact below 64 ns, then 64 equal buckets in every power of two.
 *
 *   value v >= 64, m = index of its highest bit:   bucket width 2^(m-6), so width / v <= 1/64
 *   a percentile is the middle of its bucket:      |reported - true| / true <= 1/128 (0.79 %)
 *   range 0 .. 2^42 - 1 ns (73 min), 2368 buckets of 8 bytes; longer waits go to the last bucket
 *
 * Minimum, maximum, sum and count are exact. Every recorded value is in exactly one bucket.
 * The idea is HdrHistogram's and fio's (fio stat.h); the form is our own.
 */
#ifndef ENGINE_HISTOGRAM_H
#define ENGINE_HISTOGRAM_H

#include "engine/base.h"

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_VALUE_BITS 42
#define HISTOGRAM_BUCKETS ((HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
	uint64_t count;
	nsec_t sum_ns;
	nsec_t min_ns, max_ns; /* meaningful when count > 0 */
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline unsigned histogram_bucket(uint64_t value)
{
	unsigned shift;

	if (value >> HISTOGRAM_VALUE_BITS)
		return HISTOGRAM_BUCKETS - 1;
	if (value < (1u << HISTOGRAM_SUB_BITS))
		return (unsigned)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	return ((shift + 1) << HISTOGRAM_SUB_BITS) +
	       (unsigned)((value >> shift) & ((1u << HISTOGRAM_SUB_BITS) - 1));
}

/* Negative values (a clock that ran back) count as 0. */
static inline void histogram_add(struct histogram *histogram, nsec_t value_ns)
{
	value_ns = value_ns < 0 ? 0 : value_ns;
	histogram->min_ns = value_ns < histogram->min_ns ? value_ns : histogram->min_ns;
	histogram->max_ns = value_ns > histogram->max_ns ? value_ns : histogram->max_ns;
	histogram->count++;
	histogram->sum_ns += value_ns;
	histogram->buckets[histogram_bucket((uint64_t)value_ns)]++;
}

void histogram_clear(struct histogram *histogram);

/* Smallest value of the bucket, and of the one after it. */
uint64_t histogram_bucket_low(unsigned bucket);

/* The value that share (0 .. 1) of all values do not exceed; between min and max. 0 when empty. */
nsec_t histogram_percentile(const struct histogram *histogram, double share);
double histogram_mean(const struct histogram *histogram);

#endif
