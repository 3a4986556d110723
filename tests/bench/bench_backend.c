/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a back end costs by itself: random 4 KiB reads at a fixed depth, no scheduler above it and
 * no account of latencies. The yardstick for everything that is built on top, and comparable
 * with fio on the same device.
 *
 *   bench_backend ENGINE DEPTH SECONDS DEVICE
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/backend.h"
#include "engine/buffers.h"
#include "engine/clock.h"
#include "engine/rng.h"

#define BLOCK_BYTES 4096u
#define DEPTH_MAX 4096u

static struct request requests[DEPTH_MAX];
static struct request *batch[DEPTH_MAX];

static double cpu_seconds(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The completed ones are sent again at other places. */
static int play(struct backend *backend, unsigned depth, uint64_t blocks, nsec_t length_ns,
	uint64_t *ret_completed)
{
	nsec_t end_ns = clock_now(&clock_monotonic) + length_ns;
	int count = (int)depth;
	struct rng rng;

	rng_seed(&rng, 42, RNG_LOAD);
	while (clock_now(&clock_monotonic) < end_ns) {
		for (int i = 0; i < count; i++) {
			if (batch[i]->result != (int)BLOCK_BYTES)
				return -EIO;
			batch[i]->offset_bytes = rng_below(&rng, blocks) * BLOCK_BYTES;
		}
		backend->ops->submit(backend, batch, (unsigned)count);
		count = backend->ops->wait(backend, NSEC_NEVER, batch, depth);
		if (count < 0)
			return count;
		*ret_completed += (unsigned)count;
	}
	return 0;
}

static int run(
	const struct backend_ops *ops, unsigned depth, double seconds, int fd, const char *name)
{
	struct target target = { .kind = TARGET_BLOCK,
		.fd = fd,
		.name = name,
		.logical_block_bytes = 512,
		.size_bytes = (uint64_t)lseek(fd, 0, SEEK_END) };
	struct backend_config config = { .target = &target, .depth = depth };
	struct backend *backend;
	struct buffers buffers;
	struct error error = { 0 };
	uint64_t completed = 0;
	double cpu;
	int ret;

	if (buffers_open(&buffers, depth, BLOCK_BYTES, true, false, 42, &error) < 0)
		return fprintf(stderr, "%s\n", error.text), 1;
	config.buffers = buffers.memory;
	config.buffers_bytes = buffers.bytes;
	if (ops->open(&config, &backend, &error) < 0)
		return fprintf(stderr, "%s\n", error.text), 1;
	for (unsigned i = 0; i < depth; i++) {
		requests[i] = (struct request){ .op = REQUEST_READ,
			.slot = i,
			.result = BLOCK_BYTES,
			.length_bytes = BLOCK_BYTES,
			.buffer = buffers_area(&buffers, i, false) };
		batch[i] = &requests[i];
	}
	cpu = cpu_seconds();
	ret = play(backend, depth, target.size_bytes / BLOCK_BYTES, (nsec_t)(seconds * 1e9),
		&completed);
	cpu = cpu_seconds() - cpu;
	printf("%s (%s) depth %u: %.0f IOPS, %.3f us CPU per I/O\n", ops->name, backend->level,
		depth, (double)completed / seconds, cpu * 1e6 / (double)completed);
	backend->ops->close(backend);
	buffers_close(&buffers);
	return ret < 0;
}

int main(int argc, char **argv)
{
	const struct backend_ops *ops = argc == 5 ? backend_find(argv[1]) : NULL;
	unsigned depth = argc == 5 ? (unsigned)atoi(argv[2]) : 0;
	int fd = argc == 5 ? open(argv[4], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;

	if (!ops || depth < 1 || depth > DEPTH_MAX || fd < 0) {
		fprintf(stderr, "usage: bench_backend ENGINE DEPTH SECONDS DEVICE\n");
		return 2;
	}
	return run(ops, depth, atof(argv[3]), fd, argv[4]);
}
