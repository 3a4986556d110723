/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/operations.h"

#include <string.h>

#include "tools/report.h"

#define BUFFER_BYTES (64 * 1024)
/* Letter, longest name, bytes, blanks and newline. */
#define LINE_BYTES_MAX (POSTMARK_NAME_BYTES_MAX + 32)

/* stdio's formatting would take most of the time of a long stream. */
struct writer {
	FILE *stream;
	size_t used;
	char text[BUFFER_BYTES];
};

static int flush(struct writer *writer)
{
	const size_t used = writer->used;

	writer->used = 0;
	return fwrite(writer->text, 1, used, writer->stream) == used ? 0 : -EIO;
}

static void put_text(struct writer *writer, const char *text)
{
	const size_t length = strlen(text);

	assert(length <= sizeof(writer->text) - writer->used);
	memcpy(writer->text + writer->used, text, length);
	writer->used += length;
}

static void put_number(struct writer *writer, uint32_t value)
{
	char digits[10];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	memcpy(writer->text + writer->used, digits + at, sizeof(digits) - at);
	writer->used += sizeof(digits) - at;
}

static int put_operation(struct writer *writer, const struct postmark_config *config,
	const struct postmark_operation *operation)
{
	static const char *const letters[] = {
		[POSTMARK_CREATE] = "C ",
		[POSTMARK_READ] = "R ",
		[POSTMARK_APPEND] = "A ",
		[POSTMARK_DELETE] = "D ",
	};

	if (sizeof(writer->text) - writer->used < LINE_BYTES_MAX && flush(writer) < 0)
		return -EIO;
	put_text(writer, letters[operation->kind]);
	if (operation->location >= 0) {
		put_text(writer, config->locations[operation->location].name);
		put_text(writer, "/");
	}
	if (operation->subdirectory >= 0) {
		put_text(writer, "s");
		put_number(writer, (uint32_t)operation->subdirectory);
		put_text(writer, "/");
	}
	put_number(writer, operation->id);
	if (operation->kind != POSTMARK_DELETE) {
		put_text(writer, " ");
		put_number(writer, operation->bytes);
	}
	put_text(writer, "\n");
	return 0;
}

static int new_postmark(
	const struct postmark_config *config, struct postmark **ret_postmark, struct error *error)
{
	if (postmark_new(config, ret_postmark) == 0)
		return 0;
	return error_set(error, -ENOMEM, "no memory for %d files: their table takes %s",
		config->files, units_format_size(postmark_memory_bytes(config)).text);
}

static int print_run(
	const struct postmark_config *config, struct writer *writer, struct error *error)
{
	struct postmark *postmark;
	struct postmark_operation operation;
	int result = new_postmark(config, &postmark, error);

	if (result < 0)
		return result;
	while (result == 0 && postmark_next(postmark, &operation)) {
		if (!operation.wasted)
			result = put_operation(writer, config, &operation);
	}
	postmark_free(postmark);
	return result;
}

int operations_print(const struct postmark_runs *runs, FILE *stream, struct error *error)
{
	struct writer writer = { .stream = stream };
	int result = 0;

	for (size_t i = 0; i < runs->count && result == 0; i++) {
		if (i > 0) {
			result = flush(&writer);
			put_text(&writer, "# run ");
			put_number(&writer, (uint32_t)i + 1);
			put_text(&writer, "\n");
		}
		if (result == 0)
			result = print_run(&runs->configs[i], &writer, error);
	}
	if (result == 0)
		result = flush(&writer);
	if (result == -EIO)
		return error_set(
			error, -EIO, "the operations cannot be written: %s", strerror(errno));
	return result;
}

struct operations_megabytes operations_megabytes(float bytes)
{
	struct operations_megabytes result;
	const float kilobytes = bytes / 1024.0f;
	const float megabytes = bytes / 1048576.0f;

	if (megabytes > 1.0f)
		(void)snprintf(
			result.text, sizeof(result.text), "%.2f megabytes", (double)megabytes);
	else if (kilobytes != 0.0f)
		(void)snprintf(
			result.text, sizeof(result.text), "%.2f kilobytes", (double)kilobytes);
	else
		(void)snprintf(result.text, sizeof(result.text), "%f bytes", (double)bytes);
	return result;
}

static struct units_text yes_or_no(const struct report_value *value)
{
	struct units_text text;

	(void)snprintf(text.text, sizeof(text.text), "%s", value->truth ? "yes" : "no");
	return text;
}

/* clang-format off */
static const struct report_column count_columns[] = {
	{ .key = "run", .label = "RUN", .in_table = true },
	{ .key = "transactions_asked", .label = "ASKED" },
	{ .key = "transactions", .label = "TRANS", .in_table = true },
	{ .key = "read", .label = "READ", .in_table = true },
	{ .key = "appended", .label = "APPENDED", .in_table = true },
	{ .key = "appends_wasted", .label = "WASTED-A", .in_table = true },
	{ .key = "created_in_transactions", .label = "CREATED", .in_table = true },
	{ .key = "deleted_in_transactions", .label = "DELETED", .in_table = true },
	{ .key = "creates_wasted", .label = "WASTED-C", .in_table = true },
	{ .key = "created_in_pool", .label = "POOL", .in_table = true },
	{ .key = "deleted_in_cleanup", .label = "CLEANUP", .in_table = true },
	{ .key = "created", .label = "ALL-CREATED" },
	{ .key = "deleted", .label = "ALL-DELETED" },
	{ .key = "read_bytes", .label = "READ-BYTES", .in_table = true },
	{ .key = "read_postmark", .label = "POSTMARK-READ", .in_table = true, .drop = 1 },
	{ .key = "read_bytes_binary32", .label = "READ-BINARY32" },
	{ .key = "write_bytes", .label = "WRITE-BYTES", .in_table = true },
	{ .key = "write_postmark", .label = "POSTMARK-WRITE", .in_table = true, .drop = 1 },
	{ .key = "write_bytes_binary32", .label = "WRITE-BINARY32" },
	{ .key = "live_files_peak", .label = "FILES-PEAK", .in_table = true, .drop = 2 },
	{ .key = "live_bytes_peak", .label = "BYTES-PEAK", .in_table = true, .drop = 2 },
	{ .key = "draws", .label = "DRAWS" },
	{ .key = "pool_emptied", .label = "EMPTIED", .format = yes_or_no, .in_table = true,
	  .drop = 3 },
};
/* clang-format on */

static void fill_row(struct report_row *row, const struct postmark_config *config,
	const struct postmark_counts *counts)
{
	report_set_u64(row, "transactions_asked", (uint64_t)config->transactions);
	report_set_u64(row, "transactions", counts->transactions);
	report_set_u64(row, "read", counts->read);
	report_set_u64(row, "appended", counts->appended);
	report_set_u64(row, "appends_wasted", counts->wasted_appends);
	report_set_u64(row, "created_in_transactions", counts->created - counts->created_alone);
	report_set_u64(row, "deleted_in_transactions", counts->deleted - counts->deleted_alone);
	report_set_u64(row, "creates_wasted", counts->wasted_creates);
	report_set_u64(row, "created_in_pool", counts->created_alone);
	report_set_u64(row, "deleted_in_cleanup", counts->deleted_alone);
	report_set_u64(row, "created", counts->created);
	report_set_u64(row, "deleted", counts->deleted);
	report_set_u64(row, "read_bytes", counts->read_bytes);
	report_set_text(row, "read_postmark", operations_megabytes(counts->read_bytes_float).text);
	report_set_double(row, "read_bytes_binary32", (double)counts->read_bytes_float);
	report_set_u64(row, "write_bytes", counts->written_bytes);
	report_set_text(
		row, "write_postmark", operations_megabytes(counts->written_bytes_float).text);
	report_set_double(row, "write_bytes_binary32", (double)counts->written_bytes_float);
	report_set_u64(row, "live_files_peak", counts->peak_live_files);
	report_set_u64(row, "live_bytes_peak", counts->peak_live_bytes);
	report_set_u64(row, "draws", counts->draws);
	report_set_bool(row, "pool_emptied", counts->pool_emptied);
}

int operations_count(
	const struct postmark_runs *runs, struct report **ret_report, struct error *error)
{
	struct report *report = report_new(count_columns, ARRAY_SIZE(count_columns));
	struct postmark_operation operation;
	struct postmark *postmark;

	for (size_t i = 0; i < runs->count; i++) {
		struct report_row *row = report_row(report);
		const int result = new_postmark(&runs->configs[i], &postmark, error);

		if (result < 0) {
			report_free(report);
			return result;
		}
		while (postmark_next(postmark, &operation))
			;
		report_set_u64(row, "run", i + 1);
		fill_row(row, &runs->configs[i], postmark_counts(postmark));
		postmark_free(postmark);
	}
	*ret_report = report;
	return 0;
}
