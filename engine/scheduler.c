/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a request moves: REQUEST_NEW (its stage is closed) -> HELD (something earlier is in its way)
 * -> WAITING (may go, the window has no room for its direction) -> QUEUED (in the host queue)
 * -> AT_DRIVE -> gone. Only requests that can be dispatched take room in the window, so what is
 * held can never keep out what it waits for.
 *
 * Admission is in Q order: when the first waiting request finds no room nobody passes it, as the
 * one thread of a benchmark would sleep for a request of its own.
 */
#include "engine/scheduler.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "engine/conflicts.h"
#include "engine/fifo.h"

/* Requests drawn ahead: enough for `plans` small operations, bounded for large ones. */
#define REQUESTS_AHEAD 16384

/* Requests hashed at a time: the library's call costs more than 16 bytes do. */
#define HASH_BATCH 64

enum request_state { REQUEST_NEW, REQUEST_HELD, REQUEST_WAITING, REQUEST_QUEUED, REQUEST_AT_DRIVE };

struct scheduler {
	struct scheduler_config config;
	struct scheduler_result result;
	struct request_pool pool;
	struct conflicts *conflicts; /* NULL for sources that only read */
	struct plan *plans;
	struct plan *free_plans;
	unsigned plans_in_flight;
	struct plan *stashed;      /* drawn, not started: strict order */
	uint64_t transaction;      /* the one that runs, in strict order */
	const struct plan *reader; /* blocking reads: nothing is drawn before it is complete */
	struct fifo returned;      /* may go again: held before, or of a later stage */
	struct fifo fresh;         /* of the plan drawn last */
	struct fifo queue;         /* the host queue */
	unsigned allocated[REQUEST_OPS]; /* window in use */
	unsigned at_drive, flushes_at_drive;
	uint32_t *free_slots;
	unsigned free_slot_count;
	uint32_t *free_flush_slots;
	unsigned free_flush_count;
	struct request **by_slot; /* at the drive; NULL when the slot is free */
	struct request **batch;
	struct request **done;
	unsigned slots;
	bool exhausted; /* the source has no more */
	bool draining;
	uint64_t sequence;
	nsec_t now_ns;
	XXH3_state_t *hash;
	uint8_t hash_batch[HASH_BATCH][16];
	unsigned hash_count;
};

static size_t requests_needed(const struct source *source, unsigned plans)
{
	size_t ahead = source->requests_per_plan_max * plans;

	if (ahead > REQUESTS_AHEAD)
		ahead = REQUESTS_AHEAD;
	return ahead + source->requests_per_plan_max;
}

size_t scheduler_memory_bytes(const struct source *source, unsigned window, unsigned plans)
{
	size_t requests = requests_needed(source, plans);

	/* The conflict index: two nodes a request and up to twice as many chunk heads. */
	return requests * (sizeof(struct request) + 4 * 2 + 4 * 4) +
	       (plans + 1) * (sizeof(struct plan) + 4 * sizeof(void *)) +
	       (size_t)window * 4 * sizeof(void *);
}

static int allocate(struct scheduler *scheduler)
{
	const struct scheduler_config *config = &scheduler->config;
	unsigned plan_count = config->plans + 1; /* one more for a stashed plan */
	unsigned slots = config->depth + config->flushes;

	scheduler->slots = slots;
	scheduler->plans = calloc(plan_count, sizeof(*scheduler->plans));
	scheduler->free_slots = malloc(config->depth * sizeof(uint32_t));
	scheduler->free_flush_slots = malloc(config->flushes * sizeof(uint32_t));
	scheduler->by_slot = calloc(slots, sizeof(struct request *));
	scheduler->batch = calloc(slots, sizeof(struct request *));
	scheduler->done = calloc(slots, sizeof(struct request *));
	scheduler->hash = XXH3_createState();
	if (!scheduler->plans || !scheduler->free_slots || !scheduler->free_flush_slots ||
		!scheduler->by_slot || !scheduler->batch || !scheduler->done || !scheduler->hash ||
		request_pool_init(&scheduler->pool, requests_needed(config->source, config->plans)))
		return -ENOMEM;
	if (!config->source->reads_only &&
		conflicts_new(&scheduler->pool, config->source->request_bytes_max, plan_count,
			&scheduler->conflicts))
		return -ENOMEM;
	for (unsigned i = plan_count; i-- > 0;) {
		scheduler->plans[i].next_free = scheduler->free_plans;
		scheduler->free_plans = &scheduler->plans[i];
	}
	for (unsigned i = config->depth; i-- > 0;)
		scheduler->free_slots[scheduler->free_slot_count++] = i;
	for (unsigned i = config->flushes; i-- > 0;)
		scheduler->free_flush_slots[scheduler->free_flush_count++] = config->depth + i;
	return 0;
}

int scheduler_new(const struct scheduler_config *config, struct scheduler **ret_scheduler,
	struct error *error)
{
	struct scheduler *scheduler;

	assert(config->depth >= 1 && config->window >= config->depth && config->plans >= 1);
	assert(config->flushes >= 1 && config->source->requests_per_plan_max >= 1);
	if (!config->source->reads_only)
		target_assert_writable(config->target);
	assert(!config->buffers ||
		(config->buffers->slots >= config->depth &&
			config->buffers->slot_bytes >= config->source->request_bytes_max));
	scheduler = calloc(1, sizeof(*scheduler));
	if (!scheduler)
		return error_set(error, -ENOMEM, "no memory for the scheduler");
	scheduler->config = *config;
	if (allocate(scheduler)) {
		scheduler_free(scheduler);
		return error_set(error, -ENOMEM,
			"no memory for %zu requests in flight: lower --plans (%u) or --window (%u)",
			requests_needed(config->source, config->plans), config->plans,
			config->window);
	}
	*ret_scheduler = scheduler;
	return 0;
}

void scheduler_free(struct scheduler *scheduler)
{
	if (!scheduler)
		return;
	XXH3_freeState(scheduler->hash);
	conflicts_free(scheduler->conflicts);
	request_pool_done(&scheduler->pool);
	free(scheduler->plans);
	free(scheduler->free_slots);
	free(scheduler->free_flush_slots);
	free(scheduler->by_slot);
	free(scheduler->batch);
	free(scheduler->done);
	free(scheduler);
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
	fifo_push(&scheduler->queue, request);
}

/* The request's stage is open: it may go unless something is in its way. */
static void offer(struct scheduler *scheduler, struct request *request, struct fifo *fifo)
{
	request->queued_ns = scheduler->now_ns;
	if (request->blockers || request->plan->waits_for_file) {
		request->state = REQUEST_HELD;
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

static void open_stage(struct scheduler *scheduler, struct plan *plan, struct fifo *fifo)
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

/* Fills the host queue as far as window, plans and source allow. */
static void fill(struct scheduler *scheduler)
{
	do {
		while (admit(scheduler))
			;
		if (scheduler->stashed && !scheduler->plans_in_flight) {
			struct plan *plan = scheduler->stashed;

			scheduler->stashed = NULL;
			start_plan(scheduler, plan);
			continue;
		}
		if (scheduler->returned.first || scheduler->fresh.first)
			return; /* the window is full for the next one */
		if (scheduler->allocated[REQUEST_READ] + scheduler->allocated[REQUEST_WRITE] >=
			2 * scheduler->config.window)
			return;
	} while (scheduler->fresh.first || draw(scheduler));
}

static void prepare(struct scheduler *scheduler, struct request *request)
{
	const struct scheduler_config *config = &scheduler->config;
	bool write = request->op == REQUEST_WRITE;

	if (write && config->durable_writes)
		request->fua = true;
	if (request->op == REQUEST_FLUSH || !config->buffers)
		return;
	request->buffer = buffers_area(config->buffers, request->slot, write);
	if (write && config->stamp)
		stamp_fill(request->buffer, request->length_bytes, request->offset_bytes,
			config->run, (uint32_t)request->plan->file,
			(uint16_t)request->plan->generation);
	if (write && config->shadow)
		shadow_write(config->shadow, request);
}

/* Hands over what the depth gate lets through. */
static void dispatch(struct scheduler *scheduler)
{
	struct backend *backend = scheduler->config.backend;
	unsigned count = 0;
	nsec_t now_ns;

	while (scheduler->queue.first) {
		struct request *request = scheduler->queue.first;

		if (request->op == REQUEST_FLUSH) {
			if (!scheduler->free_flush_count)
				break;
			request->slot = scheduler->free_flush_slots[--scheduler->free_flush_count];
			scheduler->flushes_at_drive++;
		} else {
			if (scheduler->at_drive == scheduler->config.depth)
				break;
			request->slot = scheduler->free_slots[--scheduler->free_slot_count];
			scheduler->at_drive++;
		}
		(void)fifo_pop(&scheduler->queue);
		prepare(scheduler, request);
		request->state = REQUEST_AT_DRIVE;
		scheduler->by_slot[request->slot] = request;
		scheduler->batch[count++] = request;
	}
	if (!count)
		return;
	now_ns = clock_now(scheduler->config.clock);
	for (unsigned i = 0; i < count; i++)
		scheduler->batch[i]->dispatched_ns = now_ns;
	scheduler->result.requests_dispatched += count;
	backend->ops->submit(backend, scheduler->batch, count);
}

/* A short transfer inside the device is an error everywhere. */
static int judge(const struct request *request)
{
	if (__builtin_expect(request->result < 0, 0))
		return request->result;
	if (request->op != REQUEST_FLUSH && (uint32_t)request->result != request->length_bytes)
		return -EIO;
	return 0;
}

static void note_error(struct scheduler *scheduler, struct request *request, int error)
{
	if (!request->plan->error)
		request->plan->error = error;
	if (request->op == REQUEST_WRITE && scheduler->config.shadow)
		shadow_forget(scheduler->config.shadow, request);
	if (error == -ENODEV || error == -ENXIO || error == -ENOMEDIUM) {
		scheduler->draining = true;
		scheduler->result.end = SCHEDULER_DEVICE_LOST;
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

static void complete(struct scheduler *scheduler, struct request *request)
{
	const struct scheduler_config *config = &scheduler->config;
	struct plan *plan = request->plan;
	int error = judge(request);

	request->completed_ns = scheduler->now_ns;
	recorder_add(config->recorder, request, error);
	if (__builtin_expect(error != 0, 0))
		note_error(scheduler, request, error);
	else if (config->shadow && request->op == REQUEST_READ && config->buffers)
		(void)shadow_verify(
			config->shadow, request, request->buffer, config->run, config->verify);
	scheduler->by_slot[request->slot] = NULL;
	if (request->op == REQUEST_FLUSH) {
		scheduler->free_flush_slots[scheduler->free_flush_count++] = request->slot;
		scheduler->flushes_at_drive--;
	} else {
		scheduler->free_slots[scheduler->free_slot_count++] = request->slot;
		scheduler->at_drive--;
	}
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

static void tell(struct scheduler *scheduler)
{
	const struct recorder *recorder = scheduler->config.recorder;
	struct scheduler_status status = {
		.now_ns = scheduler->now_ns - scheduler->result.started_ns,
		.at_drive = scheduler->at_drive + scheduler->flushes_at_drive,
		.draining = scheduler->draining,
		.errors = recorder_errors(recorder),
		.depth_mean = recorder_depth_mean(recorder),
	};

	for (unsigned i = 0; i < REQUEST_OPS; i++) {
		status.requests_completed += recorder->operations[i].completed;
		status.bytes_completed += recorder->operations[i].bytes;
	}
	for (unsigned i = 0; i < scheduler->slots; i++) {
		const struct request *request = scheduler->by_slot[i];

		if (request && scheduler->now_ns - request->dispatched_ns > status.oldest_age_ns) {
			status.oldest_age_ns = scheduler->now_ns - request->dispatched_ns;
			status.oldest = *request;
		}
	}
	scheduler->config.on_tick(scheduler->config.user, &status);
}

/* Looks at signals and limits; false when the loop must be left at once. */
static bool heed(struct scheduler *scheduler)
{
	const struct scheduler_config *config = &scheduler->config;
	struct scheduler_signals *signals = config->signals;

	if (config->time_limit_ns && !scheduler->draining &&
		scheduler->now_ns - scheduler->result.started_ns >= config->time_limit_ns) {
		scheduler->draining = true;
		scheduler->result.end = SCHEDULER_TIME_UP;
	}
	if (!signals)
		return true;
	if (signals->tick) {
		signals->tick = 0;
		if (config->on_tick)
			tell(scheduler);
	}
	if (signals->stop && scheduler->result.end != SCHEDULER_INTERRUPTED) {
		scheduler->draining = true;
		scheduler->result.end = SCHEDULER_INTERRUPTED;
	}
	return signals->stop < 2;
}

/* What was drawn but is not at the drive is dropped when no more may be sent. */
static bool may_dispatch(const struct scheduler *scheduler)
{
	return scheduler->result.end != SCHEDULER_INTERRUPTED &&
	       scheduler->result.end != SCHEDULER_DEVICE_LOST;
}

static int run_loop(struct scheduler *scheduler, struct error *error)
{
	struct backend *backend = scheduler->config.backend;
	const struct scheduler_config *config = &scheduler->config;

	for (;;) {
		int count;

		if (!heed(scheduler)) {
			scheduler->result.abandoned =
				scheduler->at_drive + scheduler->flushes_at_drive;
			if (scheduler->result.abandoned)
				scheduler->result.end = SCHEDULER_ABANDONED;
			return 0;
		}
		if (may_dispatch(scheduler)) {
			fill(scheduler);
			dispatch(scheduler);
		}
		if (!scheduler->at_drive && !scheduler->flushes_at_drive) {
			/* Nothing can be held by nothing. */
			assert(!may_dispatch(scheduler) || !scheduler->plans_in_flight);
			return 0;
		}
		scheduler->result.waits++;
		if (scheduler->at_drive < config->depth) {
			assert(!scheduler->queue.first || !may_dispatch(scheduler) ||
				scheduler->queue.first->op == REQUEST_FLUSH);
			scheduler->result.starved_waits++;
		}
		count = backend->ops->wait(backend, NSEC_NEVER, scheduler->done, scheduler->slots);
		scheduler->now_ns = clock_now(config->clock);
		if (count < 0)
			return error_set(error, count, "the %s engine failed to wait: %s",
				backend->ops->name, strerror(-count));
		for (int i = 0; i < count; i++)
			complete(scheduler, scheduler->done[i]);
	}
}

int scheduler_run(
	struct scheduler *scheduler, struct scheduler_result *ret_result, struct error *error)
{
	int r;

	(void)XXH3_64bits_reset(scheduler->hash);
	scheduler->hash_count = 0;
	scheduler->result = (struct scheduler_result){ .end = SCHEDULER_COMPLETE };
	scheduler->now_ns = clock_now(scheduler->config.clock);
	scheduler->result.started_ns = scheduler->now_ns;
	if (scheduler->config.recorder->series)
		series_start(scheduler->config.recorder->series, scheduler->now_ns);
	r = run_loop(scheduler, error);
	scheduler->result.finished_ns = scheduler->now_ns;
	if (scheduler->config.recorder->series)
		series_finish(scheduler->config.recorder->series, scheduler->now_ns);
	flush_hash(scheduler);
	scheduler->result.q_stream_hash = XXH3_64bits_digest(scheduler->hash);
	*ret_result = scheduler->result;
	return r;
}
