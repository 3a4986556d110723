/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/merged.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/radix.h"

/* What is known of a request while its children are joined. */
struct joined {
	uint64_t first_bytes, end_bytes; /* of the range that they span */
	uint64_t sum_bytes;
};

static struct merged_request from_record(const struct trace_record *record)
{
	return (struct merged_request){
		.offset_bytes = record->offset_bytes,
		.queued_ns = record->queued_ns,
		.dispatched_ns = record->dispatched_ns,
		.completed_ns = record->completed_ns,
		.length_bytes = record->length_bytes,
		.sequence = record->sequence,
		.dispatch = record->dispatch,
		.children = 1,
		.file = record->file,
		.op = record->op,
		.role = record->role,
		.fua = record->flags & TRACE_FUA,
		.failed = record->result < 0,
	};
}

static void join(
	struct merged_request *request, struct joined *joined, const struct trace_record *record)
{
	if (record->sequence < request->sequence) {
		request->sequence = record->sequence;
		request->file = record->file;
		request->role = record->role;
	}
	if (record->queued_ns < request->queued_ns)
		request->queued_ns = record->queued_ns;
	request->failed |= record->result < 0;
	request->children++;
	joined->first_bytes = min_u64(joined->first_bytes, record->offset_bytes);
	joined->end_bytes = max_u64(joined->end_bytes, record->offset_bytes + record->length_bytes);
	joined->sum_bytes += record->length_bytes;
}

static bool belongs(const struct merged_request *request, const struct trace_record *record)
{
	return record->op == request->op && record->dispatched_ns == request->dispatched_ns &&
	       record->completed_ns == request->completed_ns &&
	       !(record->flags & TRACE_FUA) == !request->fua;
}

/* Joins the records of one dispatch number, given by items. */
static int join_all(const struct trace_record *records, const struct radix_item *items,
	size_t count, struct merged_request *ret_request, struct error *error)
{
	const struct trace_record *first = &records[items[0].index];
	struct merged_request request = from_record(first);
	struct joined joined = { first->offset_bytes, first->offset_bytes + first->length_bytes,
		first->length_bytes };

	for (size_t i = 1; i < count; i++) {
		const struct trace_record *record = &records[items[i].index];

		if (!belongs(&request, record))
			return error_set(error, -EBADMSG,
				"the trace is damaged: records %" PRIu32 " and %" PRIu32
				" share dispatch number %" PRIu32 " but not operation and instants",
				first->sequence, record->sequence, record->dispatch);
		join(&request, &joined, record);
	}
	/* Children of one request never overlap, so equal lengths mean that they tile it. */
	if (joined.end_bytes - joined.first_bytes != joined.sum_bytes ||
		joined.sum_bytes > UINT32_MAX)
		return error_set(error, -EBADMSG,
			"the trace is damaged: the %" PRIu32
			" records with dispatch number %" PRIu32
			" do not make up one contiguous request",
			request.children, request.dispatch);
	request.offset_bytes = joined.first_bytes;
	request.length_bytes = (uint32_t)joined.sum_bytes;
	*ret_request = request;
	return 0;
}

static size_t list_finished(
	const struct trace_record *records, size_t count, struct radix_item *items)
{
	size_t finished = 0;

	for (size_t i = 0; i < count; i++)
		if (records[i].dispatched_ns != TRACE_NEVER &&
			records[i].completed_ns != TRACE_NEVER)
			items[finished++] = (struct radix_item){ records[i].dispatch, (uint32_t)i };
	return finished;
}

int merged_new(const struct trace_record *records, size_t count, struct merged *ret_merged,
	struct error *error)
{
	_cleanup_free_ struct radix_item *items = malloc((count + 1) * sizeof(*items));
	_cleanup_free_ struct radix_item *scratch = malloc((count + 1) * sizeof(*scratch));
	struct merged merged = { .requests = malloc((count + 1) * sizeof(*merged.requests)) };
	size_t finished;

	assert(count < UINT32_MAX);
	if (!items || !scratch || !merged.requests) {
		merged_done(&merged);
		return error_set(error, -ENOMEM, "no memory to analyse %zu requests", count);
	}
	finished = list_finished(records, count, items);
	merged.unfinished = count - finished;
	radix_sort(items, scratch, finished);
	for (size_t i = 0, end; i < finished; i = end) {
		int r;

		for (end = i + 1; end < finished && items[end].key == items[i].key; end++)
			;
		r = join_all(records, &items[i], end - i, &merged.requests[merged.count++], error);
		if (r < 0) {
			merged_done(&merged);
			return r;
		}
	}
	*ret_merged = merged;
	return 0;
}

void merged_done(struct merged *merged)
{
	free(merged->requests);
	*merged = (struct merged){ 0 };
}
