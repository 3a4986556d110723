/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/conflicts.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* A node is one request in one of the (at most two) chunks that it touches. */
struct conflicts {
	const struct request_pool *pool;
	unsigned chunk_shift;
	uint32_t chunk_mask;
	uint32_t *chunk_heads; /* node numbers */
	uint32_t *node_next;   /* two nodes for each request of the pool */
	uint32_t file_mask;
	struct plan **file_heads; /* in order of arrival */
};

static uint32_t power_of_two_above(size_t value)
{
	uint32_t power = 64;

	while (power < value)
		power *= 2;
	return power;
}

int conflicts_new(const struct request_pool *pool, uint32_t request_bytes_max, size_t plans_max,
	struct conflicts **ret_conflicts)
{
	struct conflicts *conflicts = calloc(1, sizeof(*conflicts));
	uint32_t chunks = power_of_two_above(2 * pool->count);
	uint32_t files = power_of_two_above(2 * plans_max);

	if (!conflicts)
		return -ENOMEM;
	conflicts->pool = pool;
	conflicts->chunk_shift = 9;
	while ((UINT64_C(1) << conflicts->chunk_shift) < request_bytes_max)
		conflicts->chunk_shift++;
	conflicts->chunk_mask = chunks - 1;
	conflicts->file_mask = files - 1;
	conflicts->chunk_heads = malloc(chunks * sizeof(*conflicts->chunk_heads));
	conflicts->node_next = malloc(2 * pool->count * sizeof(*conflicts->node_next));
	conflicts->file_heads = calloc(files, sizeof(struct plan *));
	if (!conflicts->chunk_heads || !conflicts->node_next || !conflicts->file_heads) {
		conflicts_free(conflicts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < chunks; i++)
		conflicts->chunk_heads[i] = NONE;
	*ret_conflicts = conflicts;
	return 0;
}

void conflicts_free(struct conflicts *conflicts)
{
	if (!conflicts)
		return;
	free(conflicts->chunk_heads);
	free(conflicts->node_next);
	free(conflicts->file_heads);
	free(conflicts);
}

static uint32_t hash(uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static uint32_t *chunk_head(struct conflicts *conflicts, uint64_t chunk)
{
	return &conflicts->chunk_heads[hash(chunk) & conflicts->chunk_mask];
}

static struct request *node_request(const struct conflicts *conflicts, uint32_t node)
{
	return &conflicts->pool->requests[node / 2];
}

static uint64_t first_chunk(const struct conflicts *conflicts, const struct request *request)
{
	return request->offset_bytes >> conflicts->chunk_shift;
}

/* Last chunk touched; flushes (length 0) overlap nothing and are never entered. */
static uint64_t last_chunk(const struct conflicts *conflicts, const struct request *request)
{
	return (request->offset_bytes + request->length_bytes - 1) >> conflicts->chunk_shift;
}

static bool must_not_meet(const struct request *a, const struct request *b)
{
	return (a->op == REQUEST_WRITE || b->op == REQUEST_WRITE) &&
	       a->offset_bytes < b->offset_bytes + b->length_bytes &&
	       b->offset_bytes < a->offset_bytes + a->length_bytes;
}

/* Whether the pair's overlap begins in this chunk, which other's node must belong to. */
static bool meets_in(const struct conflicts *conflicts, const struct request *request,
	const struct request *other, uint64_t chunk)
{
	return must_not_meet(request, other) &&
	       max_u64(request->offset_bytes, other->offset_bytes) >> conflicts->chunk_shift ==
		       chunk;
}

/* A bucket may hold nodes of other chunks too, and both nodes of one request. */
static bool node_is_in(const struct conflicts *conflicts, uint32_t node, uint64_t chunk)
{
	return first_chunk(conflicts, node_request(conflicts, node)) + node % 2 == chunk;
}

static void enter_request(struct conflicts *conflicts, struct request *request)
{
	uint64_t chunk = first_chunk(conflicts, request);
	uint64_t last = last_chunk(conflicts, request);
	uint32_t node = 2 * (uint32_t)(request - conflicts->pool->requests);

	assert(last - chunk <= 1);
	for (; chunk <= last; chunk++, node++) {
		uint32_t *head = chunk_head(conflicts, chunk);

		for (uint32_t i = *head; i != NONE; i = conflicts->node_next[i])
			if (node_is_in(conflicts, i, chunk) &&
				meets_in(conflicts, request, node_request(conflicts, i), chunk))
				request->blockers++;
		conflicts->node_next[node] = *head;
		*head = node;
	}
}

static struct plan **file_head(struct conflicts *conflicts, const struct plan *plan)
{
	return &conflicts->file_heads[hash(plan->file) & conflicts->file_mask];
}

/* Whether an earlier plan on the same file is in the way. */
static bool file_is_taken(struct plan *const *head, const struct plan *plan)
{
	for (const struct plan *other = *head; other && other != plan; other = other->file_next)
		if (other->file == plan->file && (other->writes || plan->writes))
			return true;
	return false;
}

void conflicts_enter(struct conflicts *conflicts, struct plan *plan)
{
	for (struct request *request = plan->first; request; request = request->next)
		if (request->length_bytes)
			enter_request(conflicts, request);
	if (plan->file) {
		struct plan **tail = file_head(conflicts, plan);

		plan->waits_for_file = file_is_taken(tail, plan);
		while (*tail)
			tail = &(*tail)->file_next;
		plan->file_next = NULL;
		*tail = plan;
	}
}

static void unlink_node(struct conflicts *conflicts, uint32_t node, uint64_t chunk)
{
	uint32_t *link = chunk_head(conflicts, chunk);

	while (*link != node)
		link = &conflicts->node_next[*link];
	*link = conflicts->node_next[node];
}

void conflicts_leave(struct conflicts *conflicts, struct request *request,
	void (*freed)(void *user, struct request *request), void *user)
{
	uint64_t first, last;
	uint32_t node = 2 * (uint32_t)(request - conflicts->pool->requests);

	if (!request->length_bytes)
		return;
	first = first_chunk(conflicts, request);
	last = last_chunk(conflicts, request);
	for (uint64_t chunk = first; chunk <= last; chunk++, node++) {
		unlink_node(conflicts, node, chunk);
		for (uint32_t i = *chunk_head(conflicts, chunk); i != NONE;
			i = conflicts->node_next[i]) {
			struct request *other = node_request(conflicts, i);

			if (!other->blockers || other->sequence <= request->sequence ||
				!node_is_in(conflicts, i, chunk) ||
				!meets_in(conflicts, request, other, chunk))
				continue;
			if (--other->blockers == 0)
				freed(user, other);
		}
	}
}

void conflicts_leave_plan(struct conflicts *conflicts, struct plan *plan,
	void (*opened)(void *user, struct plan *plan), void *user)
{
	struct plan **head, **link;

	if (!plan->file)
		return;
	head = file_head(conflicts, plan);
	for (link = head; *link != plan;)
		link = &(*link)->file_next;
	*link = plan->file_next;
	for (struct plan *other = *link, *next; other; other = next) {
		next = other->file_next;
		if (other->file == plan->file && other->waits_for_file &&
			!file_is_taken(head, other)) {
			other->waits_for_file = false;
			opened(user, other);
		}
	}
}
