/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A back end in virtual time for tests of the scheduler: requests complete in random order after
 * random times that move a manual clock. It counts what is at the drive at every wait and asserts
 * the rules that hold whatever the load: never more than depth, no two that overlap unless both
 * read, stages in order. A hook may change the result of a request or raise a signal flag.
 */
#ifndef TESTS_SUPPORT_MODEL_BACKEND_H
#define TESTS_SUPPORT_MODEL_BACKEND_H

#include "engine/backend.h"
#include "engine/clock.h"
#include "engine/rng.h"

#define MODEL_DEPTH_MAX 256

struct model_backend {
	struct backend backend;
	struct clock_manual *clock;
	struct rng rng;
	unsigned depth;
	bool in_order; /* complete first come first served */
	struct request *at_drive[MODEL_DEPTH_MAX];
	unsigned count, flushes;
	uint64_t waits, full_waits, submitted;
	uint64_t order_hash; /* over offsets in the order of submission */
	int32_t (*result)(void *user, const struct request *request); /* NULL: the length */
	void (*waiting)(void *user, struct model_backend *model); /* before each wait; or NULL */
	void *user;
};

void model_backend_init(
	struct model_backend *model, struct clock_manual *clock, unsigned depth, uint64_t seed);

#endif
