/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `plan` against `run`: what is told beforehand is what happens, and what cannot fit is refused
 * before anything is written. Needs neither root nor a device: a scratch file is the target.
 */
#include "tests/support/check.h"
#include "tests/support/command.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base.h"

static char folder[] = "/var/tmp/bareplatter-plan-XXXXXX";
static char target[128];

static int prepare(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(target, sizeof(target), "file:%s/disk,size=48MiB", folder);
	return 0;
}

static int tear_down(void **state)
{
	char path[160];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/disk", folder);
	(void)unlink(path);
	(void)rmdir(folder);
	return 0;
}

#define LOAD "--files 400 --size-low 9KiB --size-high 15KiB --transactions 900"

/* Bytes, requests and the range of LBAs are those of the run; nothing is made by planning. */
static void the_plan_is_what_is_run(void **state)
{
	struct command_run planned, played;
	struct json_object *plan, *run;
	char path[160];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/disk", folder);
	command_run(&planned, "plan %s " LOAD " --depth 1,8 --output-format json", target);
	assert_int_equal(planned.code, 0);
	assert_int_equal(access(path, F_OK), -1);
	plan = command_json(&planned);
	assert_int_equal(json_number(plan, "plan.worst_bytes"), 2 * 400 * 16384);
	assert_true(json_number(plan, "plan.first_lba") >= 2048);
	assert_true(json_number(plan, "plan.end_lba") <= 47 * 2048);
	assert_int_equal(json_array_length(plan, "cells"), 2);
	assert_null(json_at(plan, "plan.cell_seconds"));

	command_run(
		&played, "run %s " LOAD " --depth 1,8 --verify --output-format json -q", target);
	assert_int_equal(played.code, 0);
	run = command_json(&played);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(json_number(plan, "plan.cell.write_bytes"),
			json_number(run, "cells.%d.write_bytes", i));
		assert_int_equal(json_number(plan, "plan.cell.read_bytes"),
			json_number(run, "cells.%d.read_bytes", i));
		assert_int_equal(json_number(plan, "plan.cell.requests"),
			json_number(run, "cells.%d.requests_dispatched", i));
	}
	assert_int_equal(json_number(plan, "plan.creation.write_bytes"),
		json_number(run, "creation.write_bytes"));
	json_object_put(plan);
	json_object_put(run);
	command_done(&planned);
	command_done(&played);
}

/* The large pool of the paper needs gigabytes: told and refused on a smaller drive. */
static void what_cannot_fit_is_refused(void **state)
{
	struct command_run run;

	(void)state;
	command_run(&run, "plan %s --pool LL", target);
	assert_int_equal(run.code, 4);
	assert_non_null(strstr(run.errors, "does not fit"));
	command_done(&run);
	command_run(&run, "plan null,size=16GiB --pool LL --packed --output-format json");
	assert_int_equal(run.code, 0);
	struct json_object *plan = command_json(&run);

	/* PostMark's own run of the pool peaks at 8.8 GB of file bytes (Debian postmark 1.53-2). */
	assert_true(json_number(plan, "plan.peak_bytes") > 8811799222.0);
	assert_true(json_number(plan, "plan.peak_bytes") < 1.01 * 8811799222.0);
	json_object_put(plan);
	command_done(&run);
}

/* Four million files: the memory is told, and small; there is no fixed limit. */
static void millions_of_files_are_planned(void **state)
{
	struct command_run run;
	struct json_object *plan;

	(void)state;
	command_run(&run, "plan null --pool SS --files 4000000 --transactions 1000 "
			  "--output-format json");
	assert_int_equal(run.code, 0);
	plan = command_json(&run);
	assert_int_equal(json_number(plan, "plan.no_space"), 0);
	/* At most 48 bytes a file beside 16 of PostMark's two slots, and the engine's own. */
	assert_true(
		json_number(plan, "plan.memory_bytes") < 4e6 * (48 + 16 + 1) + 64 * (double)MIB);
	json_object_put(plan);
	command_done(&run);
}

/* The span covers the paper's share of its 18 GB disk, or what is asked for. */
static void the_span_is_the_share_asked_for(void **state)
{
	struct command_run run;
	struct json_object *plan;

	(void)state;
	command_run(&run, "plan null,size=1TiB --pool SS --output-format json");
	plan = command_json(&run);
	/* 10,000 files of 12 KiB of 18 GB. */
	assert_true(json_number(plan, "plan.span_bytes") > 0.0068 * (double)TIB);
	assert_true(json_number(plan, "plan.span_bytes") < 0.0069 * (double)TIB);
	assert_true(json_number(plan, "plan.end_lba") * 512 > 0.0067 * (double)TIB);
	json_object_put(plan);
	command_done(&run);
	command_run(&run, "plan null,size=1TiB --pool SS --span 50%% --output-format json");
	plan = command_json(&run);
	assert_true(json_number(plan, "plan.end_lba") * 512 > 0.49 * (double)TIB);
	assert_true(json_number(plan, "plan.end_lba") * 512 < 0.51 * (double)TIB);
	json_object_put(plan);
	command_done(&run);
	command_run(&run, "plan null,size=1TiB --pool SS --packed --output-format json");
	plan = command_json(&run);
	assert_true(json_number(plan, "plan.end_lba") * 512 < 0.2 * (double)GIB);
	json_object_put(plan);
	command_done(&run);
}

/* A command file of the original tool is played as it says; what has no effect is told. */
static void command_files_are_played(void **state)
{
	struct command_run run;
	char path[160];
	FILE *file;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/load", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	(void)fputs("set size 500 9000\nset number 200\nset transactions 300\n"
		    "set location /somewhere\nset buffering false\nrun\nquit\n",
		file);
	(void)fclose(file);
	command_run(&run, "plan null --postmark %s", path);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.output, "200 files of 500-9000 bytes, 300 transactions"));
	assert_non_null(strstr(run.output, "without effect"));
	command_done(&run);
	file = fopen(path, "we");
	assert_non_null(file);
	(void)fputs(
		"set bogus 3\nset number -5\nset bias read 11\nset size 900 100\n# x\nrun\n", file);
	(void)fclose(file);
	command_run(&run, "run null --postmark %s", path);
	assert_int_equal(run.code, 2);
	for (int line = 1; line <= 5; line++) {
		char place[200];

		(void)snprintf(place, sizeof(place), "%s:%d", path, line);
		assert_non_null(strstr(run.errors, place));
	}
	assert_string_equal(run.output, "");
	command_done(&run);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_plan_is_what_is_run),
		cmocka_unit_test(what_cannot_fit_is_refused),
		cmocka_unit_test(millions_of_files_are_planned),
		cmocka_unit_test(the_span_is_the_share_asked_for),
		cmocka_unit_test(command_files_are_played),
	};

	return cmocka_run_group_tests(tests, prepare, tear_down);
}
