/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace_info.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/report.h"

static struct units_text format_share(const struct report_value *value)
{
	struct units_text text;

	(void)snprintf(text.text, sizeof(text.text), "%.1f %%", value->real * 100);
	return text;
}

static struct units_text format_whole(const struct report_value *value)
{
	struct units_text text;

	(void)snprintf(text.text, sizeof(text.text), "%s", value->truth ? "yes" : "cut off");
	return text;
}

/* clang-format off */
static const struct report_column columns[] = {
	{ .key = "cell", .label = "CELL", .in_table = true },
	{ .key = "description", .label = "DESCRIPTION-JSON" },
	{ .key = "description_text", .label = "DESCRIPTION", .in_table = true },
	{ .key = "requests", .label = "REQUESTS", .in_table = true },
	{ .key = "requests_dispatched", .label = "SENT", .in_table = true, .drop = 3 },
	{ .key = "reads", .label = "READS", .in_table = true },
	{ .key = "writes", .label = "WRITES", .in_table = true },
	{ .key = "flushes", .label = "FLUSHES", .in_table = true, .drop = 1 },
	{ .key = "fua_writes", .label = "FUA", .in_table = true, .drop = 4 },
	{ .key = "metadata_requests", .label = "METADATA", .in_table = true, .drop = 5 },
	{ .key = "read_bytes", .label = "READ-BYTES", .format = report_format_size,
	  .in_table = true, .drop = 2 },
	{ .key = "write_bytes", .label = "WRITE-BYTES", .format = report_format_size,
	  .in_table = true, .drop = 2 },
	{ .key = "merged_share", .label = "MERGED", .format = format_share, .in_table = true },
	{ .key = "held", .label = "HELD", .in_table = true, .drop = 6 },
	{ .key = "errors", .label = "ERRORS", .in_table = true },
	{ .key = "incomplete", .label = "INCOMPLETE", .in_table = true, .drop = 7 },
	{ .key = "duration_ns", .label = "DURATION", .format = report_format_duration,
	  .in_table = true },
	{ .key = "whole", .label = "WHOLE", .format = format_whole, .in_table = true },
};
/* clang-format on */

struct counts {
	uint64_t requests, operations[REQUEST_OPS], bytes[REQUEST_OPS];
	uint64_t dispatched, merged, fua, metadata, held, errors, incomplete;
	nsec_t first_dispatch_ns, last_completion_ns;
};

static void count(struct counts *counts, const struct trace_record *record)
{
	bool transfer = record->op != REQUEST_FLUSH;

	counts->requests++;
	counts->operations[record->op]++;
	counts->held += (record->flags & TRACE_HELD) != 0;
	counts->merged += (record->flags & TRACE_MERGED) != 0;
	counts->fua += (record->flags & TRACE_FUA) != 0;
	counts->metadata += transfer && record->role != ROLE_DATA;
	if (record->dispatched_ns != TRACE_NEVER) {
		/* Numbers are given from 0 without a gap. */
		counts->dispatched = max_u64(counts->dispatched, (uint64_t)record->dispatch + 1);
		if (record->dispatched_ns < counts->first_dispatch_ns)
			counts->first_dispatch_ns = record->dispatched_ns;
	}
	if (record->completed_ns == TRACE_NEVER) {
		counts->incomplete++;
		return;
	}
	if (record->completed_ns > counts->last_completion_ns)
		counts->last_completion_ns = record->completed_ns;
	if (record->result < 0 || (transfer && (uint32_t)record->result != record->length_bytes))
		counts->errors++;
	else
		counts->bytes[record->op] += record->length_bytes;
}

/* The scalars of a description as `key=value` with blanks between; a text that is no object as it
 * stands. To be freed. */
static char *describe(const char *cell_json, struct json_object *object)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		abort();
	if (!json_object_is_type(object, json_type_object)) {
		(void)fputs(cell_json, stream);
	} else {
		const char *blank = "";

		json_object_object_foreach(object, key, value)
		{
			if (!value || json_object_is_type(value, json_type_object) ||
				json_object_is_type(value, json_type_array))
				continue;
			(void)fprintf(stream, "%s%s=%s", blank, key, json_object_get_string(value));
			blank = " ";
		}
	}
	if (fclose(stream) != 0)
		abort();
	return text;
}

static void add_row(
	struct report *report, const char *cell_json, const struct counts *counts, bool whole)
{
	struct json_object *object = json_tokener_parse(cell_json);
	_cleanup_free_ char *text = describe(cell_json, object);
	struct report_row *row = report_row(report);

	report_set_u64(row, "cell", report_row_count(report));
	report_set_json(row, "description", object ? object : report_json_text(cell_json));
	report_set_text(row, "description_text", text);
	report_set_u64(row, "requests", counts->requests);
	report_set_u64(row, "requests_dispatched", counts->dispatched);
	report_set_u64(row, "reads", counts->operations[REQUEST_READ]);
	report_set_u64(row, "writes", counts->operations[REQUEST_WRITE]);
	report_set_u64(row, "flushes", counts->operations[REQUEST_FLUSH]);
	report_set_u64(row, "fua_writes", counts->fua);
	report_set_u64(row, "metadata_requests", counts->metadata);
	report_set_u64(row, "read_bytes", counts->bytes[REQUEST_READ]);
	report_set_u64(row, "write_bytes", counts->bytes[REQUEST_WRITE]);
	if (counts->requests)
		report_set_double(
			row, "merged_share", (double)counts->merged / (double)counts->requests);
	report_set_u64(row, "held", counts->held);
	report_set_u64(row, "errors", counts->errors);
	report_set_u64(row, "incomplete", counts->incomplete);
	if (counts->last_completion_ns >= counts->first_dispatch_ns)
		report_set_u64(row, "duration_ns",
			(uint64_t)counts->last_completion_ns - (uint64_t)counts->first_dispatch_ns);
	report_set_bool(row, "whole", whole);
}

int trace_info(struct trace_reader *reader, struct report **ret_report, struct error *error)
{
	struct report *report = report_new(columns, ARRAY_SIZE(columns));
	struct trace_record record;
	const char *text;
	int r;

	while ((r = trace_reader_cell(reader, &text, error)) > 0) {
		struct counts counts = { .first_dispatch_ns = INT64_MAX,
			.last_completion_ns = INT64_MIN };

		while ((r = trace_reader_next(reader, &record, error)) > 0)
			count(&counts, &record);
		add_row(report, text, &counts, r == 0);
		if (r < 0)
			break;
	}
	*ret_report = report;
	return r;
}
