/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The back end without a drive: every request is complete, in full, at the next wait. It touches
 * no buffer, so that what is left is the cost of everything above it (fio's engine of the same
 * name serves the same purpose).
 */
#include "engine/backend.h"

#include <stdlib.h>
#include <string.h>

struct null {
	struct backend backend;
	unsigned slots;
	unsigned first; /* oldest of the submitted ones, in the circle below */
	unsigned count;
	struct request *submitted[];
};

static int null_open(
	const struct backend_config *config, struct backend **ret_backend, struct error *error)
{
	int ret = backend_check(&backend_null_ops, config, error);
	unsigned slots = config->depth + config->flushes;
	struct null *null;

	if (ret < 0)
		return ret;
	null = calloc(1, sizeof(*null) + slots * sizeof(null->submitted[0]));
	if (!null)
		return error_set(error, -ENOMEM, "no memory for a null engine of depth %u", slots);
	null->backend.ops = &backend_null_ops;
	strcpy(null->backend.level, "nothing is sent anywhere");
	null->slots = slots;
	*ret_backend = &null->backend;
	return 0;
}

static void null_submit(struct backend *backend, struct request *const requests[], unsigned count)
{
	struct null *null = container_of(backend, struct null, backend);
	unsigned next = null->first + null->count;

	assert(null->count + count <= null->slots);
	for (unsigned i = 0; i < count; i++, next++) {
		if (next >= null->slots)
			next -= null->slots;
		null->submitted[next] = requests[i];
	}
	null->count += count;
}

static int null_wait(
	struct backend *backend, nsec_t deadline_ns, struct request *done[], unsigned done_max)
{
	struct null *null = container_of(backend, struct null, backend);
	unsigned count = null->count < done_max ? null->count : done_max;

	if (!null->count)
		backend_sleep(deadline_ns);
	for (unsigned i = 0; i < count; i++) {
		struct request *request = null->submitted[null->first];

		request->result = (int32_t)request->length_bytes;
		done[i] = request;
		if (++null->first == null->slots)
			null->first = 0;
	}
	null->count -= count;
	return (int)count;
}

static void null_close(struct backend *backend)
{
	free(container_of(backend, struct null, backend));
}

const struct backend_ops backend_null_ops = {
	.name = "null",
	.summary = "completes everything at once, sends nothing",
	.depth_max = 4096,
	.open = null_open,
	.submit = null_submit,
	.wait = null_wait,
	.close = null_close,
};
