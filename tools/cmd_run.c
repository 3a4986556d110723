/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `run`: claim, plan, cells, results. Whatever happens on the way, stdout carries one whole result
 * (a table, one JSON document or one CSV) and the exit code tells how it ended.
 */
#include "tools/command.h"

#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/document.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/run_cell.h"
#include "tools/run_groups.h"
#include "tools/run_plan_json.h"
#include "tools/run_reordering.h"
#include "tools/run_report.h"
#include "tools/run_settings.h"
#include "tools/run_signals.h"
#include "tools/run_talk.h"
#include "tools/run_wire.h"

struct run {
	struct run_options options;
	const char *target;
	struct claim *claim;
	struct run_plan plan;
	struct run_session session;
	struct run_report report;
	struct run_talk talk;
	struct run_settings settings;
	struct run_trace trace;
	struct document *document;
	struct output output;
	struct output series;
	double *rates; /* of each cell: transactions/s or IOPS */
	size_t cells_played;
	bool failed;
	struct error error;
	struct faults faults;
};

/* Exit code of a refusal, by the errno of claim and plan. */
static int errno_to_exit(int code)
{
	switch (code) {
	case -EPERM:
		return EXIT_REFUSED;
	case -EINVAL:
	case -ENOENT:
		return EXIT_USAGE;
	default:
		return EXIT_NOT_POSSIBLE;
	}
}

static void add_message(struct run *run, enum document_severity severity, const char *text)
{
	document_message(run->document, severity, "%s", text);
	run_talk_say(&run->talk, text);
}

/* One CSV row per cell and window; what an empty window has no value for stays empty. */
static void write_series(struct run *run, const struct cell *cell, size_t number)
{
	const struct series *series = run->session.series;
	FILE *stream = run->series.stream;

	for (size_t i = 0; series && stream && i < series->count; i++) {
		const struct series_row *row = &series->rows[i];

		(void)fprintf(stream, "%zu,%s,%s,%u,%u,%lld,%lld,%llu,%llu,%llu,%llu,", number,
			cache_choice_names[cell->cache],
			cell->layout ? cell->layout->name : pattern_names[cell->pattern],
			cell->repeat, cell->depth, (long long)row->start_ns, (long long)row->end_ns,
			(unsigned long long)row->reads, (unsigned long long)row->writes,
			(unsigned long long)row->read_bytes, (unsigned long long)row->write_bytes);
		if (row->drive_max_ns < 0)
			(void)fputs(",,\r\n", stream);
		else
			(void)fprintf(stream, "%lld,%lld,%lld\r\n", (long long)row->drive_p50_ns,
				(long long)row->drive_p99_ns, (long long)row->drive_max_ns);
	}
}

static void add_result(struct run *run, const struct cell_result *result, size_t number)
{
	uint64_t transfers = run->session.recorder->operations[REQUEST_READ].completed +
			     run->session.recorder->operations[REQUEST_WRITE].completed;

	run_report_add(&run->report, &run->session, result);
	write_series(run, &result->cell, number);
	run_talk_notes(&run->talk, result, number);
	run->rates[number - 1] = cell_rate(
		result->cell.layout ? result->pool.transactions : transfers, result->elapsed_ns);
	run->failed |= result->status != CELL_COMPLETE;
	run->cells_played = number;
}

/* The pool's creation has no row of its own; what went wrong in it must be told all the same. */
static bool creation_is_sound(struct run *run, const struct cell_result *result)
{
	char text[200];

	if (result->status == CELL_COMPLETE)
		return true;
	(void)snprintf(text, sizeof(text),
		"creating the pool ended as: %s, with %llu requests "
		"failed",
		cell_status_names[result->status],
		(unsigned long long)recorder_errors(run->session.recorder));
	add_message(run, SEVERITY_ERROR, text);
	run->failed = true;
	return result->status == CELL_FAILED;
}

static struct json_object *creation_json(
	const struct cell_result *result, const struct recorder *recorder)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(
		object, "seconds", report_json_double((double)result->elapsed_ns / NSEC_PER_SEC));
	json_object_object_add(
		object, "requests", json_object_new_uint64(result->scheduler.requests_dispatched));
	json_object_object_add(object, "write_bytes",
		json_object_new_uint64(recorder->operations[REQUEST_WRITE].bytes));
	json_object_object_add(object, "no_space", json_object_new_uint64(result->pool.no_space));
	return object;
}

/* Plays one cell; false when no further one may follow. */
static bool play_cell(struct run *run, size_t number)
{
	const struct cell *cell = &run->plan.cells[number - 1];
	struct cell_result result;
	bool sound = true;
	int r;

	run_talk_cell(&run->talk, &run->plan, number, "create");
	if (!run_settings_apply(&run->settings, &run->plan, cell, &run->faults))
		return false;
	r = run_create(&run->session, cell, &result, &run->error);
	if (r > 0) {
		sound = creation_is_sound(run, &result);
		if (number == 1)
			document_set(run->document, "creation",
				creation_json(&result, run->session.recorder));
	}
	cell_result_done(&result);
	if (r < 0 || !sound || run_signals.stop)
		return false;
	run_talk_cell(&run->talk, &run->plan, number, cell->layout ? "transactions" : "requests");
	r = run_cell(&run->session, cell, &result, &run->error);
	if (r == 0) {
		run_settings_verify(&run->settings, &result.notes);
		add_result(run, &result, number);
		sound = result.status == CELL_COMPLETE || result.status == CELL_FAILED;
	}
	cell_result_done(&result);
	return r == 0 && sound && !run_signals.stop;
}

/* Repeats of one cell: those that differ in nothing else. */
static bool same_group(const struct cell *a, const struct cell *b)
{
	return a->cache == b->cache && a->layout == b->layout && a->depth == b->depth &&
	       a->pattern == b->pattern;
}

static void add_group(struct run *run, struct json_object *groups, size_t first, FILE *text)
{
	const struct cell *cell = &run->plan.cells[first];
	struct json_object *object = json_object_new_object();
	double values[1000];
	struct interval interval;
	size_t count = 0;
	bool shown;

	for (size_t i = first; i < run->cells_played && count < ARRAY_SIZE(values); i++)
		if (same_group(cell, &run->plan.cells[i]))
			values[count++] = run->rates[i];
	interval = interval_of(values, count);
	shown = count >= GROUP_REPEATS_MIN;
	json_object_object_add(object, "cache", report_json_text(cache_choice_names[cell->cache]));
	json_object_object_add(object, cell->layout ? "layout" : "pattern",
		report_json_text(cell->layout ? cell->layout->name : pattern_names[cell->pattern]));
	json_object_object_add(object, "depth", json_object_new_uint64(cell->depth));
	json_object_object_add(object, "repeats", json_object_new_uint64(count));
	json_object_object_add(object, "rate_mean_per_s", report_json_double(interval.mean));
	json_object_object_add(
		object, "rate_low_per_s", shown ? report_json_double(interval.low) : NULL);
	json_object_object_add(
		object, "rate_high_per_s", shown ? report_json_double(interval.high) : NULL);
	(void)json_object_array_add(groups, object);
	if (text && shown)
		(void)fprintf(text,
			"%s %s depth %u: %.1f/s, 95 %% interval %.1f to %.1f "
			"(%zu repeats)\n",
			cache_choice_names[cell->cache],
			cell->layout ? cell->layout->name : pattern_names[cell->pattern],
			cell->depth, interval.mean, interval.low, interval.high, count);
}

static void add_groups(struct run *run, FILE *text)
{
	struct json_object *groups = json_object_new_array();

	for (size_t i = 0; i < run->cells_played; i++)
		if (run->plan.cells[i].repeat == 0 && run->plan.options->repeat > 1)
			add_group(run, groups, i, text);
	document_set(run->document, "groups", groups);
}

static void close_trace(struct run *run)
{
	if (!run->options.trace)
		return;
	if (run_trace_close(&run->trace, &run->error) == 0)
		(void)run_reordering_add(run->options.trace, &run->report, &run->error);
}

/* Faults of settings, and what else ended the run early. */
static void tell_faults(struct run *run)
{
	for (size_t i = 0; i < run->faults.count; i++)
		add_message(run, SEVERITY_ERROR, run->faults.text[i]);
	for (size_t i = 0; i < run->settings.notes.count; i++)
		add_message(run, SEVERITY_INFO, run->settings.notes.text[i]);
	if (run->error.code)
		add_message(run, SEVERITY_ERROR, run->error.text);
}

static void write_result(struct run *run)
{
	FILE *stream = run->output.stream;
	bool table = run->options.output_format == OUTPUT_TABLE;

	if (table) {
		run_talk_heading(stream, &run->plan);
		(void)report_table(run->report.report, stream,
			run->options.output ? 0 : report_terminal_width(), false, &run->error);
	}
	add_groups(run, table ? stream : NULL);
	for (size_t i = 0; i < report_row_count(run->report.report); i++)
		document_add_cell(run->document, report_json_row(run->report.report, i));
	document_set_status(run->document, run_signals_stopped_by() ? STATUS_INTERRUPTED
					   : run->failed || run->error.code || run->faults.count
						   ? STATUS_FAILED
						   : STATUS_COMPLETE);
	tell_faults(run);
	if (run->options.output_format == OUTPUT_JSON)
		document_write(run->document, stream);
	else if (run->options.output_format == OUTPUT_CSV)
		report_csv(run->report.report, stream);
}

/* Commits what was written; a result that is not whole is a failed run. */
static bool commit(struct run *run)
{
	struct error error = { 0 };
	bool good = output_commit(&run->output, &error) == 0;

	if (good && run->series.stream)
		good = output_commit(&run->series, &error) == 0;
	if (!good)
		run_talk_say(&run->talk, error.text);
	return good;
}

static int exit_code(const struct run *run, bool committed)
{
	if (run->settings.not_restored)
		return EXIT_NOT_RESTORED;
	if (run_signals_stopped_by())
		return 128 + run_signals_stopped_by();
	if (run->error.code && !run->cells_played)
		return EXIT_NOT_POSSIBLE;
	return run->failed || run->error.code || run->faults.count || !committed ? EXIT_RUN_FAILED
										 : EXIT_DONE;
}

/* Answers a command that cannot be run, in the form that was asked for. */
static int refuse(struct run *run, int code)
{
	output_cancel(&run->series);
	return document_give_up(run->document, run->options.output_format == OUTPUT_JSON,
		&run->output, &command_run, &run->faults, code);
}

static void play_cells(struct run *run)
{
	if (run_session_open(&run->session, &run->plan, &run_signals, &run->error) < 0)
		return;
	run->session.on_tick = run_talk_tick;
	run->session.user = &run->talk;
	run->session.trace = &run->trace;
	if (!run_settings_apply(&run->settings, &run->plan, &run->plan.cells[0], &run->faults) ||
		run_wire_check(&run->session, run->document, &run->settings.notes, &run->error) < 0)
		return;
	for (size_t i = 1; i <= run->plan.cell_count; i++)
		if (!play_cell(run, i))
			break;
}

/* What a trace says about the run: who was measured. */
static int open_trace(struct run *run)
{
	struct json_object *text = json_object_new_object();
	int r;

	json_object_object_add(text, "device",
		run->claim->target.kind == TARGET_BLOCK ? document_device_json(&run->claim->device)
							: NULL);
	json_object_object_add(text, "target", report_json_text(run->claim->target.name));
	r = run_trace_open(
		&run->trace, run->options.trace, json_object_to_json_string(text), &run->error);
	(void)json_object_put(text);
	if (r < 0)
		faults_add(&run->faults, "%s", run->error.text);
	return r;
}

/* Everything that a run changes outside of itself: 0, or the exit code of a refusal. */
static int prepare(struct run *run)
{
	int code = run_settings_open(&run->settings, &run->plan, &run->faults);

	if (code == 0 && open_trace(run) < 0)
		code = EXIT_USAGE;
	if (code)
		run_settings_close(&run->settings, false, &run->faults);
	return code;
}

static void tell_beginning(struct run *run)
{
	run_talk_start(&run->talk, &run->session, &run->plan, run->document);
	document_set(run->document, "plan", run_plan_json(&run->plan));
	for (size_t i = 0; i < run->plan.notes.count; i++)
		document_message(run->document, SEVERITY_INFO, "%s", run->plan.notes.text[i]);
	if (run->options.preset == PRESET_DRIVE && !run->plan.writes)
		add_message(run, SEVERITY_WARNING,
			"without --write only the reads of the preset are measured");
}

static int play_all(struct run *run)
{
	bool committed;
	int code;

	/* Before anything is changed: from here on a signal ends the run in good order. */
	run_signals_install();
	code = prepare(run);
	if (code) {
		run_signals_remove();
		claim_discard(run->claim);
		return refuse(run, code);
	}
	tell_beginning(run);
	play_cells(run);
	close_trace(run);
	run_settings_describe(&run->settings, run->document);
	run_settings_close(&run->settings, run->session.lasting_harm, &run->faults);
	run_signals_remove();
	run_talk_end(&run->talk);
	write_result(run);
	committed = commit(run);
	code = exit_code(run, committed);
	if (run->session.lasting_harm) {
		/* Requests are at the drive still: nothing may be unmapped, nothing waited for. */
		(void)fflush(NULL);
		_exit(code);
	}
	run_session_close(&run->session);
	return code;
}

static int open_outputs(struct run *run)
{
	static const char heading[] = "cell,cache,load,repeat,depth,start_ns,end_ns,reads,writes,"
				      "read_bytes,write_bytes,drive_p50_ns,drive_p99_ns,"
				      "drive_max_ns\r\n";
	struct error error = { 0 };
	int r = output_open(&run->output, run->options.output, &error);

	if (r == 0 && run->options.series) {
		r = output_open(&run->series, run->options.series, &error);
		if (r == 0)
			(void)fputs(heading, run->series.stream);
	}
	if (r < 0)
		faults_add(&run->faults, "%s", error.text);
	return r;
}

/* From a parsed command line to the end; everything that is opened is closed by the caller. */
static int claim_and_play(struct run *run)
{
	const struct claim_request request = {
		.text = run->target,
		.write = run_plan_wants_write(&run->options),
		.identity = run->options.write,
		.discard_contents = run->options.discard_contents,
	};
	int r = claim_open(&request, &run->claim, &run->faults);

	if (r < 0)
		return refuse(run, errno_to_exit(r));
	if (run->claim->target.kind == TARGET_BLOCK)
		document_set_device(run->document, &run->claim->device);
	r = run_plan_make(&run->options, run->claim, &run->plan, &run->faults);
	if (r < 0) {
		claim_discard(run->claim);
		return refuse(run, errno_to_exit(r));
	}
	run->rates = calloc(run->plan.cell_count, sizeof(*run->rates));
	if (!run->rates || run_report_new(&run->plan, &run->report) < 0) {
		faults_add(&run->faults, "no memory for the results");
		return refuse(run, EXIT_NOT_POSSIBLE);
	}
	return play_all(run);
}

static int run_run(int argc, char **argv)
{
	struct run run = { 0 };
	unsigned operands = 0;
	int r, code;

	run_options_default(&run.options);
	r = options_parse(
		&command_run, argc, argv, &run.options, &run.target, &operands, &run.faults);
	if (r > 0) {
		options_done(&command_run, &run.options);
		return EXIT_DONE;
	}
	run_options_complete(&run.options);
	run.document = document_new(argc, argv);
	if (r < 0 || open_outputs(&run) < 0)
		code = refuse(&run, EXIT_USAGE);
	else
		code = claim_and_play(&run);
	run_report_done(&run.report);
	run_plan_done(&run.plan);
	if (run.claim)
		claim_close(run.claim);
	document_free(run.document);
	faults_done(&run.faults);
	faults_done(&run.settings.notes);
	free(run.rates);
	options_done(&command_run, &run.options);
	return code;
}

const struct command command_run = {
	.name = "run",
	.arguments = "TARGET",
	.summary = "play a file pool or a pattern on a bare device",
	.description =
		"Maps PostMark's file pool onto the device and plays its transactions with "
		"O_DIRECT requests at an exact depth, one cell for each combination of cache mode, "
		"layout, repeat and depth; or plays a pattern of blocks. The pool is written once "
		"and its state rewound between cells."
		"\n\n"
		"Writing needs the device's identity, as check prints it. Nothing is written in "
		"the "
		"first and last MiB. The first SIGINT, SIGTERM or SIGHUP stops sending, waits for "
		"what is at the drive and reports; a second one leaves at once; SIGUSR1 prints how "
		"far it is."
		"\n\n"
		"  bareplatter run /dev/sdx --write IDENTITY --pool SS --depth 1-64 --cache both"
		"\n\n"
		"  bareplatter run /dev/sdx --pattern randread --depth 1-64 --time 30s",
	.specs = run_option_specs,
	.operands_min = 1,
	.operands_max = 1,
	.run = run_run,
};
