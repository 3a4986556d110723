/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queues of requests through request->queue_next; a request is in at most one.
 */
#ifndef ENGINE_FIFO_H
#define ENGINE_FIFO_H

#include "engine/request.h"

struct fifo {
	struct request *first, *last;
};

static inline void fifo_push(struct fifo *fifo, struct request *request)
{
	request->queue_next = NULL;
	if (fifo->last)
		fifo->last->queue_next = request;
	else
		fifo->first = request;
	fifo->last = request;
}

/* The first request; the queue must not be empty. */
static inline struct request *fifo_pop(struct fifo *fifo)
{
	struct request *request = fifo->first;

	fifo->first = request->queue_next;
	if (!fifo->first)
		fifo->last = NULL;
	return request;
}

/* Into a queue that is kept in Q order. */
static inline void fifo_insert(struct fifo *fifo, struct request *request)
{
	struct request **link = &fifo->first;

	if (!fifo->last || fifo->last->sequence < request->sequence) {
		fifo_push(fifo, request);
		return;
	}
	while ((*link)->sequence < request->sequence)
		link = &(*link)->queue_next;
	request->queue_next = *link;
	*link = request;
}

#endif
