/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The writing half of traces. Chunks stand in a ring: the adder fills one after the other, the
 * thread writes them in the same order. Texts and trailers pass through the same ring, so that
 * there is one writer and one account of its errors.
 *
 * Two counters say it all: `submitted` chunks were handed over, `written` of them are done; the
 * chunk that is being filled is number `submitted`. The lock is taken once in a chunk, so its cost
 * is lost among 16,383 records.
 */
#include "engine/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "engine/clock.h"
#include "engine/trace_format.h"

/* 32 MiB in all: half a million requests, 5 s of a device that does 100,000 a second, which is as
 * long as a disk stalls when the kernel writes back. */
#define CHUNKS 32u
#define CHUNK_BYTES MIB
/* Records begin on a cache line; the header of their block stands right before them. */
#define CHUNK_FIRST 64u
#define CHUNK_RECORDS ((CHUNK_BYTES - CHUNK_FIRST) / TRACE_RECORD_BYTES)

struct job {
	const uint8_t *bytes;
	size_t length;
	size_t hashed; /* so many bytes at its end go into the hash of the cell */
};

struct writer {
	struct trace_writer front;
	char *path;
	int fd;
	uint8_t *memory;
	pthread_t thread;
	bool in_cell;
	uint32_t cells;
	uint64_t records; /* of the open cell, in chunks that were handed over */
	nsec_t waited_ns;
	uint8_t trailer[TRACE_BLOCK_BYTES + TRACE_END_BYTES];

	/* The thread's while it runs; others look when everything is written. */
	XXH3_state_t *hash;
	uint64_t position; /* bytes in the file */
	int code;          /* -errno of the first write that failed */

	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t more, room;
	struct job jobs[CHUNKS];
	uint64_t submitted, written;
	bool stop;
};

static void write_job(struct writer *writer, const struct job *job)
{
	size_t done = 0;

	if (job->hashed)
		(void)XXH3_64bits_update(
			writer->hash, job->bytes + job->length - job->hashed, job->hashed);
	while (done < job->length && !writer->code) {
		ssize_t count = write(writer->fd, job->bytes + done, job->length - done);

		if (count > 0) {
			done += (size_t)count;
			writer->position += (uint64_t)count;
		} else if (count == 0) {
			writer->code = -EIO;
		} else if (errno != EINTR) {
			writer->code = -errno;
		}
	}
}

static void *write_all(void *user)
{
	struct writer *writer = user;

	(void)pthread_mutex_lock(&writer->lock);
	for (;;) {
		struct job job;

		while (writer->written == writer->submitted && !writer->stop)
			(void)pthread_cond_wait(&writer->more, &writer->lock);
		if (writer->written == writer->submitted)
			break;
		job = writer->jobs[writer->written % CHUNKS];
		(void)pthread_mutex_unlock(&writer->lock);
		write_job(writer, &job);
		(void)pthread_mutex_lock(&writer->lock);
		writer->written++;
		(void)pthread_cond_signal(&writer->room);
	}
	(void)pthread_mutex_unlock(&writer->lock);
	return NULL;
}

static void hand_over(struct writer *writer, const struct job *job)
{
	(void)pthread_mutex_lock(&writer->lock);
	writer->jobs[writer->submitted++ % CHUNKS] = *job;
	(void)pthread_cond_signal(&writer->more);
	(void)pthread_mutex_unlock(&writer->lock);
}

/* Returns when at most `behind` jobs are not written, after how long. */
static nsec_t wait_for_disk(struct writer *writer, uint64_t behind)
{
	nsec_t begin_ns = 0, waited_ns = 0;

	(void)pthread_mutex_lock(&writer->lock);
	while (writer->submitted - writer->written > behind) {
		/* The disk is real even where the run's time is not. */
		if (!begin_ns)
			begin_ns = clock_now(&clock_monotonic);
		(void)pthread_cond_wait(&writer->room, &writer->lock);
	}
	(void)pthread_mutex_unlock(&writer->lock);
	if (begin_ns)
		waited_ns = clock_now(&clock_monotonic) - begin_ns;
	return waited_ns;
}

/* A text with what stands before it. Returns -errno of any write so far. */
static int write_text(
	struct writer *writer, const uint8_t *head, size_t head_bytes, const char *text)
{
	struct job job = { .length = head_bytes + strlen(text) };
	_cleanup_free_ uint8_t *bytes = malloc(job.length);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, head, head_bytes);
	memcpy(bytes + head_bytes, text, job.length - head_bytes);
	job.bytes = bytes;
	hand_over(writer, &job);
	(void)wait_for_disk(writer, 0);
	return writer->code;
}

static void take_chunk(struct writer *writer)
{
	uint8_t *chunk = writer->memory + writer->submitted % CHUNKS * CHUNK_BYTES;

	writer->front.next = chunk + CHUNK_FIRST;
	writer->front.end = chunk + CHUNK_BYTES;
}

/* Hands over what the chunk holds. */
static void give_chunk(struct writer *writer)
{
	uint8_t *first = writer->front.end - CHUNK_BYTES + CHUNK_FIRST;
	size_t bytes = (size_t)(writer->front.next - first);
	uint8_t *block = first - TRACE_BLOCK_BYTES;
	struct job job = { block, TRACE_BLOCK_BYTES + bytes, bytes };

	if (!bytes)
		return;
	trace_put_block(block, "RECS", (uint32_t)(bytes / TRACE_RECORD_BYTES), bytes);
	writer->records += bytes / TRACE_RECORD_BYTES;
	hand_over(writer, &job);
}

void trace_writer_turn(struct trace_writer *front)
{
	struct writer *writer = container_of(front, struct writer, front);

	assert(writer->in_cell);
	give_chunk(writer);
	writer->waited_ns += wait_for_disk(writer, CHUNKS - 1);
	take_chunk(writer);
}

int trace_writer_cell(struct trace_writer *front, const char *cell_json)
{
	struct writer *writer = container_of(front, struct writer, front);
	uint8_t head[TRACE_BLOCK_BYTES];
	int r;

	assert(!writer->in_cell);
	if (strlen(cell_json) > TRACE_TEXT_BYTES_MAX)
		return -E2BIG;
	trace_put_block(head, "CELL", writer->cells + 1, strlen(cell_json));
	r = write_text(writer, head, sizeof(head), cell_json);
	if (r < 0)
		return r;
	(void)XXH3_64bits_reset(writer->hash);
	writer->cells++;
	writer->records = 0;
	writer->in_cell = true;
	take_chunk(writer);
	return 0;
}

int trace_writer_cell_end(struct trace_writer *front)
{
	struct writer *writer = container_of(front, struct writer, front);
	struct job job = { writer->trailer, sizeof(writer->trailer), 0 };

	assert(writer->in_cell);
	give_chunk(writer);
	(void)wait_for_disk(writer, 0);
	trace_put_block(writer->trailer, "ENDC", writer->cells, TRACE_END_BYTES);
	trace_put_u64(writer->trailer + TRACE_BLOCK_BYTES, writer->records);
	trace_put_u64(writer->trailer + TRACE_BLOCK_BYTES + 8, XXH3_64bits_digest(writer->hash));
	hand_over(writer, &job);
	(void)wait_for_disk(writer, 0);
	writer->in_cell = false;
	front->next = NULL;
	front->end = NULL;
	if (!writer->code && fdatasync(writer->fd) < 0 && errno != EINVAL)
		writer->code = -errno;
	return writer->code;
}

nsec_t trace_writer_waited_ns(const struct trace_writer *front)
{
	return container_of(front, struct writer, front)->waited_ns;
}

static void release(struct writer *writer)
{
	if (writer->memory)
		(void)munmap(writer->memory, CHUNKS * CHUNK_BYTES);
	XXH3_freeState(writer->hash);
	if (writer->fd >= 0)
		(void)close(writer->fd);
	free(writer->path);
	free(writer);
}

int trace_writer_close(struct trace_writer *front, struct error *error)
{
	struct writer *writer = container_of(front, struct writer, front);
	int r;

	if (writer->in_cell)
		(void)trace_writer_cell_end(front);
	(void)pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	(void)pthread_cond_signal(&writer->more);
	(void)pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
	if (close(writer->fd) < 0 && !writer->code)
		writer->code = -errno;
	writer->fd = -1;
	r = writer->code;
	if (r < 0)
		(void)error_set(error, r,
			"%s: the trace ends at byte %llu, the rest could not be written: %s%s",
			writer->path, (unsigned long long)writer->position, strerror(-r),
			r == -ENOSPC || r == -EDQUOT || r == -EFBIG
				? "; name a file where there is more room"
				: "");
	(void)pthread_cond_destroy(&writer->more);
	(void)pthread_cond_destroy(&writer->room);
	(void)pthread_mutex_destroy(&writer->lock);
	release(writer);
	return r;
}

/* A descriptor for path, emptied; everything that must not be lost is refused. */
static int open_file(const char *path, struct error *error)
{
	_cleanup_close_ int fd = -1;
	uint8_t magic[TRACE_MAGIC_BYTES];
	struct stat status;
	ssize_t count;
	int ret;

	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return error_set(error, -EINVAL,
			"%s is no regular file: a trace is written to a file of its own", path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		return error_set(error, -errno, "%s cannot be opened for the trace: %s", path,
			strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return error_set(error, -EBUSY,
			"%s is being written by another run: name another file", path);
	count = read(fd, magic, sizeof(magic));
	if (count < 0)
		return error_set(error, -errno, "%s cannot be read: %s", path, strerror(errno));
	if (count > 0 &&
		(count < (ssize_t)sizeof(magic) || memcmp(magic, TRACE_MAGIC, sizeof(magic)) != 0))
		return error_set(error, -EEXIST,
			"%s exists and is no trace: it is not replaced, name another file", path);
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_set(error, -errno, "%s cannot be emptied for the trace: %s", path,
			strerror(errno));
	ret = fd;
	fd = -1;
	return ret;
}

/* With every signal blocked, which the thread inherits. */
static int start_thread(struct writer *writer)
{
	sigset_t all, before;
	int code;

	(void)pthread_mutex_init(&writer->lock, NULL);
	(void)pthread_cond_init(&writer->more, NULL);
	(void)pthread_cond_init(&writer->room, NULL);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&writer->thread, NULL, write_all, writer);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -code;
}

int trace_writer_open(const char *path, const char *run_json, struct trace_writer **ret_writer,
	struct error *error)
{
	uint8_t head[TRACE_HEADER_BYTES];
	struct writer *writer;
	int fd, r;

	if (strlen(run_json) > TRACE_TEXT_BYTES_MAX)
		return error_set(error, -E2BIG,
			"the description of the run has %zu bytes: %llu "
			"fit into a trace",
			strlen(run_json), (unsigned long long)TRACE_TEXT_BYTES_MAX);
	fd = open_file(path, error);
	if (fd < 0)
		return fd;
	writer = calloc(1, sizeof(*writer));
	if (!writer) {
		(void)close(fd);
		return error_set(error, -ENOMEM, "no memory for the trace %s", path);
	}
	writer->fd = fd;
	writer->path = strdup(path);
	writer->hash = XXH3_createState();
	writer->memory = mmap(NULL, CHUNKS * CHUNK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (writer->memory == MAP_FAILED)
		writer->memory = NULL;
	r = writer->path && writer->hash && writer->memory ? start_thread(writer) : -ENOMEM;
	if (r < 0) {
		release(writer);
		return error_set(error, r,
			"the trace %s cannot be begun, with %llu MiB and a "
			"thread: %s",
			path, (unsigned long long)(CHUNKS * CHUNK_BYTES / MIB), strerror(-r));
	}
	memcpy(head, TRACE_MAGIC, TRACE_MAGIC_BYTES);
	trace_put_u32(head + 8, TRACE_VERSION);
	trace_put_u32(head + 12, TRACE_RECORD_BYTES);
	trace_put_u64(head + 16, strlen(run_json));
	r = write_text(writer, head, sizeof(head), run_json);
	if (r < 0) {
		if (!writer->code)
			writer->code = r;
		(void)trace_writer_close(&writer->front, error);
		return r;
	}
	*ret_writer = &writer->front;
	return 0;
}
