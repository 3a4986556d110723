/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The host's layer as options: which elevators, ours or the kernel's, with what tunables, merging
 * or not; and what that asks of the kernel's own queue, which is to be out of the way.
 */
#ifndef TOOLS_RUN_QUEUE_H
#define TOOLS_RUN_QUEUE_H

#include "devices/settings.h"
#include "engine/elevator.h"

#define RUN_ELEVATORS_MAX 16

struct run_elevator {
	const struct elevator_ops *ops; /* noop for the kernel's: the order is the kernel's then */
	struct elevator_options options;
	char name[48]; /* "deadline" or "kernel:mq-deadline" */
	bool is_kernel;
};

/* The kernel's name of its elevator; NULL for ours. */
const char *run_queue_kernel(const struct run_elevator *elevator);

struct run_elevators {
	struct run_elevator items[RUN_ELEVATORS_MAX];
	size_t count;
};

/* `noop,deadline,kernel:bfq` (NULL: noop) and `name=value,...` (NULL: none), the latter for every
 * elevator of the list that knows the name. All faults. */
void run_queue_parse(const char *elevators, const char *tunables, struct run_elevators *ret,
	struct faults *faults);

/* What a cell asks of the kernel's queue. */
struct settings_wanted run_queue_wanted(const struct run_elevator *elevator, bool merge,
	unsigned depth, unsigned window, unsigned drive_depth);

#endif
