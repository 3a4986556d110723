/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The host's layer of a run, on loop devices that the test makes: elevators and merging over one
 * stream, the kernel's queue set and put back on every way out, traces, replays, counters.
 */
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/loop.h"
#include "tests/support/require.h"

#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices/device.h"

#define DEVICE_BYTES (128 * 1024 * 1024)

static struct loop loop;
static char identity[400];
static char folder[] = "/var/tmp/bareplatter-queue-XXXXXX";

static const char *setting_path(const char *name)
{
	static char path[128];

	(void)snprintf(
		path, sizeof(path), "/sys/block/%s/queue/%s", loop.node + strlen("/dev/"), name);
	return path;
}

static void set(const char *name, const char *value)
{
	FILE *file = fopen(setting_path(name), "we");

	assert_non_null(file);
	assert_true(fputs(value, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

struct settings_text {
	char text[256];
};

/* What a run changes, as one text. */
static struct settings_text read_settings(void)
{
	static const char *const names[] = { "scheduler", "nr_requests", "nomerges",
		"wbt_lat_usec" };
	struct settings_text all = { "" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		FILE *file = fopen(setting_path(names[i]), "re");
		size_t used = strlen(all.text);

		if (!file)
			continue;
		if (!fgets(all.text + used, (int)(sizeof(all.text) - used), file))
			all.text[used] = '\0';
		(void)fclose(file);
	}
	return all;
}

static int attach(void **state)
{
	struct device device;

	(void)state;
	require("root", geteuid() == 0);
	require("loop", loop_is_possible());
	if (!mkdtemp(folder))
		return -1;
	loop_new(&loop, DEVICE_BYTES);
	assert_int_equal(device_find("", loop.node, &device, NULL), 0);
	(void)snprintf(identity, sizeof(identity), "%s", device.identity);
	set("scheduler", "mq-deadline");
	set("nomerges", "1");
	return 0;
}

static int detach(void **state)
{
	char command[128];

	(void)state;
	loop_done(&loop);
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) ? -1 : 0;
}

#define POOL "--pool SS --files 1000 --transactions 2000 --request-size 4KiB"

/* One stream whatever sorts and merges; with merging the drive gets fewer requests, and those that
 * sort by LBA send them closer together. */
static void elevators_and_merging_change_only_what_the_drive_gets(void **state)
{
	static const char *const names[] = { "noop", "deadline", "anticipatory", "cfq", "c-look",
		"sstf" };
	struct command_run run;
	struct json_object *document;
	double first = 0;

	(void)state;
	command_run(&run,
		"run %s --write %s " POOL " --depth 4 --elevator noop,deadline,anticipatory,cfq,"
		"c-look,sstf --elevator-option slice_idle=0,antic_expire=0 --merge off,on "
		"--trace %s/t --state-dir %s/state --output-format json -q",
		loop.node, identity, folder, folder);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_int_equal(json_array_length(document, "cells"), 12);
	for (int i = 0; i < 12; i++) {
		double distance = json_number(
			document, "cells.%d.reordering.lba_distance_sectors.dispatched.mean", i);

		assert_string_equal(json_text(document, "cells.%d.elevator", i), names[i / 2]);
		assert_string_equal(json_text(document, "cells.%d.merge", i), i % 2 ? "on" : "off");
		assert_string_equal(json_text(document, "cells.%d.q_stream_hash", i),
			json_text(document, "cells.0.q_stream_hash"));
		assert_int_equal(json_number(document, "cells.%d.requests_queued", i),
			json_number(document, "cells.0.requests_queued"));
		if (i % 2)
			assert_true(json_number(document, "cells.%d.requests_dispatched", i) <
				    0.7 * json_number(document, "cells.0.requests_dispatched"));
		else
			assert_int_equal(json_number(document, "cells.%d.requests_dispatched", i),
				json_number(document, "cells.0.requests_dispatched"));
		assert_int_equal(json_number(document, "cells.%d.device_write_merges", i), 0);
		if (i == 0)
			first = distance;
		if (i == 2 || i == 8 || i == 10) /* deadline, c-look, sstf without merging */
			assert_true(distance < 0.7 * first);
		/* Under write-back completion is acceptance: order cannot be seen. */
		assert_null(json_at(document, "cells.%d.reordering.overtaken_share", i));
	}
	json_object_put(document);
	command_done(&run);
}

/* During the run none, nomerges 2; before and after as the machine had them. */
static void settings_are_put_back(void **state)
{
	struct settings_text before = read_settings();
	struct command_run run;
	struct json_object *document;

	(void)state;
	assert_non_null(strstr(before.text, "[mq-deadline]"));
	command_run(&run,
		"run %s --pattern randread --count 100 --state-dir %s/state "
		"--output-format json -q",
		loop.node, folder);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_string_equal(json_text(document, "settings.scheduler.before"), "mq-deadline");
	assert_string_equal(json_text(document, "settings.scheduler.during"), "none");
	assert_string_equal(json_text(document, "settings.nomerges.during"), "2");
	/* Proven where the kernel's trace can be read: nothing is claimed without. */
	if (strcmp(json_text(document, "wire_order.order"), "unknown") != 0)
		assert_int_equal(json_number(document, "wire_order.batches"), 3);
	assert_string_equal(read_settings().text, before.text);
	json_object_put(document);
	command_done(&run);
}

static void killed_by(int number)
{
	struct settings_text before = read_settings(), during;
	struct command_run run;

	command_start(&run, NULL, "run %s --pattern randread --time 30s --state-dir %s/state -q",
		loop.node, folder);
	for (int i = 0; i < 100; i++) {
		(void)usleep(50000);
		during = read_settings();
		if (strstr(during.text, "[none]"))
			break;
	}
	assert_non_null(strstr(during.text, "[none]"));
	assert_int_equal(kill(run.pid, number), 0);
	command_wait(&run);
	assert_int_equal(run.code, 128 + number);
	command_done(&run);
	if (number == SIGKILL) {
		assert_string_not_equal(read_settings().text, before.text);
		command_run(&run, "restore %s --state-dir %s/state", loop.node, folder);
		assert_int_equal(run.code, 0);
		command_done(&run);
	}
	assert_string_equal(read_settings().text, before.text);
}

/* A scheduler that was changed and left changed is what nobody wants to find a week later. */
static void settings_are_put_back_after_signals(void **state)
{
	(void)state;
	killed_by(SIGINT);
	killed_by(SIGTERM);
	killed_by(SIGKILL);
}

/* After a kill the next run puts the old values back first, and says so. */
static void the_next_run_puts_back_what_a_killed_one_left(void **state)
{
	struct settings_text before = read_settings();
	struct command_run run;

	(void)state;
	command_start(&run, NULL, "run %s --pattern randread --time 30s --state-dir %s/state -q",
		loop.node, folder);
	while (!strstr(read_settings().text, "[none]"))
		(void)usleep(50000);
	assert_int_equal(kill(run.pid, SIGKILL), 0);
	command_wait(&run);
	command_done(&run);
	command_run(&run, "run %s --pattern randread --count 10 --state-dir %s/state -q", loop.node,
		folder);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "its settings are put back first"));
	assert_string_equal(read_settings().text, before.text);
	command_done(&run);
}

static void the_kernels_elevators_are_used_by_name(void **state)
{
	struct settings_text before = read_settings();
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run,
		"run %s --pattern seqread --count 20000 --depth 32 --elevator "
		"noop,kernel:none,kernel:mq-deadline --merge on --submit batch "
		"--state-dir %s/state "
		"--output-format json -q",
		loop.node, folder);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	/* Ours merges before the kernel sees anything; where the kernel may, it is counted. */
	assert_int_equal(json_number(document, "cells.0.device_read_merges"), 0);
	assert_true(json_number(document, "cells.0.merge_ratio") > 1.5);
	assert_true(json_number(document, "cells.2.device_read_merges") > 0);
	assert_true(json_number(document, "cells.2.merge_ratio") == 1);
	json_object_put(document);
	command_done(&run);
	command_run(&run,
		"run %s --pattern randread --count 10 --elevator kernel:nosuch "
		"--state-dir %s/state",
		loop.node, folder);
	assert_int_equal(run.code, 2);
	assert_non_null(strstr(run.errors, "mq-deadline"));
	command_done(&run);
	assert_string_equal(read_settings().text, before.text);
}

/* Merges hide small requests unless they are forbidden: nomerges does it, and the count shows. */
static void hidden_merges_are_counted(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run,
		"run %s --pattern seqread --count 20000 --depth 32 --elevator "
		"kernel:none --merge off,on --submit batch --state-dir %s/state "
		"--output-format json -q",
		loop.node, folder);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_int_equal(json_number(document, "cells.0.device_read_merges"), 0);
	assert_true(json_number(document, "cells.1.device_read_merges") > 0);
	json_object_put(document);
	command_done(&run);
}

static void missing_counters_are_told(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	set("iostats", "0");
	command_run(&run,
		"run %s --pattern randread --count 10 --state-dir %s/state "
		"--output-format json",
		loop.node, folder);
	set("iostats", "1");
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "no counters"));
	document = command_json(&run);
	assert_null(json_at(document, "cells.0.device_depth_mean"));
	assert_null(json_at(document, "cells.0.device_read_merges"));
	json_object_put(document);
	command_done(&run);
}

/* What the device cannot hold waits in the kernel and is never called depth of the drive. */
static void depth_beyond_the_device_is_host_queued(void **state)
{
	struct command_run run;

	(void)state;
	command_run(&run,
		"run %s --pattern randread --count 5000 --depth 512 --window 512 "
		"--state-dir %s/state",
		loop.node, folder);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "host-queued"));
	command_done(&run);
}

/* The drive's order again, one at a time: the control that tells order from overlap. */
static void an_order_is_replayed_and_set_against_depth(void **state)
{
	struct command_run run;
	struct json_object *document;

	(void)state;
	command_run(&run,
		"run %s --write %s " POOL " --depth 1,8 --cache wt --trace %s/deep "
		"--state-dir %s/state -q",
		loop.node, identity, folder, folder);
	assert_int_equal(run.code, 0);
	command_done(&run);
	command_run(&run,
		"run %s --write %s --dispatch replay-order=%s/deep,cell=2 --depth 1 "
		"--trace %s/replay --state-dir %s/state --output-format json -q",
		loop.node, identity, folder, folder, folder);
	assert_int_equal(run.code, 0);
	document = command_json(&run);
	assert_string_equal(json_text(document, "cells.0.pattern"), "replay");
	assert_int_equal(json_number(document, "cells.0.depth"), 1);
	json_object_put(document);
	command_done(&run);
	command_run(&run, "reorder %s/deep,cell=2 --single %s/deep,cell=1 --replay %s/replay",
		folder, folder, folder);
	if (run.code != 0)
		print_error("%s\n", run.errors);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.output, "order alone"));
	assert_non_null(strstr(run.output, "only together"));
	/* A file on an unknown disk: whether there is one arm cannot be told, and is not claimed.
	 */
	assert_non_null(strstr(run.output, "whether one arm serves this device is not known"));
	command_done(&run);
}

static void a_trace_is_whole_after_an_interrupt(void **state)
{
	struct command_run run;

	(void)state;
	command_start(&run, NULL,
		"run %s --pattern randread --depth 8 --time 30s --trace %s/cut "
		"--state-dir %s/state -q",
		loop.node, folder, folder);
	(void)usleep(800000);
	assert_int_equal(kill(run.pid, SIGINT), 0);
	command_wait(&run);
	assert_int_equal(run.code, 130);
	command_done(&run);
	command_run(&run, "trace info %s/cut", folder);
	assert_int_equal(run.code, 0);
	assert_null(strstr(run.errors, "cut off"));
	command_done(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elevators_and_merging_change_only_what_the_drive_gets),
		cmocka_unit_test(settings_are_put_back),
		cmocka_unit_test(settings_are_put_back_after_signals),
		cmocka_unit_test(the_next_run_puts_back_what_a_killed_one_left),
		cmocka_unit_test(the_kernels_elevators_are_used_by_name),
		cmocka_unit_test(hidden_merges_are_counted),
		cmocka_unit_test(missing_counters_are_told),
		cmocka_unit_test(depth_beyond_the_device_is_host_queued),
		cmocka_unit_test(an_order_is_replayed_and_set_against_depth),
		cmocka_unit_test(a_trace_is_whole_after_an_interrupt),
	};

	return cmocka_run_group_tests(tests, attach, detach);
}
