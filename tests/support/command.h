/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the built command as a user would: arguments in, exit code, stdout and stderr out. A
 * started command can be sent signals before it is waited for.
 */
#ifndef TESTS_SUPPORT_COMMAND_H
#define TESTS_SUPPORT_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

struct json_object;

struct command_run {
	pid_t pid;
	int code;              /* exit code; 128 + signal when one killed it */
	char *output, *errors; /* owned, NUL-terminated */
	char output_path[64], errors_path[64];
};

/* Arguments as one text, split at blanks. prepare (may be NULL) runs in the child before exec. */
void command_start(struct command_run *run, void (*prepare)(void), const char *arguments, ...)
	__attribute__((format(printf, 3, 4)));
void command_wait(struct command_run *run);

/* Start and wait. */
void command_run(struct command_run *run, const char *arguments, ...)
	__attribute__((format(printf, 2, 3)));
void command_done(struct command_run *run);

/* What it has written to stderr so far contains text; waits for it up to seconds. */
bool command_says(const struct command_run *run, const char *text, int seconds);

/* The one JSON document on stdout; fails the test when it is none or more. To be put. */
struct json_object *command_json(const struct command_run *run);

/* A value by its path "cells.0.status"; NULL when there is none. */
struct json_object *json_at(struct json_object *object, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
/* Elements of the array at the path. */
size_t json_array_length(struct json_object *object, const char *path);
double json_number(struct json_object *object, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
const char *json_text(struct json_object *object, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

#endif
