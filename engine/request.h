/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests and plans: what the layers hand to each other.
 *
 * A request is one transfer between memory and target. A plan is what one operation (a file's
 * creation, one block of a pattern) becomes: a list of requests in stages. Stage k + 1 may start
 * when every request of stage k is complete; a stage that failed cancels the later ones.
 * Requests of one stage are independent. There are no callbacks and no dependency graph.
 *
 * Requests come from a pool that is made before the run. A source is given an empty plan with
 * room for at least the number of requests that it announced (source.requests_per_plan_max) and
 * fills it with plan_add(), stages in rising order.
 *
 * The four instants of a request: due (when it was asked for), queued (Q, taken by the host
 * queue), dispatched (D, stamped before the submitting call), completed (C). Host time is
 * Q to D, drive time is D to C.
 */
#ifndef ENGINE_REQUEST_H
#define ENGINE_REQUEST_H

#include "engine/base.h"

enum request_op { REQUEST_READ, REQUEST_WRITE, REQUEST_FLUSH, REQUEST_OPS };

enum request_role {
	ROLE_DATA,
	ROLE_INODE,
	ROLE_BITMAP,
	ROLE_DIRECTORY,
	ROLE_TREE,
	ROLE_JOURNAL,
	ROLE_COMMIT,
	REQUEST_ROLES
};

enum plan_kind {
	PLAN_CREATE,
	PLAN_READ,
	PLAN_APPEND,
	PLAN_DELETE,
	PLAN_COMMIT,
	PLAN_CHECKPOINT,
	PLAN_PATTERN, /* one block of a pattern, no file behind it */
	PLAN_KINDS
};

#define REQUEST_NO_SLOT UINT32_MAX

struct plan;

struct request {
	uint64_t offset_bytes; /* on the target; a multiple of its logical block */
	uint32_t length_bytes; /* 0 for a flush only */
	uint8_t op;            /* enum request_op */
	uint8_t role;          /* enum request_role */
	uint8_t stage;
	bool fua;       /* the medium must hold it before it completes */
	int32_t result; /* bytes transferred or -errno, once completed */
	uint32_t slot;  /* buffer slot while at the drive, else REQUEST_NO_SLOT */
	nsec_t queued_ns;
	nsec_t dispatched_ns;
	nsec_t completed_ns;
	uint64_t sequence; /* place in the Q stream, from 0 */
	void *buffer;      /* set by the scheduler at dispatch */
	struct plan *plan;
	struct request *next; /* in its plan; in the free list when unused */

	/* Private to engine/scheduler and engine/conflicts. */
	uint8_t state;
	bool held;                  /* had to wait for an earlier one */
	uint32_t blockers;          /* earlier requests that overlap and must finish first */
	uint32_t list;              /* which of the elevator's lists */
	uint32_t dispatch;          /* place in the D order; merged requests share it */
	struct request *queue_next; /* of a child: the next part of its merged request */

	/* Private to engine/host_queue and its elevators, but for reading children. */
	struct request *children; /* a merged request's parts by LBA; NULL for a plain one */
	struct request *queue_prev;
	nsec_t entered_ns; /* the elevator's instant, from which expiry counts */
};

struct plan {
	uint64_t id;
	uint64_t file;        /* plans on one file keep their order; 0 = no file */
	uint64_t transaction; /* which one of the load this plan is half of */
	uint32_t tag;         /* free for the source */
	uint32_t stream;      /* stands for a process where an elevator tells them apart */
	uint32_t generation;  /* of the file's content when this plan writes it; for stamps */
	uint8_t kind;         /* enum plan_kind */
	bool writes;          /* any request writes: set by plan_add() */
	int32_t error;        /* first -errno of its requests */
	struct request *first;
	struct request *last;
	uint32_t request_count;
	struct request_pool *pool;
	struct plan *next_free;

	/* Private to engine/scheduler and engine/conflicts. */
	uint32_t requests_open;    /* of the stage that runs */
	struct request *unstarted; /* first request of the next stage */
	bool waits_for_file;
	struct plan *file_next;
} __attribute__((aligned(64)));

struct request_pool {
	struct request *requests;
	struct request *free;
	size_t count;
	size_t free_count;
};

/* Requests and plans fill whole cache lines: with some hundred in flight the first-level cache is
 * what a request costs. */
#define REQUEST_ALIGNMENT 64
static_assert(sizeof(struct request) == 2 * REQUEST_ALIGNMENT, "a request is two cache lines");

/* Zeroed memory for count items of size (a multiple of the alignment); NULL. To be freed. */
void *request_array(size_t count, size_t size);

/* Room for count requests; -ENOMEM. */
int request_pool_init(struct request_pool *pool, size_t count);
void request_pool_done(struct request_pool *pool);

/* Appends a request to the plan and returns it; the pool must not be empty (asserted). */
static inline struct request *plan_add(struct plan *plan, enum request_op op,
	enum request_role role, uint8_t stage, uint64_t offset_bytes, uint32_t length_bytes)
{
	struct request_pool *pool = plan->pool;
	struct request *request = pool->free;

	assert(request && (!plan->last || plan->last->stage <= stage));
	pool->free = request->next;
	pool->free_count--;
	request->offset_bytes = offset_bytes;
	request->length_bytes = length_bytes;
	request->op = (uint8_t)op;
	request->role = (uint8_t)role;
	request->stage = stage;
	request->fua = false;
	request->result = 0;
	request->slot = REQUEST_NO_SLOT;
	request->blockers = 0;
	request->held = false;
	request->children = NULL;
	request->plan = plan;
	request->next = NULL;
	if (plan->last)
		plan->last->next = request;
	else
		plan->first = request;
	plan->last = request;
	plan->request_count++;
	plan->writes |= op == REQUEST_WRITE;
	return request;
}

/* Makes plan empty and bound to pool. */
static inline void plan_clear(struct plan *plan, struct request_pool *pool)
{
	/* Field by field: a block store of the whole struct costs more than the rest of a draw. */
	plan->id = 0;
	plan->file = 0;
	plan->transaction = 0;
	plan->tag = 0;
	plan->stream = 0;
	plan->generation = 0;
	plan->kind = PLAN_PATTERN;
	plan->writes = false;
	plan->error = 0;
	plan->first = NULL;
	plan->last = NULL;
	plan->request_count = 0;
	plan->pool = pool;
	plan->requests_open = 0;
	plan->unstarted = NULL;
	plan->waits_for_file = false;
	plan->file_next = NULL;
}

/* The process, so to speak, that the request belongs to. */
static inline uint32_t request_stream(const struct request *request)
{
	return request->plan->stream;
}

static inline uint64_t request_end(const struct request *request)
{
	return request->offset_bytes + request->length_bytes;
}

/* Gives the plan's requests back to the pool. */
void plan_release(struct plan *plan);

#endif
