/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scatter: every block on its own goes to a uniformly random free block of the span (of the whole
 * area when packed, or when the span is full). The worst layout there is, and so the baseline
 * that others are measured against. An append is no exception: it does not grow in place.
 */
#include "fsmodel/bare.h"

static uint64_t goal(const struct bare *bare)
{
	return bare->layout.config.first_block;
}

static int take(struct bare *bare, uint64_t goal_block, uint64_t wanted, struct extent *ret_taken)
{
	const struct layout_config *config = &bare->layout.config;
	uint64_t choices = 0;

	(void)goal_block;
	(void)wanted;
	if (config->span_blocks)
		choices = freespace_rank(bare->space, config->first_block + config->span_blocks);
	if (!choices)
		choices = freespace_blocks(bare->space);
	*ret_taken =
		(struct extent){ freespace_select(bare->space, rng_below(&bare->rng, choices)), 1 };
	return freespace_take(bare->space, *ret_taken);
}

static const struct bare_placement placement = {
	.goal = goal,
	.take = take,
};

static int format(
	const struct layout_config *config, struct layout **ret_layout, struct error *error)
{
	return bare_format(config, &scatter_layout, &placement, ret_layout, error);
}

const struct layout_ops scatter_layout = {
	.name = "scatter",
	.summary = "every block at random: the worst layout, the baseline",
	.format = format,
	.create = bare_create,
	.append = bare_append,
	.read = bare_read,
	.remove = bare_remove,
	.sync = bare_sync,
	.walk = bare_walk,
	.free = bare_free,
};
