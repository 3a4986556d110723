/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The system calls of the libaio back end, so that a test can put refusals and partial answers
 * in their place. All return -errno like the library's own wrappers.
 */
#ifndef ENGINE_BACKEND_LIBAIO_H
#define ENGINE_BACKEND_LIBAIO_H

#include "engine/backend.h"

struct io_context;
struct io_event;
struct iocb;
struct timespec;

struct libaio_calls {
	int (*setup)(int events, struct io_context **context);
	int (*submit)(struct io_context *context, long count, struct iocb *blocks[]);
	int (*getevents)(struct io_context *context, long count_min, long count_max,
		struct io_event *events, struct timespec *timeout);
};

extern struct libaio_calls backend_libaio_calls;

#endif
