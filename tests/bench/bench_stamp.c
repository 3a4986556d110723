/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What stamping and judging 4 KiB costs, beside copying the same 4 KiB, so that the figure means
 * something on any machine. Also the preparation of 64 MiB of bodies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/buffers.h"
#include "engine/clock.h"
#include "engine/stamp.h"

#define BLOCK_BYTES 4096u
#define SLOTS 32u
#define ROUNDS 2000000u

static struct buffers buffers;

static double per_round(nsec_t begin_ns)
{
	return (double)(clock_now(&clock_monotonic) - begin_ns) / ROUNDS;
}

static double time_copy(void)
{
	nsec_t begin_ns = clock_now(&clock_monotonic);

	for (unsigned i = 0; i < ROUNDS; i++) {
		void *target = buffers_area(&buffers, i % SLOTS, false);

		memcpy(target, buffers_area(&buffers, i % SLOTS, true), BLOCK_BYTES);
		__asm__ volatile("" : : "r"(target) : "memory");
	}
	return per_round(begin_ns);
}

static double time_fill(void)
{
	nsec_t begin_ns = clock_now(&clock_monotonic);

	for (unsigned i = 0; i < ROUNDS; i++) {
		void *target = buffers_area(&buffers, i % SLOTS, true);

		stamp_fill(target, BLOCK_BYTES, (uint64_t)i * BLOCK_BYTES, 1, i, 1);
		__asm__ volatile("" : : "r"(target) : "memory");
	}
	return per_round(begin_ns);
}

static double time_shadow(struct shadow *shadow, bool verify)
{
	struct plan plan = { .file = 1, .generation = 1 };
	struct request request = { .plan = &plan, .length_bytes = BLOCK_BYTES };
	struct stamp_report report = { 0 };
	nsec_t begin_ns = clock_now(&clock_monotonic);

	for (unsigned i = 0; i < ROUNDS; i++) {
		request.offset_bytes = (uint64_t)(i % SLOTS) * BLOCK_BYTES;
		if (verify)
			(void)shadow_verify(shadow, &request,
				buffers_area(&buffers, i % SLOTS, true), 1, &report);
		else
			shadow_write(shadow, &request);
	}
	if (report.faults[STAMP_GOOD] != report.sectors_checked)
		exit(1);
	return per_round(begin_ns);
}

int main(void)
{
	struct buffers large;
	struct shadow *shadow;
	double copy;
	nsec_t begin_ns = clock_now(&clock_monotonic);

	if (buffers_open(&large, 128, 512 * KIB, false, true, 42, NULL) < 0)
		return 1;
	printf("prepare 64 MiB of bodies: %.1f ms\n",
		(double)(clock_now(&clock_monotonic) - begin_ns) / NSEC_PER_MSEC);
	buffers_close(&large);
	if (buffers_open(&buffers, SLOTS, BLOCK_BYTES, true, true, 42, NULL) < 0 ||
		shadow_new(BLOCK_BYTES, &shadow) < 0)
		return 1;
	copy = time_copy();
	printf("copy 4 KiB:               %.1f ns\n", copy);
	printf("stamp_fill 4 KiB:         %.1f ns, %.2f x copy\n", time_fill(), time_fill() / copy);
	printf("shadow_write 4 KiB:       %.1f ns\n", time_shadow(shadow, false));
	for (unsigned i = 0; i < SLOTS; i++)
		stamp_fill(buffers_area(&buffers, i, true), BLOCK_BYTES, (uint64_t)i * BLOCK_BYTES,
			1, 1, 1);
	printf("shadow_verify 4 KiB:      %.1f ns\n", time_shadow(shadow, true));
	shadow_free(shadow);
	buffers_close(&buffers);
	return 0;
}
