/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sstf: the request nearest to where the last one ended, in either direction, the one ahead if
 * both are as far (shortest seek time first; Denning, "Effects of scheduling on file memory
 * operations", AFIPS SJCC 1967). Distance is in LBA, all that a host knows. Distant requests
 * starve for as long as near ones come.
 */
#include "engine/elevator.h"

struct sstf {
	struct elevator elevator;
	uint64_t position; /* the end of what was sent last */
};

static struct request *next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	struct sstf *sstf = container_of(elevator, struct sstf, elevator);
	struct request *request = elevator_one_way(elevator, 0, sstf->position, UINT64_MAX, 1);

	(void)now_ns;
	(void)ret_wake_ns;
	sstf->position = request_end(request);
	return request;
}

const struct elevator_ops elevator_sstf_ops = {
	.name = "sstf",
	.summary = "the nearest request first, by LBA",
	.bytes = sizeof(struct sstf),
	.sorted = true,
	.next = next,
};
