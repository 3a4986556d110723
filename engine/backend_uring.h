/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tests of the io_uring back end need: its system calls, to put refusals and partial answers
 * in their place, and the judgement of why io_uring cannot be had.
 */
#ifndef ENGINE_BACKEND_URING_H
#define ENGINE_BACKEND_URING_H

#include "engine/backend.h"

struct io_uring_params;

/* All return -errno. */
struct uring_calls {
	int (*setup)(unsigned entries, struct io_uring_params *params);
	int (*enter)(unsigned fd, unsigned to_submit, unsigned complete_min, unsigned flags,
		const void *argument, size_t argument_bytes);
	int (*enrol)(unsigned fd, unsigned opcode, const void *argument, unsigned count);
};

extern struct uring_calls backend_uring_calls;

/* What the machine says about io_uring. */
struct uring_facts {
	int disabled;           /* sysctl kernel.io_uring_disabled; -1: absent (before 6.6) */
	bool filtered;          /* this process runs under a seccomp filter */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK, UINT64_MAX when unlimited */
	char release[65];       /* of the kernel */
};

/* Puts the reason for an io_uring_setup() that failed with code, and what to do about it, into
 * error; returns code. */
int backend_uring_refused(int code, const struct uring_facts *facts, struct error *error);

#endif
