/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results as rows of typed values; table, JSON and CSV are three views of the same rows (the idea
 * of btrfs-progs' format rows), so that no view can tell another figure than the others.
 *
 * A column's key carries its unit and is a path: "read.drive_time_ns.p50" becomes
 * {"read": {"drive_time_ns": {"p50": ...}}} in JSON and stays one column in CSV. What was not
 * measured is null: an empty cell, never 0.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdio.h>

#include "engine/base.h"
#include "engine/units.h"

struct json_object;
struct report;
struct report_row;

enum report_type {
	REPORT_NULL,
	REPORT_BOOL,
	REPORT_U64,
	REPORT_I64,
	REPORT_DOUBLE,
	REPORT_TEXT,
	REPORT_JSON, /* an object of its own (a histogram): in JSON only */
};

struct report_value {
	enum report_type type;
	union {
		bool truth;
		uint64_t u64;
		int64_t i64;
		double real;
		char *text;
		struct json_object *json;
	};
};

/* How a number is written for people. */
typedef struct units_text report_format_fn(const struct report_value *value);

struct report_column {
	const char *key;          /* for machines: JSON path and CSV heading, unit included */
	const char *label;        /* for people: the table's heading */
	report_format_fn *format; /* NULL: as it stands */
	bool in_table;
	unsigned drop; /* 0: always in the table; else left out when the table would be
			* too wide, the highest first */
};

report_format_fn report_format_size;     /* bytes: 132.8 MiB */
report_format_fn report_format_duration; /* ns: 1.23 ms */
report_format_fn report_format_count;    /* 12.3k */
report_format_fn report_format_tenths;   /* 31.9 */

/* The columns are not copied and must outlive the report. Keys are unique. */
struct report *report_new(const struct report_column *columns, size_t count);
void report_free(struct report *report);

/* A further row, all null; owned by the report and valid as long as it. */
struct report_row *report_row(struct report *report);

/* Setting a key that is no column is a programming error. Text is copied, json is taken over. A
 * double that is not finite is null. NULL text is null. */
void report_set_bool(struct report_row *row, const char *key, bool value);
void report_set_u64(struct report_row *row, const char *key, uint64_t value);
void report_set_i64(struct report_row *row, const char *key, int64_t value);
void report_set_double(struct report_row *row, const char *key, double value);
void report_set_text(struct report_row *row, const char *key, const char *value);
void report_set_json(struct report_row *row, const char *key, struct json_object *value);

size_t report_row_count(const struct report *report);
size_t report_column_count(const struct report *report);
/* The columns as chosen, in their order. */
const struct report_column *report_column_at(const struct report *report, size_t column);
const struct report_value *report_value_at(const struct report *report, size_t row, size_t column);

/* Chooses columns by their labels ("NAME,SIZE", any case), for all three views and in that order.
 * -EINVAL naming every unknown label and the known ones. */
int report_select(struct report *report, const char *labels, struct faults *faults);
/* True once report_select was called: then every chosen column is in the table. */
bool report_is_selected(const struct report *report);

/* The value as the table shows it, to be freed; "" for null. exact leaves the format out. */
char *report_value_text(
	const struct report_column *column, const struct report_value *value, bool exact);

/* Digits that read back as the same double, with '.' whatever the locale; finite values only. */
struct units_text report_number_text(double value);

/* The three views. width is in columns, 0 for no limit; exact shows numbers without format. */
int report_table(
	const struct report *report, FILE *stream, size_t width, bool exact, struct error *error);
/* An array with one object per row. */
struct json_object *report_json(const struct report *report);
/* One row alone. */
struct json_object *report_json_row(const struct report *report, size_t row);
/* RFC 4180: a heading of keys, CRLF, quotes where needed; null is empty, an empty text is "". */
void report_csv(const struct report *report, FILE *stream);

/* Text as a JSON string: bytes that are no UTF-8 (a drive's serial number, a file's name) become
 * U+FFFD, since one of them would make the whole document unreadable. */
struct json_object *report_json_text(const char *text);
/* A finite double with a '.', else null. */
struct json_object *report_json_double(double value);

/* The width of the terminal on stdout, 0 when it is none. */
size_t report_terminal_width(void);

#endif
