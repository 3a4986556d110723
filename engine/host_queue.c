/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Merging looks up who ends where a request begins and who begins where it ends, in two hash
 * tables with open addressing (linear probing; Knuth, TAOCP vol. 3, 6.4, algorithms L and R). The
 * one inserted last is tried before all. Of several candidates, reads that end alike, the one with
 * the lowest sequence is taken, so the order of the table is never seen.
 */
#include "engine/host_queue.h"

#include <stdlib.h>

#include "engine/fifo.h"

struct merged {
	struct request request;
	struct request *last; /* of the parts */
	size_t parts;
	struct merged *next_free;
};

/* Waiting requests by their first or last byte's neighbour. */
struct edges {
	struct request **slots;
	uint64_t mask;
	bool ends; /* by end, else by offset */
};

struct host_queue {
	struct host_queue_config config;
	struct elevator *elevator;
	struct edges begins, ends;
	struct merged *merged;
	struct merged *free_merged;
	struct request *last; /* the one inserted or merged into last, while it waits */
	struct fifo flushes;
	size_t flush_count;
	size_t waiting; /* transfers as inserted */
	size_t held;    /* transfers as inserted, waiting and at the drive */
	struct host_queue_merges merges;
};

/* Few slots in use, so that a look-up that finds nothing ends at the first slot it sees. */
static size_t edge_slots(const struct host_queue_config *config)
{
	size_t slots = 16;

	while (slots < 4 * config->capacity)
		slots *= 2;
	return slots;
}

/* Every merged request has at least two parts. */
static size_t merged_count(const struct host_queue_config *config)
{
	return config->capacity / 2 + 1;
}

static bool needs_edges(const struct host_queue_config *config)
{
	return config->merge && !config->elevator->tail_merges;
}

size_t host_queue_memory_bytes(const struct host_queue_config *config)
{
	size_t bytes = sizeof(struct host_queue);

	if (config->merge)
		bytes += merged_count(config) * sizeof(struct merged);
	if (needs_edges(config))
		bytes += 2 * edge_slots(config) * sizeof(struct request *);
	return bytes + elevator_memory_bytes(config->elevator, config->capacity, config->streams);
}

static int allocate(struct host_queue *queue)
{
	const struct host_queue_config *config = &queue->config;

	if (elevator_new(config->elevator, &config->options, config->capacity, config->streams,
		    &queue->elevator))
		return -ENOMEM;
	if (config->merge) {
		queue->merged = calloc(merged_count(config), sizeof(*queue->merged));
		if (!queue->merged)
			return -ENOMEM;
		for (size_t i = merged_count(config); i-- > 0;) {
			queue->merged[i].next_free = queue->free_merged;
			queue->free_merged = &queue->merged[i];
		}
	}
	if (needs_edges(config)) {
		queue->begins.slots = calloc(edge_slots(config), sizeof(struct request *));
		queue->ends.slots = calloc(edge_slots(config), sizeof(struct request *));
		queue->begins.mask = queue->ends.mask = edge_slots(config) - 1;
		queue->ends.ends = true;
		if (!queue->begins.slots || !queue->ends.slots)
			return -ENOMEM;
	}
	return 0;
}

int host_queue_new(const struct host_queue_config *config, struct host_queue **ret_queue)
{
	struct host_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	assert(config->capacity >= 1 && config->streams >= 1);
	queue->config = *config;
	if (allocate(queue)) {
		host_queue_free(queue);
		return -ENOMEM;
	}
	*ret_queue = queue;
	return 0;
}

void host_queue_free(struct host_queue *queue)
{
	if (!queue)
		return;
	elevator_free(queue->elevator);
	free(queue->begins.slots);
	free(queue->ends.slots);
	free(queue->merged);
	free(queue);
}

static uint64_t edge_of(const struct edges *edges, const struct request *request)
{
	return edges->ends ? request_end(request) : request->offset_bytes;
}

static uint64_t home_of(const struct edges *edges, uint64_t edge)
{
	return ((edge * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & edges->mask;
}

static void edges_add(struct edges *edges, struct request *request)
{
	uint64_t at = home_of(edges, edge_of(edges, request));

	while (edges->slots[at])
		at = (at + 1) & edges->mask;
	edges->slots[at] = request;
}

static uint64_t edges_slot(const struct edges *edges, const struct request *request)
{
	uint64_t at = home_of(edges, edge_of(edges, request));

	while (edges->slots[at] != request)
		at = (at + 1) & edges->mask;
	return at;
}

/* Empties the request's slot and moves those behind it up, so that no look-up ends too early. */
static void edges_remove(struct edges *edges, const struct request *request)
{
	uint64_t hole = edges_slot(edges, request);

	for (uint64_t at = (hole + 1) & edges->mask; edges->slots[at];
		at = (at + 1) & edges->mask) {
		const uint64_t home = home_of(edges, edge_of(edges, edges->slots[at]));

		if (((at - home) & edges->mask) >= ((at - hole) & edges->mask)) {
			edges->slots[hole] = edges->slots[at];
			hole = at;
		}
	}
	edges->slots[hole] = NULL;
}

static bool is_metadata(const struct request *request)
{
	return request->role != ROLE_DATA;
}

/* Whether the two, of which upper begins where lower ends, may be one request. */
static bool may_merge(
	const struct host_queue *queue, const struct request *lower, const struct request *upper)
{
	return lower->op == upper->op && lower->stage == upper->stage &&
	       is_metadata(lower) == is_metadata(upper) && lower->role != ROLE_COMMIT &&
	       upper->role != ROLE_COMMIT && !lower->fua && !upper->fua &&
	       (uint64_t)lower->length_bytes + upper->length_bytes <=
		       queue->config.max_request_bytes;
}

/* The waiting request, lowest sequence first, that ends where `request` begins (edges->ends) or
 * begins where it ends, and may be merged with it. */
static struct request *find_neighbour(
	const struct host_queue *queue, const struct edges *edges, const struct request *request)
{
	const uint64_t edge = edges->ends ? request->offset_bytes : request_end(request);
	struct request *found = NULL;

	for (uint64_t at = home_of(edges, edge); edges->slots[at]; at = (at + 1) & edges->mask) {
		struct request *other = edges->slots[at];

		if (edge_of(edges, other) == edge &&
			(!found || other->sequence < found->sequence) &&
			(edges->ends ? may_merge(queue, other, request)
				     : may_merge(queue, request, other)))
			found = other;
	}
	return found;
}

static struct merged *merged_of(struct request *request)
{
	return container_of(request, struct merged, request);
}

static size_t part_count(struct request *request)
{
	return request->children ? merged_of(request)->parts : 1;
}

/* Gives a merged request's memory back to the pool; nothing to do for a plain one. */
static void release(struct host_queue *queue, struct request *request)
{
	if (!request->children)
		return;
	merged_of(request)->next_free = queue->free_merged;
	queue->free_merged = merged_of(request);
}

/* Takes the waiting request out of the tables, or puts it in. */
static void forget(struct host_queue *queue, const struct request *request)
{
	if (queue->begins.slots) {
		edges_remove(&queue->begins, request);
		edges_remove(&queue->ends, request);
	}
}

static void remember(struct host_queue *queue, struct request *request)
{
	if (queue->begins.slots) {
		edges_add(&queue->begins, request);
		edges_add(&queue->ends, request);
	}
}

/* The merged request in whose place `request` waits; a plain one becomes its first part. */
static struct request *make_merged(struct host_queue *queue, struct request *request)
{
	struct merged *merged = queue->free_merged;

	if (request->children)
		return request;
	assert(merged);
	queue->free_merged = merged->next_free;
	merged->request = (struct request){
		.offset_bytes = request->offset_bytes,
		.length_bytes = request->length_bytes,
		.op = request->op,
		.role = request->role,
		.stage = request->stage,
		.slot = REQUEST_NO_SLOT,
		.queued_ns = request->queued_ns,
		.sequence = request->sequence,
		.plan = request->plan,
		.state = request->state,
		.children = request,
	};
	merged->last = request;
	merged->parts = 1;
	elevator_replace(queue->elevator, request, &merged->request);
	request->queue_next = NULL;
	return &merged->request;
}

static void note_queued(struct request *merged, nsec_t queued_ns)
{
	if (queued_ns < merged->queued_ns)
		merged->queued_ns = queued_ns;
}

/* Adds another request, or its parts, at the end. */
static void append(struct request *merged, struct request *other)
{
	struct merged *whole = merged_of(merged);

	whole->last->queue_next = host_queue_parts(other);
	whole->last = other->children ? merged_of(other)->last : other;
	whole->last->queue_next = NULL;
	whole->parts += part_count(other);
	merged->length_bytes += other->length_bytes;
	note_queued(merged, other->queued_ns);
}

/* Joins upper, which waits too and is in the tables no more, to lower. */
static void close_gap(struct host_queue *queue, struct request *lower, struct request *upper)
{
	elevator_absorb(queue->elevator, lower, upper);
	append(lower, upper);
	release(queue, upper);
	queue->merges.gaps++;
}

static struct request *merge_back(
	struct host_queue *queue, struct request *lower, struct request *request)
{
	struct request *merged, *upper = NULL;

	forget(queue, lower);
	merged = make_merged(queue, lower);
	append(merged, request);
	if (queue->begins.slots)
		upper = find_neighbour(queue, &queue->begins, merged);
	if (upper) {
		forget(queue, upper);
		close_gap(queue, merged, upper);
	}
	remember(queue, merged);
	queue->merges.back++;
	return merged;
}

static struct request *merge_front(
	struct host_queue *queue, struct request *upper, struct request *request)
{
	struct request *merged, *lower = NULL;

	forget(queue, upper);
	merged = make_merged(queue, upper);
	elevator_move(queue->elevator, merged, request->offset_bytes);
	merged->length_bytes += request->length_bytes;
	request->queue_next = merged->children;
	merged->children = request;
	merged_of(merged)->parts++;
	note_queued(merged, request->queued_ns);
	if (queue->ends.slots)
		lower = find_neighbour(queue, &queue->ends, merged);
	if (lower) {
		forget(queue, lower);
		lower = make_merged(queue, lower);
		close_gap(queue, lower, merged);
		merged = lower;
	}
	remember(queue, merged);
	queue->merges.front++;
	return merged;
}

/* Tries to make the request part of a waiting one. */
static enum host_queue_insertion merge(struct host_queue *queue, struct request *request)
{
	struct request *last = queue->last, *lower = NULL, *upper = NULL;

	if (last && request_end(last) == request->offset_bytes && may_merge(queue, last, request))
		lower = last;
	else if (last && request_end(request) == last->offset_bytes &&
		 may_merge(queue, request, last))
		upper = last;
	else if (queue->begins.slots) {
		lower = find_neighbour(queue, &queue->ends, request);
		if (!lower && queue->elevator->front_merges)
			upper = find_neighbour(queue, &queue->begins, request);
	}
	if (lower) {
		queue->last = merge_back(queue, lower, request);
		return INSERTED_AT_BACK;
	}
	if (upper) {
		queue->last = merge_front(queue, upper, request);
		return INSERTED_AT_FRONT;
	}
	return INSERTED;
}

enum host_queue_insertion host_queue_insert(
	struct host_queue *queue, struct request *request, nsec_t now_ns)
{
	enum host_queue_insertion insertion = INSERTED;

	assert(!request->children);
	if (request->op == REQUEST_FLUSH) {
		fifo_push(&queue->flushes, request);
		queue->flush_count++;
		return INSERTED;
	}
	assert(queue->held < queue->config.capacity);
	queue->held++;
	queue->waiting++;
	if (queue->config.merge)
		insertion = merge(queue, request);
	if (insertion == INSERTED) {
		elevator_insert(queue->elevator, request, now_ns);
		remember(queue, request);
		queue->last = request;
	}
	return insertion;
}

struct request *host_queue_next(
	struct host_queue *queue, nsec_t now_ns, unsigned room, nsec_t *ret_wake_ns)
{
	struct request *request;

	*ret_wake_ns = NSEC_NEVER;
	if (queue->flushes.first && (room & HOST_QUEUE_FLUSH)) {
		request = fifo_pop(&queue->flushes);
		request->queue_next = NULL;
		queue->flush_count--;
		return request;
	}
	if (!(room & HOST_QUEUE_TRANSFER))
		return NULL;
	request = elevator_next(queue->elevator, now_ns, ret_wake_ns);
	if (!request)
		return NULL;
	forget(queue, request);
	if (queue->last == request)
		queue->last = NULL;
	queue->waiting -= part_count(request);
	return request;
}

/* Gives each part its share of what became of the whole. */
static void share(const struct request *request)
{
	for (struct request *part = request->children; part; part = part->queue_next) {
		const int64_t begin = (int64_t)(part->offset_bytes - request->offset_bytes);
		const int64_t there = request->result - begin;

		part->dispatched_ns = request->dispatched_ns;
		part->completed_ns = request->completed_ns;
		if (request->result < 0)
			part->result = request->result;
		else if (there <= 0)
			part->result = 0;
		else
			part->result = there < part->length_bytes ? (int32_t)there
								  : (int32_t)part->length_bytes;
	}
}

struct request *host_queue_completed(
	struct host_queue *queue, struct request *request, nsec_t now_ns)
{
	struct request *parts = host_queue_parts(request);

	if (request->op == REQUEST_FLUSH)
		return request;
	elevator_completed(queue->elevator, request, now_ns);
	queue->held -= part_count(request);
	share(request);
	release(queue, request);
	return parts;
}

size_t host_queue_count(const struct host_queue *queue)
{
	return queue->elevator->count;
}

size_t host_queue_part_count(const struct host_queue *queue)
{
	return queue->waiting;
}

size_t host_queue_flush_count(const struct host_queue *queue)
{
	return queue->flush_count;
}

struct host_queue_merges host_queue_merges(const struct host_queue *queue)
{
	return queue->merges;
}
