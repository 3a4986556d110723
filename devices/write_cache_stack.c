/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caches below a target; see the header. */
#include "devices/write_cache_stack.h"

#include "devices/stack.h"
#include "devices/sysfs.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_ATTRIBUTE "sys/class/block/%s/queue/write_cache"

static int add(const struct settings_place *place, const struct stack_node *node,
	struct write_cache_stack *stack, struct error *error)
{
	if (node->bottom) {
		struct cache_member *member = &stack->members[stack->member_count];
		const int code = write_cache_open(place, node->name, &member->cache, error);

		if (code)
			return code;
		sysfs_copy(member->name, sizeof(member->name), node->name);
		stack->member_count++;
	} else if (sysfs_exists(place->sysroot, QUEUE_ATTRIBUTE, node->name)) {
		struct cache_layer *layer = &stack->layers[stack->layer_count++];

		sysfs_copy(layer->name, sizeof(layer->name), node->name);
	}
	return 0;
}

int write_cache_stack_open(const struct settings_place *place, const char *device,
	struct write_cache_stack *ret_stack, struct error *error)
{
	_cleanup_stack_ struct stack below = { 0 };
	struct write_cache_stack stack = { 0 };
	int code = 0;

	stack_below(place->sysroot, device, &below);
	stack.members = calloc(below.count + 1, sizeof(*stack.members));
	stack.layers = calloc(below.count + 1, sizeof(*stack.layers));
	if (!stack.members || !stack.layers)
		code = error_set(error, -ENOMEM, "no memory for what %s stands on", device);
	for (size_t i = 0; i < below.count && !code; i++)
		code = add(place, &below.nodes[i], &stack, error);
	if (code) {
		write_cache_stack_done(&stack);
		return code;
	}
	*ret_stack = stack;
	return 0;
}

void write_cache_stack_done(struct write_cache_stack *stack)
{
	for (size_t i = 0; i < stack->member_count; i++) {
		write_cache_close(stack->members[i].cache);
		faults_done(&stack->members[i].tried);
	}
	free(stack->members);
	free(stack->layers);
	*stack = (struct write_cache_stack){ 0 };
}

/* One caching drive below is enough to need flushes; one that cannot be seen leaves it open. */
static enum cache_state state_below(const struct write_cache_stack *stack)
{
	enum cache_state state = CACHE_OFF;

	for (size_t i = 0; i < stack->member_count; i++) {
		const enum cache_state one =
			stack->members[i].report.drive.state[DRIVE_WRITE_CACHE];

		if (one == CACHE_ON)
			return CACHE_ON;
		if (one == CACHE_UNKNOWN)
			state = CACHE_UNKNOWN;
	}
	return state;
}

void write_cache_stack_get(struct write_cache_stack *stack)
{
	for (size_t i = 0; i < stack->member_count; i++) {
		struct cache_member *member = &stack->members[i];

		faults_done(&member->tried);
		member->tried = (struct faults){ 0 };
		write_cache_get(member->cache, &member->report, &member->tried);
	}
	for (size_t i = 0; i < stack->layer_count; i++) {
		struct cache_layer *layer = &stack->layers[i];

		(void)sysfs_read(stack->members[0].cache->place->sysroot, layer->kernel,
			sizeof(layer->kernel), QUEUE_ATTRIBUTE, layer->name);
		layer->verdict = write_cache_judge(state_below(stack), layer->kernel);
	}
}

int write_cache_stack_check(
	const struct write_cache_stack *stack, const enum cache_wish *wishes, struct faults *faults)
{
	const size_t before = faults->count;

	for (size_t i = 0; i < stack->member_count; i++) {
		const struct cache_member *member = &stack->members[i];

		for (int which = 0; which < DRIVE_SETTING_COUNT; which++)
			if (wishes[which] != CACHE_WISH_NONE)
				(void)write_cache_may_set(member->cache, &member->report, which,
					wishes[which] == CACHE_WISH_ON, NULL, faults);
	}
	return faults->count > before ? -EOPNOTSUPP : 0;
}

int write_cache_stack_repair(
	struct write_cache_stack *stack, struct faults *notes, struct faults *faults)
{
	const size_t before = faults->count;

	for (size_t i = 0; i < stack->layer_count; i++) {
		struct cache_layer *layer = &stack->layers[i];
		struct write_cache *any = stack->members[0].cache;
		int code;

		if (layer->verdict != CACHE_DANGEROUS)
			continue;
		code = write_cache_write(
			any, "queue/write_cache", "write back", QUEUE_ATTRIBUTE, layer->name);
		(void)sysfs_read(any->place->sysroot, layer->kernel, sizeof(layer->kernel),
			QUEUE_ATTRIBUTE, layer->name);
		layer->verdict = write_cache_judge(CACHE_ON, layer->kernel);
		if (layer->verdict == CACHE_DANGEROUS)
			faults_add(faults,
				"%s sends no flush to the drives below, whose cache is on, and "
				"its queue/write_cache cannot be raised to \"write back\": %s; "
				"load its table anew",
				layer->name,
				code ? strerror(-code) : "the kernel does not take it");
		else
			faults_add(notes,
				"%s was made when its drives wrote through and did not follow; its "
				"queue/write_cache was raised to \"write back\", so that flushes "
				"are sent",
				layer->name);
	}
	return faults->count > before ? -EIO : 0;
}
