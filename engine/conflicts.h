/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who must wait for whom: two requests that overlap are at the drive together only if both read,
 * and plans on one file keep their order (readers may share).
 *
 * Requests enter in the order of the Q stream, when their plan is drawn, so a later request always
 * waits for an earlier one and never the other way round: there is no cycle. The index hashes the
 * target in chunks at least as long as the longest request, so a request lies in at most two.
 * A pair is counted in the chunk where its overlap begins, hence exactly once. Cost: a few ns
 * where chunks are short of company; sources that only read do without.
 */
#ifndef ENGINE_CONFLICTS_H
#define ENGINE_CONFLICTS_H

#include "engine/request.h"

struct conflicts;

/* request_bytes_max: of any request; plans_max: in flight at once. -ENOMEM. */
int conflicts_new(const struct request_pool *pool, uint32_t request_bytes_max, size_t plans_max,
	struct conflicts **ret_conflicts);
void conflicts_free(struct conflicts *conflicts);

/* Enters every request of the plan; sets request->blockers and plan->waits_for_file. */
void conflicts_enter(struct conflicts *conflicts, struct plan *plan);

/* A request is complete (or will never be sent). Calls freed for each request whose last blocker
 * it was. */
void conflicts_leave(struct conflicts *conflicts, struct request *request,
	void (*freed)(void *user, struct request *request), void *user);

/* The plan is complete; all its requests have left. Calls opened for each plan on the same file
 * that need not wait any more (waits_for_file already cleared). */
void conflicts_leave_plan(struct conflicts *conflicts, struct plan *plan,
	void (*opened)(void *user, struct plan *plan), void *user);

#endif
