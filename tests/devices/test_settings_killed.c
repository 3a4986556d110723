/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings survive what can happen to a run, on a machine made of files: a kill and a refused write
 * at every step, of restoring too; and two processes at once.
 */
#include "devices/settings.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/machine.h"

/* The whole life of a run with another wish in the middle. */
static void live(void)
{
	const struct settings_wanted other = {
		.scheduler = "kyber", .nomerges = SETTINGS_AS_IS, .drive_depth = 1
	};
	const struct device device = machine_device("sda");
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = NULL;

	if (settings_open(machine_place(), &device, &settings, &notes, &faults))
		return;
	(void)settings_apply(settings, &machine_usual, &notes, &faults);
	(void)settings_apply(settings, &other, &notes, &faults);
	(void)settings_restore(settings, &notes, &faults);
}

static void restore_quietly(void)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };

	(void)machine_restore(&notes, &faults);
}

/* A kill at any step of the run, and of the restoring after it, loses nothing. */
static void test_kill_at_every_step(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	unsigned step, steps_of_restore = 0;

	(void)state;
	for (step = 1; machine_killed_at(step, live); step++) {
		unsigned second;

		for (second = 1; machine_killed_at(second, restore_quietly); second++) {
			assert_int_equal(machine_restore(&notes, &faults), 0);
			machine_expect_former();
			assert_int_equal(machine_count_records(), 0);
			assert_true(machine_killed_at(step, live));
		}
		steps_of_restore += second - 1;
		machine_expect_former();
		assert_int_equal(machine_count_records(), 0);
	}
	print_message(
		"killed at %u steps of a run and %u of restoring\n", step - 1, steps_of_restore);
	assert_true(step > 15 && steps_of_restore > 40);
	assert_int_equal(notes.count, 0);
	assert_int_equal(faults.count, 0);
	machine_expect_former();
}

/* The next run on the device puts the old values back first, and its own record has the true
 * ones. */
static void test_kill_and_run_again(void **state)
{
	unsigned step;

	(void)state;
	for (step = 1; machine_killed_at(step, live); step++) {
		_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
		struct settings *settings;

		settings = machine_apply(&machine_usual, &notes, &faults);
		if (step > 1)
			assert_true(machine_says(&notes, "was left changed by a run of"));
		machine_expect("queue/nomerges", "2");
		machine_expect("device/queue_depth", "31");
		assert_int_equal(settings_restore(settings, &notes, &faults), 0);
		machine_expect_former();
		assert_int_equal(machine_count_records(), 0);
	}
	assert_true(step > 15);
}

/* A write that is refused at any step is told, and a later restore ends well. */
static void test_refusal_at_every_step(void **state)
{
	unsigned refused = 0;

	(void)state;
	for (unsigned step = 1;; step++) {
		_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
		const struct device device = machine_device("sda");
		struct settings *settings = NULL;
		int applied, restored;

		machine_hook.step = 0;
		machine_hook.fail_at = step;
		assert_int_equal(
			settings_open(machine_place(), &device, &settings, &notes, &faults), 0);
		applied = settings_apply(settings, &machine_usual, &notes, &faults);
		restored = settings_restore(settings, &notes, &faults);
		machine_hook.fail_at = 0;
		if (machine_hook.step < step) {
			assert_int_equal(applied, 0);
			assert_int_equal(restored, 0);
			break;
		}
		refused++;
		assert_true(faults.count + notes.count > 0);
		if (!applied && restored)
			assert_true(faults.count > 0);
		if (applied || restored)
			assert_int_equal(machine_restore(&notes, &faults), 0);
		machine_expect_former();
		assert_int_equal(machine_count_records(), 0);
	}
	assert_true(refused > 9);
}

static void test_refusal_is_a_note_when_lenient(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings_wanted wanted = machine_usual;
	struct settings *settings;

	(void)state;
	wanted.lenient = true;
	machine_hook.fail_at = 3; /* nomerges, after the record and the scheduler */
	settings = machine_apply(&wanted, &notes, &faults);
	assert_true(
		machine_says(&notes, "nomerges of sda cannot be set to 2: Read-only file system"));
	machine_expect("queue/nomerges", "0");
	machine_expect("queue/wbt_lat_usec", "0");
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	machine_expect_former();
}

/* A value that could not be put back: the others are, and the record says what is left. */
static void test_rest_is_kept(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = machine_apply(&machine_usual, &notes, &faults);

	(void)state;
	machine_hook.fail_at = machine_hook.step + 2; /* the scheduler */
	assert_int_equal(settings_restore(settings, &notes, &faults), -EIO);
	machine_hook.fail_at = 0;
	assert_true(machine_says(&faults, "scheduler of sda cannot be set to mq-deadline"));
	machine_expect("queue/nomerges", "0");
	machine_expect("queue/wbt_lat_usec", "75000");
	assert_int_equal(machine_count_records(), 1);
	/* Now it is somebody else's as before. */
	machine_put("queue/nomerges", "1");
	assert_int_equal(machine_restore(&notes, &faults), 0);
	assert_true(machine_says(&notes, "nomerges of sda is 1, which somebody else"));
	machine_expect("queue/scheduler", "mq-deadline");
	machine_expect("queue/nr_requests", "60");
	machine_expect("queue/nomerges", "1");
}

static void test_two_at_once(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	const struct device disk = machine_device("sda"), partition = machine_device("sda2");
	struct settings *settings = NULL;
	struct settings_left_list list;
	char words[64], byte;
	int channel[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(channel), 0);
	child = fork();
	if (child == 0) {
		(void)machine_apply(&machine_usual, &notes, &faults);
		if (write(channel[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_true(read(channel[0], &byte, 1) == 1);
	(void)snprintf(words, sizeof(words), "sda is in use by process %d since 2", child);
	assert_int_equal(settings_open(machine_place(), &disk, &settings, &notes, &faults), -EBUSY);
	assert_true(machine_says(&faults, words));
	/* A partition has its disk's queue. */
	assert_int_equal(
		settings_open(machine_place(), &partition, &settings, &notes, &faults), -EBUSY);
	assert_int_equal(settings_left_list(machine_place(), &partition, &list, NULL), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].state, SETTINGS_LEFT_RUNNING);
	assert_int_equal(
		settings_left_restore(machine_place(), &list.items[0], &notes, &faults), -EBUSY);
	assert_int_equal(settings_left_forget(machine_place(), &list.items[0], &faults), -EBUSY);
	settings_left_done(&list);
	machine_expect("queue/nomerges", "2");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(settings_open(machine_place(), &partition, &settings, &notes, &faults), 0);
	assert_true(machine_says(&notes, "was left changed"));
	machine_expect_former();
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	(void)close(channel[0]);
	(void)close(channel[1]);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_new, machine_done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(test_kill_at_every_step),
		ON_A_MACHINE(test_kill_and_run_again),
		ON_A_MACHINE(test_refusal_at_every_step),
		ON_A_MACHINE(test_refusal_is_a_note_when_lenient),
		ON_A_MACHINE(test_rest_is_kept),
		ON_A_MACHINE(test_two_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
