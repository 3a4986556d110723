/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the source to the host queue: draws operations, opens stages, holds what must wait and
 * keeps the window.
 *
 * Admission is in Q order: when the first waiting request finds no room nobody passes it, as the
 * one thread of a benchmark would sleep for a request of its own.
 */
#include "engine/scheduler_state.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Requests drawn ahead: enough for `plans` small operations, bounded for large ones. */
#define REQUESTS_AHEAD 16384

size_t admission_requests(size_t requests_per_plan_max, unsigned plans)
{
	size_t ahead = requests_per_plan_max * plans;

	if (ahead > REQUESTS_AHEAD)
		ahead = REQUESTS_AHEAD;
	return ahead + requests_per_plan_max;
}

int admission_init(struct scheduler *scheduler)
{
	const struct scheduler_config *config = &scheduler->config;
	unsigned plan_count = config->plans + 1; /* one more for a stashed plan */

	scheduler->plans = request_array(plan_count, sizeof(*scheduler->plans));
	scheduler->hash = XXH3_createState();
	if (!scheduler->plans || !scheduler->hash ||
		request_pool_init(&scheduler->pool,
			admission_requests(config->source->requests_per_plan_max, config->plans)))
		return -ENOMEM;
	if (!config->source->reads_only &&
		conflicts_new(&scheduler->pool, config->source->request_bytes_max, plan_count,
			&scheduler->conflicts))
		return -ENOMEM;
	for (unsigned i = plan_count; i-- > 0;) {
		scheduler->plans[i].next_free = scheduler->free_plans;
		scheduler->free_plans = &scheduler->plans[i];
	}
	return 0;
}

void admission_done(struct scheduler *scheduler)
{
	XXH3_freeState(scheduler->hash);
	conflicts_free(scheduler->conflicts);
	request_pool_done(&scheduler->pool);
	free(scheduler->plans);
}

void admission_start(struct scheduler *scheduler)
{
	(void)XXH3_64bits_reset(scheduler->hash);
	scheduler->hash_count = 0;
}

static void flush_hash(struct scheduler *scheduler)
{
	(void)XXH3_64bits_update(scheduler->hash, scheduler->hash_batch,
		scheduler->hash_count * sizeof(scheduler->hash_batch[0]));
	scheduler->hash_count = 0;
}

/* One request's share of q_stream_hash: 16 bytes, little endian whatever the machine. */
static void hash_request(struct scheduler *scheduler, const struct request *request)
{
	uint8_t *record = scheduler->hash_batch[scheduler->hash_count++];
	uint64_t offset = htole64(request->offset_bytes);
	uint32_t length = htole32(request->length_bytes);

	memcpy(record, &offset, 8);
	memcpy(record + 8, &length, 4);
	record[12] = request->op;
	record[13] = request->role;
	record[14] = request->stage;
	record[15] = request->fua;
	if (scheduler->hash_count == HASH_BATCH)
		flush_hash(scheduler);
}

static bool window_has_room(const struct scheduler *scheduler, const struct request *request)
{
	return request->op == REQUEST_FLUSH ||
	       scheduler->allocated[request->op] < scheduler->config.window;
}

static void enqueue(struct scheduler *scheduler, struct request *request)
{
	scheduler->allocated[request->op]++;
	request->state = REQUEST_QUEUED;
	scheduler->result.requests_queued++;
	if (scheduler->queue)
		(void)host_queue_insert(scheduler->queue, request, scheduler->now_ns);
	else
		fifo_push(&scheduler->line, request);
}

/* The request's stage is open: it may go unless something is in its way. */
static void offer(struct scheduler *scheduler, struct request *request, struct fifo *fifo)
{
	request->queued_ns = scheduler->now_ns;
	if (request->blockers || request->plan->waits_for_file) {
		request->state = REQUEST_HELD;
		request->held = true;
		scheduler->result.held++;
	} else if (fifo == &scheduler->returned) {
		request->state = REQUEST_WAITING;
		fifo_insert(fifo, request);
	} else if (!fifo->first && !scheduler->returned.first &&
		   window_has_room(scheduler, request)) {
		enqueue(scheduler, request); /* the common case: nobody waits */
	} else {
		request->state = REQUEST_WAITING;
		fifo_push(fifo, request);
	}
}

static inline void open_stage(struct scheduler *scheduler, struct plan *plan, struct fifo *fifo)
{
	uint8_t stage = plan->unstarted->stage;
	struct request *request = plan->unstarted;

	for (; request && request->stage == stage; request = request->next) {
		plan->requests_open++;
		offer(scheduler, request, fifo);
	}
	plan->unstarted = request;
}

static void unhold(struct scheduler *scheduler, struct request *request)
{
	if (request->state != REQUEST_HELD || request->blockers || request->plan->waits_for_file)
		return;
	request->state = REQUEST_WAITING;
	fifo_insert(&scheduler->returned, request);
}

static void request_freed(void *user, struct request *request)
{
	unhold(user, request);
}

static void plan_opened(void *user, struct plan *plan)
{
	for (struct request *request = plan->first; request != plan->unstarted;
		request = request->next)
		unhold(user, request);
}

static void start_plan(struct scheduler *scheduler, struct plan *plan)
{
	scheduler->plans_in_flight++;
	scheduler->transaction = plan->transaction;
	for (struct request *request = plan->first; request; request = request->next) {
		request->sequence = scheduler->sequence++;
		request->state = REQUEST_NEW;
		if (!scheduler->config.source->endless)
			hash_request(scheduler, request);
	}
	scheduler->result.plans++;
	if (scheduler->conflicts)
		conflicts_enter(scheduler->conflicts, plan);
	plan->unstarted = plan->first;
	open_stage(scheduler, plan, &scheduler->fresh);
	if (scheduler->config.reads == READS_BLOCKING &&
		(plan->kind == PLAN_READ || plan->first->op == REQUEST_READ))
		scheduler->reader = plan;
}

static void finish_plan(struct scheduler *scheduler, struct plan *plan)
{
	scheduler->plans_in_flight--;
	if (scheduler->reader == plan)
		scheduler->reader = NULL;
	if (plan->error)
		scheduler->result.plan_errors++;
	if (scheduler->conflicts)
		conflicts_leave_plan(scheduler->conflicts, plan, plan_opened, scheduler);
	if (scheduler->config.source->ops->done)
		scheduler->config.source->ops->done(scheduler->config.source, plan);
	plan_release(plan);
	plan->next_free = scheduler->free_plans;
	scheduler->free_plans = plan;
}

static bool may_draw(struct scheduler *scheduler)
{
	const struct scheduler_config *config = &scheduler->config;

	return !scheduler->exhausted && !scheduler->draining && !scheduler->reader &&
	       !scheduler->stashed && scheduler->plans_in_flight < config->plans &&
	       scheduler->pool.free_count >= config->source->requests_per_plan_max;
}

/* Draws the next operation; false when there is none now. */
static bool draw(struct scheduler *scheduler)
{
	struct source *source = scheduler->config.source;
	struct plan *plan = scheduler->free_plans;

	if (!may_draw(scheduler))
		return false;
	scheduler->free_plans = plan->next_free;
	plan_clear(plan, &scheduler->pool);
	if (source->ops->next(source, plan) == 0) {
		plan->next_free = scheduler->free_plans;
		scheduler->free_plans = plan;
		scheduler->exhausted = true;
		return false;
	}
	if (!plan->first) {
		if (source->ops->done)
			source->ops->done(source, plan);
		plan->next_free = scheduler->free_plans;
		scheduler->free_plans = plan;
		return true;
	}
	if (scheduler->config.order == ORDER_STRICT && scheduler->plans_in_flight &&
		plan->transaction != scheduler->transaction)
		scheduler->stashed = plan;
	else
		start_plan(scheduler, plan);
	return true;
}

/* Moves the first waiting request into the host queue; false when there is none or no room. */
static bool admit(struct scheduler *scheduler)
{
	struct fifo *fifo = scheduler->returned.first ? &scheduler->returned : &scheduler->fresh;
	struct request *request = fifo->first;

	if (!request || !window_has_room(scheduler, request))
		return false;
	(void)fifo_pop(fifo);
	/* Waiting for the window is not being in the queue; being held is. */
	if (request->state == REQUEST_WAITING && fifo == &scheduler->fresh)
		request->queued_ns = scheduler->now_ns;
	enqueue(scheduler, request);
	return true;
}

void admission_fill(struct scheduler *scheduler)
{
	const unsigned window = scheduler->config.window;

	for (;;) {
		if (scheduler->returned.first || scheduler->fresh.first) {
			while (admit(scheduler))
				;
			if (scheduler->returned.first || scheduler->fresh.first)
				return; /* the window is full for the next one */
		}
		if (scheduler->stashed && !scheduler->plans_in_flight) {
			struct plan *plan = scheduler->stashed;

			scheduler->stashed = NULL;
			start_plan(scheduler, plan);
			continue;
		}
		if (scheduler->allocated[REQUEST_READ] + scheduler->allocated[REQUEST_WRITE] >=
				2 * window ||
			!draw(scheduler))
			return;
	}
}

/* Stages behind a failed one are never sent; whoever waits for them is let go. */
static void cancel_rest(struct scheduler *scheduler, struct plan *plan)
{
	for (struct request *request = plan->unstarted; request; request = request->next) {
		scheduler->result.requests_cancelled++;
		if (scheduler->conflicts)
			conflicts_leave(scheduler->conflicts, request, request_freed, scheduler);
	}
	plan->unstarted = NULL;
}

void admission_complete(struct scheduler *scheduler, struct request *request, int error)
{
	struct plan *plan = request->plan;

	if (error && !plan->error)
		plan->error = error;
	scheduler->allocated[request->op]--;
	if (scheduler->conflicts)
		conflicts_leave(scheduler->conflicts, request, request_freed, scheduler);
	if (--plan->requests_open)
		return;
	if (plan->unstarted && plan->error)
		cancel_rest(scheduler, plan);
	if (plan->unstarted)
		open_stage(scheduler, plan, &scheduler->returned);
	else
		finish_plan(scheduler, plan);
}

uint64_t admission_hash(struct scheduler *scheduler)
{
	flush_hash(scheduler);
	return XXH3_64bits_digest(scheduler->hash);
}
