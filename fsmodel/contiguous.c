/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Contiguous: every file is one extent where that is possible. With a span the files' goals are
 * spread evenly over it, which stands for a file system that fills a share of the disk; packed,
 * each goes to the lowest place that fits.
 */
#include "fsmodel/bare.h"

/* The k-th creation goes to the k-th of files_expected equal steps, and round again. */
static uint64_t goal(const struct bare *bare)
{
	const struct layout_config *config = &bare->layout.config;
	uint64_t step;

	if (!config->span_blocks)
		return config->first_block;
	step = bare->created_count % config->files_expected;
	return config->first_block +
	       (uint64_t)((unsigned __int128)step * config->span_blocks / config->files_expected);
}

/* One extent near goal if one is long enough, else the nearest of the longest. */
static int take(struct bare *bare, uint64_t goal_block, uint64_t wanted, struct extent *ret_taken)
{
	const struct layout_config *config = &bare->layout.config;
	const uint64_t longest = freespace_largest(bare->space).length_blocks;

	if (goal_block >= config->first_block + config->block_count)
		goal_block = config->first_block;
	return freespace_near(bare->space, goal_block, min_u64(wanted, longest), ret_taken);
}

static const struct bare_placement placement = {
	.goal = goal,
	.take = take,
	.grows_in_place = true,
};

static int format(
	const struct layout_config *config, struct layout **ret_layout, struct error *error)
{
	return bare_format(config, &contiguous_layout, &placement, ret_layout, error);
}

const struct layout_ops contiguous_layout = {
	.name = "contiguous",
	.summary = "one extent per file where possible, spread over the span or packed",
	.format = format,
	.create = bare_create,
	.append = bare_append,
	.read = bare_read,
	.remove = bare_remove,
	.sync = bare_sync,
	.walk = bare_walk,
	.free = bare_free,
};
