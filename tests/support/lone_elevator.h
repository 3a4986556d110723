/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An elevator by itself, and requests for it: 4 KiB at a sector, of one of a few streams.
 */
#ifndef TESTS_SUPPORT_LONE_ELEVATOR_H
#define TESTS_SUPPORT_LONE_ELEVATOR_H

#include "engine/elevator.h"

#define SECTOR UINT64_C(512)
#define FAR (UINT64_C(1) << 30) /* sectors */
#define LONE_STREAMS 4

/* Room for 4096 requests; set is a NULL-ended list of options, or NULL. */
struct elevator *lone_elevator(const char *name, const char *const set[]);

/* Fills the request and inserts it. */
struct request *lone_arrive(struct elevator *elevator, struct request *request, enum request_op op,
	uint64_t sector, uint32_t stream, nsec_t now_ns);

#endif
