/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/lone_elevator.h"

#include "tests/support/check.h"

static struct plan plans[LONE_STREAMS];

struct elevator *lone_elevator(const char *name, const char *const set[])
{
	const struct elevator_ops *ops = elevator_find(name);
	struct elevator_options options;
	struct elevator *elevator;

	for (uint32_t i = 0; i < LONE_STREAMS; i++)
		plans[i].stream = i;
	elevator_options_default(ops, &options);
	for (size_t i = 0; set && set[i]; i++)
		assert_int_equal(elevator_options_set(ops, &options, set[i], NULL), 0);
	assert_int_equal(elevator_new(ops, &options, 4096, LONE_STREAMS, &elevator), 0);
	return elevator;
}

struct request *lone_arrive(struct elevator *elevator, struct request *request, enum request_op op,
	uint64_t sector, uint32_t stream, nsec_t now_ns)
{
	static uint64_t sequence;

	*request = (struct request){
		.op = (uint8_t)op,
		.offset_bytes = sector * SECTOR,
		.length_bytes = 8 * SECTOR,
		.sequence = sequence++,
		.plan = &plans[stream],
	};
	elevator_insert(elevator, request, now_ns);
	return request;
}
