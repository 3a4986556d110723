/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * io_uring with one system call per loop: submit() only fills entries, wait() hands over all of
 * them and waits for one completion in the same io_uring_enter(). t/io_uring of fio shows how
 * little that costs; here nothing is ever held back, so that the depth is exact.
 *
 * Entry n of the submission ring belongs to slot n and keeps what never changes; the ring's index
 * array puts the entries in the order of issue. That array is why the ring is made by
 * io_uring_setup() + io_uring_queue_mmap(): liburing from 2.6 on asks for IORING_SETUP_NO_SQARRAY
 * in its other calls, and 2.3 reads the wrong completions from such a ring.
 *
 * Every improvement is tried and its absence is survived: the flags as a ladder, the registered
 * file, buffers and ring each on its own. Versions are never compared.
 *
 * Closing does not wait for requests at the drive: the kernel keeps ring and pages until they are
 * back (io_ring_exit_work() in io_uring/io_uring.c).
 */
#include "engine/backend_uring.h"

#include <liburing.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The most that one registered buffer may hold (io_buffer_validate() in io_uring/rsrc.c). */
#define REGION_BYTES ((size_t)GIB)

struct uring {
	struct backend backend;
	struct io_uring ring;
	unsigned features;
	unsigned slots;
	unsigned outstanding; /* submitted and not yet returned */
	unsigned tail;        /* of the submission ring; published in wait() */
	unsigned enter_flags;
	unsigned enter_fd;
	int fd; /* of the target */
	bool may_write;
	bool single; /* one request per io_uring_enter() */
	bool ring_registered;
	bool file_registered;
	const char *buffers; /* registered in regions of REGION_BYTES; NULL: not registered */
	size_t buffers_bytes;
};

static int enter_kernel(unsigned fd, unsigned to_submit, unsigned complete_min, unsigned flags,
	const void *argument, size_t argument_bytes)
{
	return io_uring_enter2(
		fd, to_submit, complete_min, flags, (sigset_t *)argument, argument_bytes);
}

struct uring_calls backend_uring_calls = {
	.setup = io_uring_setup,
	.enter = enter_kernel,
	.enrol = io_uring_register,
};

/* --- Why it cannot be had ------------------------------------------------------------------- */

/* The number after key in a file of lines, or fallback; an empty key takes the first line. */
static int read_number(const char *path, const char *key, int fallback)
{
	FILE *file = fopen(path, "re");
	char line[128];
	int value = fallback;

	if (!file)
		return fallback;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0) {
			value = atoi(line + strlen(key));
			break;
		}
	}
	(void)fclose(file);
	return value;
}

static struct uring_facts read_facts(void)
{
	struct uring_facts facts = { 0 };
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct utsname name = { 0 };

	facts.disabled = read_number("/proc/sys/kernel/io_uring_disabled", "", -1);
	facts.filtered = read_number("/proc/self/status", "Seccomp:", 0) == 2;
	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	facts.memlock_bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	(void)uname(&name);
	memcpy(facts.release, name.release, sizeof(facts.release));
	return facts;
}

static int refused_permission(int code, const struct uring_facts *facts, struct error *error)
{
	if (facts->disabled == 1)
		return error_set(error, code,
			"io_uring: sysctl kernel.io_uring_disabled = 1 keeps it from processes "
			"outside kernel.io_uring_group; run as root, set it to 0, or use "
			"--engine libaio");
	if (facts->disabled == 2)
		return error_set(error, code,
			"io_uring: sysctl kernel.io_uring_disabled = 2 switches it off for "
			"everyone; set it to 0, or use --engine libaio");
	return error_set(error, code,
		"io_uring: %s for io_uring_setup, and no sysctl forbids it: a %s; "
		"allow io_uring there (docker: --security-opt seccomp=FILE), or use --engine "
		"libaio",
		strerror(-code),
		facts->filtered ? "seccomp filter does, as containers have"
				: "security module or a container's seccomp filter does");
}

int backend_uring_refused(int code, const struct uring_facts *facts, struct error *error)
{
	switch (code) {
	case -EPERM:
	case -EACCES:
		return refused_permission(code, facts, error);
	case -ENOSYS:
		/* A kernel that has the sysctl has the call, so something stands before it. */
		if (facts->filtered || facts->disabled >= 0)
			return error_set(error, code,
				"io_uring: kernel %s answers ENOSYS to io_uring_setup %s; allow "
				"io_uring there (docker: --security-opt seccomp=FILE), or use "
				"--engine libaio",
				facts->release,
				facts->filtered ? "because of a seccomp filter, as containers have"
						: "although it has io_uring: a seccomp filter");
		return error_set(error, code,
			"io_uring: kernel %s does not have it (5.11 is needed, 6.1 recommended); "
			"use a newer kernel, or --engine libaio",
			facts->release);
	case -ENOMEM:
		return error_set(error, code,
			"io_uring: no memory for the ring; kernels before 5.12 count it against "
			"RLIMIT_MEMLOCK (now %llu KiB): raise it (ulimit -l unlimited), use a "
			"smaller depth, or --engine libaio",
			(unsigned long long)(facts->memlock_bytes / KIB));
	default:
		return error_set(error, code, "io_uring: io_uring_setup on kernel %s: %s",
			facts->release, strerror(-code));
	}
}

/* --- Opening -------------------------------------------------------------------------------- */

static const struct {
	unsigned flags;
	const char *text;
} ladder[] = {
	{ IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
		"SINGLE_ISSUER DEFER_TASKRUN SUBMIT_ALL" },
	{ IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL, "COOP_TASKRUN SUBMIT_ALL" },
	{ IORING_SETUP_SUBMIT_ALL, "SUBMIT_ALL" },
	{ 0, "no flags" },
};

__attribute__((format(printf, 2, 3))) static void level_add(
	struct uring *uring, const char *format, ...)
{
	size_t used = strlen(uring->backend.level);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(
		uring->backend.level + used, sizeof(uring->backend.level) - used, format, args);
	va_end(args);
}

static int open_ring(struct uring *uring, struct error *error)
{
	struct io_uring_params params;
	struct uring_facts facts;
	int fd = -EINVAL;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(ladder) && fd == -EINVAL; i++) {
		params = (struct io_uring_params){ .flags = ladder[i].flags };
		fd = backend_uring_calls.setup(uring->slots, &params);
		if (fd >= 0)
			level_add(uring, "%s", ladder[i].text);
	}
	if (fd < 0) {
		facts = read_facts();
		return backend_uring_refused(fd, &facts, error);
	}
	if (!(params.features & IORING_FEAT_EXT_ARG)) {
		(void)close(fd);
		facts = read_facts();
		return error_set(error, -ENOSYS,
			"io_uring: kernel %s cannot wait with a timeout (5.11 is needed, 6.1 "
			"recommended); use a newer kernel, or --engine libaio",
			facts.release);
	}
	ret = io_uring_queue_mmap(fd, &params, &uring->ring);
	if (ret < 0) {
		(void)close(fd);
		return error_set(error, ret, "io_uring: mapping a ring of %u entries: %s",
			uring->slots, strerror(-ret));
	}
	uring->enter_fd = (unsigned)fd;
	uring->enter_flags = IORING_ENTER_GETEVENTS;
	return 0;
}

static int register_buffers(struct uring *uring, const struct backend_config *config)
{
	size_t count = divide_up(config->buffers_bytes, REGION_BYTES);
	_cleanup_free_ struct iovec *regions = calloc(count + 1, sizeof(*regions));

	if (!regions)
		return -ENOMEM;
	if (!count)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		regions[i].iov_base = (char *)config->buffers + i * REGION_BYTES;
		regions[i].iov_len =
			min_u64(config->buffers_bytes - i * REGION_BYTES, REGION_BYTES);
	}
	return backend_uring_calls.enrol(
		uring->enter_fd, IORING_REGISTER_BUFFERS, regions, (unsigned)count);
}

/* File, buffers and ring: each saves a look-up per request or call, none is needed. */
static void register_all(struct uring *uring, const struct backend_config *config)
{
	struct io_uring_rsrc_update self = { .offset = UINT32_MAX, .data = uring->enter_fd };
	bool file = backend_uring_calls.enrol(
			    uring->enter_fd, IORING_REGISTER_FILES, &uring->fd, 1) >= 0;
	int buffers = register_buffers(uring, config);

	uring->file_registered = file;
	if (buffers >= 0) {
		uring->buffers = config->buffers;
		uring->buffers_bytes = config->buffers_bytes;
	}
	for (unsigned i = 0; i < uring->slots; i++) {
		struct io_uring_sqe *entry = &uring->ring.sq.sqes[i];

		memset(entry, 0, sizeof(*entry));
		entry->fd = file ? 0 : uring->fd;
		entry->flags = file ? IOSQE_FIXED_FILE : 0;
	}
	if (backend_uring_calls.enrol(uring->enter_fd, IORING_REGISTER_RING_FDS, &self, 1) == 1) {
		uring->ring_registered = true;
		uring->enter_fd = self.offset;
		uring->enter_flags |= IORING_ENTER_REGISTERED_RING;
	}
	level_add(uring, ", %s file, %s buffers, %s ring", file ? "registered" : "plain",
		uring->buffers ? "registered" : "plain",
		uring->ring_registered ? "registered" : "plain");
	if (buffers == -ENOMEM)
		level_add(uring, " (RLIMIT_MEMLOCK)");
}

/* Whether the target refuses RWF_NOWAIT. A kernel may see that when the file is opened or not
 * before the request reaches the driver, so only a real read tells. */
static bool probe_punts(const struct target *target)
{
	size_t bytes = max_u64(target->logical_block_bytes, 512);
	_cleanup_free_ void *block = aligned_alloc(bytes, bytes);
	struct iovec body = { block, bytes };

	return block && preadv2(target->fd, &body, 1, 0, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP;
}

static void uring_close(struct backend *backend);

static int uring_open(
	const struct backend_config *config, struct backend **ret_backend, struct error *error)
{
	int ret = backend_check(&backend_uring_ops, config, error);
	struct uring *uring;

	if (ret < 0)
		return ret;
	uring = calloc(1, sizeof(*uring));
	if (!uring)
		return error_set(error, -ENOMEM, "io_uring: no memory");
	uring->backend.ops = &backend_uring_ops;
	uring->fd = config->target->fd;
	uring->may_write = config->target->writable && config->target->claim;
	uring->single = config->submit == SUBMIT_SINGLE;
	uring->slots = config->depth + config->flushes;
	ret = open_ring(uring, error);
	if (ret < 0) {
		free(uring);
		return ret;
	}
	register_all(uring, config);
	uring->backend.punts = probe_punts(config->target);
	if (uring->backend.punts)
		level_add(uring, "; no RWF_NOWAIT: workers do it all");
	*ret_backend = &uring->backend;
	return 0;
}

static void uring_close(struct backend *backend)
{
	struct uring *uring = container_of(backend, struct uring, backend);
	struct io_uring_rsrc_update self = { .offset = uring->enter_fd };

	/* The kernel takes its time to dismantle a ring, and until then it holds the target, which
	 * nobody else could claim, and its pages count against RLIMIT_MEMLOCK. Kernels with
	 * io_rsrc_ref_quiesce() (io_uring/rsrc.c) wait here for requests that use the buffers, so
	 * only without any. */
	if (uring->buffers && !uring->outstanding)
		(void)backend_uring_calls.enrol(
			(unsigned)uring->ring.ring_fd, IORING_UNREGISTER_BUFFERS, NULL, 0);
	if (uring->file_registered && !uring->outstanding)
		(void)backend_uring_calls.enrol(
			(unsigned)uring->ring.ring_fd, IORING_UNREGISTER_FILES, NULL, 0);
	/* A ring that stays registered with its thread outlives its descriptor. */
	if (uring->ring_registered)
		(void)backend_uring_calls.enrol(
			(unsigned)uring->ring.ring_fd, IORING_UNREGISTER_RING_FDS, &self, 1);
	io_uring_queue_exit(&uring->ring);
	free(uring);
}

/* --- Requests ------------------------------------------------------------------------------- */

static void prepare_transfer(
	const struct uring *uring, struct io_uring_sqe *entry, const struct request *request)
{
	bool write = request->op == REQUEST_WRITE;
	size_t first, last;

	entry->opcode = write ? IORING_OP_WRITE : IORING_OP_READ;
	entry->off = request->offset_bytes;
	entry->addr = (uintptr_t)request->buffer;
	entry->len = request->length_bytes;
	entry->rw_flags = write && request->fua ? RWF_DSYNC : 0;
	entry->buf_index = 0;
	if (!uring->buffers)
		return;
	first = (size_t)((const char *)request->buffer - uring->buffers);
	last = first + request->length_bytes - 1;
	assert(first <= last && last < uring->buffers_bytes);
	/* The few that lie across two regions go out as plain transfers. */
	if (first / REGION_BYTES == last / REGION_BYTES) {
		entry->opcode = write ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED;
		entry->buf_index = (uint16_t)(first / REGION_BYTES);
	}
}

static void prepare_flush(struct io_uring_sqe *entry)
{
	entry->opcode = IORING_OP_FSYNC;
	entry->off = 0;
	entry->addr = 0;
	entry->len = 0;
	entry->fsync_flags = IORING_FSYNC_DATASYNC;
	entry->buf_index = 0;
}

static void uring_submit(struct backend *backend, struct request *const requests[], unsigned count)
{
	struct uring *uring = container_of(backend, struct uring, backend);
	struct io_uring_sq *queue = &uring->ring.sq;
	unsigned mask = *queue->kring_mask;

	assert(uring->outstanding + count <= uring->slots);
	uring->outstanding += count;
	for (unsigned i = 0; i < count; i++) {
		const struct request *request = requests[i];
		struct io_uring_sqe *entry = &queue->sqes[request->slot];

		assert(request->slot < uring->slots);
		assert(request->op != REQUEST_WRITE || uring->may_write);
		if (request->op == REQUEST_FLUSH)
			prepare_flush(entry);
		else
			prepare_transfer(uring, entry, request);
		entry->user_data = (uintptr_t)request;
		queue->array[uring->tail++ & mask] = request->slot;
	}
}

static unsigned pending(const struct uring *uring)
{
	return uring->tail - io_uring_smp_load_acquire(uring->ring.sq.khead);
}

static unsigned ready(const struct uring *uring)
{
	return io_uring_smp_load_acquire(uring->ring.cq.ktail) - *uring->ring.cq.khead;
}

static int enter(const struct uring *uring, unsigned to_submit, bool block, nsec_t deadline_ns)
{
	struct __kernel_timespec timeout;
	struct io_uring_getevents_arg argument = { .ts = (uintptr_t)&timeout };
	nsec_t remaining_ns;

	if (!block || deadline_ns == NSEC_NEVER)
		return backend_uring_calls.enter(
			uring->enter_fd, to_submit, block, uring->enter_flags, NULL, _NSIG / 8);
	remaining_ns = backend_remaining(deadline_ns);
	timeout.tv_sec = remaining_ns / NSEC_PER_SEC;
	timeout.tv_nsec = remaining_ns % NSEC_PER_SEC;
	return backend_uring_calls.enter(uring->enter_fd, to_submit, remaining_ns > 0,
		uring->enter_flags | IORING_ENTER_EXT_ARG, &argument, sizeof(argument));
}

/* Hands over what is pending and waits unless something is ready. The kernel may take fewer
 * than offered, and then does not wait; what it took shows in its head of the ring, whatever
 * the call returned. 0, or -errno for an error that is not a matter of time. */
static int exchange(struct uring *uring, nsec_t deadline_ns)
{
	unsigned left = pending(uring);

	if (!left && ready(uring))
		return 0;
	do {
		unsigned offered = uring->single && left ? 1 : left;
		bool block = offered == left && !ready(uring);
		int ret = enter(uring, offered, block, deadline_ns);
		unsigned before = left;

		left = pending(uring);
		/* A signal, the deadline, or a kernel that has no room until completions are
		 * reaped: the caller looks around, what is pending stays for the next wait. */
		if (ret == -EINTR || ret == -ETIME || ret == -EAGAIN || ret == -EBUSY)
			return 0;
		if (ret < 0)
			return ret;
		if (before && left == before)
			return 0;
	} while (left);
	return 0;
}

static unsigned reap(struct uring *uring, struct request *done[], unsigned done_max)
{
	struct io_uring_cq *queue = &uring->ring.cq;
	unsigned mask = *queue->kring_mask;
	unsigned head = *queue->khead;
	unsigned available = ready(uring);
	unsigned count = available < done_max ? available : done_max;

	for (unsigned i = 0; i < count; i++) {
		const struct io_uring_cqe *completion = &queue->cqes[(head + i) & mask];
		struct request *request = (struct request *)(uintptr_t)completion->user_data;

		request->result = completion->res;
		done[i] = request;
	}
	io_uring_smp_store_release(queue->khead, head + count);
	uring->outstanding -= count;
	return count;
}

static int uring_wait(
	struct backend *backend, nsec_t deadline_ns, struct request *done[], unsigned done_max)
{
	struct uring *uring = container_of(backend, struct uring, backend);
	int ret;

	io_uring_smp_store_release(uring->ring.sq.ktail, uring->tail);
	ret = exchange(uring, deadline_ns);
	return ret < 0 ? ret : (int)reap(uring, done, done_max);
}

const struct backend_ops backend_uring_ops = {
	.name = "io_uring",
	.summary = "one system call per loop, registered file, buffers and ring",
	.depth_max = 4096,
	.open = uring_open,
	.submit = uring_submit,
	.wait = uring_wait,
	.close = uring_close,
};
