/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_report.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/fio_command.h"
#include "tools/steady.h"

/* Columns that stand in every view; the times by operation are generated behind them. */
static const struct report_column fixed_columns[] = {
	{ "cache", "CACHE", NULL, true, 0 },
	{ "cache_commands", "COMMANDS", NULL, true, 5 },
	{ "read_cache", NULL, NULL, false, 0 },
	{ "elevator", "ELEVATOR", NULL, true, 0 },
	{ "merge", "MERGE", NULL, true, 0 },
	{ "layout", "LAYOUT", NULL, true, 8 },
	{ "pattern", "PATTERN", NULL, true, 0 },
	{ "page_cache", NULL, NULL, false, 0 },
	{ "reads", NULL, NULL, false, 0 },
	{ "order", NULL, NULL, false, 0 },
	{ "request_size", NULL, NULL, false, 0 },
	{ "window", NULL, NULL, false, 0 },
	{ "host_share", NULL, NULL, false, 0 },
	{ "repeat", "REP", NULL, true, 0 },
	{ "depth", "DEPTH", NULL, true, 0 },
	{ "seed", NULL, NULL, false, 0 },
	{ "seconds", "SECONDS", report_format_tenths, true, 7 },
	{ "transactions", NULL, NULL, false, 0 },
	{ "transactions_per_s", "TX/S", report_format_count, true, 0 },
	{ "transactions_per_s_with_flush", "+FLUSH", report_format_count, true, 4 },
	{ "iops", "IOPS", report_format_count, true, 0 },
	{ "read_bytes", NULL, NULL, false, 0 },
	{ "write_bytes", NULL, NULL, false, 0 },
	{ "asked_read_bytes", NULL, NULL, false, 0 },
	{ "asked_write_bytes", NULL, NULL, false, 0 },
	{ "requests_queued", NULL, NULL, false, 0 },
	{ "requests_dispatched", NULL, NULL, false, 0 },
	{ "requests_failed", NULL, NULL, false, 0 },
	{ "merges.back", NULL, NULL, false, 0 },
	{ "merges.front", NULL, NULL, false, 0 },
	{ "merges.gaps", NULL, NULL, false, 0 },
	{ "merge_ratio", "Q/D", report_format_tenths, true, 1 },
	{ "flushes", NULL, NULL, false, 0 },
	{ "flushes_per_write", NULL, NULL, false, 0 },
	{ "flush_ns", "FLUSH", report_format_duration, true, 9 },
	{ "depth_mean", "MEAN", report_format_tenths, true, 3 },
	{ "device_depth_mean", "DEVICE", report_format_tenths, true, 2 },
	{ "device_inflight_max", NULL, NULL, false, 0 },
	{ "device_requests_per_io", NULL, NULL, false, 0 },
	{ "device_read_merges", NULL, NULL, false, 0 },
	{ "device_write_merges", NULL, NULL, false, 0 },
	{ "io_wq_workers", NULL, NULL, false, 0 },
	{ "held", NULL, NULL, false, 0 },
	{ "waits", NULL, NULL, false, 0 },
	{ "starved_waits", NULL, NULL, false, 0 },
	{ "cpu_ns_per_io", NULL, NULL, false, 0 },
	{ "engine", NULL, NULL, false, 0 },
	{ "engine_level", NULL, NULL, false, 0 },
	{ "submit", NULL, NULL, false, 0 },
	{ "q_stream_hash", NULL, NULL, false, 0 },
	{ "verify", NULL, NULL, false, 0 },
	{ "postmark", NULL, NULL, false, 0 },
	{ "steady", NULL, NULL, false, 0 },
	{ "reordering", NULL, NULL, false, 0 },
	{ "drive_time_ns.delete", NULL, NULL, false, 0 }, /* sends nothing: null, not 0 */
	{ "host_time_ns.delete", NULL, NULL, false, 0 },
	{ "fio", NULL, NULL, false, 0 },
	{ "notes", NULL, NULL, false, 0 },
};

static const struct report_column status_column = { "status", "STATUS", NULL, true, 0 };

/* Request operations, then the file operations that write. */
static const char *const operation_names[] = { "read", "write", "flush", "create", "append" };

struct statistic {
	const char *name;
	double share; /* of a percentile; 0: not one */
};

static const struct statistic statistics[] = {
	{ "min", 0 },
	{ "mean", 0 },
	{ "p50", 0.5 },
	{ "p90", 0.9 },
	{ "p99", 0.99 },
	{ "p99_9", 0.999 },
	{ "max", 0 },
	{ "count", 0 },
};

/* The ones of the table: drive time at p50 and p99.9 of reads and writes. */
static const struct {
	const char *key, *label;
	unsigned drop;
} shown_times[] = {
	{ "drive_time_ns.read.p50", "READ P50", 6 },
	{ "drive_time_ns.read.p99_9", "P99.9", 6 },
	{ "drive_time_ns.write.p50", "WRITE P50", 5 },
	{ "drive_time_ns.write.p99_9", "P99.9", 5 },
};

static const char *const time_names[] = { "drive_time_ns", "host_time_ns" };

#define GENERATED (ARRAY_SIZE(time_names) * ARRAY_SIZE(operation_names) * ARRAY_SIZE(statistics))

static void show_time(struct report_column *column)
{
	for (size_t i = 0; i < ARRAY_SIZE(shown_times); i++)
		if (strcmp(column->key, shown_times[i].key) == 0) {
			column->label = shown_times[i].label;
			column->in_table = true;
			column->drop = shown_times[i].drop;
		}
}

/* Hides what a pattern or a single repeat leaves empty. */
static void choose_columns(const struct run_plan *plan, struct report_column *columns, size_t count)
{
	static const char *const of_pools[] = { "layout", "transactions_per_s",
		"transactions_per_s_with_flush" };

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(of_pools); k++)
			if (strcmp(columns[i].key, of_pools[k]) == 0)
				columns[i].in_table = !plan->is_pattern;
		if (strcmp(columns[i].key, "pattern") == 0)
			columns[i].in_table = plan->is_pattern;
		if (strcmp(columns[i].key, "elevator") == 0)
			columns[i].in_table = plan->elevators.count > 1 ||
					      plan->elevators.items[0].ops != &elevator_noop_ops ||
					      plan->elevators.items[0].is_kernel;
		if (strcmp(columns[i].key, "merge") == 0 ||
			strcmp(columns[i].key, "merge_ratio") == 0)
			columns[i].in_table = plan->options->merge.count > 1 ||
					      plan->options->merge.index[0] == MERGE_ON;
		if (strcmp(columns[i].key, "repeat") == 0)
			columns[i].in_table = plan->options->repeat > 1;
	}
}

int run_report_new(const struct run_plan *plan, struct run_report *ret_report)
{
	size_t fixed = ARRAY_SIZE(fixed_columns);
	size_t count = fixed + GENERATED + 1;
	struct run_report report = {
		.columns = calloc(count, sizeof(*report.columns)),
		.keys = calloc(GENERATED, sizeof(*report.keys)),
		.rows = calloc(plan->cell_count, sizeof(struct report_row *)),
	};
	size_t next = 0;

	if (!report.columns || !report.keys || !report.rows) {
		run_report_done(&report);
		return -ENOMEM;
	}
	memcpy(report.columns, fixed_columns, sizeof(fixed_columns));
	for (size_t time = 0; time < ARRAY_SIZE(time_names); time++)
		for (size_t op = 0; op < ARRAY_SIZE(operation_names); op++)
			for (size_t k = 0; k < ARRAY_SIZE(statistics); k++, next++) {
				struct report_column *column = &report.columns[fixed + next];

				(void)snprintf(report.keys[next], sizeof(report.keys[next]),
					"%s.%s.%s", time_names[time], operation_names[op],
					statistics[k].name);
				column->key = report.keys[next];
				column->format = report_format_duration;
				show_time(column);
			}
	report.columns[count - 1] = status_column;
	choose_columns(plan, report.columns, count);
	report.report = report_new(report.columns, count);
	*ret_report = report;
	return 0;
}

void run_report_done(struct run_report *report)
{
	if (report->report)
		report_free(report->report);
	free(report->columns);
	free(report->keys);
	free(report->rows);
	*report = (struct run_report){ 0 };
}

size_t run_report_count(const struct run_report *report)
{
	return report->row_count;
}

struct report_row *run_report_row(const struct run_report *report, size_t number)
{
	assert(number < report->row_count);
	return report->rows[number];
}

static void set_times(struct report_row *row, const char *time, const char *operation,
	const struct histogram *histogram)
{
	for (size_t i = 0; i < ARRAY_SIZE(statistics); i++) {
		const struct statistic *statistic = &statistics[i];
		char key[64];

		(void)snprintf(key, sizeof(key), "%s.%s.%s", time, operation, statistic->name);
		if (strcmp(statistic->name, "count") == 0)
			report_set_u64(row, key, histogram->count);
		else if (!histogram->count)
			continue;
		else if (strcmp(statistic->name, "min") == 0)
			report_set_i64(row, key, histogram->min_ns);
		else if (strcmp(statistic->name, "max") == 0)
			report_set_i64(row, key, histogram->max_ns);
		else if (strcmp(statistic->name, "mean") == 0)
			report_set_double(row, key, histogram_mean(histogram));
		else
			report_set_i64(row, key, histogram_percentile(histogram, statistic->share));
	}
}

static void set_condition(
	struct report_row *row, const struct run_session *session, const struct cell_result *result)
{
	const struct run_plan *plan = session->plan;
	const struct run_options *options = plan->options;
	const struct cell *cell = &result->cell;

	report_set_text(row, "cache", cache_choice_names[cell->cache]);
	report_set_text(row, "cache_commands", result->cache_commands);
	report_set_text(row, "read_cache", "as-is");
	report_set_text(row, "elevator", cell->elevator->name);
	report_set_text(row, "merge", cell->merge ? "on" : "off");
	if (cell->layout)
		report_set_text(row, "layout", cell->layout->name);
	else
		report_set_text(row, "pattern", run_cell_load(plan, cell));
	report_set_text(row, "page_cache", "off");
	report_set_text(row, "reads", reads_choice_names[options->reads]);
	report_set_text(row, "order", order_choice_names[options->order]);
	if (!cell->layout || plan->request_bytes) {
		char bytes[32];

		(void)snprintf(bytes, sizeof(bytes), "%llu",
			(unsigned long long)(cell->layout ? plan->request_bytes
							  : plan->block_bytes));
		report_set_text(row, "request_size", bytes);
	} else {
		report_set_text(row, "request_size", "extent");
	}
	report_set_u64(row, "window", options->window);
	report_set_u64(row, "host_share", options->window - cell->depth);
	report_set_u64(row, "repeat", cell->repeat);
	report_set_u64(row, "depth", cell->depth);
	report_set_u64(row, "seed", plan->seed + cell->repeat);
	report_set_text(row, "engine", result->engine);
	report_set_text(row, "engine_level", result->engine_level);
	report_set_text(row, "submit", result->submit);
}

static void set_rates(
	struct report_row *row, const struct run_session *session, const struct cell_result *result)
{
	const struct recorder_operation *reads = &session->recorder->operations[REQUEST_READ];
	const struct recorder_operation *writes = &session->recorder->operations[REQUEST_WRITE];
	uint64_t transfers = reads->completed + writes->completed;
	nsec_t flush_ns = result->flush_ns > 0 ? result->flush_ns : 0;

	report_set_double(row, "seconds", (double)result->elapsed_ns / NSEC_PER_SEC);
	if (result->elapsed_ns > 0) {
		report_set_double(row, "iops", cell_rate(transfers, result->elapsed_ns));
		report_set_double(row, "cpu_ns_per_io",
			transfers ? (double)result->cpu_ns / (double)transfers : 0);
		report_set_double(row, "depth_mean", recorder_depth_mean(session->recorder));
	}
	report_set_u64(row, "read_bytes", reads->bytes);
	report_set_u64(row, "write_bytes", writes->bytes);
	if (result->flush_ns >= 0)
		report_set_i64(row, "flush_ns", result->flush_ns);
	if (!result->cell.layout)
		return;
	report_set_u64(row, "transactions", result->pool.transactions);
	report_set_u64(row, "asked_read_bytes", result->pool.asked_read_bytes);
	report_set_u64(row, "asked_write_bytes", result->pool.asked_written_bytes);
	if (result->elapsed_ns > 0) {
		report_set_double(row, "transactions_per_s",
			cell_rate(result->pool.transactions, result->elapsed_ns));
		report_set_double(row, "transactions_per_s_with_flush",
			cell_rate(result->pool.transactions, result->elapsed_ns + flush_ns));
	}
}

static void set_device(
	struct report_row *row, const struct run_session *session, const struct cell_result *result)
{
	const struct counters *counters = &result->counters;
	uint64_t writes = session->recorder->operations[REQUEST_WRITE].completed;

	report_set_u64(row, "io_wq_workers", result->workers);
	if (!counters->valid)
		return;
	if (cell_device_depth(result) >= 0)
		report_set_double(row, "device_depth_mean", cell_device_depth(result));
	if (cell_requests_per_io(result) >= 0)
		report_set_double(row, "device_requests_per_io", cell_requests_per_io(result));
	report_set_u64(row, "device_inflight_max", result->inflight_max);
	report_set_u64(row, "device_read_merges", counters->read_merges);
	report_set_u64(row, "device_write_merges", counters->write_merges);
	report_set_u64(row, "flushes", counters->flushes);
	if (writes)
		report_set_double(
			row, "flushes_per_write", (double)counters->flushes / (double)writes);
}

static void set_queue(
	struct report_row *row, const struct run_session *session, const struct cell_result *result)
{
	const struct scheduler_result *scheduler = &result->scheduler;
	char hash[24];

	report_set_u64(row, "requests_queued", scheduler->requests_queued);
	report_set_u64(row, "requests_dispatched", scheduler->requests_dispatched);
	report_set_u64(row, "requests_failed", recorder_errors(session->recorder));
	report_set_u64(row, "merges.back", scheduler->merges.back);
	report_set_u64(row, "merges.front", scheduler->merges.front);
	report_set_u64(row, "merges.gaps", scheduler->merges.gaps);
	if (scheduler->requests_dispatched)
		report_set_double(row, "merge_ratio",
			(double)scheduler->requests_queued /
				(double)scheduler->requests_dispatched);
	report_set_u64(row, "held", scheduler->held);
	report_set_u64(row, "waits", scheduler->waits);
	report_set_u64(row, "starved_waits", scheduler->starved_waits);
	/* A stream that was cut off by time or a signal is no whole one to compare. */
	if (scheduler->end == SCHEDULER_COMPLETE) {
		(void)snprintf(hash, sizeof(hash), "%016llx",
			(unsigned long long)scheduler->q_stream_hash);
		report_set_text(row, "q_stream_hash", hash);
	}
}

static void add_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/* The load's own account: pairs, both halves, what was wasted, PostMark's own megabytes. */
static struct json_object *postmark_json(const struct cell_result *result)
{
	const struct postmark_counts *load = &result->load;
	struct json_object *object = json_object_new_object();

	add_u64(object, "transactions_drawn", load->transactions);
	add_u64(object, "transactions_failed", result->pool.transactions_failed);
	add_u64(object, "created", load->created);
	add_u64(object, "read", load->read);
	add_u64(object, "appended", load->appended);
	add_u64(object, "deleted", load->deleted);
	add_u64(object, "created_alone", load->created_alone);
	add_u64(object, "deleted_alone", load->deleted_alone);
	add_u64(object, "wasted_appends", load->wasted_appends);
	add_u64(object, "wasted_creates", load->wasted_creates);
	add_u64(object, "no_space", result->pool.no_space);
	add_u64(object, "no_file", result->pool.no_file);
	add_u64(object, "read_bytes", load->read_bytes);
	add_u64(object, "written_bytes", load->written_bytes);
	json_object_object_add(object, "read_single_precision_megabytes",
		report_json_double((double)(load->read_bytes_float / 1048576.0f)));
	json_object_object_add(object, "written_single_precision_megabytes",
		report_json_double((double)(load->written_bytes_float / 1048576.0f)));
	json_object_object_add(object, "pool_emptied", json_object_new_boolean(load->pool_emptied));
	return object;
}

static struct json_object *verify_json(const struct cell_result *result)
{
	struct json_object *object = json_object_new_object();

	add_u64(object, "sectors_checked", result->verify.sectors_checked);
	add_u64(object, "files_read_back", result->readback_files);
	for (unsigned fault = STAMP_LOST; fault < STAMP_FAULTS; fault++)
		add_u64(object, stamp_fault_name((enum stamp_fault)fault),
			result->verify.faults[fault]);
	return object;
}

static struct json_object *steady_json(const struct series *series)
{
	struct steady steady = steady_judge(&steady_rule_default, series->rows, series->count);
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "reached", json_object_new_boolean(steady.reached));
	json_object_object_add(
		object, "rule", report_json_text(steady_rule_text(&steady_rule_default).text));
	add_u64(object, "rounds", steady.rounds);
	json_object_object_add(
		object, "from_ns", steady.reached ? json_object_new_int64(steady.from_ns) : NULL);
	json_object_object_add(
		object, "to_ns", steady.reached ? json_object_new_int64(steady.to_ns) : NULL);
	json_object_object_add(
		object, "iops", steady.reached ? report_json_double(steady.mean_per_s) : NULL);
	return object;
}

static struct json_object *notes_json(const struct cell_result *result)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < result->notes.count; i++)
		(void)json_object_array_add(array, report_json_text(result->notes.text[i]));
	return array;
}

void run_report_add(struct run_report *report, const struct run_session *session,
	const struct cell_result *result)
{
	struct report_row *row = report_row(report->report);

	report->rows[report->row_count++] = row;

	set_condition(row, session, result);
	set_rates(row, session, result);
	set_device(row, session, result);
	set_queue(row, session, result);
	for (size_t op = 0; op < REQUEST_OPS; op++) {
		const struct recorder_operation *of = &session->recorder->operations[op];

		set_times(row, time_names[0], operation_names[op], &of->drive);
		set_times(row, time_names[1], operation_names[op], &of->host);
	}
	for (size_t kind = 0; kind < RECORDER_KINDS && result->cell.layout; kind++) {
		const struct recorder_kind *of = &session->recorder->kinds[kind];

		set_times(row, time_names[0], operation_names[REQUEST_OPS + kind], &of->drive);
		set_times(row, time_names[1], operation_names[REQUEST_OPS + kind], &of->host);
	}
	if (result->cell.layout)
		report_set_json(row, "postmark", postmark_json(result));
	if (session->shadow)
		report_set_json(row, "verify", verify_json(result));
	if (session->series)
		report_set_json(row, "steady", steady_json(session->series));
	report_set_text(row, "fio", fio_command(session, result).text);
	report_set_json(row, "notes", notes_json(result));
	report_set_text(row, "status", cell_status_names[result->status]);
}
