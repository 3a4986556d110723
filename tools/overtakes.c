/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/overtakes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/radix.h"

/* A Fenwick tree of counts over places 1 .. count. */
static void tree_add(uint32_t *tree, size_t count, size_t place)
{
	for (; place <= count; place += place & -place)
		tree[place]++;
}

static uint32_t tree_sum(const uint32_t *tree, size_t place)
{
	uint32_t sum = 0;

	for (; place; place -= place & -place)
		sum += tree[place];
	return sum;
}

/* The reap of each request: how many completed before it, and how many before or with it. */
struct reap {
	uint32_t before, until;
};

static void find_reaps(const struct radix_item *items, size_t count, struct reap *reaps)
{
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && items[end].key == items[i].key; end++)
			;
		for (size_t k = i; k < end; k++)
			reaps[items[k].index] = (struct reap){ (uint32_t)i, (uint32_t)end };
	}
}

int overtakes_count(const nsec_t *completed_ns, size_t count, struct overtakes *ret_overtakes)
{
	_cleanup_free_ struct radix_item *items = malloc((count + 1) * sizeof(*items));
	_cleanup_free_ struct radix_item *scratch = malloc((count + 1) * sizeof(*scratch));
	_cleanup_free_ struct reap *reaps = malloc((count + 1) * sizeof(*reaps));
	_cleanup_free_ uint32_t *tree = calloc(count + 1, sizeof(*tree));

	assert(count < UINT32_MAX);
	if (!items || !scratch || !reaps || !tree)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		items[i] = (struct radix_item){ radix_key(completed_ns[i]), (uint32_t)i };
	radix_sort(items, scratch, count);
	find_reaps(items, count, reaps);
	for (size_t i = count; i-- > 0;) {
		uint32_t earlier = tree_sum(tree, reaps[i].before);

		ret_overtakes[i].earlier = earlier;
		ret_overtakes[i].tied = tree_sum(tree, reaps[i].until) - earlier;
		tree_add(tree, count, reaps[i].before + 1);
	}
	return 0;
}

/* Sorts by merging and counts the pairs that stood the wrong way round. */
static uint64_t sort_counting(nsec_t *values, nsec_t *scratch, size_t count)
{
	size_t half = count / 2, left = 0, right = half;
	uint64_t inversions;

	if (count < 2)
		return 0;
	inversions = sort_counting(values, scratch, half) +
		     sort_counting(values + half, scratch, count - half);
	for (size_t i = 0; i < count; i++) {
		if (right == count || (left < half && values[left] <= values[right])) {
			scratch[i] = values[left++];
		} else {
			inversions += half - left;
			scratch[i] = values[right++];
		}
	}
	memcpy(values, scratch, count * sizeof(*values));
	return inversions;
}

static uint64_t count_ties(const nsec_t *sorted, size_t count)
{
	uint64_t ties = 0;

	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && sorted[end] == sorted[i]; end++)
			;
		ties += (uint64_t)(end - i) * (end - i - 1) / 2;
	}
	return ties;
}

int overtakes_kendall(const nsec_t *completed_ns, size_t count, size_t window, double *ret_distance,
	uint64_t *ret_windows)
{
	_cleanup_free_ nsec_t *values = NULL, *scratch = NULL;
	double pairs = 0.5 * (double)window * ((double)window - 1);
	double sum = 0;
	uint64_t windows = 0;

	*ret_distance = (double)NAN;
	*ret_windows = 0;
	if (window < 2 || count < window)
		return 0;
	values = malloc(window * sizeof(*values));
	scratch = malloc(window * sizeof(*scratch));
	if (!values || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i + window <= count; i += window, windows++) {
		uint64_t inversions;

		memcpy(values, completed_ns + i, window * sizeof(*values));
		inversions = sort_counting(values, scratch, window);
		sum += (double)inversions + 0.5 * (double)count_ties(values, window);
	}
	*ret_distance = sum / pairs / (double)windows;
	*ret_windows = windows;
	return 0;
}
