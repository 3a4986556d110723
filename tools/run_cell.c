/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_cell.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/cell_notes.h"

#define FLUSHES 4u
#define SIDE_DEPTH 32u /* creation and reading back are no measurement: any depth that is quick */

const char *const cell_status_names[] = { "complete", "failed", "interrupted", "abandoned",
	"aborted: device lost" };

/* One play of a source: what is asked of the engine. */
struct play {
	struct source *source;
	unsigned depth;
	bool durable;
	nsec_t time_limit_ns;
	bool flush;   /* close with a flush */
	bool measure; /* into the session's series */
};

double cell_rate(uint64_t count, nsec_t elapsed_ns)
{
	return elapsed_ns > 0 ? (double)count * NSEC_PER_SEC / (double)elapsed_ns : 0;
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

int run_session_open(struct run_session *session, const struct run_plan *plan,
	struct scheduler_signals *signals, struct error *error)
{
	const struct run_options *options = plan->options;
	unsigned depth = plan->depth_max > SIDE_DEPTH ? plan->depth_max : SIDE_DEPTH;
	uint64_t request_bytes =
		plan->is_pattern ? plan->block_bytes
				 : min_u64(max_u64(options->max_request_bytes, plan->block_bytes),
					   round_up((uint64_t)plan->load.size_high_bytes,
						   plan->block_bytes));
	int r = 0;

	memset(session, 0, sizeof(*session));
	session->plan = plan;
	session->claim = plan->claim;
	session->signals = signals;
	session->run = (uint16_t)(getpid() ^ (clock_now(&clock_monotonic) >> 20));
	session->recorder = malloc(sizeof(*session->recorder));
	if (!session->recorder)
		return error_set(error, -ENOMEM, "no memory for the histograms");
	if (options->series || plan->time_limit_ns) {
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

static bool submits_single(const struct run_session *session)
{
	unsigned choice = session->plan->options->submit;

	if (choice == SUBMIT_CHOICE_AUTO)
		return session->claim->target.rotational && !session->claim->device.memory_backed;
	return choice == SUBMIT_CHOICE_SINGLE;
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

static int open_backend(const struct run_session *session, unsigned depth,
	struct backend **ret_backend, struct cell_result *result, struct error *error)
{
	const struct target *target = &session->claim->target;
	const char *name = engine_choice_names[session->plan->options->engine];
	const struct backend_config config = {
		.target = target,
		.depth = depth,
		.flushes = FLUSHES,
		.submit = submits_single(session) ? SUBMIT_SINGLE : SUBMIT_BATCH,
		.buffers = session->buffers.memory,
		.buffers_bytes = session->buffers.bytes,
	};
	struct error why = { 0 };
	int r;

	if (target->kind == TARGET_NULL)
		name = "null";
	if (strcmp(name, "auto") == 0)
		r = backend_open_auto(&config, ret_backend, &why, error);
	else
		r = backend_find(name)->open(&config, ret_backend, error);
	if (r < 0)
		return r;
	result->submit = config.submit == SUBMIT_SINGLE ? "single" : "batch";
	result->punts = (*ret_backend)->punts;
	(void)snprintf(result->engine, sizeof(result->engine), "%s", (*ret_backend)->ops->name);
	(void)snprintf(
		result->engine_level, sizeof(result->engine_level), "%s", (*ret_backend)->level);
	(void)snprintf(result->fallback, sizeof(result->fallback), "%s", why.text);
	return 0;
}

/* Sends one flush and waits for it; the time it took, or -errno of the flush or the back end. */
static nsec_t flush_drive(struct run_session *session, struct backend *backend, unsigned slot)
{
	struct request flush = { .op = REQUEST_FLUSH, .slot = slot, .result = -EINTR };
	struct request *send = &flush, *done = NULL;
	nsec_t start_ns = clock_now(&clock_monotonic);

	flush.dispatched_ns = start_ns;
	backend->ops->submit(backend, &send, 1);
	while (!done) {
		int count = backend->ops->wait(backend, NSEC_NEVER, &done, 1);

		if (count < 0)
			return count;
		if (!count && session->signals->stop >= 2) {
			session->lasting_harm = true;
			return -EINTR;
		}
	}
	return flush.result < 0 ? flush.result : clock_now(&clock_monotonic) - start_ns;
}

static nsec_t cpu_time(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NSEC_PER_USEC;
}

/* Threads of io-wq: where they are, requests did not go to the device from our own thread. */
static unsigned count_workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned workers = 0;

	while (tasks && (entry = readdir(tasks))) {
		char path[300], name[32] = "";
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && strncmp(name, "iou-wrk", 7) == 0)
			workers++;
		(void)fclose(file);
	}
	if (tasks)
		(void)closedir(tasks);
	return workers;
}

static void session_tick(void *user, const struct scheduler_status *status)
{
	struct run_session *session = user;
	struct counters now = counters_read(&session->claim->device);
	uint32_t inflight = now.inflight_reads + now.inflight_writes;

	if (now.valid && inflight > session->inflight_max)
		session->inflight_max = inflight;
	if (session->on_tick)
		session->on_tick(session->user, status);
}

static void judge_status(struct run_session *session, struct cell_result *result)
{
	switch (result->scheduler.end) {
	case SCHEDULER_INTERRUPTED:
		result->status = CELL_INTERRUPTED;
		return;
	case SCHEDULER_ABANDONED:
		result->status = CELL_ABANDONED;
		session->lasting_harm = true;
		return;
	case SCHEDULER_DEVICE_LOST:
		result->status = CELL_DEVICE_LOST;
		return;
	default:
		if (recorder_errors(session->recorder))
			result->status = CELL_FAILED;
	}
}

static struct scheduler_config scheduler_for(struct run_session *session, const struct play *play,
	struct backend *backend, struct cell_result *result)
{
	const struct run_options *options = session->plan->options;

	return (struct scheduler_config){
		.clock = &clock_monotonic,
		.source = play->source,
		.backend = backend,
		.target = &session->claim->target,
		.buffers = session->buffers.memory ? &session->buffers : NULL,
		.recorder = session->recorder,
		.depth = play->depth,
		.flushes = FLUSHES,
		.window = (unsigned)max_u64(options->window, play->depth),
		.plans = (unsigned)options->plans,
		.reads = (enum scheduler_reads)options->reads,
		.order = (enum scheduler_order)options->order,
		.durable_writes = play->durable,
		.stamp = options->data == DATA_STAMP,
		.run = session->run,
		.shadow = session->shadow,
		.verify = &result->verify,
		.time_limit_ns = play->time_limit_ns,
		.signals = session->signals,
		.on_tick = session_tick,
		.user = session,
	};
}

/* Runs a source to its end with everything measured around it. */
static int play_source(struct run_session *session, const struct play *play,
	struct cell_result *result, struct error *error)
{
	struct counters before;
	struct scheduler_config config;
	struct scheduler *scheduler = NULL;
	struct backend *backend = NULL;
	nsec_t cpu_ns;
	unsigned workers;
	int r = open_backend(session, play->depth, &backend, result, error);

	if (r < 0)
		return r;
	recorder_clear(session->recorder, play->measure ? session->series : NULL);
	config = scheduler_for(session, play, backend, result);
	r = scheduler_new(&config, &scheduler, error);
	if (r < 0) {
		backend->ops->close(backend);
		return r;
	}
	session->inflight_max = 0;
	workers = count_workers(); /* of a ring closed just now: they end by themselves */
	before = counters_read(&session->claim->device);
	cpu_ns = cpu_time();
	r = scheduler_run(scheduler, &result->scheduler, error);
	result->cpu_ns = cpu_time() - cpu_ns;
	result->elapsed_ns = recorder_elapsed_ns(session->recorder);
	result->workers = count_workers();
	result->workers -= workers < result->workers ? workers : result->workers;
	judge_status(session, result);
	result->flush_ns = -1;
	if (r == 0 && play->flush && !session->lasting_harm && result->status != CELL_DEVICE_LOST) {
		result->flush_ns = flush_drive(session, backend, play->depth);
		if (result->flush_ns < 0 && result->status == CELL_COMPLETE) {
			faults_add(&result->notes, "the closing flush failed: %s",
				strerror((int)-result->flush_ns));
			result->status = CELL_FAILED;
		}
	}
	result->counters = counters_read(&session->claim->device);
	result->counters = counters_since(&before, &result->counters);
	result->inflight_max = session->inflight_max;
	if (!session->lasting_harm) {
		scheduler_free(scheduler);
		backend->ops->close(backend);
	}
	return r;
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
	int r = pattern_new(&config, &play->source, error);

	if (r < 0)
		return r;
	play->flush = pattern_writes(config.kind);
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
