/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sorting by a 64-bit key, for millions of records: least significant byte first (Knuth, TAOCP
 * vol. 3, 5.2.5), stable, without a comparison. Bytes in which all keys agree cost nothing, so
 * instants of one run take five or six passes. A quarter of qsort's time at a million items
 * (tests/bench/bench_reordering), which is what lets a run of that size be analysed at its end
 * without a pause.
 */
#ifndef ENGINE_RADIX_H
#define ENGINE_RADIX_H

#include "engine/base.h"

struct radix_item {
	uint64_t key;
	uint32_t index; /* of the caller's */
};

/* Ascending; equal keys keep their order. scratch has room for count items too. */
void radix_sort(struct radix_item *items, struct radix_item *scratch, size_t count);

/* Maps instants to keys of the same order, negative ones included. */
static inline uint64_t radix_key(nsec_t instant_ns)
{
	return (uint64_t)instant_ns ^ (UINT64_C(1) << 63);
}

#endif
