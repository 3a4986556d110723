/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: the verb `trace` shows what was recorded and nothing else, each stage in its own order,
 * and hands it to other tools in a form that they take. Method: a trace by hand with requests that
 * were merged, tied, overtaken, held, failed and left over, whose every line is known; a random
 * one that fio replays, counted by fio; files that are cut off.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/rng.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/golden.h"
#include "tests/support/loop.h"
#include "tests/support/require.h"
#include "tools/run_trace.h"

static char folder[64];
static char file[96], other[96];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/bareplatter-trace-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/trace", folder);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(file);
	(void)unlink(other);
	return rmdir(folder);
}

#define US NSEC_PER_USEC
#define FOUR_KIB 4096

/* In the order of completion. The second request dispatched is four: one in the middle, one
 * behind it, one before it. The journal's write overtakes; the last read never left the host. */
/* clang-format off */
static const struct trace_record by_hand[] = {
	{ .sequence = 4, .dispatch = 2, .queued_ns = 2 * US, .dispatched_ns = 4 * US,
	  .completed_ns = 4500, .offset_bytes = MIB, .length_bytes = FOUR_KIB, .result = FOUR_KIB,
	  .op = REQUEST_WRITE, .role = ROLE_JOURNAL, .flags = TRACE_FUA },
	{ .sequence = 0, .dispatch = 0, .queued_ns = US, .dispatched_ns = 2500,
	  .completed_ns = 5 * US, .length_bytes = FOUR_KIB, .result = FOUR_KIB,
	  .op = REQUEST_READ },
	{ .sequence = 1, .dispatch = 1, .queued_ns = US, .dispatched_ns = 3 * US,
	  .completed_ns = 5 * US, .offset_bytes = 2 * FOUR_KIB, .length_bytes = FOUR_KIB,
	  .result = FOUR_KIB, .op = REQUEST_WRITE, .flags = TRACE_MERGED },
	{ .sequence = 2, .dispatch = 1, .queued_ns = 1500, .dispatched_ns = 3 * US,
	  .completed_ns = 5 * US, .offset_bytes = 3 * FOUR_KIB, .length_bytes = 2 * FOUR_KIB,
	  .result = 2 * FOUR_KIB, .op = REQUEST_WRITE, .flags = TRACE_MERGED },
	{ .sequence = 3, .dispatch = 1, .queued_ns = 1600, .dispatched_ns = 3 * US,
	  .completed_ns = 5 * US, .offset_bytes = FOUR_KIB, .length_bytes = FOUR_KIB,
	  .result = FOUR_KIB, .op = REQUEST_WRITE, .flags = TRACE_MERGED },
	{ .sequence = 6, .dispatch = 4, .queued_ns = 6 * US, .dispatched_ns = 7 * US,
	  .completed_ns = 8 * US, .offset_bytes = 2 * MIB, .length_bytes = 512, .result = -EIO,
	  .op = REQUEST_READ, .role = ROLE_INODE, .flags = TRACE_HELD },
	{ .sequence = 5, .dispatch = 3, .queued_ns = 6 * US, .dispatched_ns = 6100,
	  .completed_ns = 9000123, .op = REQUEST_FLUSH, .role = ROLE_COMMIT },
	{ .sequence = 7, .queued_ns = 6500, .dispatched_ns = TRACE_NEVER,
	  .completed_ns = TRACE_NEVER, .offset_bytes = 3 * MIB, .length_bytes = FOUR_KIB,
	  .op = REQUEST_READ },
};
/* clang-format on */

static const char run_text[] = "{\"target\": \"/dev/loop7\", \"device\": {\"major\": 7, "
			       "\"minor\": 70}}";

/* Several cells of the same requests, through what a run uses. */
static void write_trace(unsigned cells)
{
	struct run_trace trace;
	struct error error = { 0 };

	(void)unlink(file);
	assert_int_equal(run_trace_open(&trace, file, run_text, &error), 0);
	for (unsigned i = 1; i <= cells; i++) {
		struct trace_writer *writer;
		char text[80];

		(void)snprintf(text, sizeof(text),
			"{\"cache\": \"wb\", \"depth\": %u, "
			"\"seeds\": [1]}",
			i);
		writer = run_trace_begin(&trace, text);
		assert_non_null(writer);
		for (size_t k = 0; k < ARRAY_SIZE(by_hand); k++)
			trace_writer_add(writer, &by_hand[k]);
		assert_int_equal(run_trace_end(&trace), 0);
	}
	assert_int_equal(run_trace_close(&trace, &error), 0);
}

static void cut_to(off_t length)
{
	assert_int_equal(truncate(file, length), 0);
}

static off_t length_of_file(void)
{
	struct stat status;

	assert_int_equal(stat(file, &status), 0);
	return status.st_size;
}

/* Runs the verb and checks how it ends, what it prints and that stderr contains the words. */
static void verb(int code, const char *output, const char *errors, const char *arguments)
{
	struct command_run run;

	command_run(&run, "trace %s", arguments);
	if (run.code != code)
		fail_msg("\"%s\" ended with %d: %s", arguments, run.code, run.errors);
	if (output)
		assert_string_equal(run.output, output);
	if (!strstr(run.errors, errors))
		fail_msg("\"%s\" does not say \"%s\": %s", arguments, errors, run.errors);
	if (!*errors && *run.errors)
		fail_msg("\"%s\" says: %s", arguments, run.errors);
	command_done(&run);
}

static const char *with(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *with(const char *format, ...)
{
	static char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return text;
}

#define LINES_Q                                                                                    \
	"1.000 R 0 8\n1.000 W 16 8\n1.500 W 24 16\n1.600 W 8 8\n2.000 WFM 2048 8\n6.000 FN 0 0\n"  \
	"6.000 RM 4096 1\n6.500 R 6144 8\n"
#define LINES_D "2.500 R 0 8\n3.000 W 8 32\n4.000 WFM 2048 8\n6.100 FN 0 0\n7.000 RM 4096 1\n"
#define LINES_C "4.500 WFM 2048 8\n5.000 R 0 8\n5.000 W 8 32\n8.000 RM 4096 1\n9000.123 FN 0 0\n"

static void each_stage_has_its_order(void **state)
{
	(void)state;
	write_trace(1);
	verb(0, LINES_Q, "", with("print %s --stage Q", file));
	verb(0, LINES_D, "", with("print %s --stage D", file));
	verb(0, LINES_C, "", with("print %s --stage=C", file));
	verb(0, LINES_D, "", with("print %s", file));
}

static void cells_are_told_apart(void **state)
{
	(void)state;
	write_trace(3);
	verb(0, LINES_D "# cell 2\n" LINES_D "# cell 3\n" LINES_D, "", with("print %s", file));
	verb(0, LINES_C, "", with("print %s --cell 3 --stage C", file));
	verb(2, "", "has 3 cells: there is no cell 4", with("print %s --cell 4", file));
	verb(2, "", "has 3 cells: there is no cell 4",
		with("export %s --cell 4 --format fio", file));
	verb(2, "", "several cells", with("export %s --format fio", file));
	write_trace(0);
	verb(0, "", "", with("print %s", file));
	verb(2, "", "holds no cell", with("export %s --format fio", file));
}

static void exports_are_as_agreed(void **state)
{
	struct command_run run;

	(void)state;
	write_trace(2);
	command_run(&run, "trace export %s --cell 2 --format blkparse", file);
	assert_int_equal(run.code, 0);
	assert_string_equal(run.errors, "");
	golden_check(SOURCE_DIR, "trace/by-hand.blkparse", run.output);
	command_done(&run);
	command_run(&run, "trace export %s --cell 1 --format fio", file);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "note: writes with FUA: 1."));
	golden_check(SOURCE_DIR, "trace/by-hand.iolog", run.output);
	command_done(&run);
}

static void info_counts(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	write_trace(2);
	command_run(&run, "trace info %s --output-format json", file);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_string_equal(json_text(document, "status"), "complete");
	assert_string_equal(json_text(document, "trace.run.target"), "/dev/loop7");
	assert_null(json_at(document, "cells.2"));
	assert_int_equal(json_number(document, "cells.1.cell"), 2);
	assert_int_equal(json_number(document, "cells.1.description.depth"), 2);
	assert_string_equal(json_text(document, "cells.1.description_text"), "cache=wb depth=2");
	assert_int_equal(json_number(document, "cells.0.requests"), 8);
	assert_int_equal(json_number(document, "cells.0.requests_dispatched"), 5);
	assert_int_equal(json_number(document, "cells.0.reads"), 3);
	assert_int_equal(json_number(document, "cells.0.writes"), 4);
	assert_int_equal(json_number(document, "cells.0.flushes"), 1);
	assert_int_equal(json_number(document, "cells.0.fua_writes"), 1);
	assert_int_equal(json_number(document, "cells.0.metadata_requests"), 2);
	assert_int_equal(json_number(document, "cells.0.read_bytes"), FOUR_KIB);
	assert_int_equal(json_number(document, "cells.0.write_bytes"), 5 * FOUR_KIB);
	assert_true(json_number(document, "cells.0.merged_share") == 3.0 / 8);
	assert_int_equal(json_number(document, "cells.0.held"), 1);
	assert_int_equal(json_number(document, "cells.0.errors"), 1);
	assert_int_equal(json_number(document, "cells.0.incomplete"), 1);
	assert_int_equal(json_number(document, "cells.0.duration_ns"), 9000123 - 2500);
	assert_true(json_object_get_boolean(json_at(document, "cells.1.whole")));
	(void)json_object_put(document);
	command_done(&run);
	command_run(&run, "trace info %s", file);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.output, "cache=wb depth=2"));
	assert_non_null(strstr(run.output, "37.5 %"));
	command_done(&run);
}

/* What is good is shown, where it ends is told, and a script sees that something is missing. */
static void a_cut_file_is_used_as_far_as_it_goes(void **state)
{
	struct command_run run;
	struct json_object *document;
	char place[80];
	off_t length;

	(void)state;
	write_trace(2);
	length = length_of_file();
	cut_to(length - 32 - 2 * 64 - 10); /* trailer, the last two records, some of the sixth */
	(void)snprintf(place, sizeof(place), "cut off at byte %lld, in cell 2 after 5 records",
		(long long)(length - 32 - 2 * 64 - 10));
	verb(1, LINES_D "# cell 2\n2.500 R 0 8\n3.000 W 8 32\n4.000 WFM 2048 8\n", place,
		with("print %s", file));
	command_run(&run, "trace info %s --output-format json", file);
	assert_int_equal(run.code, 1);
	document = command_json(&run);
	assert_string_equal(json_text(document, "status"), "failed");
	assert_non_null(strstr(json_text(document, "messages.0.text"), "cut off at byte"));
	assert_false(json_object_get_boolean(json_at(document, "trace.whole")));
	assert_true(json_object_get_boolean(json_at(document, "cells.0.whole")));
	assert_false(json_object_get_boolean(json_at(document, "cells.1.whole")));
	assert_int_equal(json_number(document, "cells.1.requests"), 5);
	(void)json_object_put(document);
	command_done(&run);
	/* The first cell is whole and may be asked for by itself. */
	verb(0, LINES_D, "", with("print %s --cell 1", file));
	verb(1, NULL, "cut off", with("export %s --cell 2 --format blkparse", file));
	verb(1, "", "cut off", with("print %s --cell 3", file));
	verb(1, "", "cut off", with("export %s --cell 3 --format fio", file));
}

static void bad_files_are_named(void **state)
{
	(void)state;
	write_trace(1);
	cut_to(0);
	verb(1, "", "is empty", with("info %s", file));
	verb(1, "", "is no trace from byte 0 on",
		with("print %s/tests/CMakeLists.txt", SOURCE_DIR));
	verb(2, "", "No such file", "info /nonexistent/trace");
	verb(2, "", "Is a directory", with("info %s", folder));
}

static void usage_is_checked(void **state)
{
	(void)state;
	write_trace(1);
	verb(2, "", "it can info, print and export", with("show %s", file));
	verb(2, "", "needs info|print|export FILE", "print");
	verb(2, "", "needs --format", with("export %s", file));
	verb(2, "", "--format does not go with print", with("print %s --format fio", file));
	verb(2, "", "--cell does not go with info", with("info %s --cell 1", file));
	verb(2, "", "--stage does not go with info", with("info %s --stage Q", file));
	verb(2, "", "--stage does not go with --format blkparse",
		with("export %s --format blkparse --stage Q", file));
	verb(2, NULL, "goes with info only", with("print %s --output-format json", file));
	verb(2, "", "is the trace itself", with("print %s -o %s", file, file));
	verb(0, LINES_D, "", with("print %s", file));
}

struct tally {
	uint64_t reads, writes, syncs, read_bytes, write_bytes;
};

/* 400 random requests within 4 MiB; every fifth write is two that were merged. */
static void write_random(struct tally *tally)
{
	struct run_trace trace;
	struct error error = { 0 };
	struct trace_writer *writer;
	struct rng rng;
	uint32_t sequence = 0;

	rng_seed(&rng, check_seed(), RNG_LOAD);
	(void)unlink(file);
	assert_int_equal(run_trace_open(&trace, file, run_text, &error), 0);
	writer = run_trace_begin(&trace, "{}");
	for (uint32_t i = 0; i < 400; i++) {
		struct trace_record record = {
			.sequence = sequence++,
			.dispatch = i,
			.queued_ns = i * 50 * US,
			.dispatched_ns = i * 50 * US + 1,
			.completed_ns = i * 50 * US + 9,
			.offset_bytes = rng_below(&rng, 1000) * FOUR_KIB,
			.length_bytes = (uint32_t)(1 + rng_below(&rng, 4)) * FOUR_KIB,
			.op = (uint8_t)(rng_below(&rng, 20) ? rng_below(&rng, 2) : REQUEST_FLUSH),
		};
		bool merged = record.op == REQUEST_WRITE && i % 5 == 0;

		if (record.op == REQUEST_FLUSH) {
			record.offset_bytes = 0;
			record.length_bytes = 0;
		}
		tally->syncs += record.op == REQUEST_FLUSH;
		tally->reads += record.op == REQUEST_READ;
		tally->writes += record.op == REQUEST_WRITE;
		if (record.op == REQUEST_READ)
			tally->read_bytes += record.length_bytes;
		else
			tally->write_bytes += record.length_bytes * (merged ? 2u : 1u);
		record.flags = merged ? TRACE_MERGED : 0;
		trace_writer_add(writer, &record);
		if (!merged)
			continue;
		record.sequence = sequence++;
		record.offset_bytes += record.length_bytes;
		trace_writer_add(writer, &record);
	}
	(void)run_trace_end(&trace);
	assert_int_equal(run_trace_close(&trace, &error), 0);
}

/* fio's own account of its one job, on a target that may be written. */
static struct json_object *replay(const char *target, bool direct)
{
	static char text[1 << 18];
	struct json_object *result;
	const char *begin;
	FILE *pipe;
	size_t count;

	pipe = popen(with("cd %s && fio --name=replay --read_iolog=%s --replay_redirect=%s "
			  "--ioengine=psync --direct=%d --output-format=json 2>&1",
			     folder, other, target, direct),
		"re");
	assert_non_null(pipe);
	count = fread(text, 1, sizeof(text) - 1, pipe);
	text[count] = '\0';
	if (pclose(pipe) != 0)
		fail_msg("fio failed: %s", text);
	/* Complaints about the iolog would stand before the result. */
	begin = strchr(text, '{');
	if (begin != text)
		fail_msg("fio says: %s", text);
	result = json_tokener_parse(begin);
	assert_non_null(result);
	return result;
}

static void fio_replays_it(void **state)
{
	struct tally tally = { 0 };
	struct json_object *result;
	struct loop loop;
	bool direct = loop_is_possible();

	(void)state;
	require("fio", system("command -v fio >/dev/null") == 0);
	write_random(&tally);
	verb(0, "", "", with("export %s --format fio -o %s", file, other));
	if (direct)
		loop_new(&loop, 8 * MIB);
	else
		loop_make_file(&loop, 8 * MIB);
	result = replay(direct ? loop.node : loop.file, direct);
	assert_int_equal(json_number(result, "jobs.0.error"), 0);
	assert_int_equal(json_number(result, "jobs.0.read.total_ios"), tally.reads);
	assert_int_equal(json_number(result, "jobs.0.write.total_ios"), tally.writes);
	assert_int_equal(json_number(result, "jobs.0.sync.total_ios"), tally.syncs);
	assert_int_equal(json_number(result, "jobs.0.read.io_bytes"), tally.read_bytes);
	assert_int_equal(json_number(result, "jobs.0.write.io_bytes"), tally.write_bytes);
	/* At its own pace: 20 ms, were the instants read in the unit that is meant. */
	assert_true(json_number(result, "jobs.0.job_runtime") >= 10);
	(void)json_object_put(result);
	loop_done(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stage_has_its_order),
		cmocka_unit_test(cells_are_told_apart),
		cmocka_unit_test(exports_are_as_agreed),
		cmocka_unit_test(info_counts),
		cmocka_unit_test(a_cut_file_is_used_as_far_as_it_goes),
		cmocka_unit_test(bad_files_are_named),
		cmocka_unit_test(usage_is_checked),
		cmocka_unit_test(fio_replays_it),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
