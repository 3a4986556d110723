/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the host queue to the drive and back: the depth gate and the loop. What is drawn, held and
 * admitted is decided in engine/admission.c; engine/scheduler_state.h says how the two share.
 */
#include "engine/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "engine/scheduler_state.h"

size_t scheduler_memory_bytes(size_t requests_per_plan_max, unsigned window, unsigned plans)
{
	size_t requests = admission_requests(requests_per_plan_max, plans);

	/* The conflict index: two nodes a request and up to twice as many chunk heads. */
	return requests * (sizeof(struct request) + 4 * 2 + 4 * 4) +
	       (plans + 1) * (sizeof(struct plan) + 4 * sizeof(void *)) +
	       (size_t)window * 4 * sizeof(void *);
}

/* With nothing to sort and nothing to merge the host queue is a line of requests. */
static int make_queue(struct scheduler *scheduler)
{
	const struct scheduler_config *config = &scheduler->config;
	const struct host_queue_config queue = {
		.elevator = config->elevator,
		.options = config->elevator_options,
		.merge = config->merge,
		.max_request_bytes = config->max_request_bytes,
		.capacity = 2 * (size_t)config->window,
		.streams = config->streams ? config->streams : 1,
	};

	if (!config->elevator || (config->elevator == &elevator_noop_ops && !config->merge))
		return 0;
	return host_queue_new(&queue, &scheduler->queue);
}

static int allocate(struct scheduler *scheduler)
{
	const struct scheduler_config *config = &scheduler->config;
	unsigned slots = config->depth + config->flushes;

	scheduler->slots = slots;
	scheduler->free_slots = malloc(config->depth * sizeof(uint32_t));
	scheduler->free_flush_slots = malloc(config->flushes * sizeof(uint32_t));
	scheduler->by_slot = calloc(slots, sizeof(struct request *));
	scheduler->batch = calloc(slots, sizeof(struct request *));
	scheduler->done = calloc(slots, sizeof(struct request *));
	if (!scheduler->free_slots || !scheduler->free_flush_slots || !scheduler->by_slot ||
		!scheduler->batch || !scheduler->done || admission_init(scheduler) ||
		make_queue(scheduler))
		return -ENOMEM;
	for (unsigned i = config->depth; i-- > 0;)
		scheduler->free_slots[scheduler->free_slot_count++] = i;
	for (unsigned i = config->flushes; i-- > 0;)
		scheduler->free_flush_slots[scheduler->free_flush_count++] = config->depth + i;
	return 0;
}

/* The longest transfer that can reach the drive. */
static uint32_t transfer_bytes_max(const struct scheduler_config *config)
{
	uint32_t own = config->source->request_bytes_max;

	return config->merge && config->max_request_bytes > own ? config->max_request_bytes : own;
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
			config->buffers->slot_bytes >= transfer_bytes_max(config)));
	scheduler = calloc(1, sizeof(*scheduler));
	if (!scheduler)
		return error_set(error, -ENOMEM, "no memory for the scheduler");
	scheduler->config = *config;
	if (allocate(scheduler)) {
		scheduler_free(scheduler);
		return error_set(error, -ENOMEM,
			"no memory for %zu requests in flight: lower --plans (%u) or --window (%u)",
			admission_requests(config->source->requests_per_plan_max, config->plans),
			config->plans, config->window);
	}
	*ret_scheduler = scheduler;
	return 0;
}

void scheduler_free(struct scheduler *scheduler)
{
	if (!scheduler)
		return;
	host_queue_free(scheduler->queue);
	admission_done(scheduler);
	free(scheduler->free_slots);
	free(scheduler->free_flush_slots);
	free(scheduler->by_slot);
	free(scheduler->batch);
	free(scheduler->done);
	free(scheduler);
}

/* What a request's part carries to the drive: stamps, and the judge's memory of them. */
static void prepare_part(struct scheduler *scheduler, struct request *part, void *buffer)
{
	const struct scheduler_config *config = &scheduler->config;

	part->buffer = buffer;
	if (part->op != REQUEST_WRITE)
		return;
	if (config->stamp)
		stamp_fill(buffer, part->length_bytes, part->offset_bytes, config->run,
			(uint32_t)part->plan->file, (uint16_t)part->plan->generation);
	if (config->shadow)
		shadow_write(config->shadow, part);
}

static void prepare(struct scheduler *scheduler, struct request *request)
{
	const struct scheduler_config *config = &scheduler->config;
	bool write = request->op == REQUEST_WRITE;
	char *buffer;

	if (write && config->durable_writes)
		request->fua = true;
	if (request->op == REQUEST_FLUSH || !config->buffers)
		return;
	buffer = buffers_area(config->buffers, request->slot, write);
	request->buffer = buffer;
	if (!request->children) {
		prepare_part(scheduler, request, buffer);
		return;
	}
	for (struct request *part = request->children; part; part = part->queue_next)
		prepare_part(
			scheduler, part, buffer + (part->offset_bytes - request->offset_bytes));
}

/* The first of the plain line that there is room for. */
static struct request *take_from_line(struct scheduler *scheduler)
{
	const struct request *first = scheduler->line.first;

	if (!first || !(first->op == REQUEST_FLUSH ? scheduler->free_flush_count
						   : scheduler->free_slot_count))
		return NULL;
	return fifo_pop(&scheduler->line);
}

static struct request *take_from_queue(struct scheduler *scheduler, nsec_t *ret_wake_ns)
{
	unsigned room = (scheduler->free_slot_count ? HOST_QUEUE_TRANSFER : 0u) |
			(scheduler->free_flush_count ? HOST_QUEUE_FLUSH : 0u);

	return room ? host_queue_next(scheduler->queue, scheduler->now_ns, room, ret_wake_ns)
		    : NULL;
}

/* The next request that the depth gate lets through, with its slot; NULL when there is none. */
static struct request *take(struct scheduler *scheduler, nsec_t *ret_wake_ns)
{
	struct request *request = scheduler->queue ? take_from_queue(scheduler, ret_wake_ns)
						   : take_from_line(scheduler);

	if (!request)
		return NULL;
	if (request->op == REQUEST_FLUSH) {
		request->slot = scheduler->free_flush_slots[--scheduler->free_flush_count];
		scheduler->flushes_at_drive++;
	} else {
		request->slot = scheduler->free_slots[--scheduler->free_slot_count];
		scheduler->at_drive++;
	}
	return request;
}

/* Hands over what the depth gate lets through. Returns when an elevator that idles on purpose
 * wants to be asked again; NSEC_NEVER when it does not. */
static nsec_t dispatch(struct scheduler *scheduler)
{
	struct backend *backend = scheduler->config.backend;
	nsec_t wake_ns = NSEC_NEVER, now_ns;
	struct request *request;
	unsigned count = 0;

	while ((request = take(scheduler, &wake_ns))) {
		prepare(scheduler, request);
		request->state = REQUEST_AT_DRIVE;
		request->dispatch = (uint32_t)scheduler->result.requests_dispatched++;
		scheduler->by_slot[request->slot] = request;
		scheduler->batch[count++] = request;
	}
	if (!count)
		return wake_ns;
	now_ns = clock_now(scheduler->config.clock);
	for (unsigned i = 0; i < count; i++)
		scheduler->batch[i]->dispatched_ns = now_ns;
	backend->ops->submit(backend, scheduler->batch, count);
	return wake_ns;
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
	if (request->op == REQUEST_WRITE && scheduler->config.shadow)
		shadow_forget(scheduler->config.shadow, request);
	if (error == -ENODEV || error == -ENXIO || error == -ENOMEDIUM) {
		scheduler->draining = true;
		scheduler->result.end = SCHEDULER_DEVICE_LOST;
	}
}

static void complete_part(struct scheduler *scheduler, struct request *part, bool merged)
{
	const struct scheduler_config *config = &scheduler->config;
	int error = judge(part);

	recorder_add(config->recorder, part, error);
	if (__builtin_expect(error != 0, 0))
		note_error(scheduler, part, error);
	else if (config->shadow && part->op == REQUEST_READ && config->buffers)
		(void)shadow_verify(
			config->shadow, part, part->buffer, config->run, config->verify);
	if (config->trace) {
		const struct trace_record record =
			trace_record_of(part, scheduler->result.started_ns, part->dispatch,
				(merged ? TRACE_MERGED : 0u) | (part->held ? TRACE_HELD : 0u));

		trace_writer_add(config->trace, &record);
	}
	admission_complete(scheduler, part, error);
}

static void complete(struct scheduler *scheduler, struct request *request)
{
	uint32_t dispatch_number = request->dispatch;
	bool merged = request->children != NULL;
	struct request *part, *next;

	request->completed_ns = scheduler->now_ns;
	scheduler->by_slot[request->slot] = NULL;
	if (request->op == REQUEST_FLUSH) {
		scheduler->free_flush_slots[scheduler->free_flush_count++] = request->slot;
		scheduler->flushes_at_drive--;
	} else {
		scheduler->free_slots[scheduler->free_slot_count++] = request->slot;
		scheduler->at_drive--;
		scheduler->config.recorder->at_drive_ns +=
			request->completed_ns - request->dispatched_ns;
	}
	if (!scheduler->queue) {
		complete_part(scheduler, request, false);
		return;
	}
	part = host_queue_completed(scheduler->queue, request, scheduler->now_ns);
	for (; part; part = next) {
		next = merged ? part->queue_next : NULL;
		part->dispatch = dispatch_number;
		complete_part(scheduler, part, merged);
	}
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

/* The one place where the engine waits. */
static int wait_for_drive(struct scheduler *scheduler, nsec_t wake_ns, struct error *error)
{
	struct backend *backend = scheduler->config.backend;
	int count;

	scheduler->result.waits++;
	if (scheduler->at_drive < scheduler->config.depth) {
		const struct request *first = scheduler->line.first;

		assert(!first || !may_dispatch(scheduler) || first->op == REQUEST_FLUSH);
		scheduler->result.starved_waits++;
	}
	count = backend->ops->wait(backend, wake_ns, scheduler->done, scheduler->slots);
	scheduler->now_ns = clock_now(scheduler->config.clock);
	if (count < 0)
		return error_set(error, count, "the %s engine failed to wait: %s",
			backend->ops->name, strerror(-count));
	for (int i = 0; i < count; i++)
		complete(scheduler, scheduler->done[i]);
	return 0;
}

static int run_loop(struct scheduler *scheduler, struct error *error)
{
	for (;;) {
		nsec_t wake_ns = NSEC_NEVER;
		int r;

		if (!heed(scheduler)) {
			scheduler->result.abandoned =
				scheduler->at_drive + scheduler->flushes_at_drive;
			if (scheduler->result.abandoned)
				scheduler->result.end = SCHEDULER_ABANDONED;
			return 0;
		}
		if (may_dispatch(scheduler)) {
			admission_fill(scheduler);
			wake_ns = dispatch(scheduler);
		}
		if (!scheduler->at_drive && !scheduler->flushes_at_drive && wake_ns == NSEC_NEVER) {
			/* Nothing can be held by nothing. */
			assert(!may_dispatch(scheduler) || !scheduler->plans_in_flight);
			return 0;
		}
		r = wait_for_drive(scheduler, wake_ns, error);
		if (r < 0)
			return r;
	}
}

int scheduler_run(
	struct scheduler *scheduler, struct scheduler_result *ret_result, struct error *error)
{
	struct series *series = scheduler->config.recorder->series;
	int r;

	admission_start(scheduler);
	scheduler->result = (struct scheduler_result){ .end = SCHEDULER_COMPLETE };
	scheduler->now_ns = clock_now(scheduler->config.clock);
	scheduler->result.started_ns = scheduler->now_ns;
	if (series)
		series_start(series, scheduler->now_ns);
	r = run_loop(scheduler, error);
	scheduler->result.finished_ns = scheduler->now_ns;
	if (series)
		series_finish(series, scheduler->now_ns);
	scheduler->result.q_stream_hash = admission_hash(scheduler);
	if (scheduler->queue)
		scheduler->result.merges = host_queue_merges(scheduler->queue);
	*ret_result = scheduler->result;
	return r;
}
