/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * c-look: sweeps upwards over everything that waits, then jumps back to the lowest request
 * (Worthington, Ganger, Patt, "Scheduling Algorithms for Modern Disk Drives", SIGMETRICS 1994,
 * section 2: C-LOOK, cyclical scan between the outermost requests). By LBA, reads and writes
 * alike. A request that arrives behind the head waits for the next sweep, so nobody starves.
 */
#include "engine/elevator.h"

struct clook {
	struct elevator elevator;
	uint64_t position; /* the end of what was sent last */
};

static struct request *next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	struct clook *clook = container_of(elevator, struct clook, elevator);
	struct request *request = lba_index_after(elevator->index, 0, clook->position);

	(void)now_ns;
	(void)ret_wake_ns;
	if (!request)
		request = lba_index_after(elevator->index, 0, 0);
	clook->position = request_end(request);
	return request;
}

const struct elevator_ops elevator_clook_ops = {
	.name = "c-look",
	.summary = "one ascending sweep after the other, by LBA",
	.bytes = sizeof(struct clook),
	.sorted = true,
	.next = next,
};
