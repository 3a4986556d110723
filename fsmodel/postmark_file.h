/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PostMark's command files: a session of `set`, `load`, `run` lines becomes one configuration per
 * `run`. Source for the language: PostMark 1.53 (Debian postmark 1.53-2), observed.
 *
 * One rule decides what is accepted: a line is taken where PostMark's reading of it and a
 * person's agree, and then means exactly that. Where PostMark reads something else than what is
 * written (`4k` as 4, low > high as low = high, a last line without its newline less one
 * character), only prints a line and goes on (comments, empty lines, unknown commands, refused
 * values) or would do what this program does not (shell escapes), the line is a fault. All
 * faults are collected as `FILE:LINE: sentence`; with any of them there are no runs.
 *
 * Files named by `load` are opened as PostMark opens them: from the current directory.
 */
#ifndef FSMODEL_POSTMARK_FILE_H
#define FSMODEL_POSTMARK_FILE_H

#include "fsmodel/postmark.h"

/* What a command file, a named pool or options ask for. Zero-initialise before use. */
struct postmark_runs {
	struct postmark_config *configs; /* owned, one per run in their order */
	size_t count;
	struct faults notes; /* what is accepted but has no effect here */
};

/* Adds a copy of the configuration as one more run. Running out of memory is fatal here. */
void postmark_runs_add(struct postmark_runs *runs, const struct postmark_config *config);
void postmark_runs_done(struct postmark_runs *runs);

/* Reads a command file. 0, or -EINVAL with every fault added to faults and *ret_runs untouched. */
int postmark_file_read(const char *path, struct postmark_runs *ret_runs, struct faults *faults);

/* The same from memory. name stands for the file in sentences; load_files tells whether `load`
 * may open files, otherwise it is a fault. */
int postmark_file_parse(const char *name, const char *text, size_t length, bool load_files,
	struct postmark_runs *ret_runs, struct faults *faults);

#endif
