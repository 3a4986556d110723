/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `run` as a user runs it, on loop devices that the test makes: cells, verification, engines,
 * cache modes, refusals, signals, faults, and one valid result in all cases.
 */
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/frozen.h"
#include "tests/support/golden.h"
#include "tests/support/loop.h"
#include "tests/support/require.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "devices/check.h"

#define MEBIBYTE (1024 * 1024)
#define DEVICE_BYTES (64 * MEBIBYTE)

static struct loop loop;
static char identity[400];

static void read_identity(void)
{
	struct device device;

	assert_int_equal(device_find("", loop.node, &device, NULL), 0);
	(void)snprintf(identity, sizeof(identity), "%s", device.identity);
}

static int attach(void **state)
{
	(void)state;
	require("root", geteuid() == 0);
	require("loop", loop_is_possible());
	loop_new(&loop, DEVICE_BYTES);
	read_identity();
	return 0;
}

static int detach(void **state)
{
	(void)state;
	loop_done(&loop);
	return 0;
}

#define SMALL "--files 300 --transactions 600"

static bool margins_are_untouched(void)
{
	static char block[MEBIBYTE], zero[MEBIBYTE];

	for (int end = 0; end < 2; end++) {
		off_t offset = end ? DEVICE_BYTES - MEBIBYTE : 0;

		if (pread(loop.fd, block, sizeof(block), offset) != sizeof(block) ||
			memcmp(block, zero, sizeof(block)) != 0)
			return false;
	}
	return true;
}

/* The main job in small: fourteen cells, one stream, everything read back; afterwards the kernel
 * finds no partition and no signature in what was written. */
static void fourteen_cells_are_one_stream_and_verified(void **state)
{
	struct command_run run;
	struct check_result result;
	struct json_object *document;
	const char *hash;

	(void)state;
	command_run(&run,
		"run %s --write %s --pool SS " SMALL " --depth 1-64 --cache both "
		"--verify --output-format json -q",
		loop.node, identity);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_string_equal(json_text(document, "status"), "complete");
	assert_int_equal(json_array_length(document, "cells"), 14);
	hash = json_text(document, "cells.0.q_stream_hash");
	for (int i = 0; i < 14; i++) {
		double reads = json_number(document, "cells.%d.drive_time_ns.read.count", i);
		double writes = json_number(document, "cells.%d.drive_time_ns.write.count", i);

		assert_int_equal(json_number(document, "cells.%d.depth", i), 1 << (i % 7));
		assert_string_equal(json_text(document, "cells.%d.cache", i), i < 7 ? "wb" : "wt");
		assert_string_equal(json_text(document, "cells.%d.q_stream_hash", i), hash);
		assert_string_equal(json_text(document, "cells.%d.status", i), "complete");
		assert_int_equal(json_number(document, "cells.%d.transactions", i), 600);
		assert_int_equal(
			reads + writes, json_number(document, "cells.%d.requests_dispatched", i));
		assert_int_equal(json_number(document, "cells.%d.requests_queued", i),
			json_number(document, "cells.%d.requests_dispatched", i));
		assert_true(json_number(document, "cells.%d.verify.sectors_checked", i) > 1000);
		assert_int_equal(json_number(document, "cells.%d.verify.lost", i), 0);
		assert_int_equal(
			json_number(document, "cells.%d.host_share", i), 128 - (1 << (i % 7)));
		assert_true(json_number(document, "cells.%d.depth_mean", i) <= 1 << (i % 7));
		/* Case of hidden merges: they are printed for every cell. */
		assert_int_equal(json_number(document, "cells.%d.device_write_merges", i), 0);
	}
	assert_true(margins_are_untouched());
	assert_int_equal(check_device("", loop.node, &result, NULL), 0);
	assert_true(check_is_clean(&result));
	check_result_done(&result);
	json_object_put(document);
	command_done(&run);
}

static void one_seed_gives_one_stream_on_every_engine(void **state)
{
	static const char *const engines[] = { "io_uring", "libaio", "sync", "auto" };
	char first[32] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		struct command_run run;
		struct json_object *document;

		command_run(&run,
			"run %s --write %s " SMALL " --depth 1 --engine %s --verify "
			"--output-format json -q",
			loop.node, identity, engines[i]);
		assert_int_equal(run.code, 0);
		document = command_json(&run);
		if (!first[0])
			(void)snprintf(first, sizeof(first), "%s",
				json_text(document, "cells.0.q_stream_hash"));
		assert_string_equal(json_text(document, "cells.0.q_stream_hash"), first);
		assert_int_equal(json_number(document, "cells.0.starved_waits"), 0);
		json_object_put(document);
		command_done(&run);
	}
}

static void another_seed_gives_another_stream(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run, "run %s --write %s " SMALL " --repeat 5 --output-format json -q",
		loop.node, identity);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_int_equal(json_number(document, "cells.4.seed"), 46);
	assert_string_not_equal(json_text(document, "cells.0.q_stream_hash"),
		json_text(document, "cells.1.q_stream_hash"));
	/* Five repeats give an interval. */
	assert_int_equal(json_number(document, "groups.0.repeats"), 5);
	assert_true(json_number(document, "groups.0.rate_low_per_s") <=
		    json_number(document, "groups.0.rate_mean_per_s"));
	json_object_put(document);
	command_done(&run);
}

/* wt sends a flush for (at most) every write, wb only the closing one; named by the commands. */
static void cache_modes_are_named_by_what_is_sent(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run,
		"run %s --write %s " SMALL " --depth 1 --cache both "
		"--output-format json -q",
		loop.node, identity);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_string_equal(json_text(document, "cells.0.cache_commands"), "plain");
	assert_string_equal(json_text(document, "cells.1.cache_commands"), "write+flush");
	assert_int_equal(json_number(document, "cells.0.flushes"), 1);
	assert_int_equal(json_number(document, "cells.1.flushes"),
		json_number(document, "cells.1.drive_time_ns.write.count") + 1);
	json_object_put(document);
	command_done(&run);
}

static void expect_refusal(int code, const char *says, const char *arguments)
{
	struct command_run run;
	struct json_object *document;
	uint64_t before = loop_checksum(&loop);

	command_run(&run, "run %s %s --output-format json", loop.node, arguments);
	if (run.code != code || !strstr(run.errors, says))
		print_error("run %s: %d\n%s\n", arguments, run.code, run.errors);
	assert_int_equal(run.code, code);
	assert_non_null(strstr(run.errors, says));
	document = command_json(&run);
	assert_string_equal(json_text(document, "status"), code == 3 ? "refused" : "failed");
	assert_true(json_array_length(document, "messages") >= 1);
	assert_int_equal(json_array_length(document, "cells"), 0);
	assert_int_equal(loop_checksum(&loop), before);
	json_object_put(document);
	command_done(&run);
}

/* Distinct codes; every refusal is a valid document, and nothing was written. There is no prompt:
 * stdin is not even read. */
static void refusals_have_codes_and_write_nothing(void **state)
{
	char text[600];

	(void)state;
	expect_refusal(3, identity, "--pool SS " SMALL);
	expect_refusal(3, "identity", "--write loop:1-2-3 " SMALL);
	expect_refusal(2, "--depht", "--depht 3");
	(void)snprintf(text, sizeof(text), "--write %s --window 4 --depth 8 " SMALL, identity);
	expect_refusal(2, "--window", text);
	(void)snprintf(text, sizeof(text), "--write %s --engine sync --depth 8 " SMALL, identity);
	expect_refusal(2, "sync", text);
	(void)snprintf(text, sizeof(text), "--write %s --pool LL", identity);
	expect_refusal(4, "does not fit", text);
	(void)snprintf(text, sizeof(text), "--write %s --offset 512KiB " SMALL, identity);
	expect_refusal(2, "first MiB", text);
}

static void a_node_that_is_not_there_is_not_made(void **state)
{
	struct command_run run;

	(void)state;
	command_run(&run, "run /dev/bareplatter-nosuch --write x");
	assert_int_equal(run.code, 2);
	assert_int_equal(access("/dev/bareplatter-nosuch", F_OK), -1);
	command_done(&run);
}

/* All faults of a command line at once, not one after the other. */
static void faults_are_told_together(void **state)
{
	struct command_run run;

	(void)state;
	command_run(&run,
		"run %s --write %s --window 4 --depth 8 --packed --span 0.5 "
		"--request-size 1000 --offset 100",
		loop.node, identity);
	assert_int_equal(run.code, 2);
	assert_non_null(strstr(run.errors, "--window"));
	assert_non_null(strstr(run.errors, "--packed"));
	assert_non_null(strstr(run.errors, "--request-size"));
	assert_non_null(strstr(run.errors, "--offset"));
	command_done(&run);
}

static void interrupted(int number, int code)
{
	struct command_run run;
	struct json_object *document;

	command_start(&run, NULL,
		"run %s --pattern randread --depth 1-64 --time 30s "
		"--output-format json",
		loop.node);
	(void)usleep(700000);
	assert_int_equal(kill(run.pid, number), 0);
	command_wait(&run);
	assert_int_equal(run.code, code);
	document = command_json(&run);
	assert_string_equal(json_text(document, "status"), "interrupted");
	assert_int_equal(json_array_length(document, "cells"), 1);
	assert_string_equal(json_text(document, "cells.0.status"), "interrupted");
	assert_true(json_number(document, "cells.0.iops") > 0);
	assert_null(json_at(document, "cells.0.q_stream_hash"));
	json_object_put(document);
	command_done(&run);
}

static void a_signal_drains_and_reports(void **state)
{
	(void)state;
	interrupted(SIGINT, 130);
	interrupted(SIGTERM, 143);
}

static void sigusr1_tells_how_far_it_is(void **state)
{
	struct command_run run;

	(void)state;
	command_start(&run, NULL, "run %s --pattern randread --time 2s -q", loop.node);
	(void)usleep(600000);
	assert_int_equal(kill(run.pid, SIGUSR1), 0);
	assert_true(command_says(&run, "cell 1 of 1", 2));
	command_wait(&run);
	assert_int_equal(run.code, 0);
	command_done(&run);
}

/* Behind a cut-off backing file every read fails: counted, told with place and reason, exit 1. */
static void read_errors_are_data(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	assert_int_equal(ftruncate(loop.fd, 8 * MEBIBYTE), 0);
	command_run(&run, "run %s --pattern randread --count 400 --seed 7 --output-format json",
		loop.node);
	assert_int_equal(ftruncate(loop.fd, DEVICE_BYTES), 0);
	assert_int_equal(run.code, 1);
	document = command_json(&run);
	assert_string_equal(json_text(document, "status"), "failed");
	assert_string_equal(json_text(document, "cells.0.status"), "failed");
	assert_true(json_number(document, "cells.0.requests_failed") > 100);
	assert_true(json_number(document, "cells.0.requests_failed") < 400);
	assert_int_equal(json_number(document, "cells.0.drive_time_ns.read.count"), 400);
	assert_non_null(strstr(run.errors, "requests failed"));
	json_object_put(document);
	command_done(&run);
}

static void what_does_not_fit_can_be_counted(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run,
		"run %s --write %s --files 500 --size-low 9KiB --size-high 15KiB "
		"--transactions 1000 --size 7MiB --when-full count --verify --output-format json "
		"-q",
		loop.node, identity);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_true(json_number(document, "cells.0.postmark.no_space") > 0);
	assert_true(json_number(document, "cells.0.postmark.transactions_failed") > 0);
	assert_int_equal(json_number(document, "cells.0.transactions") +
				 json_number(document, "cells.0.postmark.transactions_failed"),
		1000);
	json_object_put(document);
	command_done(&run);
}

/* Cells are told beside which fio command comes nearest; Debian's fio takes it. */
static void fio_takes_the_command_beside_each_cell(void **state)
{
	struct command_run run;
	struct json_object *document;
	char text[1024];

	(void)state;
	if (access("/usr/bin/fio", X_OK) < 0) {
		assert_null(getenv("REQUIRE") ? strstr(getenv("REQUIRE"), "fio") : NULL);
		skip();
	}
	command_run(&run,
		"run %s --pattern randrw --write %s --count 500 --depth 2,8 --cache wt "
		"--output-format json -q",
		loop.node, identity);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(text, sizeof(text), "%s --parse-only >/dev/null 2>&1",
			json_text(document, "cells.%d.fio", i));
		assert_non_null(strstr(text, "--rwmixread=70"));
		assert_non_null(strstr(text, i ? "--iodepth=8" : "--iodepth=2"));
		assert_int_equal(system(text), 0);
	}
	json_object_put(document);
	command_done(&run);
}

static unsigned count_lines(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void csv_and_series_have_a_row_each(void **state)
{
	char series[] = "/tmp/bareplatter-series-XXXXXX", line[256];
	int fd = mkstemp(series);
	FILE *file;
	long long end = 0, from, to;
	unsigned rows = 0;
	struct command_run run;

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	command_run(&run,
		"run %s --pattern randread --time 300ms --depth 1,4 --output-format csv "
		"--series %s --interval 50ms -q",
		loop.node, series);
	assert_int_equal(run.code, 0);
	assert_int_equal(count_lines(run.output), 3);
	assert_non_null(strstr(run.output, "drive_time_ns.read.p99_9"));
	file = fopen(series, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		assert_int_equal(
			sscanf(line, "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lld,%lld", &from, &to),
			2);
		assert_true(from == end || from == 0);
		assert_true(to > from);
		end = to;
		rows++;
	}
	assert_in_range(rows, 12, 20);
	(void)fclose(file);
	(void)unlink(series);
	command_done(&run);
}

/* Refuses io_uring_setup as a container's filter does. */
static void deny_uring(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		_exit(98);
}

/* Without io_uring: the reason is told; another engine is taken only when asked for. */
static void a_missing_io_uring_is_explained(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_start(&run, deny_uring, "run %s --pattern randread --count 10", loop.node);
	command_wait(&run);
	assert_int_equal(run.code, 4);
	assert_non_null(strstr(run.errors, "seccomp"));
	command_done(&run);
	command_start(&run, deny_uring,
		"run %s --pattern randread --count 10 --engine auto "
		"--output-format json",
		loop.node);
	command_wait(&run);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_string_equal(json_text(document, "cells.0.engine"), "libaio");
	assert_non_null(strstr(json_text(document, "cells.0.notes.0"), "seccomp"));
	json_object_put(document);
	command_done(&run);
}

/* A file in memory takes O_DIRECT (from Linux 6.6 on) but not RWF_NOWAIT: told, and auto takes
 * another engine. */
static void a_target_without_nowait_is_told(void **state)
{
	char path[] = "/dev/shm/bareplatter-XXXXXX";
	int fd = mkostemp(path, O_DIRECT);
	struct command_run run;
	struct json_object *document;

	(void)state;
	if (fd < 0)
		skip();
	(void)close(fd);
	(void)unlink(path);
	command_run(&run, "run file:%s,size=16MiB --files 50 --transactions 50", path);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "RWF_NOWAIT"));
	command_done(&run);
	(void)unlink(path);
	command_run(&run,
		"run file:%s,size=16MiB --files 50 --transactions 50 --engine auto "
		"--output-format json",
		path);
	(void)unlink(path);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_string_equal(json_text(document, "cells.0.engine"), "libaio");
	json_object_put(document);
	command_done(&run);
}

static void the_drive_preset_is_the_whole_curve(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run, "run %s --preset drive --write %s --time 10ms --output-format json -q",
		loop.node, identity);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	/* Reads once, writes and the mix in both modes, seven depths each. */
	assert_int_equal(json_array_length(document, "cells"), 35);
	json_object_put(document);
	command_done(&run);
	command_run(&run, "run %s --preset drive --time 10ms --output-format json -q", loop.node);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "--write"));
	document = command_json(&run);
	assert_int_equal(json_array_length(document, "cells"), 7);
	json_object_put(document);
	command_done(&run);
}

/* What the first release told about a run is still told, under the same keys and types. */
static void the_first_releases_reader_reads_todays_run(void **state)
{
	char *golden = golden_read(SOURCE_DIR, "document/run.json");
	struct json_object *first, *now;
	struct command_run run;

	(void)state;
	assert_non_null(golden);
	first = json_tokener_parse(golden);
	assert_non_null(first);
	command_run(&run,
		"run %s --write %s " SMALL " --time 5s --cache wt --verify "
		"--output-format json -q",
		loop.node, identity);
	assert_int_equal(run.code, 0);
	now = command_json(&run);
	frozen_check(first, now, "document");
	json_object_put(first);
	json_object_put(now);
	free(golden);
	command_done(&run);
}

/* Rates are over nanoseconds, and a run too short to mean much says so. */
static void short_cells_are_flagged(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run, "run %s --pattern randread --count 10 --output-format json", loop.node);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_non_null(strstr(json_text(document, "cells.0.notes.0"), "too short"));
	assert_true(json_number(document, "cells.0.seconds") > 0);
	assert_true(json_number(document, "cells.0.seconds") < 1);
	json_object_put(document);
	command_done(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fourteen_cells_are_one_stream_and_verified),
		cmocka_unit_test(one_seed_gives_one_stream_on_every_engine),
		cmocka_unit_test(another_seed_gives_another_stream),
		cmocka_unit_test(cache_modes_are_named_by_what_is_sent),
		cmocka_unit_test(refusals_have_codes_and_write_nothing),
		cmocka_unit_test(a_node_that_is_not_there_is_not_made),
		cmocka_unit_test(faults_are_told_together),
		cmocka_unit_test(a_signal_drains_and_reports),
		cmocka_unit_test(sigusr1_tells_how_far_it_is),
		cmocka_unit_test(read_errors_are_data),
		cmocka_unit_test(what_does_not_fit_can_be_counted),
		cmocka_unit_test(fio_takes_the_command_beside_each_cell),
		cmocka_unit_test(csv_and_series_have_a_row_each),
		cmocka_unit_test(a_missing_io_uring_is_explained),
		cmocka_unit_test(a_target_without_nowait_is_told),
		cmocka_unit_test(the_drive_preset_is_the_whole_curve),
		cmocka_unit_test(short_cells_are_flagged),
		cmocka_unit_test(the_first_releases_reader_reads_todays_run),
	};

	return cmocka_run_group_tests(tests, attach, detach);
}
