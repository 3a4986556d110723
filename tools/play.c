/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/play.h"

#include <dirent.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/report.h"

#define FLUSHES 4u

bool play_submits_single(const struct run_session *session)
{
	unsigned choice = session->plan->options->submit;

	if (session->single)
		return true;
	if (choice == SUBMIT_CHOICE_AUTO)
		return session->claim->target.rotational && !session->claim->device.memory_backed;
	return choice == SUBMIT_CHOICE_SINGLE;
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
		.submit = play_submits_single(session) ? SUBMIT_SINGLE : SUBMIT_BATCH,
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
		.plans = play->plans ? play->plans : (unsigned)options->plans,
		.elevator = play->elevator ? play->elevator->ops : NULL,
		.elevator_options =
			play->elevator ? play->elevator->options : (struct elevator_options){ 0 },
		/* A kernel's elevator does its own merging. */
		.merge = play->elevator && !play->elevator->is_kernel && result->cell.merge,
		.max_request_bytes = (uint32_t)options->max_request_bytes,
		.streams = (uint32_t)options->streams,
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

/* The trace's section for the cell, described as reorder and replays read it. */
static struct trace_writer *begin_trace(
	struct run_session *session, const struct cell_result *result)
{
	const struct cell *cell = &result->cell;
	struct json_object *text = json_object_new_object();
	struct trace_writer *writer;

	json_object_object_add(text, "cache", report_json_text(cache_choice_names[cell->cache]));
	json_object_object_add(text, "cache_commands", report_json_text(result->cache_commands));
	json_object_object_add(text, "elevator", report_json_text(cell->elevator->name));
	json_object_object_add(text, "merge", report_json_text(cell->merge ? "on" : "off"));
	json_object_object_add(text, "load", report_json_text(run_cell_load(session->plan, cell)));
	json_object_object_add(text, "repeat", json_object_new_uint64(cell->repeat));
	json_object_object_add(text, "depth", json_object_new_uint64(cell->depth));
	json_object_object_add(
		text, "seed", json_object_new_uint64(session->plan->seed + cell->repeat));
	writer = run_trace_begin(session->trace, json_object_to_json_string(text));
	(void)json_object_put(text);
	return writer;
}

int play_source(struct run_session *session, const struct play *play, struct cell_result *result,
	struct error *error)
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
	if (play->measure)
		config.trace = begin_trace(session, result);
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
	if (config.trace)
		result->trace_waited_ns = run_trace_end(session->trace);
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
