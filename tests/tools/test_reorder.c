/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb `reorder` on traces made by hand: its figures, the table of order and overlap, and what
 * it refuses to compare. */
#include "tests/support/check.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/trace.h"
#include "tests/support/command.h"
#include "tools/trace_cell.h"

#define COUNT 40u
#define DISK "{\"device\": {\"rotational\": true, \"transport\": \"sata\"}}"
#define FLASH "{\"device\": {\"rotational\": false, \"transport\": \"nvme\"}}"

static char directory[] = "/tmp/bareplatter-reorder-XXXXXX";

static const char *path_of(const char *name)
{
	static char paths[8][96];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

/* How a drive of a test serves. */
struct manner {
	unsigned depth;
	bool reversed; /* within windows of the depth */
	nsec_t each_ns;
	uint32_t length_bytes;
	const char *commands;
};

static void write_cell(struct trace_writer *writer, struct manner manner)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "{\"depth\": %u, \"cache_commands\": \"%s\"}",
		manner.depth, manner.commands);
	assert_int_equal(trace_writer_cell(writer, text), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t window = i - i % manner.depth;
		uint32_t place = manner.reversed ? 2 * window + manner.depth - 1 - i : i;
		struct trace_record record = {
			.offset_bytes = 4096 * (uint64_t)place,
			.queued_ns = manner.each_ns * (nsec_t)window,
			.dispatched_ns = manner.each_ns * (nsec_t)window,
			.completed_ns = manner.each_ns * (nsec_t)(i + 1),
			.plan = place,
			.sequence = place,
			.dispatch = place,
			.length_bytes = manner.length_bytes,
			.result = (int32_t)manner.length_bytes,
			.op = REQUEST_WRITE,
		};

		trace_writer_add(writer, &record);
	}
	assert_int_equal(trace_writer_cell_end(writer), 0);
}

static void write_trace(const char *name, const char *run, const struct manner *cells, size_t count)
{
	struct trace_writer *writer;

	assert_int_equal(trace_writer_open(path_of(name), run, &writer, NULL), 0);
	for (size_t i = 0; i < count; i++)
		write_cell(writer, cells[i]);
	assert_int_equal(trace_writer_close(writer, NULL), 0);
}

static void write_one(const char *name, const char *run, struct manner manner)
{
	write_trace(name, run, &manner, 1);
}

#define SINGLE                                                                                     \
	{                                                                                          \
		1, false, 1000000, 4096, "fua"                                                     \
	}
#define DEEP                                                                                       \
	{                                                                                          \
		4, true, 500000, 4096, "fua"                                                       \
	}
#define FIFO                                                                                       \
	{                                                                                          \
		4, false, 500000, 4096, "fua"                                                      \
	}
#define REPLAY                                                                                     \
	{                                                                                          \
		1, false, 800000, 4096, "fua"                                                      \
	}

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-9))
		fail_msg("%.12g is not %.12g", value, expected);
}

static void each_cell_has_its_figures(void **state)
{
	const struct manner cells[] = { SINGLE, DEEP, { 4, true, 500000, 4096, "plain" } };
	struct command_run run;
	struct json_object *json;

	(void)state;
	write_trace("three", DISK, cells, 3);
	command_run(&run, "reorder %s --json", path_of("three"));
	assert_int_equal(run.code, 0);
	json = command_json(&run);
	assert_int_equal(json_array_length(json, "cells"), 3);
	assert_near(json_number(json, "cells.0.overtaken_share"), 0);
	assert_null(json_at(json, "cells.0.kendall_distance"));
	assert_near(json_number(json, "cells.1.overtaken_share"), 0.75);
	assert_near(json_number(json, "cells.1.overtakes.mean"), 1.5);
	assert_near(json_number(json, "cells.1.kendall_distance"), 1);
	assert_near(json_number(json, "cells.1.lba_distance_sectors.dispatched.mean"), 0);
	assert_true(json_number(json, "cells.1.lba_distance_sectors.completed.mean") > 0);
	assert_string_equal(json_text(json, "cells.1.counted_are"), "reads and writes");
	assert_null(json_at(json, "cells.2.overtaken_share"));
	assert_null(json_at(json, "cells.2.kendall_distance"));
	assert_null(json_at(json, "cells.2.lba_distance_sectors.completed.mean"));
	assert_near(json_number(json, "cells.2.requests_dispatched"), COUNT);
	assert_null(json_at(json, "gains"));
	assert_string_equal(json_text(json, "status"), "complete");
	(void)json_object_put(json);
	command_done(&run);
	command_run(&run, "reorder %s,cell=2 -J", path_of("three"));
	json = command_json(&run);
	assert_int_equal(json_array_length(json, "cells"), 1);
	assert_near(json_number(json, "cells.0.cell"), 2);
	(void)json_object_put(json);
	command_done(&run);
}

static void order_and_overlap_are_parted(void **state)
{
	struct command_run run;
	struct json_object *json;

	(void)state;
	write_one("single", DISK, (struct manner)SINGLE);
	write_one("deep", DISK, (struct manner)DEEP);
	write_one("replay", DISK, (struct manner)REPLAY);
	command_run(&run, "reorder %s --single %s --replay %s -J", path_of("deep"),
		path_of("single"), path_of("replay"));
	assert_int_equal(run.code, 0);
	json = command_json(&run);
	assert_near(json_number(json, "gains.order.value"), 1.25);
	assert_near(json_number(json, "gains.rest.value"), 1.6);
	assert_near(json_number(json, "gains.total.value"), 2);
	assert_null(json_at(json, "gains.overlap.value"));
	assert_near(json_number(json, "gains.throughput_bytes_per_s.submission_single"), 4096e3);
	assert_string_equal(json_text(json, "gains.meaning"), "order and overlap");
	(void)json_object_put(json);
	command_done(&run);
	command_run(&run, "reorder %s --single %s --replay %s", path_of("deep"), path_of("single"),
		path_of("replay"));
	assert_non_null(strstr(run.output, "order alone          x1.25"));
	assert_non_null(strstr(run.output, "only together        x1.00 .. x1.60"));
	command_done(&run);
}

/* First come first served: 1.00 exactly, although the replay took another time. */
static void a_drive_that_keeps_the_order_gains_nothing_by_it(void **state)
{
	struct command_run run;
	struct json_object *json;

	(void)state;
	write_one("fifo", DISK, (struct manner)FIFO);
	command_run(&run, "reorder %s --single %s --replay %s -J", path_of("fifo"),
		path_of("single"), path_of("replay"));
	assert_int_equal(run.code, 0);
	json = command_json(&run);
	assert_true(json_number(json, "gains.order.value") == 1);
	assert_true(json_number(json, "gains.together.value") == 1);
	assert_near(json_number(json, "gains.overlap.value"), 2);
	assert_near(json_number(json, "gains.control.value"), 1.25);
	(void)json_object_put(json);
	command_done(&run);
	/* On the drive that reorders this run is the fourth throughput. */
	command_run(&run, "reorder %s --single %s --replay %s --kept %s -J", path_of("deep"),
		path_of("single"), path_of("replay"), path_of("fifo"));
	json = command_json(&run);
	assert_near(json_number(json, "gains.overlap.value"), 2);
	assert_near(json_number(json, "gains.together.value"), 0.8);
	(void)json_object_put(json);
	command_done(&run);
}

static void no_single_arm_means_parallelism(void **state)
{
	struct command_run run;

	(void)state;
	write_one("flash", FLASH, (struct manner)DEEP);
	command_run(&run, "reorder %s --single %s --replay %s", path_of("flash"), path_of("single"),
		path_of("replay"));
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.output, "parallelism, not reordering"));
	command_done(&run);
	command_run(&run, "reorder %s", path_of("flash"));
	assert_non_null(strstr(run.output, "parallelism, not reordering"));
	command_done(&run);
	command_run(&run, "reorder %s", path_of("deep"));
	assert_null(strstr(run.output, "parallelism"));
	command_done(&run);
}

static void other_requests_are_not_compared(void **state)
{
	const struct manner mixed[] = { DEEP, { 8, false, 500000, 4096, "fua" } };
	struct command_run run;

	(void)state;
	write_one("longer", DISK, (struct manner){ 1, false, 1000000, 8192, "fua" });
	command_run(&run, "reorder %s --single %s", path_of("deep"), path_of("longer"));
	assert_int_equal(run.code, 2);
	assert_non_null(strstr(run.errors, "327680"));
	command_done(&run);
	command_run(&run, "reorder %s --single %s", path_of("deep"), path_of("fifo"));
	assert_int_equal(run.code, 2);
	assert_non_null(strstr(run.errors, "depth 4, not 1"));
	command_done(&run);
	command_run(&run, "reorder %s --single %s", path_of("three"), path_of("single"));
	assert_int_equal(run.code, 2);
	assert_non_null(strstr(run.errors, "cell=N"));
	command_done(&run);
	write_trace("mixed", DISK, mixed, 2);
	command_run(&run, "reorder %s,cell=1 --single %s --replay %s", path_of("mixed"),
		path_of("single"), path_of("replay"));
	assert_int_equal(run.code, 0);
	command_done(&run);
}

static void what_is_not_there_is_told(void **state)
{
	struct command_run run;

	(void)state;
	command_run(&run, "reorder %s,cell=4", path_of("three"));
	assert_int_equal(run.code, 2);
	assert_non_null(strstr(run.errors, "no cell 4"));
	command_done(&run);
	command_run(&run, "reorder %s,cell=0", path_of("three"));
	assert_int_equal(run.code, 2);
	command_done(&run);
	command_run(&run, "reorder %s --json", path_of("absent"));
	assert_int_equal(run.code, 2);
	assert_non_null(strstr(run.errors, "absent"));
	command_done(&run);
}

/* What came before the cut is analysed, and that there was more is told. */
static void a_trace_cut_off_is_good_as_far_as_it_goes(void **state)
{
	struct command_run run;
	struct json_object *json;
	struct trace_choice choice;
	struct trace_cell cell;
	struct stat stat_of;

	(void)state;
	write_one("cut", DISK, (struct manner)DEEP);
	assert_int_equal(stat(path_of("cut"), &stat_of), 0);
	assert_int_equal(
		truncate(path_of("cut"), stat_of.st_size - 32 - 5 * TRACE_RECORD_BYTES), 0);
	command_run(&run, "reorder %s --json", path_of("cut"));
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "warning"));
	json = command_json(&run);
	assert_near(json_number(json, "cells.0.requests_dispatched"), COUNT - 5);
	assert_string_equal(json_text(json, "messages.0.severity"), "warning");
	(void)json_object_put(json);
	command_done(&run);
	/* A replay of a part would be compared with the whole. */
	assert_int_equal(trace_choice_parse(path_of("cut"), &choice, NULL), 0);
	assert_int_equal(trace_cell_read(&choice, &cell, NULL), -EBADMSG);
	trace_choice_done(&choice);
}

static void a_cell_is_read_for_replay(void **state)
{
	struct trace_choice choice;
	struct trace_cell cell;

	(void)state;
	assert_int_equal(trace_choice_parse(path_of("three"), &choice, NULL), 0);
	assert_int_equal(trace_cell_read(&choice, &cell, NULL), -ENOTUNIQ);
	choice.cell = 2;
	assert_int_equal(trace_cell_read(&choice, &cell, NULL), 0);
	assert_int_equal(cell.count, COUNT);
	assert_int_equal(cell.records[0].dispatch, 3);
	assert_int_equal(trace_cell_depth(&cell), 4);
	assert_string_equal(trace_cell_cache_commands(&cell), "fua");
	trace_cell_done(&cell);
	trace_choice_done(&choice);
	assert_int_equal(trace_choice_parse("a,cell=3,cell=12", &choice, NULL), 0);
	assert_string_equal(choice.path, "a,cell=3");
	assert_int_equal(choice.cell, 12);
	trace_choice_done(&choice);
	assert_int_equal(trace_choice_parse("a,cell=x", &choice, NULL), -EINVAL);
}

static int prepare(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "three", "single", "deep", "replay", "fifo", "flash",
		"longer", "mixed", "cut" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unlink(path_of(names[i]));
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cell_has_its_figures),
		cmocka_unit_test(order_and_overlap_are_parted),
		cmocka_unit_test(a_drive_that_keeps_the_order_gains_nothing_by_it),
		cmocka_unit_test(no_single_arm_means_parallelism),
		cmocka_unit_test(other_requests_are_not_compared),
		cmocka_unit_test(what_is_not_there_is_told),
		cmocka_unit_test(a_trace_cut_off_is_good_as_far_as_it_goes),
		cmocka_unit_test(a_cell_is_read_for_replay),
	};

	return cmocka_run_group_tests(tests, prepare, tear_down);
}
