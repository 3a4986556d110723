/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table for people, drawn by libsmartcols (the library under lsblk). Numbers are right-aligned,
 * what was not measured is blank. A table that is wider than the terminal loses its least
 * important columns rather than breaking its lines.
 */
#include "tools/report.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEPARATOR 1

static bool shown(const struct report *report, size_t column)
{
	return report_column_at(report, column)->label &&
	       (report_is_selected(report) || report_column_at(report, column)->in_table);
}

static size_t column_width(const struct report *report, size_t column, bool exact)
{
	const struct report_column *of = report_column_at(report, column);
	size_t width = strlen(of->label);

	for (size_t row = 0; row < report_row_count(report); row++) {
		_cleanup_free_ char *text =
			report_value_text(of, report_value_at(report, row, column), exact);

		width = max_u64(width, strlen(text));
	}
	return width + SEPARATOR;
}

/* Marks in `use` the columns that fit; those the user chose always stay. */
static void fit(const struct report *report, size_t limit, bool exact, bool *use)
{
	size_t total = 0;

	for (size_t i = 0; i < report_column_count(report); i++) {
		use[i] = shown(report, i);
		if (use[i])
			total += column_width(report, i, exact);
	}
	while (limit && total > limit + SEPARATOR && !report_is_selected(report)) {
		size_t worst = report_column_count(report);

		for (size_t i = 0; i < report_column_count(report); i++)
			if (use[i] && report_column_at(report, i)->drop > 0 &&
				(worst == report_column_count(report) ||
					report_column_at(report, i)->drop >=
						report_column_at(report, worst)->drop))
				worst = i;
		if (worst == report_column_count(report))
			break;
		use[worst] = false;
		total -= column_width(report, worst, exact);
	}
}

/* Text is left-aligned; a column that holds a number, or nothing at all with a number's format,
 * is right-aligned. */
static int column_flags(const struct report *report, size_t column)
{
	bool number = report_column_at(report, column)->format != NULL;

	for (size_t row = 0; row < report_row_count(report); row++) {
		enum report_type type = report_value_at(report, row, column)->type;

		if (type == REPORT_TEXT)
			return 0;
		number |= type != REPORT_NULL;
	}
	return number ? SCOLS_FL_RIGHT : 0;
}

/* Fills the table; negative when the library is out of memory. */
static int fill(
	const struct report *report, struct libscols_table *table, const bool *use, bool exact)
{
	int rc = 0;

	for (size_t i = 0; i < report_column_count(report); i++)
		if (use[i] && !scols_table_new_column(table, report_column_at(report, i)->label, 0,
				      column_flags(report, i)))
			return -ENOMEM;
	for (size_t row = 0; row < report_row_count(report); row++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		size_t cell = 0;

		if (!line)
			return -ENOMEM;
		for (size_t i = 0; i < report_column_count(report) && rc == 0; i++)
			if (use[i])
				rc = scols_line_refer_data(line, cell++,
					report_value_text(report_column_at(report, i),
						report_value_at(report, row, i), exact));
	}
	return rc;
}

int report_table(
	const struct report *report, FILE *stream, size_t width, bool exact, struct error *error)
{
	struct libscols_table *table;
	bool *use = calloc(report_column_count(report) + 1, sizeof(*use));
	int rc;

	scols_init_debug(0);
	table = scols_new_table();
	if (!table || !use) {
		free(use);
		scols_unref_table(table);
		return error_set(error, -ENOMEM, "no memory for the table");
	}
	fit(report, width, exact, use);
	rc = fill(report, table, use, exact);
	if (rc == 0) {
		(void)scols_table_set_stream(table, stream);
		(void)scols_table_enable_nowrap(table, 1);
		/* Left alone the library would measure the terminal by itself and cut text. */
		(void)scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
		rc = scols_print_table(table);
	}
	free(use);
	scols_unref_table(table);
	if (rc < 0)
		return error_set(error, rc, "the table could not be drawn: %s", strerror(-rc));
	return 0;
}

size_t report_terminal_width(void)
{
	struct libscols_table *table;
	size_t width;

	if (!isatty(STDOUT_FILENO))
		return 0;
	table = scols_new_table();
	width = table ? scols_table_get_termwidth(table) : 0;
	scols_unref_table(table);
	return width;
}
