/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fsmodel/pool.h"

#include <stdlib.h>
#include <string.h>

/* A transaction in flight: how many of its halves are not complete. */
struct pair {
	uint8_t halves;
	bool failed;
};

struct pool {
	struct source source;
	struct pool_config config;
	struct postmark *load;
	struct layout *layout;
	enum pool_stage stage;
	struct pool_counts counts;
	uint64_t operations; /* of the operation clock */
	uint8_t halves;      /* that a transaction has: 0, 1 or 2 */
	struct pair *pairs;
	uint32_t *free_pairs;
	uint32_t free_pair_count;
	uint32_t pair; /* of the transaction drawn last */
	uint64_t pair_transaction;
	uint32_t readback_slot;
};

#define NO_PAIR UINT32_MAX

static nsec_t operation_time(struct pool *pool)
{
	return (nsec_t)pool->operations++ * pool->config.operation_time_ns;
}

static void half_done(struct pool *pool, uint32_t number, bool failed)
{
	struct pair *pair = &pool->pairs[number];

	pair->failed |= failed;
	if (--pair->halves)
		return;
	if (pair->failed)
		pool->counts.transactions_failed++;
	else
		pool->counts.transactions++;
	pool->free_pairs[pool->free_pair_count++] = number;
}

/* The pair that the operation is half of; a new one for the first half. */
static uint32_t pair_of(struct pool *pool, const struct postmark_operation *operation)
{
	if (operation->phase != POSTMARK_TRANSACTIONS)
		return NO_PAIR;
	if (pool->pair == NO_PAIR || pool->pair_transaction != operation->transaction) {
		assert(pool->free_pair_count);
		pool->pair = pool->free_pairs[--pool->free_pair_count];
		pool->pair_transaction = operation->transaction;
		pool->pairs[pool->pair] = (struct pair){ .halves = pool->halves };
	}
	return pool->pair;
}

/* Lays one operation out; -ENOSPC and -ENOENT are counted and the plan stays empty. */
static int lay_out(struct pool *pool, const struct postmark_operation *operation, struct plan *plan)
{
	static const enum plan_kind kinds[] = {
		[POSTMARK_CREATE] = PLAN_CREATE,
		[POSTMARK_READ] = PLAN_READ,
		[POSTMARK_APPEND] = PLAN_APPEND,
		[POSTMARK_DELETE] = PLAN_DELETE,
	};
	struct layout *layout = pool->layout;
	nsec_t time_ns = operation_time(pool);
	int r = 0;

	plan->kind = (uint8_t)kinds[operation->kind];
	plan->id = pool->operations;
	plan->stream = pool->config.streams > 1 ? operation->id % pool->config.streams : 0;
	plan->file = operation->id;
	/* Two writes to one file never carry the same number: transactions are 1, 2, ... and the
	 * creation is 0 (a write 65,536 transactions later would, and is told by its file). */
	plan->transaction = operation->phase == POSTMARK_TRANSACTIONS ? operation->transaction + 1
								      : pool->operations;
	plan->generation = operation->phase == POSTMARK_TRANSACTIONS
				   ? (uint32_t)(operation->transaction + 1)
				   : 0;
	switch (operation->kind) {
	case POSTMARK_CREATE:
		pool->counts.asked_written_bytes += operation->bytes;
		r = layout->ops->create(layout, operation->slot, operation->bytes, time_ns, plan);
		break;
	case POSTMARK_APPEND:
		pool->counts.asked_written_bytes += operation->bytes;
		r = layout->ops->append(layout, operation->slot, operation->bytes, time_ns, plan);
		break;
	case POSTMARK_READ:
		pool->counts.asked_read_bytes += operation->bytes;
		r = layout->ops->read(layout, operation->slot, time_ns, plan);
		break;
	case POSTMARK_DELETE:
		r = layout->ops->remove(layout, operation->slot, time_ns, plan);
		break;
	}
	pool->counts.operations[operation->kind]++;
	if (r == -ENOSPC)
		pool->counts.no_space++;
	else if (r == -ENOENT)
		pool->counts.no_file++;
	return r;
}

/* The next operation of the phase that sends something; the others are done on the way. */
static int next_of_phase(struct pool *pool, enum postmark_phase phase, struct plan *plan)
{
	struct postmark_operation operation;

	while (postmark_phase(pool->load) == phase && postmark_next(pool->load, &operation) == 1) {
		uint32_t pair = pair_of(pool, &operation);
		int r = 0;

		if (operation.wasted) {
			if (operation.kind == POSTMARK_APPEND)
				pool->counts.wasted_appends++;
			else
				pool->counts.wasted_creates++;
		} else {
			r = lay_out(pool, &operation, plan);
			plan->tag = pair;
			if (plan->first)
				return 1;
		}
		if (pair != NO_PAIR)
			half_done(pool, pair, r < 0);
	}
	if (phase == POSTMARK_TRANSACTIONS && !pool->halves)
		pool->counts.transactions = postmark_counts(pool->load)->transactions;
	return 0;
}

static int next_readback(struct pool *pool, struct plan *plan)
{
	while (pool->readback_slot < postmark_slots(pool->load)) {
		uint32_t slot = pool->readback_slot++;

		if (!postmark_slot_bytes(pool->load, slot))
			continue;
		plan->kind = PLAN_READ;
		plan->file = postmark_slot_id(pool->load, slot);
		plan->transaction = slot;
		plan->tag = NO_PAIR;
		if (pool->layout->ops->read(pool->layout, slot, operation_time(pool), plan) == 0 &&
			plan->first)
			return 1;
	}
	return 0;
}

static int pool_next(struct source *source, struct plan *plan)
{
	struct pool *pool = container_of(source, struct pool, source);

	switch (pool->stage) {
	case POOL_CREATION:
		return next_of_phase(pool, POSTMARK_POOL, plan);
	case POOL_TRANSACTIONS:
		return next_of_phase(pool, POSTMARK_TRANSACTIONS, plan);
	case POOL_READBACK:
		return next_readback(pool, plan);
	}
	return 0;
}

static void pool_done(struct source *source, const struct plan *plan)
{
	struct pool *pool = container_of(source, struct pool, source);

	if (plan->tag != NO_PAIR)
		half_done(pool, plan->tag, plan->error != 0);
}

static void source_free(struct source *source)
{
	(void)source; /* the pool owns it */
}

static const struct source_ops pool_source_ops = {
	.next = pool_next,
	.done = pool_done,
	.free = source_free,
};

int pool_new(const struct pool_config *config, struct pool **ret_pool, struct error *error)
{
	/* Every plan in flight may be half of a transaction of its own; one more is being drawn,
	 * one may be drawn and not started. */
	uint32_t pairs = config->plans_max + 3;
	struct pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return error_set(error, -ENOMEM, "no memory for the pool");
	pool->config = *config;
	pool->halves =
		(uint8_t)((config->load->bias_read != -1) + (config->load->bias_create != -1));
	pool->pairs = calloc(pairs, sizeof(*pool->pairs));
	pool->free_pairs = calloc(pairs, sizeof(*pool->free_pairs));
	r = pool->pairs && pool->free_pairs ? postmark_new(config->load, &pool->load) : -ENOMEM;
	if (r < 0) {
		pool_free(pool);
		return error_set(error, r, "no memory for a pool of %d files", config->load->files);
	}
	r = config->layout->format(&config->layout_config, &pool->layout, error);
	if (r < 0) {
		pool_free(pool);
		return r;
	}
	pool->source = (struct source){
		.ops = &pool_source_ops,
		.requests_per_plan_max = layout_requests_max(config->layout, &config->layout_config,
			(uint64_t)config->load->size_high_bytes),
		.request_bytes_max = (uint32_t)min_u64(config->layout_config.max_request_bytes,
			round_up((uint64_t)config->load->size_high_bytes,
				config->layout_config.block_bytes)),
	};
	*ret_pool = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	if (pool->layout)
		pool->layout->ops->free(pool->layout);
	postmark_free(pool->load);
	free(pool->pairs);
	free(pool->free_pairs);
	free(pool);
}

struct source *pool_source(struct pool *pool, enum pool_stage stage)
{
	uint32_t pairs = pool->config.plans_max + 3;

	pool->stage = stage;
	pool->readback_slot = 0;
	pool->counts = (struct pool_counts){ 0 };
	pool->pair = NO_PAIR;
	pool->free_pair_count = 0;
	for (uint32_t i = pairs; i-- > 0;)
		pool->free_pairs[pool->free_pair_count++] = i;
	pool->source.reads_only = stage == POOL_READBACK;
	return &pool->source;
}

/* Draws a stage to its end and sends nothing; tells each plan to see (may be NULL). */
static int play(struct pool *pool, enum pool_stage stage,
	void (*see)(void *user, const struct plan *plan), void *user)
{
	struct source *source = pool_source(pool, stage);
	struct request_pool requests;
	struct plan plan;
	int r = request_pool_init(&requests, source->requests_per_plan_max);

	if (r < 0)
		return r;
	for (;;) {
		plan_clear(&plan, &requests);
		if (source->ops->next(source, &plan) == 0)
			break;
		if (see)
			see(user, &plan);
		source->ops->done(source, &plan);
		plan_release(&plan);
	}
	request_pool_done(&requests);
	return 0;
}

int pool_rewind(struct pool *pool, bool created, struct error *error)
{
	int r;

	pool->layout->ops->free(pool->layout);
	pool->layout = NULL;
	r = pool->config.layout->format(&pool->config.layout_config, &pool->layout, error);
	if (r < 0)
		return r;
	postmark_restart(pool->load);
	pool->operations = 0;
	r = created ? play(pool, POOL_CREATION, NULL, NULL) : 0;
	return r < 0 ? error_set(error, r, "no memory to rewind the pool") : 0;
}

void pool_cleanup(struct pool *pool)
{
	struct postmark_operation operation;

	while (postmark_next(pool->load, &operation) == 1) {
		struct plan plan;

		if (operation.phase != POSTMARK_CLEANUP || operation.kind != POSTMARK_DELETE)
			continue;
		plan_clear(&plan, NULL);
		(void)pool->layout->ops->remove(
			pool->layout, operation.slot, operation_time(pool), &plan);
		assert(!plan.first);
	}
}

const struct pool_counts *pool_counts(const struct pool *pool)
{
	return &pool->counts;
}

const struct postmark_counts *pool_load_counts(const struct pool *pool)
{
	return postmark_counts(pool->load);
}

const struct layout *pool_layout(const struct pool *pool)
{
	return pool->layout;
}

struct sight {
	struct pool_estimate *estimate;
	struct pool_extent *extent;
};

static void see_plan(void *user, const struct plan *plan)
{
	struct sight *sight = user;
	struct pool_estimate *estimate = sight->estimate;

	for (const struct request *request = plan->first; request; request = request->next) {
		uint64_t end = request->offset_bytes + request->length_bytes;

		sight->extent->requests++;
		if (request->op == REQUEST_READ)
			sight->extent->read_bytes += request->length_bytes;
		else
			sight->extent->written_bytes += request->length_bytes;
		estimate->first_byte = min_u64(estimate->first_byte, request->offset_bytes);
		estimate->end_byte = max_u64(estimate->end_byte, end);
	}
}

int pool_estimate(
	const struct pool_config *config, struct pool_estimate *ret_estimate, struct error *error)
{
	struct pool_estimate estimate = { .first_byte = UINT64_MAX };
	struct pool *pool;
	int r = pool_new(config, &pool, error);

	if (r < 0)
		return r;
	r = play(pool, POOL_CREATION, see_plan,
		&(struct sight){ .estimate = &estimate, .extent = &estimate.creation });
	estimate.creation_no_space = pool->counts.no_space;
	estimate.created_first_byte = estimate.first_byte;
	estimate.created_end_byte = estimate.end_byte;
	estimate.live_files = postmark_counts(pool->load)->live_files;
	if (r == 0)
		r = play(pool, POOL_TRANSACTIONS, see_plan,
			&(struct sight){ .estimate = &estimate, .extent = &estimate.transactions });
	estimate.counts = pool->counts;
	estimate.peak_blocks = pool->layout->peak_blocks;
	estimate.worst_bytes = 2 * (uint64_t)config->load->files *
			       round_up((uint64_t)config->load->size_high_bytes,
				       config->layout_config.block_bytes);
	estimate.memory_bytes = pool->layout->memory_bytes + postmark_memory_bytes(config->load);
	if (r == 0)
		pool_cleanup(pool);
	estimate.load = *postmark_counts(pool->load);
	pool_free(pool);
	if (r < 0)
		return error_set(error, r, "no memory to lay the pool out");
	if (estimate.first_byte == UINT64_MAX)
		estimate.first_byte = 0;
	*ret_estimate = estimate;
	return 0;
}
