/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/replay.h"
#include "tools/cell_notes.h"
#include "tools/play.h"

#define SIDE_DEPTH 32u /* creation and reading back are no measurement: any depth that is quick */

const char *const cell_status_names[] = { "complete", "failed", "interrupted", "abandoned",
	"aborted: device lost" };

double cell_rate(uint64_t count, nsec_t elapsed_ns)
{
	return elapsed_ns > 0 ? (double)count * NSEC_PER_SEC / (double)elapsed_ns : 0;
}

const char *run_cell_load(const struct run_plan *plan, const struct cell *cell)
{
	if (plan->is_replay)
		return "replay";
	return cell->layout ? cell->layout->name : pattern_names[cell->pattern];
}

double cell_device_depth(const struct cell_result *result)
{
	nsec_t elapsed_ns = result->elapsed_ns + (result->flush_ns > 0 ? result->flush_ns : 0);

	if (!result->counters.valid || elapsed_ns <= 0)
		return -1;
	return (double)result->counters.time_in_queue_ns / (double)elapsed_ns;
}

double cell_requests_per_io(const struct cell_result *result)
{
	if (!result->counters.valid || !result->scheduler.requests_dispatched)
		return -1;
	return (double)(result->counters.reads + result->counters.writes) /
	       (double)result->scheduler.requests_dispatched;
}

void cell_result_done(struct cell_result *result)
{
	faults_done(&result->notes);
}

/* The longest request that any cell sends. */
static uint64_t longest_request(const struct run_plan *plan)
{
	const struct run_options *options = plan->options;
	uint64_t longest = plan->block_bytes;

	for (size_t i = 0; i < plan->replay.count; i++)
		longest = max_u64(longest, plan->replay.records[i].length_bytes);
	if (!plan->is_pattern)
		longest = min_u64(max_u64(options->max_request_bytes, plan->block_bytes),
			round_up((uint64_t)plan->load.size_high_bytes, plan->block_bytes));
	/* A replay's merged requests, too, are no longer than the traced run's maximum. */
	for (size_t i = 0; i < options->merge.count; i++)
		if (options->merge.index[i] == MERGE_ON || plan->is_replay)
			longest = max_u64(longest, options->max_request_bytes);
	return longest;
}

int run_session_open(struct run_session *session, const struct run_plan *plan,
	struct scheduler_signals *signals, struct error *error)
{
	const struct run_options *options = plan->options;
	unsigned depth = plan->depth_max > SIDE_DEPTH ? plan->depth_max : SIDE_DEPTH;
	uint64_t request_bytes = longest_request(plan);
	int r = 0;

	memset(session, 0, sizeof(*session));
	session->plan = plan;
	session->claim = plan->claim;
	session->signals = signals;
	session->run = (uint16_t)(getpid() ^ (clock_now(&clock_monotonic) >> 20));
	session->recorder = malloc(sizeof(*session->recorder));
	if (!session->recorder)
		return error_set(error, -ENOMEM, "no memory for the histograms");
	/* Nothing settles in a target that is not there. */
	if (options->series || (plan->time_limit_ns && plan->claim->target.kind != TARGET_NULL)) {
		session->series = malloc(sizeof(*session->series));
		if (!session->series || series_init(session->series, options->interval_ns,
						options->series != NULL) < 0)
			return error_set(error, -ENOMEM, "no memory for the series");
	}
	/* Bodies for nobody: the null engine touches no memory unless stamps are asked for. */
	if (plan->claim->target.kind != TARGET_NULL || options->data == DATA_STAMP)
		r = buffers_open(&session->buffers, depth, request_bytes, true, plan->writes,
			plan->seed, error);
	return r;
}

void run_session_close(struct run_session *session)
{
	if (session->lasting_harm)
		return; /* the kernel may still write into the buffers */
	if (session->buffers.memory)
		buffers_close(&session->buffers);
	pool_free(session->pool);
	shadow_free(session->shadow);
	if (session->series)
		series_done(session->series);
	free(session->series);
	free(session->recorder);
}

/* The mode named by the commands that are sent. */
static const char *name_commands(const struct run_session *session, enum cache_choice cache)
{
	const struct claim *claim = session->claim;

	if (claim->target.kind == TARGET_NULL)
		return "none";
	if (claim->device.memory_backed)
		return "no effect expected";
	if (claim->target.kind == TARGET_BLOCK &&
		strcmp(claim->device.write_cache, "write through") == 0)
		return "none";
	if (cache != CACHE_WT)
		return "plain";
	return claim->device.native_fua ? "fua" : "write+flush";
}

static unsigned side_depth(const struct run_session *session)
{
	return session->plan->options->engine == ENGINE_SYNC ? 1 : SIDE_DEPTH;
}

static int prepare_pool(struct run_session *session, const struct cell *cell, struct error *error)
{
	struct pool_config config;

	if (session->pool && session->pool_layout == cell->layout &&
		session->pool_repeat == cell->repeat)
		return pool_rewind(session->pool, false, error);
	pool_free(session->pool);
	session->pool = NULL;
	run_plan_pool_config(session->plan, cell->layout, cell->repeat, &session->load, &config);
	session->pool_layout = cell->layout;
	session->pool_repeat = cell->repeat;
	return pool_new(&config, &session->pool, error);
}

static bool must_create(const struct run_session *session, const struct cell *cell)
{
	const struct run_options *options = session->plan->options;

	if (!session->pool || session->pool_layout != cell->layout ||
		session->pool_repeat != cell->repeat)
		return true;
	return (options->verify || options->recreate) && !session->pool_fresh;
}

int run_create(struct run_session *session, const struct cell *cell, struct cell_result *ret_result,
	struct error *error)
{
	struct play play = { .flush = true };
	int r;

	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->cell = *cell;
	ret_result->cell.cache = CACHE_AS_IS;
	if (!cell->layout || !must_create(session, cell))
		return 0;
	r = prepare_pool(session, cell, error);
	if (r < 0)
		return r;
	if (session->plan->options->verify) {
		shadow_free(session->shadow);
		session->shadow = NULL;
		r = shadow_new(session->plan->block_bytes, &session->shadow);
		if (r < 0)
			return error_set(error, r, "no memory to verify what is read");
	}
	play.source = pool_source(session->pool, POOL_CREATION);
	play.depth = side_depth(session);
	ret_result->cache_commands = name_commands(session, CACHE_AS_IS);
	r = play_source(session, &play, ret_result, error);
	ret_result->pool = *pool_counts(session->pool);
	session->pool_fresh = true;
	return r < 0 ? r : 1;
}

/* Reads every live file back and adds what is found to the cell's verification. */
static int read_back(struct run_session *session, struct cell_result *result, struct error *error)
{
	struct cell_result reading = { .verify = result->verify };
	struct play play = {
		.source = pool_source(session->pool, POOL_READBACK),
		.depth = side_depth(session),
	};
	struct recorder *kept = session->recorder;
	int r;

	/* The cell's own figures stay what they are. */
	session->recorder = malloc(sizeof(*kept));
	if (!session->recorder) {
		session->recorder = kept;
		return error_set(error, -ENOMEM, "no memory to read the pool back");
	}
	r = play_source(session, &play, &reading, error);
	result->verify = reading.verify;
	result->readback_files = reading.scheduler.plans;
	if (reading.status != CELL_COMPLETE && result->status == CELL_COMPLETE)
		result->status = reading.status;
	if (!session->lasting_harm) {
		free(session->recorder);
		session->recorder = kept;
	}
	cell_result_done(&reading);
	return r;
}

static void judge_verification(struct cell_result *result)
{
	const struct stamp_report *verify = &result->verify;

	for (unsigned fault = STAMP_LOST; fault < STAMP_FAULTS; fault++)
		if (verify->faults[fault]) {
			faults_add(&result->notes, "%llu sectors %s, the first fault at LBA %llu",
				(unsigned long long)verify->faults[fault],
				stamp_fault_name((enum stamp_fault)fault),
				(unsigned long long)verify->first_lba);
			if (result->status == CELL_COMPLETE)
				result->status = CELL_FAILED;
		}
}

static int run_pool_cell(struct run_session *session, struct play *play, struct cell_result *result,
	struct error *error)
{
	int r = 0;

	if (!session->pool_fresh)
		r = pool_rewind(session->pool, true, error);
	session->pool_fresh = false;
	if (r < 0)
		return r;
	play->source = pool_source(session->pool, POOL_TRANSACTIONS);
	r = play_source(session, play, result, error);
	result->pool = *pool_counts(session->pool);
	if (r == 0 && session->shadow && result->status == CELL_COMPLETE)
		r = read_back(session, result, error);
	if (session->shadow)
		judge_verification(result);
	if (r == 0 && layout_judge(pool_layout(session->pool), error) < 0)
		return -EUCLEAN;
	if (result->status == CELL_COMPLETE && result->scheduler.end == SCHEDULER_COMPLETE)
		pool_cleanup(session->pool);
	result->load = *pool_load_counts(session->pool);
	return r;
}

static int run_pattern_cell(struct run_session *session, struct play *play,
	struct cell_result *result, struct error *error)
{
	const struct run_plan *plan = session->plan;
	const struct pattern_config config = {
		.kind = result->cell.pattern,
		.block_bytes = plan->block_bytes,
		.area_offset_bytes = plan->area_offset_bytes,
		.area_bytes = plan->area_bytes,
		.read_share = result->cell.read_share,
		.count = plan->options->count,
		.seed = plan->seed + result->cell.repeat,
	};
	const struct replay_config replay = {
		.records = plan->replay.records,
		.count = plan->replay.count,
		.order = REPLAY_COMPLETED,
		.area_offset_bytes = plan->area_offset_bytes,
		.area_bytes = plan->area_bytes,
		.block_bytes = plan->claim->target.logical_block_bytes,
	};
	int r = plan->is_replay ? replay_new(&replay, &play->source, error)
				: pattern_new(&config, &play->source, error);

	if (r < 0)
		return r;
	/* With more in flight a held request would be passed, and the order would be lost. */
	play->plans = plan->is_replay ? 1 : 0;
	play->flush = plan->is_replay || pattern_writes(config.kind);
	r = play_source(session, play, result, error);
	play->source->ops->free(play->source);
	return r;
}

int run_cell(struct run_session *session, const struct cell *cell, struct cell_result *ret_result,
	struct error *error)
{
	struct play play = {
		.depth = cell->depth,
		.durable = cell->cache == CACHE_WT,
		.time_limit_ns = session->plan->time_limit_ns,
		.flush = true,
		.measure = true,
		.elevator = cell->elevator,
	};
	int r;

	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->cell = *cell;
	ret_result->cache_commands = name_commands(session, cell->cache);
	if (cell->layout)
		r = run_pool_cell(session, &play, ret_result, error);
	else
		r = run_pattern_cell(session, &play, ret_result, error);
	if (r == 0)
		cell_notes_add(session, ret_result);
	return r;
}
