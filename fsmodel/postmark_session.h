/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A session of PostMark's command language: what one line does to the settings. Shared by the
 * reader of files (postmark_file) and the commands (postmark_commands); nobody else includes it.
 */
#ifndef FSMODEL_POSTMARK_SESSION_H
#define FSMODEL_POSTMARK_SESSION_H

#include "fsmodel/postmark_file.h"

/* PostMark takes 254 bytes at a time, newline included; a longer line falls apart. */
#define POSTMARK_LINE_BYTES_MAX 253

/* Where a line stands. */
struct origin {
	const char *file;
	unsigned line;
};

/* Where a setting that only fails at `run` was made, so that the fault can name that line. */
struct setting_origin {
	char *file; /* owned; NULL while the default holds */
	unsigned line;
	bool reported;
};

struct session {
	struct postmark_config config;
	struct postmark_runs runs;
	struct faults *faults;
	struct setting_origin size_origin, files_origin;
	bool run_seen; /* also where the run had faults */
};

enum line_effect { LINE_DONE, LINE_QUIT, LINE_LOAD };

/* Performs one line (without its newline, no NUL inside). For LINE_LOAD *ret_load points into
 * the line at the name of the file to load. */
enum line_effect session_line(struct session *session, const struct origin *origin,
	const char *line, const char **ret_load);

void session_fault(struct session *session, const struct origin *origin, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void session_note(struct session *session, const struct origin *origin, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The text made fit for a sentence: cut, and without control characters. */
struct quoted {
	char text[64];
};
struct quoted session_quote(const char *text);

#endif
