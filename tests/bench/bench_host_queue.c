/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the host queue costs a request: insert, next and completed, with the window full, for every
 * elevator, with merging and without, beside the plain FIFO that it would replace, in rounds
 * of all by turns. Time stands still for the clock: an elevator's instants are numbers here.
 *
 * Random: 4 KiB anywhere, half of them reads. Runs: eight 4 KiB requests one behind the other, as
 * a file system of the era sends a file of 32 KiB, begun anywhere. Woven: four such runs by turns.
 *
 * Usage: bench_host_queue [REQUESTS PER ROUND [WINDOW]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/clock.h"
#include "engine/fifo.h"
#include "engine/host_queue.h"
#include "engine/rng.h"

#define ROUNDS 9
#define BLOCK_BYTES 4096
#define BUSY 1
#define SERVICE_NS (100 * NSEC_PER_USEC)
#define MERGING_BAR_NS 250.0 /* with merging, at window 128 */
#define NOOP_BAR_NS 20.0     /* noop without merging, above the FIFO */

enum load { LOAD_RANDOM, LOAD_RUNS, LOAD_WOVEN, LOADS };

static const char *const load_names[] = { "random", "runs of 8", "woven" };

/* Requests in the order in which they come, round and round; one that an elevator leaves waiting
 * for so long that its turn comes again is passed over. */
struct stock {
	struct request *requests;
	size_t count, next;
};

static struct plan plan;

static struct request *draw(struct stock *stock, uint64_t sequence)
{
	struct request *request;

	do {
		request = &stock->requests[stock->next];
		stock->next = stock->next + 1 == stock->count ? 0 : stock->next + 1;
	} while (request->state == BUSY);
	request->state = BUSY;
	request->sequence = sequence;
	return request;
}

static void fill_stock(struct stock *stock, size_t window, enum load load)
{
	struct rng rng;
	uint64_t *taken;

	rng_seed(&rng, 42, RNG_LOAD);
	stock->count = 16 * window;
	stock->next = 0;
	stock->requests = calloc(stock->count, sizeof(*stock->requests));
	taken = calloc(stock->count, sizeof(*taken));
	if (!stock->requests || !taken)
		abort();
	/* Distinct places, shuffled, so that no two requests in the queue overlap. */
	for (size_t i = 0; i < stock->count; i++) {
		const size_t j = rng_below(&rng, i + 1);

		taken[i] = taken[j];
		taken[j] = i;
	}
	for (size_t i = 0; i < stock->count; i++) {
		struct request *request = &stock->requests[i];
		size_t run = i, block = 0;

		if (load == LOAD_RUNS) {
			run = i / 8;
			block = i % 8;
		} else if (load == LOAD_WOVEN) {
			run = i / 32 * 4 + i % 4;
			block = i / 4 % 8;
		}
		request->offset_bytes = (taken[run] * 64 + block) * BLOCK_BYTES;
		request->length_bytes = BLOCK_BYTES;
		request->op = (taken[run] >> 1) & 1 ? REQUEST_WRITE : REQUEST_READ;
		request->plan = &plan;
	}
	free(taken);
}

static void give_back(struct request *part)
{
	for (; part; part = part->queue_next)
		part->state = 0;
}

static double play_fifo(struct stock *stock, size_t window, size_t count)
{
	struct fifo fifo = { NULL, NULL };
	const nsec_t start_ns = clock_now(&clock_monotonic);
	size_t waiting = 0;
	nsec_t took_ns;

	for (size_t inserted = 0; inserted < count;) {
		struct request *request;

		for (; waiting < window; waiting++)
			fifo_push(&fifo, draw(stock, inserted++));
		request = fifo_pop(&fifo);
		request->completed_ns = (nsec_t)inserted;
		request->state = 0;
		waiting--;
	}
	took_ns = clock_now(&clock_monotonic) - start_ns;
	while (fifo.first)
		fifo_pop(&fifo)->state = 0;
	return (double)took_ns / (double)count;
}

static double play_queue(struct host_queue *queue, struct stock *stock, size_t window, size_t count)
{
	static nsec_t now_ns = 1;
	const nsec_t start_ns = clock_now(&clock_monotonic);
	nsec_t took_ns;
	struct request *request;
	size_t inserted = 0;
	nsec_t wake_ns;

	while (inserted < count) {
		while (host_queue_part_count(queue) < window)
			(void)host_queue_insert(queue, draw(stock, inserted++), now_ns);
		request = host_queue_next(queue, now_ns, HOST_QUEUE_TRANSFER, &wake_ns);
		if (!request) {
			now_ns = wake_ns;
			continue;
		}
		now_ns += SERVICE_NS;
		request->completed_ns = now_ns;
		give_back(host_queue_completed(queue, request, now_ns));
	}
	took_ns = clock_now(&clock_monotonic) - start_ns;
	while (host_queue_count(queue)) {
		request = host_queue_next(queue, now_ns, HOST_QUEUE_TRANSFER, &wake_ns);
		if (request)
			give_back(host_queue_completed(queue, request, now_ns));
		else
			now_ns = wake_ns;
	}
	return (double)took_ns / (double)count;
}

/* What disturbs a round only ever adds to it. */
static double least(const double values[ROUNDS])
{
	double value = values[0];

	for (int i = 1; i < ROUNDS; i++)
		if (values[i] < value)
			value = values[i];
	return value;
}

static void bench(
	const struct elevator_ops *ops, enum load load, bool merge, size_t window, size_t count)
{
	struct host_queue_config config = {
		.elevator = ops,
		.merge = merge,
		.max_request_bytes = 512 * KIB,
		.capacity = 2 * window,
		.streams = 1,
	};
	double queue_ns[ROUNDS], fifo_ns[ROUNDS], cost, plain;
	const char *verdict = "";
	struct host_queue *queue;
	struct stock stock;

	elevator_options_default(ops, &config.options);
	fill_stock(&stock, window, load);
	if (host_queue_new(&config, &queue))
		abort();
	for (int round = 0; round < ROUNDS; round++) {
		fifo_ns[round] = play_fifo(&stock, window, count);
		queue_ns[round] = play_queue(queue, &stock, window, count);
	}
	cost = least(queue_ns);
	plain = least(fifo_ns);
	if (merge && window == 128)
		verdict = cost <= MERGING_BAR_NS ? "<= 250: met" : "<= 250: MISSED";
	else if (!merge && ops == &elevator_noop_ops)
		verdict = cost - plain <= NOOP_BAR_NS ? "<= 20 more: met" : "<= 20 more: MISSED";
	printf("%-13s %-10s %-6s %9.1f %9.1f %9.1f  %s\n", ops->name, load_names[load],
		merge ? "on" : "off", cost, plain, cost - plain, verdict);
	host_queue_free(queue);
	free(stock.requests);
}

int main(int argc, char **argv)
{
	const size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
	const size_t window = argc > 2 ? strtoull(argv[2], NULL, 10) : 128;

	printf("window %zu; ns per request, least of %d rounds\n", window, ROUNDS);
	printf("elevator      load       merge      queue      FIFO      more\n");
	for (size_t i = 0; elevators[i]; i++)
		for (unsigned load = 0; load < LOADS; load++)
			for (int merge = 0; merge < 2; merge++)
				bench(elevators[i], load, merge, window, count);
	return 0;
}
