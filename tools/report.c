/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows and what every view needs: setting values, choosing columns, numbers as text. */
#include "tools/report.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct report_row {
	const struct report *report;
	struct report_row *next;
	struct report_value values[];
};

struct report {
	const struct report_column *columns;
	size_t column_count;
	size_t *chosen; /* indices into columns, in the order of the views */
	size_t chosen_count;
	bool selected;
	struct report_row *first, **last;
	size_t row_count;
};

struct report *report_new(const struct report_column *columns, size_t count)
{
	struct report *report = calloc(1, sizeof(*report));
	size_t *chosen = calloc(count, sizeof(*chosen));

	if (!report || !chosen)
		abort();
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < i; k++)
			assert(strcmp(columns[i].key, columns[k].key) != 0);
		chosen[i] = i;
	}
	*report = (struct report){
		.columns = columns, .column_count = count, .chosen = chosen, .chosen_count = count
	};
	report->last = &report->first;
	return report;
}

static void value_done(struct report_value *value)
{
	if (value->type == REPORT_TEXT)
		free(value->text);
	else if (value->type == REPORT_JSON)
		(void)json_object_put(value->json);
	*value = (struct report_value){ .type = REPORT_NULL };
}

void report_free(struct report *report)
{
	struct report_row *next;

	if (!report)
		return;
	for (struct report_row *row = report->first; row; row = next) {
		next = row->next;
		for (size_t i = 0; i < report->column_count; i++)
			value_done(&row->values[i]);
		free(row);
	}
	free(report->chosen);
	free(report);
}

struct report_row *report_row(struct report *report)
{
	struct report_row *row =
		calloc(1, sizeof(*row) + report->column_count * sizeof(row->values[0]));

	if (!row)
		abort();
	row->report = report;
	*report->last = row;
	report->last = &row->next;
	report->row_count++;
	return row;
}

static void set(struct report_row *row, const char *key, struct report_value value)
{
	size_t i = 0;

	while (i < row->report->column_count && strcmp(row->report->columns[i].key, key) != 0)
		i++;
	assert(i < row->report->column_count);
	value_done(&row->values[i]);
	row->values[i] = value;
}

void report_set_bool(struct report_row *row, const char *key, bool value)
{
	set(row, key, (struct report_value){ .type = REPORT_BOOL, .truth = value });
}

void report_set_u64(struct report_row *row, const char *key, uint64_t value)
{
	set(row, key, (struct report_value){ .type = REPORT_U64, .u64 = value });
}

void report_set_i64(struct report_row *row, const char *key, int64_t value)
{
	set(row, key, (struct report_value){ .type = REPORT_I64, .i64 = value });
}

void report_set_double(struct report_row *row, const char *key, double value)
{
	if (isfinite(value))
		set(row, key, (struct report_value){ .type = REPORT_DOUBLE, .real = value });
	else
		set(row, key, (struct report_value){ .type = REPORT_NULL });
}

void report_set_text(struct report_row *row, const char *key, const char *value)
{
	char *copy = value ? strdup(value) : NULL;

	assert(copy || !value);
	set(row, key,
		(struct report_value){ .type = copy ? REPORT_TEXT : REPORT_NULL, .text = copy });
}

void report_set_json(struct report_row *row, const char *key, struct json_object *value)
{
	set(row, key,
		(struct report_value){ .type = value ? REPORT_JSON : REPORT_NULL, .json = value });
}

size_t report_row_count(const struct report *report)
{
	return report->row_count;
}

size_t report_column_count(const struct report *report)
{
	return report->chosen_count;
}

const struct report_column *report_column_at(const struct report *report, size_t column)
{
	assert(column < report->chosen_count);
	return &report->columns[report->chosen[column]];
}

const struct report_value *report_value_at(const struct report *report, size_t row, size_t column)
{
	const struct report_row *at = report->first;

	assert(row < report->row_count && column < report->chosen_count);
	while (row--)
		at = at->next;
	return &at->values[report->chosen[column]];
}

static bool column_find(
	const struct report *report, const char *label, size_t length, size_t *ret_index)
{
	for (size_t i = 0; i < report->column_count; i++) {
		const char *known = report->columns[i].label;

		if (known && strlen(known) == length && strncasecmp(known, label, length) == 0) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

int report_select(struct report *report, const char *labels, struct faults *faults)
{
	size_t *chosen = calloc(strlen(labels) + 1, sizeof(*chosen));
	size_t count = 0, before = faults->count;

	if (!chosen)
		abort();
	for (const char *label = labels;; label++) {
		size_t length = strcspn(label, ",");

		if (column_find(report, label, length, &chosen[count]))
			count++;
		else
			faults_add(faults, "--columns: \"%.*s\" is no column",
				(int)(length < 64 ? length : 64), label);
		label += length;
		if (!*label)
			break;
	}
	if (faults->count > before) {
		char known[1024] = "";
		size_t used = 0;

		for (size_t i = 0; i < report->column_count && used < sizeof(known); i++)
			if (report->columns[i].label)
				used += (size_t)snprintf(known + used, sizeof(known) - used, " %s",
					report->columns[i].label);
		faults_add(faults, "--columns: the columns are:%s", known);
		free(chosen);
		return -EINVAL;
	}
	free(report->chosen);
	report->chosen = chosen;
	report->chosen_count = count;
	report->selected = true;
	return 0;
}

bool report_is_selected(const struct report *report)
{
	return report->selected;
}

static double value_number(const struct report_value *value)
{
	switch (value->type) {
	case REPORT_U64:
		return (double)value->u64;
	case REPORT_I64:
		return (double)value->i64;
	case REPORT_DOUBLE:
		return value->real;
	default:
		return NAN;
	}
}

struct units_text report_format_size(const struct report_value *value)
{
	assert(value->type == REPORT_U64);
	return units_format_size(value->u64);
}

struct units_text report_format_duration(const struct report_value *value)
{
	double ns = value_number(value);

	/* Beyond 2^62 (146 years) a double would not fit back: there is nothing to tell apart. */
	return units_format_duration(ns < 4.6e18 ? (nsec_t)llround(ns) : NSEC_NEVER);
}

struct units_text report_format_count(const struct report_value *value)
{
	return units_format_count(value_number(value));
}

struct units_text report_format_tenths(const struct report_value *value)
{
	double size = fabs(value_number(value));
	long long tenths = size < 1e17 ? llround(size * 10) : 0;
	struct units_text text;

	if (size >= 1e17)
		return units_format_count(value_number(value));
	(void)snprintf(text.text, sizeof(text.text), "%s%lld.%lld",
		value_number(value) < 0 && tenths ? "-" : "", tenths / 10, tenths % 10);
	return text;
}

struct units_text report_number_text(double value)
{
	/* The process's locale may have a decimal comma, printf and strtod follow it; switching
	 * this thread to "C" for the conversion keeps both honest. Made once: making one costs more
	 * than all the digits of a row. */
	static locale_t plain;
	locale_t before;
	struct units_text text;

	if (!plain)
		plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	assert(plain && isfinite(value));
	before = uselocale(plain);
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text.text, sizeof(text.text) - 2, "%.*g", digits, value);
		if (strtod(text.text, NULL) == value)
			break;
	}
	(void)uselocale(before);
	/* A reader tells integers from doubles by the point. */
	if (!strpbrk(text.text, ".e"))
		(void)snprintf(text.text + strlen(text.text), 3, ".0");
	return text;
}

char *report_value_text(
	const struct report_column *column, const struct report_value *value, bool exact)
{
	struct units_text number = { .text = "" };
	char *text = NULL;

	if (column->format && !exact && value->type != REPORT_TEXT && value->type != REPORT_NULL) {
		number = column->format(value);
	} else {
		switch (value->type) {
		case REPORT_BOOL:
			(void)snprintf(number.text, sizeof(number.text), "%d", value->truth);
			break;
		case REPORT_U64:
			(void)snprintf(number.text, sizeof(number.text), "%" PRIu64, value->u64);
			break;
		case REPORT_I64:
			(void)snprintf(number.text, sizeof(number.text), "%" PRId64, value->i64);
			break;
		case REPORT_DOUBLE:
			number = report_number_text(value->real);
			break;
		case REPORT_TEXT:
			text = strdup(value->text);
			break;
		case REPORT_NULL:
		case REPORT_JSON:
			break;
		}
	}
	if (!text)
		text = strdup(number.text);
	if (!text)
		abort();
	return text;
}
