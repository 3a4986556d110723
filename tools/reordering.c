/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/reordering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/merged.h"
#include "engine/radix.h"
#include "tools/overtakes.h"

#define SECTOR_BYTES 512u
#define STARVED_NS NSEC_PER_SEC
#define STARVED_MEDIANS 50

/* What the steps of one analysis share. */
struct analysis {
	const struct reordering_config *config;
	struct merged merged;        /* flushes taken out */
	bool *counts;                /* of each: counts for order */
	struct overtakes *overtakes; /* of each that counts, in their order */
	nsec_t *completed_ns;        /* the same */
	struct radix_item *items, *scratch;
	struct reordering *result;
};

enum reordering_scope reordering_scope_of(const char *cache_commands, nsec_t hit_below_ns)
{
	static const char *const medium[] = { "wce0", "fua", "none", "no effect expected" };
	static const char *const accepted[] = { "plain", "write+flush" };

	for (size_t i = 0; i < ARRAY_SIZE(medium); i++)
		if (strcmp(cache_commands, medium[i]) == 0)
			return REORDERING_ALL;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++)
		if (strcmp(cache_commands, accepted[i]) == 0 && hit_below_ns > 0)
			return REORDERING_READS;
	return REORDERING_BLANK;
}

nsec_t reordering_hit_below(unsigned revolutions_per_min)
{
	return revolutions_per_min ? 60 * NSEC_PER_SEC / revolutions_per_min / 10 : 0;
}

static bool is_hit(const struct reordering_config *config, const struct merged_request *request)
{
	return request->op == REQUEST_READ &&
	       request->completed_ns - request->dispatched_ns < config->hit_below_ns;
}

static bool counts_for_order(
	const struct reordering_config *config, const struct merged_request *request)
{
	if (config->scope == REORDERING_BLANK || is_hit(config, request))
		return false;
	return config->scope == REORDERING_ALL || request->op == REQUEST_READ;
}

/* Takes flushes out and counts what needs no order. */
static void take_stock(struct analysis *analysis)
{
	struct merged *merged = &analysis->merged;
	struct reordering *result = analysis->result;
	nsec_t first_ns = 0, last_ns = 0;
	size_t kept = 0;

	for (size_t i = 0; i < merged->count; i++) {
		struct merged_request request = merged->requests[i];

		result->failed += request.failed;
		if (request.op == REQUEST_FLUSH) {
			result->flushes += request.children;
			continue;
		}
		if (!kept || request.dispatched_ns < first_ns)
			first_ns = request.dispatched_ns;
		if (!kept || request.completed_ns > last_ns)
			last_ns = request.completed_ns;
		result->requests_queued += request.children;
		result->cache_hits += is_hit(analysis->config, &request);
		*(request.op == REQUEST_READ ? &result->read_bytes : &result->write_bytes) +=
			request.length_bytes;
		histogram_add(&result->drive, request.completed_ns - request.dispatched_ns);
		analysis->counts[kept] = counts_for_order(analysis->config, &request);
		result->counted += analysis->counts[kept];
		merged->requests[kept++] = request;
	}
	merged->count = kept;
	result->requests_dispatched = kept;
	result->unfinished = merged->unfinished;
	result->elapsed_ns = last_ns - first_ns;
	result->merge_ratio = kept ? (double)result->requests_queued / (double)kept : (double)NAN;
}

static void add_host_times(const struct trace_record *records, size_t count, struct histogram *host)
{
	for (size_t i = 0; i < count; i++)
		if (records[i].op != REQUEST_FLUSH && records[i].dispatched_ns != TRACE_NEVER &&
			records[i].completed_ns != TRACE_NEVER)
			histogram_add(host, records[i].dispatched_ns - records[i].queued_ns);
}

/* The depth that the cell had when nobody tells: the most transfers at the drive at once. In a
 * reap the completed ones left before others were sent. */
static unsigned find_depth(struct analysis *analysis)
{
	const struct merged *merged = &analysis->merged;
	size_t completed = 0, at_drive_max = 0;

	for (size_t i = 0; i < merged->count; i++)
		analysis->items[i] =
			(struct radix_item){ radix_key(merged->requests[i].completed_ns),
				(uint32_t)i };
	radix_sort(analysis->items, analysis->scratch, merged->count);
	for (size_t i = 0; i < merged->count; i++) {
		uint64_t now = radix_key(merged->requests[i].dispatched_ns);

		while (completed < i && analysis->items[completed].key <= now)
			completed++;
		at_drive_max = max_u64(at_drive_max, i + 1 - completed);
	}
	return (unsigned)at_drive_max;
}

/* The value that share of all do not exceed, by nearest rank; items are sorted by it. */
static uint64_t rank_value(const struct radix_item *items, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);

	return items[rank ? rank - 1 : 0].key;
}

static int measure_order(struct analysis *analysis)
{
	struct reordering *result = analysis->result;
	uint64_t halves = 0, overtaken = 0, only_tied = 0;
	size_t counted = 0;
	int r;

	for (size_t i = 0; i < analysis->merged.count; i++)
		if (analysis->counts[i])
			analysis->completed_ns[counted++] =
				analysis->merged.requests[i].completed_ns;
	r = overtakes_count(analysis->completed_ns, counted, analysis->overtakes);
	if (r == 0)
		r = overtakes_kendall(analysis->completed_ns, counted, result->depth,
			&result->kendall, &result->kendall_windows);
	if (r < 0 || !counted)
		return r;
	for (size_t i = 0; i < counted; i++) {
		const struct overtakes *overtakes = &analysis->overtakes[i];
		uint64_t own = 2 * (uint64_t)overtakes->earlier + overtakes->tied;

		analysis->items[i] = (struct radix_item){ own, (uint32_t)i };
		halves += own;
		overtaken += overtakes->earlier > 0;
		only_tied += !overtakes->earlier && overtakes->tied;
	}
	radix_sort(analysis->items, analysis->scratch, counted);
	result->order_kept = overtaken == 0;
	result->overtaken_share = ((double)overtaken + 0.5 * (double)only_tied) / (double)counted;
	result->overtakes_mean = 0.5 * (double)halves / (double)counted;
	result->overtakes_p99 = 0.5 * (double)rank_value(analysis->items, counted, 0.99);
	result->overtakes_max = 0.5 * (double)rank_value(analysis->items, counted, 1);
	return 0;
}

static uint64_t key_of(const struct merged_request *request, enum reordering_order order)
{
	switch (order) {
	case REORDERING_QUEUED:
		return request->sequence;
	case REORDERING_COMPLETED:
		return radix_key(request->completed_ns);
	default:
		return request->dispatch;
	}
}

static uint64_t hop_sectors(
	const struct merged_request *previous, const struct merged_request *next)
{
	uint64_t end_bytes = previous->offset_bytes + previous->length_bytes;
	uint64_t start_bytes = next->offset_bytes;

	return (start_bytes > end_bytes ? start_bytes - end_bytes : end_bytes - start_bytes) /
	       SECTOR_BYTES;
}

/* Sorts the requests that are taken into the order and measures from each to the next. */
static struct reordering_distance measure_distance(
	struct analysis *analysis, enum reordering_order order)
{
	const struct merged *merged = &analysis->merged;
	struct radix_item *items = analysis->items;
	struct reordering_distance distance = { .known = true };
	double log2_sum = 0;
	size_t taken = 0;

	for (size_t i = 0; i < merged->count; i++)
		if (analysis->counts[i] || analysis->config->scope != REORDERING_ALL)
			items[taken++] = (struct radix_item){ key_of(&merged->requests[i], order),
				(uint32_t)i };
	if (taken < 2)
		return (struct reordering_distance){ 0 };
	radix_sort(items, analysis->scratch, taken);
	for (size_t i = 0; i + 1 < taken; i++) {
		uint64_t sectors = hop_sectors(
			&merged->requests[items[i].index], &merged->requests[items[i + 1].index]);

		items[i].key = sectors;
		distance.total_sectors += sectors;
		log2_sum += log2(1 + (double)sectors);
	}
	taken--;
	radix_sort(items, analysis->scratch, taken);
	distance.median_sectors = rank_value(items, taken, 0.5);
	distance.mean_sectors = (double)distance.total_sectors / (double)taken;
	distance.mean_log2 = log2_sum / (double)taken;
	return distance;
}

/* Whoever waited beyond the threshold; items are sorted by wait. */
static void list_starved(struct analysis *analysis, const double *overtaken_by)
{
	struct reordering *result = analysis->result;
	size_t count = analysis->merged.count;
	const struct radix_item *items = analysis->items;

	while (result->starved_count < count &&
		items[count - 1 - result->starved_count].key > (uint64_t)result->starved_above_ns)
		result->starved_count++;
	result->starved_listed = min_u64(result->starved_count, analysis->config->starved_max);
	for (size_t i = 0; i < result->starved_listed; i++) {
		uint32_t index = items[count - 1 - i].index;
		const struct merged_request *request = &analysis->merged.requests[index];

		result->starved[i] = (struct reordering_starved){
			.lba = request->offset_bytes / SECTOR_BYTES,
			.length_bytes = request->length_bytes,
			.sequence = request->sequence,
			.dispatch = request->dispatch,
			.op = request->op,
			.role = request->role,
			.failed = request->failed,
			.wait_ns = request->completed_ns - request->queued_ns,
			.host_ns = request->dispatched_ns - request->queued_ns,
			.drive_ns = request->completed_ns - request->dispatched_ns,
			.overtaken_by = overtaken_by[index],
		};
	}
}

static int measure_waits(struct analysis *analysis)
{
	const struct merged *merged = &analysis->merged;
	struct reordering *result = analysis->result;
	_cleanup_free_ double *overtaken_by = malloc((merged->count + 1) * sizeof(double));
	size_t counted = 0;

	if (!overtaken_by)
		return -ENOMEM;
	for (size_t i = 0; i < merged->count; i++) {
		const struct merged_request *request = &merged->requests[i];
		nsec_t wait_ns = request->completed_ns - request->queued_ns;

		overtaken_by[i] = analysis->counts[i]
					  ? overtakes_of(&analysis->overtakes[counted++])
					  : (double)NAN;
		analysis->items[i] =
			(struct radix_item){ (uint64_t)(wait_ns > 0 ? wait_ns : 0), (uint32_t)i };
	}
	if (!merged->count)
		return 0;
	radix_sort(analysis->items, analysis->scratch, merged->count);
	result->wait_median_ns = (nsec_t)rank_value(analysis->items, merged->count, 0.5);
	/* Half of all waits at 0 say nothing about what is long. */
	result->starved_above_ns = STARVED_NS;
	if (result->wait_median_ns > 0 && result->wait_median_ns < STARVED_NS / STARVED_MEDIANS)
		result->starved_above_ns = STARVED_MEDIANS * result->wait_median_ns;
	list_starved(analysis, overtaken_by);
	return 0;
}

/* Requests that completed in one reap with another, among those that count. */
static double share_tied(struct analysis *analysis)
{
	struct radix_item *items = analysis->items;
	size_t counted = analysis->result->counted;
	uint64_t tied = 0;

	for (size_t i = 0; i < counted; i++)
		items[i] = (struct radix_item){ radix_key(analysis->completed_ns[i]), (uint32_t)i };
	radix_sort(items, analysis->scratch, counted);
	for (size_t i = 0; i < counted; i++)
		tied += (i && items[i].key == items[i - 1].key) ||
			(i + 1 < counted && items[i].key == items[i + 1].key);
	return counted ? (double)tied / (double)counted : (double)NAN;
}

static int measure(struct analysis *analysis)
{
	struct reordering *result = analysis->result;
	int r;

	take_stock(analysis);
	result->depth = analysis->config->depth;
	if (!result->depth)
		result->depth = find_depth(analysis);
	r = measure_order(analysis);
	if (r < 0)
		return r;
	result->tied_share = share_tied(analysis);
	for (unsigned order = 0; order < REORDERING_ORDERS; order++)
		if (order != REORDERING_COMPLETED || analysis->config->scope == REORDERING_ALL)
			result->distance[order] =
				measure_distance(analysis, (enum reordering_order)order);
	return measure_waits(analysis);
}

static int allocate(struct analysis *analysis)
{
	size_t room = analysis->merged.count + 1;

	analysis->counts = calloc(room, sizeof(*analysis->counts));
	analysis->overtakes = malloc(room * sizeof(*analysis->overtakes));
	analysis->completed_ns = malloc(room * sizeof(*analysis->completed_ns));
	analysis->items = malloc(room * sizeof(*analysis->items));
	analysis->scratch = malloc(room * sizeof(*analysis->scratch));
	analysis->result->starved = calloc(min_u64(analysis->config->starved_max, room) + 1,
		sizeof(*analysis->result->starved));
	if (!analysis->counts || !analysis->overtakes || !analysis->completed_ns ||
		!analysis->items || !analysis->scratch || !analysis->result->starved)
		return -ENOMEM;
	return 0;
}

int reordering_measure(const struct trace_record *records, size_t count,
	const struct reordering_config *config, struct reordering *ret_reordering,
	struct error *error)
{
	struct analysis analysis = { .config = config, .result = ret_reordering };
	int r = merged_new(records, count, &analysis.merged, error);

	if (r < 0)
		return r;
	*ret_reordering = (struct reordering){
		.scope = config->scope,
		.overtaken_share = (double)NAN,
		.tied_share = (double)NAN,
		.overtakes_mean = (double)NAN,
		.overtakes_p99 = (double)NAN,
		.overtakes_max = (double)NAN,
		.kendall = (double)NAN,
	};
	histogram_clear(&ret_reordering->host);
	histogram_clear(&ret_reordering->drive);
	r = allocate(&analysis);
	if (r == 0) {
		add_host_times(records, count, &ret_reordering->host);
		r = measure(&analysis);
	}
	free(analysis.counts);
	free(analysis.overtakes);
	free(analysis.completed_ns);
	free(analysis.items);
	free(analysis.scratch);
	merged_done(&analysis.merged);
	if (r < 0) {
		reordering_done(ret_reordering);
		return error_set(error, r, "no memory to analyse %zu requests", count);
	}
	return 0;
}

void reordering_done(struct reordering *reordering)
{
	free(reordering->starved);
	reordering->starved = NULL;
	reordering->starved_listed = 0;
}
