/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: a trace never takes the place of something else, and a disk that is full ends neither the
 * run nor what was written before. Method: files that must be refused; children that write more
 * than a limit or a small file system takes, and more than the writer holds in memory.
 */
#include "engine/trace.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"

#define CHUNK_RECORDS 16383u /* of engine/trace.c */
#define RING_CHUNKS 32u
#define HEADER 24u
#define BLOCK 16u
#define RECORD 64u

static char folder[64];
static char file[96];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/bareplatter-trace-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/trace", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(file);
	return rmdir(folder);
}

static struct trace_writer *open_writer(const char *run)
{
	struct trace_writer *writer = NULL;
	struct error error = { 0 };

	if (trace_writer_open(file, run, &writer, &error) < 0)
		fail_msg("%s", error.text);
	return writer;
}

static void close_writer(struct trace_writer *writer)
{
	struct error error = { 0 };

	if (trace_writer_close(writer, &error) < 0)
		fail_msg("%s", error.text);
}

static size_t read_file(void *bytes, size_t size)
{
	FILE *stream = fopen(file, "re");
	size_t count;

	assert_non_null(stream);
	count = fread(bytes, 1, size, stream);
	(void)fclose(stream);
	return count;
}

static void write_file(const void *bytes, size_t count)
{
	FILE *stream = fopen(file, "we");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, count, stream), count);
	assert_int_equal(fclose(stream), 0);
}

static void refused(const char *path, int code, const char *sentence)
{
	struct trace_writer *writer;
	struct error error = { 0 };

	assert_int_equal(trace_writer_open(path, "{}", &writer, &error), code);
	if (!strstr(error.text, sentence))
		fail_msg("\"%s\" does not say: %s", error.text, sentence);
}

/* A trace never takes the place of something else. */
static void only_traces_are_replaced(void **state)
{
	static char text[TRACE_TEXT_BYTES_MAX + 2];
	struct trace_writer *writer;
	char bytes[9] = "";

	(void)state;
	write_file("precious", 8);
	refused(file, -EEXIST, "is no trace");
	assert_int_equal(read_file(bytes, 8), 8);
	assert_string_equal(bytes, "precious");
	write_file("\x89"
		   "BPT",
		4);
	refused(file, -EEXIST, "is no trace");
	refused(folder, -EINVAL, "no regular file");
	refused("/dev/null", -EINVAL, "no regular file");
	refused("/nonexistent/trace", -ENOENT, "cannot be opened");
	memset(text, 'x', sizeof(text) - 1);
	(void)unlink(file);
	assert_int_equal(trace_writer_open(file, text, &writer, NULL), -E2BIG);
	assert_int_equal(access(file, F_OK), -1);

	writer = open_writer("{}");
	refused(file, -EBUSY, "another run");
	assert_int_equal(trace_writer_cell(writer, text), -E2BIG);
	close_writer(writer);
	/* The old one is gone, not overwritten in part. */
	close_writer(open_writer("{ \"longer\": true }"));
	close_writer(open_writer("{}"));
	assert_int_equal(read_file(text, sizeof(text)), HEADER + 2);
}

/* Of the first cell, up to where the file is cut off. */
static unsigned good_records(void)
{
	struct trace_reader *reader;
	struct trace_record record;
	struct error error = { 0 };
	const char *text;
	unsigned count = 0;
	int r;

	assert_int_equal(trace_reader_open(file, &reader, &error), 0);
	assert_int_equal(trace_reader_cell(reader, &text, &error), 1);
	while ((r = trace_reader_next(reader, &record, &error)) > 0)
		assert_int_equal(record.plan, count++);
	assert_int_equal(r, -EBADMSG);
	trace_reader_close(reader);
	return count;
}

/* In the child: fills the disk with more than the ring holds. Exits with 0 when all is as it must
 * be, else with the number of the step that was not. */
static void overfill(int code)
{
	struct trace_writer *writer;
	struct trace_record record = { .op = REQUEST_READ };
	struct error error = { 0 };

	(void)alarm(120);
	if (trace_writer_open(file, "{}", &writer, &error) < 0)
		_exit(1);
	if (trace_writer_cell(writer, "{}") < 0)
		_exit(2);
	for (unsigned i = 0; i < (RING_CHUNKS + 8) * CHUNK_RECORDS; i++) {
		record.plan = i;
		trace_writer_add(writer, &record);
	}
	if (trace_writer_cell_end(writer) != code)
		_exit(3);
	if (trace_writer_cell(writer, "{}") != code)
		_exit(4);
	if (trace_writer_close(writer, &error) != code || error.code != code)
		_exit(5);
	if (!strstr(error.text, file) || !strstr(error.text, "ends at byte") ||
		!strstr(error.text, "more room"))
		_exit(6);
	_exit(0);
}

static void assert_child(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("killed by signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A limit on the size of files: an error, and no signal that ends the run. */
static void a_full_disk_is_an_error(void **state)
{
	const struct rlimit limit = { 3 * MIB + 1000, 3 * MIB + 1000 };
	pid_t pid;

	(void)state;
	(void)unlink(file);
	pid = fork();
	if (pid == 0) {
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
			_exit(7);
		overfill(-EFBIG);
	}
	assert_child(pid);
	assert_int_equal(
		good_records(), (3 * MIB + 1000 - HEADER - 2 - BLOCK - 2 - 4 * BLOCK) / RECORD);
}

/* The same on a real file system of 1 MiB, where that can be mounted. */
static void a_full_file_system_is_an_error(void **state)
{
	pid_t pid;

	(void)state;
	(void)unlink(file);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			mount("tmpfs", folder, "tmpfs", 0, "size=1m") < 0) {
			print_message("no file system can be mounted here: left out\n");
			_exit(0);
		}
		overfill(-ENOSPC);
	}
	assert_child(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_traces_are_replaced),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(a_full_file_system_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
