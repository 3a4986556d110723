/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How requests reach the drive: four verbs, and the one place where the engine waits.
 *
 * A back end is opened for one target, one depth and one block of buffers. The scheduler hands
 * over at most `depth` transfers plus `flushes` flushes at a time, each with a slot (0 .. depth +
 * flushes - 1, unique among those at the drive) and, for transfers, a buffer inside the given
 * memory. Requests come back in the order of their completion with `result` set (bytes or
 * -errno). The scheduler stamps all instants; a back end reads no clock.
 *
 * Durable writes (request->fua) go out as RWF_DSYNC: the kernel sends FUA where the drive has
 * it, else a write followed by a flush (block/blk-flush.c), and every engine must send the same.
 * Wrappers with the same verbs add faults and counting in tests.
 */
#ifndef ENGINE_BACKEND_H
#define ENGINE_BACKEND_H

#include "engine/request.h"
#include "engine/target.h"

struct backend;

enum backend_submit {
	SUBMIT_BATCH,  /* everything that is ready in one system call */
	SUBMIT_SINGLE, /* one request per system call: the wire order is the issue order */
};

struct backend_config {
	const struct target *target;
	unsigned depth;   /* transfers at the drive, 1 .. 4096 */
	unsigned flushes; /* flushes at the drive besides */
	enum backend_submit submit;
	void *buffers; /* may be NULL for the null back end */
	size_t buffers_bytes;
};

struct backend_ops {
	const char *name;
	const char *summary; /* half a line for the help */
	unsigned depth_max;

	/* -EINVAL, -ENOSYS, -EPERM, -ENOMEM ...; the sentence says what is missing and why. */
	int (*open)(const struct backend_config *config, struct backend **ret_backend,
		struct error *error);

	/* Takes all count requests; they may reach the kernel here or in the next wait. A request
	 * that cannot be sent comes back from wait with its error as result. */
	void (*submit)(struct backend *backend, struct request *const requests[], unsigned count);

	/* Blocks until at least one request is complete, the deadline (run's clock; NSEC_NEVER =
	 * none) has passed or a signal came. Returns how many were put into done (0 for deadline
	 * and signal), or -errno when the back end itself failed. */
	int (*wait)(struct backend *backend, nsec_t deadline_ns, struct request *done[],
		unsigned done_max);

	/* Never blocks on requests that the drive does not return. Those that are still there keep
	 * their pages pinned in the kernel: the caller may unmap the buffers afterwards, but must
	 * not put the memory to another use. */
	void (*close)(struct backend *backend);
};

struct backend {
	const struct backend_ops *ops;
	char level[160]; /* what was reached: "SINGLE_ISSUER DEFER_TASKRUN, registered file ..." */
	bool punts;      /* the target lacks RWF_NOWAIT: io_uring hands every request to io-wq */
};

/* All of them, in the order in which the help lists them; NULL at the end. */
extern const struct backend_ops *const backends[];

/* The one of that name, or NULL. */
const struct backend_ops *backend_find(const char *name);

extern const struct backend_ops backend_uring_ops;
extern const struct backend_ops backend_libaio_ops;
extern const struct backend_ops backend_sync_ops;
extern const struct backend_ops backend_null_ops;

/* For back ends: what every open refuses alike (-EINVAL): depth 0 or above depth_max, a target
 * without descriptor. */
int backend_check(
	const struct backend_ops *ops, const struct backend_config *config, struct error *error);

/* For back ends: how long until deadline_ns, 0 when it has passed. */
nsec_t backend_remaining(nsec_t deadline_ns);

/* For back ends without a kernel queue, with nothing at the drive: sleeps until the deadline has
 * passed or a signal came. */
void backend_sleep(nsec_t deadline_ns);

/* `auto`: io_uring; libaio where the target lacks RWF_NOWAIT or io_uring cannot be had; sync for
 * depth 1 where neither can; null for a null target. Same contract as ops->open; the reason for
 * falling back ends up in ret_why (may be NULL), empty when there was no need. */
int backend_open_auto(const struct backend_config *config, struct backend **ret_backend,
	struct error *ret_why, struct error *error);

#endif
