/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What settings do on a machine made of files: the order of changes, values that somebody else set,
 * restarts, disks that go away or are exchanged, wishes that cannot be fulfilled, and queues
 * without the one or other setting.
 */
#include "devices/settings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/machine.h"

static void test_order(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings_value values[QUEUE_SETTING_COUNT];
	struct settings *settings = machine_apply(&machine_usual, &notes, &faults);

	(void)state;
	machine_expect("queue/scheduler", "none");
	machine_expect("queue/nr_requests", "32");
	machine_expect("queue/nomerges", "2");
	machine_expect("queue/wbt_lat_usec", "0");
	assert_int_equal(settings_describe(settings, values), 4);
	assert_string_equal(values[0].name, "scheduler");
	assert_string_equal(values[0].before, "mq-deadline");
	assert_string_equal(values[0].during, "none");
	assert_string_equal(values[1].name, "nr_requests");
	assert_string_equal(values[1].before, "60");
	assert_string_equal(values[1].during, "32");
	assert_int_equal(settings_verify(settings, &notes), 0);
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	assert_string_equal(machine_hook.log,
		"save applying\nscheduler none\nnomerges 2\nwbt_lat_usec 0\nsave applied\n"
		"save restoring\nscheduler mq-deadline\nnr_requests 60\nnomerges 0\n"
		"wbt_lat_usec 75000\nremove \n");
	machine_expect_former();
	assert_int_equal(notes.count, 0);
	assert_int_equal(machine_count_records(), 0);
	assert_int_equal(settings_restore(NULL, &notes, &faults), 0);
}

/* What the kernel changes along with the scheduler comes back though nobody asked for it. */
static void test_scheduler_alone(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	const struct settings_wanted wanted = { .scheduler = "kyber", .nomerges = SETTINGS_AS_IS };
	struct settings *settings = machine_apply(&wanted, &notes, &faults);

	(void)state;
	machine_expect("queue/nr_requests", "64");
	machine_expect("queue/nomerges", "0");
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	machine_expect_former();
	assert_int_equal(notes.count, 0);
}

static void test_foreign_values_are_left(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = machine_apply(&machine_usual, &notes, &faults);

	(void)state;
	machine_put("queue/nomerges", "1");
	machine_put("queue/nr_requests", "17");
	assert_int_equal(settings_verify(settings, &notes), 2);
	assert_true(machine_says(&notes, "nomerges of sda was 2 for the run and has become 1"));
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	assert_true(machine_says(&notes,
		"nomerges of sda is 1, which somebody else set meanwhile (it was 2 "
		"for the run and 0 before); it is left so"));
	machine_expect("queue/scheduler", "mq-deadline");
	/* Putting back the scheduler would have made it 64. */
	machine_expect("queue/nr_requests", "17");
	machine_expect("queue/nomerges", "1");
	machine_expect("queue/wbt_lat_usec", "75000");
	assert_int_equal(machine_count_records(), 0);
}

static void test_foreign_scheduler_is_left(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = machine_apply(&machine_usual, &notes, &faults);

	(void)state;
	machine_put("queue/scheduler", "none mq-deadline [kyber]");
	machine_put("queue/nr_requests", "64");
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	assert_true(machine_says(&notes, "scheduler of sda is kyber, which somebody else set"));
	machine_expect("queue/scheduler", "kyber");
	machine_expect("queue/nr_requests", "64");
	machine_expect("queue/nomerges", "0");
}

static void test_restart_ends_settings(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };

	(void)state;
	assert_true(machine_killed_at(0, machine_apply_and_die));
	sysroot_write(&machine_root, "proc/sys/kernel/random/boot_id", "second-boot\n", 12);
	assert_int_equal(machine_restore(&notes, &faults), 0);
	assert_true(machine_says(&notes, "the machine has been restarted since"));
	machine_expect("queue/nomerges", "2");
	assert_int_equal(machine_count_records(), 0);
}

/* Moves the queue away and makes a new one, as a disk that is plugged in has it. The old folder
 * stays, so that its inode is not used again. */
static void replug(const char *identity)
{
	static unsigned number;
	char from[400], to[400];

	(void)snprintf(from, sizeof(from), "%s/" SDA "/queue", machine_root.path);
	(void)snprintf(to, sizeof(to), "%s/gone-%u", machine_root.path, number++);
	assert_int_equal(rename(from, to), 0);
	machine_put("queue/scheduler", "[none] mq-deadline");
	machine_put("queue/nr_requests", "32");
	machine_put("queue/nomerges", "2");
	machine_put("queue/wbt_lat_usec", "5000");
	sysroot_write(&machine_root, DISK "/wwid", identity, strlen(identity));
}

static void test_exchanged_disk_is_not_written(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings = machine_apply(&machine_usual, &notes, &faults);

	(void)state;
	replug("naa.5000c500ffffffff\n");
	machine_hook.log[0] = '\0';
	assert_int_equal(settings_restore(settings, &notes, &faults), -ENODEV);
	assert_true(machine_says(&faults, "sda (0x5000c500a1b2c3d4) is not there any more"));
	machine_expect("queue/nomerges", "2");
	machine_expect("queue/scheduler", "none");
	assert_string_equal(machine_hook.log, "");
	assert_int_equal(machine_restore(&notes, &faults), -ENODEV);
	/* The other disk is free, and has its own record. */
	settings = machine_apply(&machine_usual, &notes, &faults);
	assert_int_equal(machine_count_records(), 2);
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	machine_expect("queue/wbt_lat_usec", "5000");
	assert_int_equal(machine_count_records(), 1);
	/* It returns: what is still as the run left it goes back. */
	replug("naa.5000c500a1b2c3d4\n");
	assert_int_equal(machine_restore(&notes, &faults), 0);
	machine_expect("queue/scheduler", "mq-deadline");
	machine_expect("queue/nomerges", "0");
	machine_expect("queue/wbt_lat_usec", "5000");
	assert_int_equal(machine_count_records(), 0);
}

static void test_forget(void **state)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct settings_left_list list;

	(void)state;
	assert_true(machine_killed_at(0, machine_apply_and_die));
	assert_int_equal(settings_left_list(machine_place(), NULL, &list, NULL), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].state, SETTINGS_LEFT);
	assert_string_equal(list.items[0].record.entries[QUEUE_SCHEDULER].before, "mq-deadline");
	assert_int_equal(settings_left_forget(machine_place(), &list.items[0], &faults), 0);
	settings_left_done(&list);
	assert_int_equal(machine_count_records(), 0);
	machine_expect("queue/nomerges", "2");
}

/* The file behind a loop device was exchanged: another identity on the very same queue. */
static void test_same_queue_with_another_medium(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	struct settings *settings;

	(void)state;
	assert_true(machine_killed_at(0, machine_apply_and_die));
	sysroot_write(&machine_root, DISK "/wwid", "naa.5000c500ffffffff\n", 21);
	settings = machine_apply(&machine_usual, &notes, &faults);
	assert_true(machine_says(&notes, "was left changed"));
	assert_int_equal(machine_count_records(), 1);
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	machine_expect_former();
	assert_int_equal(machine_count_records(), 0);
}

/* Applies to the machine as it is now, and expects a refusal before anything is changed. */
static void expect_refusal(const struct settings_wanted *wanted, const char *text)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	const struct device device = machine_device("sda");
	struct settings *settings = NULL;

	machine_hook.log[0] = '\0';
	assert_int_equal(settings_open(machine_place(), &device, &settings, &notes, &faults), 0);
	assert_int_equal(settings_apply(settings, wanted, &notes, &faults), -EINVAL);
	assert_true(machine_says(&faults, text));
	assert_string_equal(machine_hook.log, "");
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	assert_int_equal(machine_count_records(), 0);
}

static void test_refusals(void **state)
{
	struct settings_wanted wanted = {
		.scheduler = "cfq", .nomerges = SETTINGS_AS_IS, .lenient = true
	};

	char path[400];

	(void)state;
	expect_refusal(&wanted,
		"\"cfq\" is no scheduler that the kernel has for sda; it has: none, mq-deadline, "
		"kyber");
	wanted.scheduler = "a-name-of-more-than-thirty-one-bytes";
	expect_refusal(&wanted, "is no scheduler");
	machine_put("queue/scheduler", "noop deadline [cfq]");
	wanted = (struct settings_wanted){ .scheduler = "none", .nomerges = SETTINGS_AS_IS };
	expect_refusal(&wanted, "it has: noop, deadline, cfq");
	machine_put("queue/scheduler", "none [kyber");
	expect_refusal(&wanted, "the scheduler file of sda cannot be understood");
	machine_put("queue/scheduler", "");
	wanted.scheduler = "kyber";
	expect_refusal(&wanted, "sda has no scheduler to choose, so kyber cannot be");
	wanted = (struct settings_wanted){ .nomerges = SETTINGS_AS_IS, .drive_depth = 1 };
	(void)snprintf(path, sizeof(path), "%s/" DISK "/queue_depth", machine_root.path);
	assert_int_equal(unlink(path), 0);
	expect_refusal(&wanted, "sda has no queue_depth, so it cannot be set to 1");
}

/* device-mapper and others without a queue of requests: no file, an empty one, or a bare none. */
static void test_devices_without_scheduler(void **state)
{
	static const char *const texts[] = { "none\n", "[none]\n", "none", "", "\n", NULL };

	(void)state;
	machine_hook.no_list = true;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
		char path[400];
		struct settings *settings;

		(void)snprintf(path, sizeof(path), "%s/" SDA "/queue/scheduler", machine_root.path);
		if (texts[i])
			machine_put("queue/scheduler", texts[i]);
		else
			assert_int_equal(unlink(path), 0);
		(void)snprintf(
			path, sizeof(path), "%s/" SDA "/queue/wbt_lat_usec", machine_root.path);
		(void)unlink(path);
		settings = machine_apply(&machine_usual, &notes, &faults);
		assert_int_equal(notes.count, i < 3 ? 0 : 1);
		assert_true(i < 3 || machine_says(&notes, "no scheduler of its own"));
		machine_expect("queue/nomerges", "2");
		assert_int_equal(settings_restore(settings, &notes, &faults), 0);
		machine_expect("queue/nomerges", "0");
	}
}

/* Only a queue that would hold requests back is made larger. */
static void test_nr_requests(void **state)
{
	static const struct {
		const char *scheduler, *before;
		unsigned depth;
		const char *during;
	} cases[] = {
		{ "[none] kyber", "32", 16, "32" },
		{ "[none] kyber", "8", 16, "16" },
		{ "[none] kyber", "8", 100, "32" },
		{ "[none] kyber", "2", 1, "4" },
		{ "[none] kyber", "16", 0, "16" },
		{ "none [kyber]", "8", 16, "32" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
		const struct settings_wanted wanted = { .scheduler = "none",
			.nomerges = SETTINGS_AS_IS,
			.nr_requests = cases[i].depth };
		struct settings *settings;

		machine_put("queue/scheduler", cases[i].scheduler);
		machine_put("queue/nr_requests", cases[i].before);
		settings = machine_apply(&wanted, &notes, &faults);
		machine_expect("queue/nr_requests", cases[i].during);
		assert_int_equal(settings_restore(settings, &notes, &faults), 0);
		machine_expect("queue/nr_requests", cases[i].before);
	}
}

/* Cells with other wishes: what is not wanted any more is as before the run. */
static void test_apply_again(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	const struct settings_wanted nothing = { .nomerges = SETTINGS_AS_IS };
	struct settings_wanted kyber = machine_usual;
	struct settings *settings = machine_apply(&machine_usual, &notes, &faults);

	(void)state;
	kyber.scheduler = "kyber";
	kyber.nomerges = SETTINGS_AS_IS;
	kyber.drive_depth = 1;
	kyber.nr_requests = 128;
	assert_int_equal(settings_apply(settings, &kyber, &notes, &faults), 0);
	machine_expect("queue/scheduler", "kyber");
	machine_expect("queue/nr_requests", "128");
	machine_expect("queue/nomerges", "0");
	machine_expect("queue/wbt_lat_usec", "0");
	machine_expect("device/queue_depth", "1");
	assert_int_equal(settings_apply(settings, &nothing, &notes, &faults), 0);
	machine_expect_former();
	assert_int_equal(settings_apply(settings, &kyber, &notes, &faults), 0);
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	machine_expect_former();
	assert_int_equal(notes.count, 0);
}

/* A run that leaves requests at a dead drive leaves the record, too. */
static void test_abandon(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };

	(void)state;
	settings_abandon(machine_apply(&machine_usual, &notes, &faults));
	settings_abandon(NULL);
	machine_expect("queue/nomerges", "2");
	assert_int_equal(machine_restore(&notes, &faults), 0);
	machine_expect_former();
}

static void test_no_record_no_change(void **state)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };
	const struct device device = machine_device("sda");
	struct settings *settings = NULL;

	(void)state;
	(void)snprintf(machine_records, sizeof(machine_records), "%s/no/such", machine_root.path);
	assert_int_equal(
		settings_open(machine_place(), &device, &settings, &notes, &faults), -ENOENT);
	assert_true(machine_says(&faults, "without a record nothing is changed"));
	machine_expect_former();
	assert_int_equal(machine_count_records(), 0);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_new, machine_done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(test_order),
		ON_A_MACHINE(test_scheduler_alone),
		ON_A_MACHINE(test_foreign_values_are_left),
		ON_A_MACHINE(test_foreign_scheduler_is_left),
		ON_A_MACHINE(test_restart_ends_settings),
		ON_A_MACHINE(test_exchanged_disk_is_not_written),
		ON_A_MACHINE(test_forget),
		ON_A_MACHINE(test_same_queue_with_another_medium),
		ON_A_MACHINE(test_refusals),
		ON_A_MACHINE(test_devices_without_scheduler),
		ON_A_MACHINE(test_nr_requests),
		ON_A_MACHINE(test_apply_again),
		ON_A_MACHINE(test_abandon),
		ON_A_MACHINE(test_no_record_no_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
