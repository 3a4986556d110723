/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/histogram.h"

#include <string.h>

void histogram_clear(struct histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min_ns = INT64_MAX;
}

uint64_t histogram_bucket_low(unsigned bucket)
{
	unsigned shift;

	if (bucket < (1u << HISTOGRAM_SUB_BITS))
		return bucket;
	shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
	return (uint64_t)((1u << HISTOGRAM_SUB_BITS) + (bucket & ((1u << HISTOGRAM_SUB_BITS) - 1)))
	       << shift;
}

nsec_t histogram_percentile(const struct histogram *histogram, double share)
{
	double wanted = share * (double)histogram->count;
	uint64_t rank = (uint64_t)wanted;
	uint64_t seen = 0;

	if (!histogram->count)
		return 0;
	/* The rank is the smallest whole number of values that is not below the share. */
	if ((double)rank < wanted || rank == 0)
		rank++;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= rank) {
			uint64_t low = histogram_bucket_low(i);
			nsec_t middle = (nsec_t)(low + (histogram_bucket_low(i + 1) - 1 - low) / 2);

			if (middle > histogram->max_ns || i == HISTOGRAM_BUCKETS - 1)
				return histogram->max_ns;
			return middle < histogram->min_ns ? histogram->min_ns : middle;
		}
	}
	return histogram->max_ns;
}

double histogram_mean(const struct histogram *histogram)
{
	return histogram->count ? (double)histogram->sum_ns / (double)histogram->count : 0;
}
