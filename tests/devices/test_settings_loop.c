/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings on the kernel that runs, with loop devices of the test's own: the queue is the same
 * before and after, whether the run ended in order, was killed, lost its device, or found /sys
 * read-only; and `restore` as a user calls it.
 *
 * Runs alone: a loop device that it lets go must not become another test's.
 */
#include "devices/settings.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <json-c/json.h>

#include "devices/settings_left.h"
#include "devices/sysfs.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/loop.h"
#include "tests/support/require.h"

/* Far above the numbers that are handed out by themselves. */
#define OWN_NUMBER 3177

static struct loop loop;
static char folder[64];
static struct settings_place place = { .state_dir = folder };

static const struct settings_wanted usual = {
	.scheduler = "none", .nomerges = 2, .wbt_off = true, .nr_requests = 8
};

static const char *disk(void)
{
	return loop.node + strlen("/dev/");
}

static void get(enum queue_setting setting, char *ret_value)
{
	(void)queue_setting_read(NULL, disk(), setting, ret_value);
}

static void set(enum queue_setting setting, const char *value)
{
	assert_int_equal(queue_setting_write(NULL, disk(), setting, value), 0);
}

static void expect(enum queue_setting setting, const char *value)
{
	char now[QUEUE_VALUE];

	get(setting, now);
	if (strcmp(now, value) != 0)
		fail_msg("%s is %s and should be %s", queue_setting_name(setting), now, value);
}

/* Values that nobody has by default, so that a reset is seen. */
static void expect_former(void)
{
	expect(QUEUE_SCHEDULER, "mq-deadline");
	expect(QUEUE_NR_REQUESTS, "99");
	expect(QUEUE_NOMERGES, "1");
	expect(QUEUE_WBT, "3000");
}

static void expect_set(void)
{
	char tags[QUEUE_VALUE];

	assert_true(sysfs_read(NULL, tags, sizeof(tags), "sys/block/%s/mq/0/nr_tags", disk()) > 0);
	expect(QUEUE_SCHEDULER, "none");
	expect(QUEUE_NR_REQUESTS, tags);
	expect(QUEUE_NOMERGES, "2");
	expect(QUEUE_WBT, "0");
}

/* What the queue of this number had before the tests. */
static char found[QUEUE_SETTING_COUNT][QUEUE_VALUE];

static int make_loop(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/var/tmp/settings-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	loop_new(&loop, 8 * MIB);
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		get(i, found[i]);
	set(QUEUE_SCHEDULER, "mq-deadline");
	set(QUEUE_NR_REQUESTS, "99");
	set(QUEUE_NOMERGES, "1");
	set(QUEUE_WBT, "3000");
	return 0;
}

static int remove_loop(void **state)
{
	(void)state;
	for (int i = 0; i < QUEUE_DRIVE_DEPTH; i++)
		if (found[i][0])
			(void)queue_setting_write(NULL, disk(), i, found[i]);
	loop_done(&loop);
	return rmdir(folder);
}

static void show(const struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		print_message("  %s\n", faults->text[i]);
}

static struct settings *apply(const struct settings_wanted *wanted, struct faults *notes)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct settings *settings = NULL;
	struct device device;

	if (device_find(NULL, loop.node, &device, NULL) ||
		settings_open(&place, &device, &settings, notes, &faults) ||
		settings_apply(settings, wanted, notes, &faults)) {
		show(&faults);
		fail_msg("the settings were not applied");
	}
	return settings;
}

/* A run in a process of its own, at the instant when it is about to start its load. */
static pid_t start_run(void)
{
	int channel[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(channel), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct faults notes = { 0 };

		(void)apply(&usual, &notes);
		if (write(channel[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(channel[1]);
	assert_int_equal(read(channel[0], &byte, 1), 1);
	(void)close(channel[0]);
	return child;
}

static void kill_run(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static void test_run(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = apply(&usual, &notes);

	(void)state;
	expect_set();
	assert_int_equal(settings_verify(settings, &notes), 0);
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	expect_former();
	assert_int_equal(notes.count + faults.count, 0);
}

/* Every scheduler of this kernel, one after the other in one run. */
static void test_schedulers_of_the_kernel(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = apply(&usual, &notes);
	struct scheduler_file file;

	(void)state;
	assert_int_equal(queue_setting_schedulers(NULL, disk(), &file), 0);
	for (size_t i = 0; i < file.count; i++) {
		const struct settings_wanted wanted = { .scheduler = file.names[i],
			.nomerges = SETTINGS_AS_IS,
			.wbt_off = true,
			.nr_requests = 128 };

		if (settings_apply(settings, &wanted, &notes, &faults)) {
			show(&faults);
			fail_msg("%s was not applied", file.names[i]);
		}
		expect(QUEUE_SCHEDULER, file.names[i]);
		expect(QUEUE_NOMERGES, "1");
		expect(QUEUE_WBT, "0");
	}
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	show(&notes);
	expect_former();
}

static void test_value_that_is_not_taken(void **state)
{
	struct error error = { 0 };
	char now[QUEUE_VALUE];

	(void)state;
	/* The kernel makes 4 of it. */
	assert_int_equal(
		settings_step_set(&place, disk(), QUEUE_NR_REQUESTS, "2", now, &error), -EIO);
	assert_non_null(strstr(error.text, "was set to 2 and did not take it: it is 4"));
	error.code = 0;
	assert_int_equal(
		settings_step_set(&place, disk(), QUEUE_SCHEDULER, "bogus", now, &error), -EINVAL);
	assert_non_null(strstr(error.text, "the kernel refuses this value"));
	set(QUEUE_NR_REQUESTS, "99");
}

static void test_kill_and_restore(void **state)
{
	const pid_t child = start_run();
	struct command_run run;
	struct json_object *object;
	char pid[24];

	(void)state;
	(void)snprintf(pid, sizeof(pid), "process %d", child);
	expect_set();
	command_run(&run, "restore %s --state-dir %s", loop.node, folder);
	assert_int_equal(run.code, 3);
	assert_non_null(strstr(run.errors, pid));
	command_done(&run);
	/* All others would have been restored. */
	command_run(&run, "restore --state-dir %s", folder);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, pid));
	command_done(&run);
	expect_set();
	kill_run(child);
	expect_set();
	command_run(&run, "restore --list --state-dir %s", folder);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.output, "scheduler: mq-deadline before, none for the run"));
	command_done(&run);
	expect_set();
	command_run(&run, "restore %s --state-dir %s -J", loop.node, folder);
	object = command_json(&run);
	assert_int_equal(run.code, 0);
	assert_string_equal(json_text(object, "records.0.result"), "restored");
	assert_string_equal(json_text(object, "records.0.settings.0.before"), "mq-deadline");
	assert_string_equal(json_text(object, "status"), "complete");
	(void)json_object_put(object);
	command_done(&run);
	expect_former();
	command_run(&run, "restore --state-dir %s", folder);
	assert_int_equal(run.code, 0);
	assert_string_equal(run.output, "nothing was left changed\n");
	command_done(&run);
}

static void test_kill_and_run_again(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings;

	(void)state;
	kill_run(start_run());
	settings = apply(&usual, &notes);
	assert_int_equal(notes.count, 1);
	expect_set();
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	expect_former();
}

static void test_foreign_value(void **state)
{
	struct command_run run;

	(void)state;
	kill_run(start_run());
	set(QUEUE_NOMERGES, "0");
	command_run(&run, "restore --state-dir %s", folder);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.errors, "is 0, which somebody else set meanwhile"));
	command_done(&run);
	expect(QUEUE_NOMERGES, "0");
	expect(QUEUE_SCHEDULER, "mq-deadline");
	expect(QUEUE_NR_REQUESTS, "99");
	set(QUEUE_NOMERGES, "1");
}

/* The file is gone from behind the device, but the queue is there and is put back. */
static void test_detached(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = apply(&usual, &notes);
	char node[sizeof(loop.node)];

	(void)state;
	memcpy(node, loop.node, sizeof(node));
	loop_detach(&loop);
	memcpy(loop.node, node, sizeof(node));
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	expect_former();
	loop_attach(&loop, 0, 0);
	assert_string_equal(loop.node, node);
}

static void remove_own(void)
{
	const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	(void)ioctl(control, LOOP_CTL_REMOVE, OWN_NUMBER);
	(void)close(control);
}

static void make_own(void)
{
	const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	assert_int_equal(ioctl(control, LOOP_CTL_ADD, OWN_NUMBER), OWN_NUMBER);
	(void)close(control);
}

/* The device itself goes, and one of the same name comes: it is another one and not written. */
static void test_vanished(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = NULL;
	struct command_run run;
	struct device device;
	char name[16], now[QUEUE_VALUE];

	(void)state;
	(void)snprintf(name, sizeof(name), "loop%d", OWN_NUMBER);
	(void)atexit(remove_own);
	make_own();
	assert_int_equal(device_read(NULL, name, &device, NULL), 0);
	assert_int_equal(settings_open(&place, &device, &settings, &notes, &faults), 0);
	assert_int_equal(settings_apply(settings, &usual, &notes, &faults), 0);
	remove_own();
	assert_int_equal(settings_restore(settings, &notes, &faults), -ENODEV);
	make_own();
	assert_int_equal(queue_setting_write(NULL, name, QUEUE_NOMERGES, "2"), 0);
	command_run(&run, "restore --state-dir %s", folder);
	assert_int_equal(run.code, 5);
	assert_non_null(strstr(run.errors, "is not there any more"));
	assert_non_null(strstr(run.output, "not there"));
	command_done(&run);
	assert_int_equal(queue_setting_read(NULL, name, QUEUE_NOMERGES, now), 0);
	assert_string_equal(now, "2");
	remove_own();
	command_run(&run, "restore --forget --state-dir %s", folder);
	assert_int_equal(run.code, 2);
	command_done(&run);
	command_run(&run, "restore %s --forget --state-dir %s", device.identity, folder);
	assert_int_equal(run.code, 0);
	command_done(&run);
	command_run(&run, "restore %s --state-dir %s", device.identity, folder);
	assert_int_equal(run.code, 2);
	command_done(&run);
}

/* As in a container: the settings cannot be changed, which is told before anything is. */
static void without_sysfs(void)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings_wanted wanted = usual;
	struct settings *settings = NULL;
	struct device device;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("/sys", "/sys", NULL, MS_BIND | MS_REC, NULL) ||
		mount(NULL, "/sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
		_exit(77);
	if (device_find(NULL, loop.node, &device, NULL) ||
		settings_open(&place, &device, &settings, &notes, &faults) ||
		settings_apply(settings, &wanted, &notes, &faults) != -EINVAL ||
		faults.count != 3 || !strstr(faults.text[0], "Read-only file system"))
		_exit(1);
	wanted.lenient = true;
	if (settings_apply(settings, &wanted, &notes, &faults) || notes.count != 3 ||
		settings_restore(settings, &notes, &faults))
		_exit(2);
	faults_done(&notes);
	faults_done(&faults);
	_exit(0);
}

static void test_read_only_sysfs(void **state)
{
	const pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		without_sysfs();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
	expect_former();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_schedulers_of_the_kernel),
		cmocka_unit_test(test_value_that_is_not_taken),
		cmocka_unit_test(test_kill_and_restore),
		cmocka_unit_test(test_kill_and_run_again),
		cmocka_unit_test(test_foreign_value),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_read_only_sysfs),
	};
	struct scheduler_file file;

	require("loop", loop_is_possible());
	require("mq-deadline", queue_setting_schedulers(NULL, "loop0", &file) == 0 &&
				       scheduler_file_offers(&file, "mq-deadline"));
	return cmocka_run_group_tests(tests, make_loop, remove_loop);
}
