/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/pattern.h"

#include <stdlib.h>

#include "engine/rng.h"

const char *const pattern_names[] = { "randread", "randwrite", "randrw", "seqread", "seqwrite",
	NULL };

struct pattern {
	struct source source;
	struct pattern_config config;
	struct rng rng;
	uint64_t blocks;
	uint64_t drawn;
	uint64_t next_block;
	uint64_t read_below; /* 32-bit threshold of a read in PATTERN_RANDRW */
};

bool pattern_writes(enum pattern_kind kind)
{
	return kind == PATTERN_RANDWRITE || kind == PATTERN_RANDRW || kind == PATTERN_SEQWRITE;
}

static int pattern_next(struct source *source, struct plan *plan)
{
	struct pattern *pattern = container_of(source, struct pattern, source);
	const struct pattern_config *config = &pattern->config;
	enum request_op op = REQUEST_READ;
	uint64_t block;

	if (config->count && pattern->drawn == config->count)
		return 0;
	switch (config->kind) {
	case PATTERN_RANDRW:
		if ((rng_next(&pattern->rng) >> 32) >= pattern->read_below)
			op = REQUEST_WRITE;
		block = rng_below(&pattern->rng, pattern->blocks);
		break;
	case PATTERN_RANDWRITE:
		op = REQUEST_WRITE;
		block = rng_below(&pattern->rng, pattern->blocks);
		break;
	case PATTERN_SEQWRITE:
	case PATTERN_SEQREAD:
		op = config->kind == PATTERN_SEQWRITE ? REQUEST_WRITE : REQUEST_READ;
		block = pattern->next_block++;
		if (pattern->next_block == pattern->blocks)
			pattern->next_block = 0;
		break;
	default:
		block = rng_below(&pattern->rng, pattern->blocks);
		break;
	}
	plan->id = pattern->drawn;
	plan->transaction = pattern->drawn++;
	plan->generation = (uint32_t)plan->transaction;
	plan->kind = PLAN_PATTERN;
	(void)plan_add(plan, op, ROLE_DATA, 0,
		config->area_offset_bytes + block * config->block_bytes, config->block_bytes);
	return 1;
}

static void pattern_free(struct source *source)
{
	free(container_of(source, struct pattern, source));
}

static const struct source_ops pattern_ops = {
	.next = pattern_next,
	.free = pattern_free,
};

int pattern_new(
	const struct pattern_config *config, struct source **ret_source, struct error *error)
{
	struct pattern *pattern;

	if (!config->block_bytes || config->area_bytes < config->block_bytes)
		return error_set(error, -EINVAL,
			"the area of %llu bytes is smaller than one block of %u bytes: "
			"give a larger --size or a smaller --bs",
			(unsigned long long)config->area_bytes, config->block_bytes);
	pattern = calloc(1, sizeof(*pattern));
	if (!pattern)
		return error_set(error, -ENOMEM, "no memory for the pattern");
	pattern->config = *config;
	pattern->blocks = config->area_bytes / config->block_bytes;
	pattern->read_below = (uint64_t)(config->read_share * 4294967296.0);
	rng_seed(&pattern->rng, config->seed, RNG_LOAD);
	pattern->source = (struct source){
		.ops = &pattern_ops,
		.requests_per_plan_max = 1,
		.request_bytes_max = config->block_bytes,
		.reads_only = !pattern_writes(config->kind),
		.endless = !config->count,
	};
	*ret_source = &pattern->source;
	return 0;
}
