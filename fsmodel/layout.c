/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of layouts, and the judge that believes none of them. */
#include "fsmodel/bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct layout_ops *const layouts[] = {
	&contiguous_layout,
	&scatter_layout,
	NULL,
};

const struct layout_ops *layout_find(const char *name)
{
	for (size_t i = 0; layouts[i]; i++)
		if (!strcmp(layouts[i]->name, name))
			return layouts[i];
	return NULL;
}

/* On a full device every block of a file may lie alone; an append may read one more. */
size_t layout_requests_max(
	const struct layout_ops *ops, const struct layout_config *config, uint64_t file_bytes)
{
	assert(ops);
	return divide_up(file_bytes, config->block_bytes) + config->tail_read;
}

struct claim {
	struct extent extent;
	uint64_t owner_slot;
};

struct claims {
	struct claim *list;
	size_t count;
	size_t room;
};

static int collect(void *user, struct extent extent, enum request_role role, uint64_t owner_slot)
{
	struct claims *claims = user;

	(void)role;
	if (claims->count == claims->room) {
		const size_t room = claims->room ? claims->room + claims->room / 2 : 1024;
		struct claim *grown = realloc(claims->list, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		claims->list = grown;
		claims->room = room;
	}
	claims->list[claims->count++] = (struct claim){ extent, owner_slot };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return (x->extent.start_block > y->extent.start_block) -
	       (x->extent.start_block < y->extent.start_block);
}

struct owner_text {
	char text[32];
};

static struct owner_text owner_name(uint64_t owner_slot)
{
	struct owner_text name = { "free space" };

	if (owner_slot != LAYOUT_OWNER_FREE)
		(void)snprintf(
			name.text, sizeof(name.text), "file %llu", (unsigned long long)owner_slot);
	return name;
}

static int judge_claims(
	const struct layout *layout, const struct claims *claims, struct error *error)
{
	const uint64_t area_start = layout->config.first_block;
	const uint64_t area_end = area_start + layout->config.block_count;
	uint64_t owned = 0, end = area_start;

	for (size_t i = 0; i < claims->count; i++) {
		const struct claim *claim = &claims->list[i];
		const uint64_t start = claim->extent.start_block;
		const uint64_t length = claim->extent.length_blocks;

		if (!length || start < area_start || start >= area_end || length > area_end - start)
			return error_set(error, -EUCLEAN,
				"%s claims %llu blocks from %llu on, outside blocks %llu to %llu",
				owner_name(claim->owner_slot).text, (unsigned long long)length,
				(unsigned long long)start, (unsigned long long)area_start,
				(unsigned long long)area_end - 1);
		if (start < end)
			return error_set(error, -EUCLEAN, "block %llu belongs to %s and to %s",
				(unsigned long long)start, owner_name(claim[-1].owner_slot).text,
				owner_name(claim->owner_slot).text);
		if (start > end)
			break;
		end = start + length;
		if (claim->owner_slot != LAYOUT_OWNER_FREE)
			owned += length;
	}
	if (end != area_end)
		return error_set(error, -EUCLEAN, "block %llu is neither owned nor free",
			(unsigned long long)end);
	if (owned != layout->used_blocks)
		return error_set(error, -EUCLEAN,
			"the layout counts %llu used blocks, owned are "
			"%llu",
			(unsigned long long)layout->used_blocks, (unsigned long long)owned);
	return 0;
}

int layout_judge(const struct layout *layout, struct error *error)
{
	struct claims claims = { 0 };
	int result = layout->ops->walk(layout, collect, &claims);

	if (result < 0) {
		free(claims.list);
		return error_set(
			error, result, "no memory to judge the layout's %zu extents", claims.count);
	}
	if (claims.count)
		qsort(claims.list, claims.count, sizeof(*claims.list), by_start);
	result = judge_claims(layout, &claims, error);
	free(claims.list);
	return result;
}
