/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/command.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"

#define ARGUMENTS_MAX 64

static const char *command_path(void)
{
	const char *path = getenv("BAREPLATTER");

	return path ? path : BAREPLATTER_COMMAND;
}

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t length;

	assert_non_null(file);
	length = getdelim(&text, &room, '\0', file);
	if (length < 0 && text)
		text[0] = '\0';
	(void)fclose(file);
	return text ? text : strdup("");
}

static int make_file(char *path, size_t size)
{
	int fd;

	(void)snprintf(path, size, "/tmp/bareplatter-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	return fd;
}

__attribute__((format(printf, 3, 0))) static void start(
	struct command_run *run, void (*prepare)(void), const char *format, va_list args)
{
	char text[2048], *argv[ARGUMENTS_MAX + 2], *save = NULL;
	int argc = 0, out, err;

	memset(run, 0, sizeof(*run));
	(void)vsnprintf(text, sizeof(text), format, args);
	argv[argc++] = (char *)(uintptr_t)command_path();
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_true(argc <= ARGUMENTS_MAX);
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	out = make_file(run->output_path, sizeof(run->output_path));
	err = make_file(run->errors_path, sizeof(run->errors_path));
	run->pid = fork();
	assert_true(run->pid >= 0);
	if (run->pid == 0) {
		int in = open("/dev/null", O_RDONLY);

		if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
			_exit(99);
		if (prepare)
			prepare();
		(void)execv(argv[0], argv);
		_exit(99);
	}
	(void)close(out);
	(void)close(err);
}

void command_start(struct command_run *run, void (*prepare)(void), const char *arguments, ...)
{
	va_list args;

	va_start(args, arguments);
	start(run, prepare, arguments, args);
	va_end(args);
}

void command_wait(struct command_run *run)
{
	int status = 0;

	assert_int_equal(waitpid(run->pid, &status, 0), run->pid);
	run->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	run->output = read_all(run->output_path);
	run->errors = read_all(run->errors_path);
	(void)unlink(run->output_path);
	(void)unlink(run->errors_path);
}

void command_run(struct command_run *run, const char *arguments, ...)
{
	va_list args;

	va_start(args, arguments);
	start(run, NULL, arguments, args);
	va_end(args);
	command_wait(run);
}

void command_done(struct command_run *run)
{
	free(run->output);
	free(run->errors);
	run->output = NULL;
	run->errors = NULL;
}

bool command_says(const struct command_run *run, const char *text, int seconds)
{
	for (int i = 0; i < seconds * 20; i++) {
		char *said = read_all(run->errors_path);
		bool found = strstr(said, text) != NULL;

		free(said);
		if (found)
			return true;
		(void)usleep(50000);
	}
	return false;
}

struct json_object *command_json(const struct command_run *run)
{
	struct json_tokener *tokener = json_tokener_new();
	int length = (int)strlen(run->output);
	struct json_object *object = json_tokener_parse_ex(tokener, run->output, length);

	if (!object)
		print_error("no JSON: %s\n%s\n", run->output, run->errors);
	assert_non_null(object);
	/* One document and nothing behind it but its newline. */
	assert_int_equal(strspn(run->output + json_tokener_get_parse_end(tokener), "\n"),
		strlen(run->output + json_tokener_get_parse_end(tokener)));
	json_tokener_free(tokener);
	return object;
}

__attribute__((format(printf, 2, 0))) static struct json_object *walk(
	struct json_object *object, const char *format, va_list args)
{
	char path[256], *save = NULL;

	(void)vsnprintf(path, sizeof(path), format, args);
	for (char *part = strtok_r(path, ".", &save); part && object;
		part = strtok_r(NULL, ".", &save)) {
		if (json_object_is_type(object, json_type_array))
			object = json_object_array_get_idx(object, strtoul(part, NULL, 10));
		else
			object = json_object_object_get(object, part);
	}
	return object;
}

struct json_object *json_at(struct json_object *object, const char *path, ...)
{
	va_list args;

	va_start(args, path);
	object = walk(object, path, args);
	va_end(args);
	return object;
}

size_t json_array_length(struct json_object *object, const char *path)
{
	object = json_at(object, "%s", path);
	assert_true(json_object_is_type(object, json_type_array));
	return json_object_array_length(object);
}

double json_number(struct json_object *object, const char *path, ...)
{
	va_list args;

	va_start(args, path);
	object = walk(object, path, args);
	va_end(args);
	if (!json_object_is_type(object, json_type_int) &&
		!json_object_is_type(object, json_type_double))
		print_error("no number at %s\n", path);
	assert_non_null(object);
	return json_object_get_double(object);
}

const char *json_text(struct json_object *object, const char *path, ...)
{
	va_list args;

	va_start(args, path);
	object = walk(object, path, args);
	va_end(args);
	assert_true(json_object_is_type(object, json_type_string));
	return json_object_get_string(object);
}
