/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * noop: first come, first served. With merging on a request may join the one inserted last, if
 * that still waits, and no other: enough for the runs that a file system hands over in one go
 * (Linux 2.6 block/noop-iosched.c, Kconfig.iosched: "a minimal scheduler that does basic merging
 * and sorting"; elevator.c's last_merge).
 */
#include "engine/elevator.h"

static struct request *next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	(void)now_ns;
	(void)ret_wake_ns;
	return elevator->lists[0].oldest;
}

const struct elevator_ops elevator_noop_ops = {
	.name = "noop",
	.summary = "first come, first served; merges with the tail only",
	.bytes = sizeof(struct elevator),
	.tail_merges = true,
	.next = next,
};
