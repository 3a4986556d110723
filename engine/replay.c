/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/replay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/merged.h"
#include "engine/radix.h"

struct entry {
	uint64_t offset_bytes;
	uint32_t length_bytes;
	uint32_t file;
	uint8_t op, role;
	bool fua;
};

struct replay {
	struct source source;
	struct entry *entries;
	size_t count;
	size_t next;
};

static int replay_next(struct source *source, struct plan *plan)
{
	struct replay *replay = container_of(source, struct replay, source);
	const struct entry *entry = &replay->entries[replay->next];
	struct request *request;

	if (replay->next == replay->count)
		return 0;
	plan->id = replay->next;
	plan->transaction = replay->next++;
	plan->file = entry->file;
	plan->generation = (uint32_t)replay->next;
	plan->kind = PLAN_PATTERN;
	request = plan_add(plan, (enum request_op)entry->op, (enum request_role)entry->role, 0,
		entry->offset_bytes, entry->length_bytes);
	request->fua = entry->fua;
	return 1;
}

static void replay_done(struct source *source, const struct plan *plan)
{
	(void)source;
	(void)plan;
}

static void replay_free(struct source *source)
{
	struct replay *replay = container_of(source, struct replay, source);

	free(replay->entries);
	free(replay);
}

static const struct source_ops replay_ops = {
	.next = replay_next,
	.done = replay_done,
	.free = replay_free,
};

uint64_t replay_count(const struct source *source)
{
	assert(source->ops == &replay_ops);
	return container_of(source, const struct replay, source)->count;
}

static uint64_t key_of(const struct merged_request *request, enum replay_order order)
{
	switch (order) {
	case REPLAY_QUEUED:
		return request->sequence;
	case REPLAY_COMPLETED:
		return radix_key(request->completed_ns);
	default:
		return request->dispatch;
	}
}

static int check(const struct replay_config *config, const struct merged_request *request,
	struct error *error)
{
	uint64_t area_end_bytes = config->area_offset_bytes + config->area_bytes;

	if (request->op >= REQUEST_OPS || request->role >= REQUEST_ROLES)
		return error_set(error, -EBADMSG,
			"the trace is damaged: request %" PRIu32 " has operation %u and role %u",
			request->sequence, request->op, request->role);
	if (request->op == REQUEST_FLUSH)
		return 0;
	if (request->offset_bytes < config->area_offset_bytes ||
		request->offset_bytes > area_end_bytes ||
		request->length_bytes > area_end_bytes - request->offset_bytes)
		return error_set(error, -ERANGE,
			"request %" PRIu32 " of the trace, %" PRIu32 " bytes at byte %" PRIu64
			", lies outside bytes %" PRIu64 " to %" PRIu64
			" that may be used here: replay on the device that was traced",
			request->sequence, request->length_bytes, request->offset_bytes,
			config->area_offset_bytes, area_end_bytes);
	if (!request->length_bytes || request->offset_bytes % config->block_bytes ||
		request->length_bytes % config->block_bytes)
		return error_set(error, -ERANGE,
			"request %" PRIu32 " of the trace, %" PRIu32 " bytes at byte %" PRIu64
			", is not in whole blocks of %" PRIu32 " bytes: replay on a device with "
			"the traced one's logical block",
			request->sequence, request->length_bytes, request->offset_bytes,
			config->block_bytes);
	return 0;
}

static int fill(struct replay *replay, const struct replay_config *config,
	const struct merged *merged, const struct radix_item *items, struct error *error)
{
	bool writes = false;
	uint32_t longest_bytes = config->block_bytes;

	for (size_t i = 0; i < merged->count; i++) {
		const struct merged_request *request = &merged->requests[items[i].index];
		int r = check(config, request, error);

		if (r < 0)
			return r;
		writes |= request->op == REQUEST_WRITE;
		if (request->length_bytes > longest_bytes)
			longest_bytes = request->length_bytes;
		replay->entries[i] = (struct entry){
			.offset_bytes = request->offset_bytes,
			.length_bytes = request->length_bytes,
			.file = request->file,
			.op = request->op,
			.role = request->role,
			.fua = request->fua,
		};
	}
	replay->count = merged->count;
	replay->source = (struct source){
		.ops = &replay_ops,
		.requests_per_plan_max = 1,
		.request_bytes_max = longest_bytes,
		.reads_only = !writes,
	};
	return 0;
}

static int order_requests(const struct replay_config *config, const struct merged *merged,
	struct replay *replay, struct error *error)
{
	_cleanup_free_ struct radix_item *items = malloc(merged->count * sizeof(*items));
	_cleanup_free_ struct radix_item *scratch = malloc(merged->count * sizeof(*scratch));

	replay->entries = malloc(merged->count * sizeof(*replay->entries));
	if (!items || !scratch || !replay->entries)
		return error_set(error, -ENOMEM, "no memory to replay %zu requests", merged->count);
	for (size_t i = 0; i < merged->count; i++)
		items[i] = (struct radix_item){ key_of(&merged->requests[i], config->order),
			(uint32_t)i };
	/* Stable, and the requests come in the order of their dispatch: ties keep it. */
	radix_sort(items, scratch, merged->count);
	return fill(replay, config, merged, items, error);
}

int replay_new(const struct replay_config *config, struct source **ret_source, struct error *error)
{
	struct replay *replay;
	struct merged merged;
	int r = merged_new(config->records, config->count, &merged, error);

	assert(config->block_bytes);
	if (r < 0)
		return r;
	replay = calloc(1, sizeof(*replay));
	if (!replay)
		r = error_set(error, -ENOMEM, "no memory for the replay");
	else if (!merged.count)
		r = error_set(
			error, -ENODATA, "the trace holds no completed request: nothing to replay");
	else
		r = order_requests(config, &merged, replay, error);
	merged_done(&merged);
	if (r < 0) {
		if (replay)
			replay_free(&replay->source);
		return r;
	}
	*ret_source = &replay->source;
	return 0;
}
