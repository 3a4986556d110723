/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/request.h"

#include <stdlib.h>
#include <string.h>

void *request_array(size_t count, size_t size)
{
	void *items = NULL;

	assert(size % REQUEST_ALIGNMENT == 0);
	if (count <= SIZE_MAX / size)
		items = aligned_alloc(REQUEST_ALIGNMENT, count * size);
	if (items)
		memset(items, 0, count * size);
	return items;
}

int request_pool_init(struct request_pool *pool, size_t count)
{
	*pool = (struct request_pool){ 0 };
	pool->requests = request_array(count, sizeof(*pool->requests));
	if (!pool->requests)
		return -ENOMEM;
	pool->count = count;
	pool->free_count = count;
	for (size_t i = count; i-- > 0;) {
		pool->requests[i].next = pool->free;
		pool->free = &pool->requests[i];
	}
	return 0;
}

void request_pool_done(struct request_pool *pool)
{
	free(pool->requests);
	*pool = (struct request_pool){ 0 };
}

void plan_release(struct plan *plan)
{
	if (!plan->first)
		return;
	plan->last->next = plan->pool->free;
	plan->pool->free = plan->first;
	plan->pool->free_count += plan->request_count;
	plan->first = NULL;
	plan->last = NULL;
	plan->request_count = 0;
}
