/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One request at a time by pread and pwrite: the wait is the call itself.
 *
 * Durable writes must send what the queued engines send. On a block device a synchronous
 * pwritev2(RWF_DSYNC) does not: blkdev_write_iter() (block/fops.c) sends FUA, or write + flush
 * without it, as for a queued write, and when that is complete generic_write_sync() adds a flush,
 * which queued writes never reach. No synchronous call sends the first half alone, so durable
 * writes to a block device go through a libaio context of depth 1; where that cannot be had,
 * pwrite + fdatasync is the same without native FUA. Files go through iomap, which does the same
 * for both kinds of call, and get RWF_DSYNC.
 *
 * A drive that never answers holds the call, and nothing but the drive can end it.
 */
#include "engine/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

struct sync {
	struct backend backend;
	int fd;
	bool may_write;
	bool dsync;             /* durable writes are pwritev2(RWF_DSYNC) */
	struct backend *queued; /* where durable writes go, if not NULL */
	bool at_queued;         /* the oldest request was handed to it */
	unsigned slots;
	unsigned first; /* oldest of the submitted ones, in the circle below */
	unsigned count;
	struct request *submitted[];
};

static void choose_durable(struct sync *sync, const struct backend_config *config)
{
	const char *text = "pwrite + fdatasync (no libaio)";

	sync->dsync = config->target->kind == TARGET_FILE;
	if (sync->dsync)
		text = "RWF_DSYNC";
	else if (!sync->may_write)
		text = "none";
	else if (backend_libaio_ops.open(config, &sync->queued, NULL) == 0)
		text = "one libaio request";
	(void)snprintf(sync->backend.level, sizeof(sync->backend.level),
		"pread, pwrite; durable writes: %s", text);
}

static int sync_open(
	const struct backend_config *config, struct backend **ret_backend, struct error *error)
{
	int ret = backend_check(&backend_sync_ops, config, error);
	unsigned slots = config->depth + config->flushes;
	struct sync *sync;

	if (ret < 0)
		return ret;
	sync = calloc(1, sizeof(*sync) + slots * sizeof(sync->submitted[0]));
	if (!sync)
		return error_set(error, -ENOMEM, "no memory for a sync engine");
	sync->backend.ops = &backend_sync_ops;
	sync->fd = config->target->fd;
	sync->may_write = config->target->writable && config->target->claim;
	sync->slots = slots;
	choose_durable(sync, config);
	*ret_backend = &sync->backend;
	return 0;
}

static void sync_submit(struct backend *backend, struct request *const requests[], unsigned count)
{
	struct sync *sync = container_of(backend, struct sync, backend);

	assert(sync->count + count <= sync->slots);
	for (unsigned i = 0; i < count; i++) {
		assert(requests[i]->op != REQUEST_WRITE || sync->may_write);
		sync->submitted[(sync->first + sync->count++) % sync->slots] = requests[i];
	}
}

static ssize_t write_durable(const struct sync *sync, const struct request *request)
{
	struct iovec body = { request->buffer, request->length_bytes };
	ssize_t bytes;

	if (sync->dsync)
		return pwritev2(sync->fd, &body, 1, (off_t)request->offset_bytes, RWF_DSYNC);
	bytes = pwrite(
		sync->fd, request->buffer, request->length_bytes, (off_t)request->offset_bytes);
	return bytes > 0 && fdatasync(sync->fd) < 0 ? -1 : bytes;
}

static int32_t perform(const struct sync *sync, const struct request *request)
{
	off_t offset = (off_t)request->offset_bytes;
	ssize_t bytes;

	if (request->op == REQUEST_FLUSH)
		bytes = fdatasync(sync->fd);
	else if (request->op == REQUEST_READ)
		bytes = pread(sync->fd, request->buffer, request->length_bytes, offset);
	else if (request->fua)
		bytes = write_durable(sync, request);
	else
		bytes = pwrite(sync->fd, request->buffer, request->length_bytes, offset);
	return bytes < 0 ? -errno : (int32_t)bytes;
}

static int wait_queued(
	struct sync *sync, struct request *request, nsec_t deadline_ns, struct request *done[])
{
	int ret;

	if (!sync->at_queued)
		sync->queued->ops->submit(sync->queued, &request, 1);
	ret = sync->queued->ops->wait(sync->queued, deadline_ns, done, 1);
	sync->at_queued = ret <= 0;
	return ret;
}

static int sync_wait(
	struct backend *backend, nsec_t deadline_ns, struct request *done[], unsigned done_max)
{
	struct sync *sync = container_of(backend, struct sync, backend);
	struct request *request = sync->submitted[sync->first];

	if (!sync->count || !done_max) {
		backend_sleep(deadline_ns);
		return 0;
	}
	if (request->op == REQUEST_WRITE && request->fua && sync->queued) {
		int ret = wait_queued(sync, request, deadline_ns, done);

		if (ret <= 0)
			return ret;
	} else {
		request->result = perform(sync, request);
	}
	done[0] = request;
	sync->first = (sync->first + 1) % sync->slots;
	sync->count--;
	return 1;
}

static void sync_close(struct backend *backend)
{
	struct sync *sync = container_of(backend, struct sync, backend);

	if (sync->queued)
		sync->queued->ops->close(sync->queued);
	free(sync);
}

const struct backend_ops backend_sync_ops = {
	.name = "sync",
	.summary = "pread and pwrite, one request at a time",
	.depth_max = 1,
	.open = sync_open,
	.submit = sync_submit,
	.wait = sync_wait,
	.close = sync_close,
};
