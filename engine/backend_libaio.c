/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernel AIO with the two habits that make it nearly as cheap as io_uring: everything that is
 * ready goes out in one io_submit(), and completions are read from the ring that the kernel maps
 * into the process, without a system call (fio's option userspace_reap does the same). The layout
 * of that ring is `struct aio_ring` of fs/aio.c; where its magic number differs, io_getevents()
 * does the work.
 *
 * Closing: io_destroy() waits for every request, so with requests at the drive the context is
 * left to the end of the process, and that end waits for the drive too (exit_aio() in fs/aio.c);
 * io_uring does not.
 */
#include "engine/backend_libaio.h"

#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define RING_MAGIC 0xa10a10a1u /* AIO_RING_MAGIC in fs/aio.c */

struct ring {
	unsigned id;
	unsigned entries;
	unsigned head;
	unsigned tail;
	unsigned magic;
	unsigned features_compatible;
	unsigned features_incompatible;
	unsigned header_bytes;
	struct io_event events[];
};

struct aio {
	struct backend backend;
	io_context_t context;
	struct ring *ring; /* NULL: io_getevents() alone */
	int fd;
	bool may_write;
	bool single;        /* one request per io_submit() */
	bool flush_by_call; /* the kernel refused IO_CMD_FDSYNC */
	unsigned slots;
	unsigned at_kernel;
	unsigned pending; /* in queue[pending_first ...], not yet taken by the kernel */
	unsigned pending_first;
	unsigned refused;    /* in failed[]: their result is set, the caller not yet told */
	struct iocb *blocks; /* one per slot */
	struct iocb **queue;
	struct request **failed;
	struct io_event *events;
};

struct libaio_calls backend_libaio_calls = {
	.setup = io_setup,
	.submit = io_submit,
	.getevents = io_getevents,
};

static void aio_free(struct aio *aio)
{
	free(aio->blocks);
	free(aio->queue);
	free(aio->failed);
	free(aio->events);
	free(aio);
}

static struct aio *aio_new(const struct backend_config *config)
{
	struct aio *aio = calloc(1, sizeof(*aio));

	if (!aio)
		return NULL;
	aio->backend.ops = &backend_libaio_ops;
	aio->fd = config->target->fd;
	aio->may_write = config->target->writable && config->target->claim;
	aio->single = config->submit == SUBMIT_SINGLE;
	aio->slots = config->depth + config->flushes;
	aio->blocks = calloc(aio->slots, sizeof(*aio->blocks));
	aio->queue = calloc(aio->slots, sizeof(*aio->queue));
	aio->failed = calloc(aio->slots, sizeof(*aio->failed));
	aio->events = calloc(aio->slots, sizeof(*aio->events));
	if (!aio->blocks || !aio->queue || !aio->failed || !aio->events) {
		aio_free(aio);
		return NULL;
	}
	for (unsigned i = 0; i < aio->slots; i++)
		aio->blocks[i].aio_fildes = aio->fd;
	return aio;
}

/* One number from a file below /proc, 0 if it cannot be read. */
static unsigned long long read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long value = 0;

	if (file) {
		if (fscanf(file, "%llu", &value) != 1)
			value = 0;
		(void)fclose(file);
	}
	return value;
}

static int refuse_setup(int code, unsigned slots, struct error *error)
{
	if (code == -EAGAIN)
		return error_set(error, code,
			"libaio: %u requests asked for, and %llu of fs.aio-max-nr = %llu are taken "
			"on this machine; raise it (sysctl fs.aio-max-nr=1048576) or use a smaller "
			"depth",
			slots, read_number("/proc/sys/fs/aio-nr"),
			read_number("/proc/sys/fs/aio-max-nr"));
	if (code == -ENOSYS || code == -EPERM)
		return error_set(error, code,
			"libaio: io_setup: %s: the kernel has no AIO or a seccomp filter refuses "
			"it; use --engine sync at depth 1",
			strerror(-code));
	return error_set(
		error, code, "libaio: io_setup for %u requests: %s", slots, strerror(-code));
}

static int libaio_open(
	const struct backend_config *config, struct backend **ret_backend, struct error *error)
{
	int ret = backend_check(&backend_libaio_ops, config, error);
	struct aio *aio;

	if (ret < 0)
		return ret;
	aio = aio_new(config);
	if (!aio)
		return error_set(error, -ENOMEM, "libaio: no memory for %u requests",
			config->depth + config->flushes);
	ret = backend_libaio_calls.setup((int)aio->slots, &aio->context);
	if (ret < 0) {
		ret = refuse_setup(ret, aio->slots, error);
		aio_free(aio);
		return ret;
	}
	aio->ring = (struct ring *)aio->context;
	if (aio->ring->magic != RING_MAGIC || aio->ring->features_incompatible != 0 ||
		aio->ring->header_bytes != sizeof(struct ring))
		aio->ring = NULL;
	(void)snprintf(aio->backend.level, sizeof(aio->backend.level), "%s, %s",
		aio->single ? "one request per io_submit" : "batched io_submit",
		aio->ring ? "completions read from the mapped ring" : "io_getevents");
	*ret_backend = &aio->backend;
	return 0;
}

static void prepare(struct iocb *block, const struct request *request)
{
	static const short opcodes[REQUEST_OPS] = {
		[REQUEST_READ] = IO_CMD_PREAD,
		[REQUEST_WRITE] = IO_CMD_PWRITE,
		[REQUEST_FLUSH] = IO_CMD_FDSYNC,
	};
	bool flush = request->op == REQUEST_FLUSH;

	/* IO_CMD_FDSYNC is refused unless buffer, offset, length and flags are zero. */
	block->data = (void *)request;
	block->aio_lio_opcode = opcodes[request->op];
	block->aio_rw_flags = request->op == REQUEST_WRITE && request->fua ? RWF_DSYNC : 0;
	block->u.c.buf = flush ? NULL : request->buffer;
	block->u.c.nbytes = flush ? 0 : request->length_bytes;
	block->u.c.offset = flush ? 0 : (long long)request->offset_bytes;
}

static void libaio_submit(struct backend *backend, struct request *const requests[], unsigned count)
{
	struct aio *aio = container_of(backend, struct aio, backend);

	assert(aio->at_kernel + aio->pending + aio->refused + count <= aio->slots);
	if (aio->pending_first && aio->pending)
		memmove(aio->queue, aio->queue + aio->pending_first,
			aio->pending * sizeof(*aio->queue));
	aio->pending_first = 0;
	for (unsigned i = 0; i < count; i++) {
		struct iocb *block = &aio->blocks[requests[i]->slot];

		assert(requests[i]->slot < aio->slots);
		assert(requests[i]->op != REQUEST_WRITE || aio->may_write);
		prepare(block, requests[i]);
		aio->queue[aio->pending++] = block;
	}
}

/* The kernel refused the first pending request for good. */
static void refuse_first(struct aio *aio, int code)
{
	struct iocb *block = aio->queue[aio->pending_first];
	struct request *request = block->data;

	/* Before kernel 4.18 there is no IO_CMD_FDSYNC, and some files have none today. */
	if (request->op == REQUEST_FLUSH && code == -EINVAL) {
		aio->flush_by_call = true;
		code = fdatasync(aio->fd) < 0 ? -errno : 0;
	}
	request->result = code;
	aio->failed[aio->refused++] = request;
	aio->pending_first++;
	aio->pending--;
}

/* Hands over what is pending. What the kernel has no room for (-EAGAIN) stays until something
 * has come back. False when a signal kept the rest from the kernel: then nothing may come back,
 * and waiting for it would be for ever. */
static bool push(struct aio *aio)
{
	while (aio->pending) {
		struct iocb **first = aio->queue + aio->pending_first;
		struct request *request = first[0]->data;
		int taken;

		if (aio->flush_by_call && request->op == REQUEST_FLUSH) {
			refuse_first(aio, -EINVAL);
			continue;
		}
		taken = backend_libaio_calls.submit(
			aio->context, aio->single ? 1 : aio->pending, first);
		if (taken > 0) {
			aio->pending_first += (unsigned)taken;
			aio->pending -= (unsigned)taken;
			aio->at_kernel += (unsigned)taken;
		} else if (taken == -EINTR) {
			return false;
		} else if (taken == -EAGAIN && aio->at_kernel) {
			break;
		} else {
			refuse_first(aio, taken ? taken : -EIO);
		}
	}
	return true;
}

static unsigned reap_refused(struct aio *aio, struct request *done[], unsigned done_max)
{
	unsigned count = aio->refused < done_max ? aio->refused : done_max;

	memcpy(done, aio->failed, count * sizeof(*done));
	aio->refused -= count;
	memmove(aio->failed, aio->failed + count, aio->refused * sizeof(*done));
	return count;
}

static struct request *finish(const struct io_event *event)
{
	struct request *request = event->data;

	request->result = (int32_t)(long)event->res;
	return request;
}

/* Takes completions from the mapped ring; this thread is the only reader. */
static unsigned reap_ring(struct aio *aio, struct request *done[], unsigned done_max)
{
	struct ring *ring = aio->ring;
	unsigned tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	unsigned head = ring->head;
	unsigned count = 0;

	while (head != tail && count < done_max) {
		done[count++] = finish(&ring->events[head]);
		if (++head == ring->entries)
			head = 0;
	}
	if (count)
		__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	aio->at_kernel -= count;
	return count;
}

static int reap_call(struct aio *aio, nsec_t deadline_ns, struct request *done[], unsigned done_max)
{
	struct timespec timeout = { 0 };
	struct timespec *limit = NULL;
	int count;

	if (deadline_ns != NSEC_NEVER) {
		nsec_t remaining_ns = backend_remaining(deadline_ns);

		timeout.tv_sec = remaining_ns / NSEC_PER_SEC;
		timeout.tv_nsec = remaining_ns % NSEC_PER_SEC;
		limit = &timeout;
	}
	count = backend_libaio_calls.getevents(
		aio->context, 1, done_max < aio->slots ? done_max : aio->slots, aio->events, limit);
	if (count == -EINTR || count == -EAGAIN)
		return 0;
	for (int i = 0; i < count; i++)
		done[i] = finish(&aio->events[i]);
	if (count > 0)
		aio->at_kernel -= (unsigned)count;
	return count;
}

static int libaio_wait(
	struct backend *backend, nsec_t deadline_ns, struct request *done[], unsigned done_max)
{
	struct aio *aio = container_of(backend, struct aio, backend);
	unsigned count = 0;

	if (!done_max)
		return 0;
	if (!push(aio))
		deadline_ns = 0;
	if (aio->refused)
		count = reap_refused(aio, done, done_max);
	if (aio->ring)
		count += reap_ring(aio, done + count, done_max - count);
	return count ? (int)count : reap_call(aio, deadline_ns, done, done_max);
}

static void libaio_close(struct backend *backend)
{
	struct aio *aio = container_of(backend, struct aio, backend);

	if (!aio->at_kernel)
		(void)io_destroy(aio->context);
	aio_free(aio);
}

const struct backend_ops backend_libaio_ops = {
	.name = "libaio",
	.summary = "kernel AIO, batched, completions without system calls",
	.depth_max = 4096,
	.open = libaio_open,
	.submit = libaio_submit,
	.wait = libaio_wait,
	.close = libaio_close,
};
