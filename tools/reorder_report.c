/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/reorder_report.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct units_text format_share(const struct report_value *value)
{
	struct units_text text;

	(void)snprintf(text.text, sizeof(text.text), "%.1f%%", 100 * value->real);
	return text;
}

static struct units_text format_hundredths(const struct report_value *value)
{
	struct units_text text;

	(void)snprintf(text.text, sizeof(text.text), "%.2f", value->real);
	return text;
}

#define TIME_COLUMNS(key, label, drop)                                                             \
	{ key ".min", NULL, NULL, false, 0 }, { key ".mean", NULL, NULL, false, 0 },               \
		{ key ".p50", label " P50", report_format_duration, true, drop },                  \
		{ key ".p90", NULL, NULL, false, 0 },                                              \
		{ key ".p99", "P99", report_format_duration, true, (drop) + 1 },                   \
		{ key ".p99_9", NULL, NULL, false, 0 }, { key ".max", NULL, NULL, false, 0 },      \
	{                                                                                          \
		key ".count", NULL, NULL, false, 0                                                 \
	}

#define DISTANCE_COLUMNS(name, label)                                                              \
	{ "lba_distance_sectors." name ".mean", label, report_format_count, true, 3 },             \
		{ "lba_distance_sectors." name ".median", NULL, NULL, false, 0 },                  \
		{ "lba_distance_sectors." name ".mean_log2", NULL, NULL, false, 0 },               \
	{                                                                                          \
		"lba_distance_sectors." name ".total", NULL, NULL, false, 0                        \
	}

static const struct report_column columns[] = {
	{ "cell", "CELL", NULL, true, 0 },
	{ "cache_commands", "COMMANDS", NULL, true, 8 },
	{ "depth", "DEPTH", NULL, true, 0 },
	{ "requests_queued", "QUEUED", report_format_count, true, 7 },
	{ "requests_dispatched", "SENT", report_format_count, true, 7 },
	{ "merge_ratio", "MERGE", format_hundredths, true, 2 },
	{ "flushes", NULL, NULL, false, 0 },
	{ "unfinished", NULL, NULL, false, 0 },
	{ "failed", NULL, NULL, false, 0 },
	{ "cache_hits", NULL, NULL, false, 0 },
	{ "counted", NULL, NULL, false, 0 },
	{ "counted_are", NULL, NULL, false, 0 },
	{ "overtaken_share", "OVERTAKEN", format_share, true, 0 },
	{ "tied_share", "TIED", format_share, true, 6 },
	{ "overtakes.mean", "MEAN", format_hundredths, true, 1 },
	{ "overtakes.p99", "P99", report_format_tenths, true, 1 },
	{ "overtakes.max", "MAX", report_format_tenths, true, 4 },
	{ "kendall_distance", "KENDALL", format_hundredths, true, 0 },
	{ "kendall_windows", NULL, NULL, false, 0 },
	DISTANCE_COLUMNS("queued", "LBA Q"),
	DISTANCE_COLUMNS("dispatched", "LBA D"),
	DISTANCE_COLUMNS("completed", "LBA C"),
	TIME_COLUMNS("host_time_ns", "HOST", 4),
	TIME_COLUMNS("drive_time_ns", "DRIVE", 4),
	{ "wait_median_ns", NULL, NULL, false, 0 },
	{ "starved_above_ns", NULL, NULL, false, 0 },
	{ "starved", "STARVED", NULL, true, 2 },
	{ "starved_list", NULL, NULL, false, 0 },
};

static const char *const op_names[] = { "read", "write", "flush" };
static const char *const role_names[REQUEST_ROLES] = { "data", "inode", "bitmap", "directory",
	"tree", "journal", "commit" };
static const char *const scope_names[] = { NULL, "reads that missed the cache",
	"reads and writes" };
static const char *const order_names[] = { "queued", "dispatched", "completed" };

struct report *reorder_report_new(void)
{
	return report_new(columns, ARRAY_SIZE(columns));
}

static void set_times(struct report_row *row, const char *name, const struct histogram *histogram)
{
	static const struct {
		const char *name;
		double share;
	} percentiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p99_9", 0.999 } };
	char key[64];

	(void)snprintf(key, sizeof(key), "%s.count", name);
	report_set_u64(row, key, histogram->count);
	if (!histogram->count)
		return;
	(void)snprintf(key, sizeof(key), "%s.min", name);
	report_set_i64(row, key, histogram->min_ns);
	(void)snprintf(key, sizeof(key), "%s.mean", name);
	report_set_double(row, key, histogram_mean(histogram));
	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++) {
		(void)snprintf(key, sizeof(key), "%s.%s", name, percentiles[i].name);
		report_set_i64(row, key, histogram_percentile(histogram, percentiles[i].share));
	}
	(void)snprintf(key, sizeof(key), "%s.max", name);
	report_set_i64(row, key, histogram->max_ns);
}

static void set_distance(
	struct report_row *row, const char *name, const struct reordering_distance *distance)
{
	char key[64];

	if (!distance->known)
		return;
	(void)snprintf(key, sizeof(key), "lba_distance_sectors.%s.mean", name);
	report_set_double(row, key, distance->mean_sectors);
	(void)snprintf(key, sizeof(key), "lba_distance_sectors.%s.median", name);
	report_set_u64(row, key, distance->median_sectors);
	(void)snprintf(key, sizeof(key), "lba_distance_sectors.%s.mean_log2", name);
	report_set_double(row, key, distance->mean_log2);
	(void)snprintf(key, sizeof(key), "lba_distance_sectors.%s.total", name);
	report_set_u64(row, key, distance->total_sectors);
}

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	(void)json_object_object_add(object, key, value);
}

static struct json_object *starved_json(const struct reordering *reordering)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < reordering->starved_listed; i++) {
		const struct reordering_starved *starved = &reordering->starved[i];
		struct json_object *object = json_object_new_object();

		add(object, "lba", json_object_new_uint64(starved->lba));
		add(object, "length_bytes", json_object_new_uint64(starved->length_bytes));
		add(object, "op", json_object_new_string(op_names[starved->op]));
		add(object, "role", json_object_new_string(role_names[starved->role]));
		add(object, "wait_ns", json_object_new_int64(starved->wait_ns));
		add(object, "host_time_ns", json_object_new_int64(starved->host_ns));
		add(object, "drive_time_ns", json_object_new_int64(starved->drive_ns));
		add(object, "overtaken_by", report_json_double(starved->overtaken_by));
		add(object, "sequence", json_object_new_uint64(starved->sequence));
		add(object, "dispatch", json_object_new_uint64(starved->dispatch));
		add(object, "failed", json_object_new_boolean(starved->failed));
		(void)json_object_array_add(array, object);
	}
	return array;
}

static void set_order(struct report_row *row, const struct reordering *reordering)
{
	report_set_text(row, "counted_are", scope_names[reordering->scope]);
	if (reordering->scope == REORDERING_BLANK)
		return;
	report_set_u64(row, "counted", reordering->counted);
	report_set_double(row, "overtaken_share", reordering->overtaken_share);
	report_set_double(row, "tied_share", reordering->tied_share);
	report_set_double(row, "overtakes.mean", reordering->overtakes_mean);
	report_set_double(row, "overtakes.p99", reordering->overtakes_p99);
	report_set_double(row, "overtakes.max", reordering->overtakes_max);
	report_set_double(row, "kendall_distance", reordering->kendall);
	report_set_u64(row, "kendall_windows", reordering->kendall_windows);
}

void reorder_report_add(struct report *report, unsigned cell, const char *commands,
	const struct reordering *reordering)
{
	struct report_row *row = report_row(report);

	report_set_u64(row, "cell", cell);
	report_set_text(row, "cache_commands", *commands ? commands : NULL);
	report_set_u64(row, "depth", reordering->depth);
	report_set_u64(row, "requests_queued", reordering->requests_queued);
	report_set_u64(row, "requests_dispatched", reordering->requests_dispatched);
	report_set_double(row, "merge_ratio", reordering->merge_ratio);
	report_set_u64(row, "flushes", reordering->flushes);
	report_set_u64(row, "unfinished", reordering->unfinished);
	report_set_u64(row, "failed", reordering->failed);
	report_set_u64(row, "cache_hits", reordering->cache_hits);
	set_order(row, reordering);
	for (size_t i = 0; i < REORDERING_ORDERS; i++)
		set_distance(row, order_names[i], &reordering->distance[i]);
	set_times(row, "host_time_ns", &reordering->host);
	set_times(row, "drive_time_ns", &reordering->drive);
	if (reordering->requests_dispatched) {
		report_set_i64(row, "wait_median_ns", reordering->wait_median_ns);
		report_set_i64(row, "starved_above_ns", reordering->starved_above_ns);
	}
	report_set_u64(row, "starved", reordering->starved_count);
	report_set_json(row, "starved_list", starved_json(reordering));
}

struct json_object *reorder_report_json(
	unsigned cell, const char *commands, const struct reordering *reordering)
{
	struct report *report = reorder_report_new();
	struct json_object *object;

	reorder_report_add(report, cell, commands, reordering);
	object = report_json_row(report, 0);
	report_free(report);
	return object;
}

void reorder_report_starved(const struct reordering *reordering, unsigned lines, FILE *stream)
{
	size_t shown = min_u64(reordering->starved_listed, lines);

	if (!reordering->starved_count)
		return;
	(void)fprintf(stream, "  %" PRIu64 " waited longer than %s, the median is %s:\n",
		reordering->starved_count, units_format_duration(reordering->starved_above_ns).text,
		units_format_duration(reordering->wait_median_ns).text);
	for (size_t i = 0; i < shown; i++) {
		const struct reordering_starved *starved = &reordering->starved[i];

		(void)fprintf(stream, "  %s %s at LBA %" PRIu64 ": %s, of it at the drive %s",
			op_names[starved->op], units_format_size(starved->length_bytes).text,
			starved->lba, units_format_duration(starved->wait_ns).text,
			units_format_duration(starved->drive_ns).text);
		if (!isnan(starved->overtaken_by))
			(void)fprintf(stream, ", overtaken by %.1f", starved->overtaken_by);
		(void)fprintf(stream, "%s\n", starved->failed ? ", failed" : "");
	}
	if (shown < reordering->starved_count)
		(void)fprintf(
			stream, "  and %" PRIu64 " more\n", reordering->starved_count - shown);
}
