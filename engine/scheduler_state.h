/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to engine/admission.c and engine/scheduler.c: the state of a run.
 *
 * How a request moves: REQUEST_NEW (its stage is closed) -> HELD (something earlier is in its way)
 * -> WAITING (may go, the window has no room for its direction) -> QUEUED (in the host queue)
 * -> AT_DRIVE -> gone. Admission does the first half, the scheduler the second. Only requests that
 * can be dispatched take room in the window, so what is held can never keep out what it waits for.
 */
#ifndef ENGINE_SCHEDULER_STATE_H
#define ENGINE_SCHEDULER_STATE_H

#include <xxhash.h>

#include "engine/conflicts.h"
#include "engine/fifo.h"
#include "engine/scheduler.h"

/* Requests hashed at a time: the library's call costs more than 16 bytes do. */
#define HASH_BATCH 64

enum request_state { REQUEST_NEW, REQUEST_HELD, REQUEST_WAITING, REQUEST_QUEUED, REQUEST_AT_DRIVE };

struct scheduler {
	struct scheduler_config config;
	struct scheduler_result result;
	nsec_t now_ns;

	/* Admission. */
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
	unsigned allocated[REQUEST_OPS]; /* window in use */
	bool exhausted;                  /* the source has no more */
	bool draining;
	uint64_t sequence;
	XXH3_state_t *hash;
	uint8_t hash_batch[HASH_BATCH][16];
	unsigned hash_count;

	/* The host queue: a plain line when nothing is sorted or merged, else host_queue. */
	struct fifo line;
	struct host_queue *queue;

	/* At the drive. */
	unsigned at_drive, flushes_at_drive;
	uint32_t *free_slots;
	unsigned free_slot_count;
	uint32_t *free_flush_slots;
	unsigned free_flush_count;
	struct request **by_slot; /* NULL when the slot is free */
	struct request **batch;
	struct request **done;
	unsigned slots;
};

/* Requests that the pool must hold for a source of that many per plan. */
size_t admission_requests(size_t requests_per_plan_max, unsigned plans);

/* The pool, plans, conflict index and hash; -ENOMEM. */
int admission_init(struct scheduler *scheduler);
void admission_done(struct scheduler *scheduler);
void admission_start(struct scheduler *scheduler);
uint64_t admission_hash(struct scheduler *scheduler);

/* Fills the host queue as far as window, plans and source allow. */
void admission_fill(struct scheduler *scheduler);

/* A request is complete and recorded: frees its place, lets go who waits for it, opens its plan's
 * next stage or ends the plan. error is 0 or -errno. */
void admission_complete(struct scheduler *scheduler, struct request *request, int error);

#endif
