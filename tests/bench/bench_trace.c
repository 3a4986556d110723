/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a record in a trace costs the request path, in five steps: nothing but the walk over the
 * requests; a loop that stores 64 bytes each into 1 MiB; the inline call into a trace that is
 * never written (what the adder itself costs); the inline call into a trace on FOLDER; and the
 * same behind a function pointer, as a hook of the scheduler would be. Best of ROUNDS each, since
 * on a shared machine only the least disturbed round tells of the code.
 *
 *   bench_trace FOLDER RECORDS ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/trace.h"

#define REQUESTS 1024u /* as many as stay in the nearest caches beside the rest */
#define STORE_BYTES MIB

typedef void add_fn(void *user, const struct request *request, nsec_t start_ns, uint32_t dispatch,
	unsigned flags);

static struct request requests[REQUESTS];
static struct plan plans[REQUESTS];
static uint8_t store[STORE_BYTES] __attribute__((aligned(64)));

static void add_by_pointer(void *user, const struct request *request, nsec_t start_ns,
	uint32_t dispatch, unsigned flags)
{
	const struct trace_record record = trace_record_of(request, start_ns, dispatch, flags);

	trace_writer_add(user, &record);
}

/* volatile: the compiler must not see through it. */
static add_fn *volatile hook = add_by_pointer;

static void walk(uint32_t records)
{
	for (uint32_t i = 0; i < records; i++)
		__asm__ volatile("" : : "r"(&requests[i % REQUESTS]) : "memory");
}

static void store_plainly(uint32_t records)
{
	for (uint32_t i = 0; i < records; i++) {
		uint64_t *to = (uint64_t *)(void *)(store + i % (STORE_BYTES / 64) * 64);

		for (unsigned k = 0; k < 8; k++)
			to[k] = requests[i % REQUESTS].offset_bytes + k;
		__asm__ volatile("" : : : "memory");
	}
}

static void add_inline(struct trace_writer *writer, uint32_t records)
{
	for (uint32_t i = 0; i < records; i++) {
		const struct trace_record record =
			trace_record_of(&requests[i % REQUESTS], 1000, i, i & TRACE_HELD);

		trace_writer_add(writer, &record);
		__asm__ volatile("" : : : "memory");
	}
}

static void add_hooked(struct trace_writer *writer, uint32_t records)
{
	add_fn *add = hook;

	for (uint32_t i = 0; i < records; i++)
		add(writer, &requests[i % REQUESTS], 1000, i, i & TRACE_HELD);
}

/* The adder alone: a chunk of its own that begins anew, no thread behind it. */
static void add_nowhere(uint32_t records)
{
	struct trace_writer writer = { store, store + STORE_BYTES };

	for (uint32_t i = 0; i < records; i++) {
		const struct trace_record record =
			trace_record_of(&requests[i % REQUESTS], 1000, i, i & TRACE_HELD);

		if (writer.next == writer.end)
			writer.next = store;
		trace_writer_add(&writer, &record);
		__asm__ volatile("" : : : "memory");
	}
}

/* User and system time of all threads, the writer's too. */
static nsec_t cpu_ns(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NSEC_PER_USEC;
}

struct cost {
	double elapsed_ns, waited_ns, cpu_ns; /* a record; cpu_ns to the end of the cell */
};

static void fail(const struct error *error)
{
	(void)fprintf(stderr, "bench_trace: %s\n", error->text);
	exit(1);
}

static struct cost measure(unsigned step, const char *path, uint32_t records)
{
	struct trace_writer *writer = NULL;
	struct error error = { 0 };
	struct cost cost = { 0 };
	nsec_t begin_ns, begin_cpu_ns;

	if (step >= 3 && (trace_writer_open(path, "{}", &writer, &error) < 0 ||
				 trace_writer_cell(writer, "{}") < 0))
		fail(&error);
	begin_cpu_ns = cpu_ns();
	begin_ns = clock_now(&clock_monotonic);
	if (step == 0)
		walk(records);
	else if (step == 1)
		store_plainly(records);
	else if (step == 2)
		add_nowhere(records);
	else if (step == 3)
		add_inline(writer, records);
	else
		add_hooked(writer, records);
	cost.elapsed_ns = (double)(clock_now(&clock_monotonic) - begin_ns) / records;
	if (writer) {
		cost.waited_ns = (double)trace_writer_waited_ns(writer) / records;
		(void)trace_writer_cell_end(writer);
	}
	cost.cpu_ns = (double)(cpu_ns() - begin_cpu_ns) / records;
	if (writer && trace_writer_close(writer, &error) < 0)
		fail(&error);
	return cost;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "walk", "plain store", "add, never written",
		"add, inline", "add, function pointer" };
	uint32_t records = argc == 4 ? (uint32_t)atol(argv[2]) : 0;
	int rounds = argc == 4 ? atoi(argv[3]) : 0;
	char path[4096];

	if (!records || rounds < 1) {
		(void)fprintf(stderr, "usage: bench_trace FOLDER RECORDS ROUNDS\n");
		return 2;
	}
	(void)snprintf(path, sizeof(path), "%s/bench_trace.%d", argv[1], (int)getpid());
	for (unsigned i = 0; i < REQUESTS; i++) {
		plans[i].id = i;
		requests[i].plan = &plans[i];
		requests[i].offset_bytes = i * UINT64_C(4096);
		requests[i].length_bytes = 4096;
	}
	for (unsigned step = 0; step < ARRAY_SIZE(names); step++) {
		struct cost best = { 0 };

		for (int round = 0; round < rounds; round++) {
			struct cost cost = measure(step, path, records);

			if (round == 0 || cost.elapsed_ns < best.elapsed_ns)
				best.elapsed_ns = cost.elapsed_ns;
			if (round == 0 || cost.waited_ns < best.waited_ns)
				best.waited_ns = cost.waited_ns;
			if (round == 0 || cost.cpu_ns < best.cpu_ns)
				best.cpu_ns = cost.cpu_ns;
		}
		printf("%-22s %6.2f ns a record (%.2f waiting for the disk), CPU of all threads "
		       "%.2f ns\n",
			names[step], best.elapsed_ns, best.waited_ns, best.cpu_ns);
	}
	(void)unlink(path);
	return 0;
}
