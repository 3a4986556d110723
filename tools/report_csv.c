/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows as RFC 4180 text: keys as the heading, numbers exact and with '.', null as nothing. */
#include "tools/report.h"

#include <string.h>

static void put_text(FILE *stream, const char *text)
{
	if (*text && !strpbrk(text, "\",\r\n")) {
		(void)fputs(text, stream);
		return;
	}
	/* An empty text is quoted, so that it is told from null. */
	(void)fputc('"', stream);
	for (; *text; text++) {
		if (*text == '"')
			(void)fputc('"', stream);
		(void)fputc(*text, stream);
	}
	(void)fputc('"', stream);
}

static void put_value(
	FILE *stream, const struct report_column *column, const struct report_value *value)
{
	_cleanup_free_ char *text = report_value_text(column, value, true);

	if (value->type == REPORT_TEXT)
		put_text(stream, text);
	else if (value->type == REPORT_BOOL)
		(void)fputs(value->truth ? "true" : "false", stream);
	else
		(void)fputs(text, stream);
}

void report_csv(const struct report *report, FILE *stream)
{
	for (size_t i = 0; i < report_column_count(report); i++) {
		(void)fputs(i ? "," : "", stream);
		put_text(stream, report_column_at(report, i)->key);
	}
	(void)fputs("\r\n", stream);
	for (size_t row = 0; row < report_row_count(report); row++) {
		for (size_t i = 0; i < report_column_count(report); i++) {
			(void)fputs(i ? "," : "", stream);
			put_value(stream, report_column_at(report, i),
				report_value_at(report, row, i));
		}
		(void)fputs("\r\n", stream);
	}
}
