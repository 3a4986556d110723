/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A drive's caches in the record: saved before the first change, put back at the end of a run,
 * after a kill at every step, after a restart, and never into another drive.
 */
#include "devices/settings.h"
#include "devices/settings_left.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cached_drive.h"
#include "tests/support/check.h"

static const struct settings_wanted write_through = {
	.scheduler = "none",
	.nomerges = SETTINGS_AS_IS,
	.caches = { [DRIVE_WRITE_CACHE] = CACHE_WISH_OFF },
};
static const struct settings_wanted nothing = { .nomerges = SETTINGS_AS_IS };

static struct faults notes, faults;

static void begin(enum cached_kind kind)
{
	notes = faults = (struct faults){ 0 };
	cached_drive_new(kind);
}

static void end(void)
{
	assert_int_equal(cached_drive->saved, 0);
	faults_done(&notes);
	faults_done(&faults);
	cached_drive_done();
}

static int apply(const struct settings_wanted *wanted, struct settings **ret_settings)
{
	struct device device;
	int code;

	assert_int_equal(device_read(cached_root.path, cached_name, &device, NULL), 0);
	code = settings_open(cached_place(), &device, ret_settings, &notes, &faults);
	return code ? code : settings_apply(*ret_settings, wanted, &notes, &faults);
}

static int restore_all(unsigned *ret_count)
{
	struct settings_left_list list;
	int worst = 0;

	assert_int_equal(settings_left_list(cached_place(), NULL, &list, NULL), 0);
	*ret_count = (unsigned)list.count;
	for (size_t i = 0; i < list.count; i++) {
		const int code =
			settings_left_restore(cached_place(), &list.items[i], &notes, &faults);

		worst = code ? code : worst;
	}
	settings_left_done(&list);
	return worst;
}

static unsigned count_records(void)
{
	struct settings_left_list list;
	unsigned count;

	assert_int_equal(settings_left_list(cached_place(), NULL, &list, NULL), 0);
	count = (unsigned)list.count;
	settings_left_done(&list);
	return count;
}

static void test_run(void **state)
{
	struct settings_value values[DRIVE_SETTING_COUNT];
	struct settings *settings = NULL;

	(void)state;
	for (enum cached_kind kind = CACHED_SCSI; kind <= CACHED_VIRTIO; kind++) {
		begin(kind);
		assert_int_equal(apply(&write_through, &settings), 0);
		assert_false(cached_drive->write_cache);
		assert_int_equal(settings_describe_drive(settings, values), 1);
		assert_string_equal(values[0].name, "write_cache");
		assert_string_equal(values[0].before, "on");
		assert_string_equal(values[0].during, "off");
		assert_int_equal(settings_verify(settings, &notes), 0);
		/* The next cell wants it as it was. */
		assert_int_equal(settings_apply(settings, &nothing, &notes, &faults), 0);
		assert_true(cached_drive->write_cache);
		assert_int_equal(settings_apply(settings, &write_through, &notes, &faults), 0);
		assert_false(cached_drive->write_cache);
		assert_int_equal(settings_restore(settings, &notes, &faults), 0);
		assert_true(cached_drive->write_cache);
		cached_expect_kernel("write back");
		assert_int_equal(faults.count, 0);
		assert_int_equal(count_records(), 0);
		end();
	}
}

/* The record is on disk before the first command that changes, and the caches come last. */
static void test_order(void **state)
{
	struct settings *settings = NULL;

	(void)state;
	begin(CACHED_SCSI);
	assert_int_equal(apply(&write_through, &settings), 0);
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	assert_string_equal(cached_drive->log,
		"save applying\nwrite_cache off\nrescan 1\nsave applied\n"
		"save restoring\nwrite_cache on\nrescan 1\nremove \n");
	end();
}

static void test_changed_meanwhile(void **state)
{
	struct settings *settings = NULL;

	(void)state;
	begin(CACHED_SCSI);
	assert_int_equal(apply(&write_through, &settings), 0);
	cached_drive->write_cache = true;
	/* It changed, and the kernel does not know: two reasons against the cell. */
	assert_int_equal(settings_verify(settings, &notes), 2);
	assert_true(cached_says(
		&notes, "the write cache of sdb was off for the run and has become on"));
	assert_true(cached_says(&notes, "no flush"));
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	cached_expect_kernel("write back");
	end();
	/* Asked to stay on, it was switched off by somebody else: left, and told. */
	begin(CACHED_SCSI);
	assert_int_equal(apply(&(struct settings_wanted){ .nomerges = SETTINGS_AS_IS,
				       .caches = { CACHE_WISH_ON } },
				 &settings),
		0);
	cached_drive->write_cache = false;
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	assert_true(cached_says(&notes, "somebody else set meanwhile"));
	assert_false(cached_drive->write_cache);
	end();
}

static void test_refused(void **state)
{
	struct settings *settings = NULL;

	(void)state;
	begin(CACHED_SCSI);
	cached_drive->no_page = true;
	assert_int_equal(apply(&write_through, &settings), -EOPNOTSUPP);
	assert_string_equal(cached_drive->log, "");
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	end();
	begin(CACHED_SCSI);
	cached_drive->stubborn = true;
	assert_int_equal(apply(&write_through, &settings), -EIO);
	assert_true(cached_drive->write_cache);
	assert_int_equal(settings_restore(settings, &notes, &faults), 0);
	assert_int_equal(count_records(), 0);
	end();
}

/* What a user sets for good leaves no record behind. */
static void test_keep(void **state)
{
	struct settings *settings = NULL;
	unsigned count;

	(void)state;
	begin(CACHED_SCSI);
	assert_int_equal(apply(&write_through, &settings), 0);
	assert_int_equal(settings_keep(settings, &notes, &faults), 0);
	assert_false(cached_drive->write_cache);
	assert_int_equal(restore_all(&count), 0);
	assert_int_equal(count, 0);
	assert_false(cached_drive->write_cache);
	end();
}

static void run_and_restore(void)
{
	struct settings *settings = NULL;

	(void)apply(&write_through, &settings);
	(void)settings_restore(settings, &notes, &faults);
}

static bool killed_at(unsigned step)
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		cached_drive->step = 0;
		cached_drive->kill_at = step;
		run_and_restore();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	cached_drive->kill_at = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

static void test_killed_at_every_step(void **state)
{
	unsigned step = 1, count;

	(void)state;
	for (;; step++) {
		bool killed;

		begin(CACHED_SCSI);
		killed = killed_at(step);
		if (killed) {
			assert_int_equal(restore_all(&count), 0);
			assert_true(cached_drive->write_cache);
			cached_expect_kernel("write back");
			assert_int_equal(count_records(), 0);
		}
		end();
		if (!killed)
			break;
	}
	assert_int_equal(step, 9);
}

static void die_applied(void)
{
	/* Before the record says that it is being restored. */
	assert_true(killed_at(5));
	assert_false(cached_drive->write_cache);
}

static void put_boot(const char *boot)
{
	sysroot_write(&cached_root, "proc/sys/kernel/random/boot_id", boot, strlen(boot));
}

static void test_restart(void **state)
{
	unsigned count;

	(void)state;
	begin(CACHED_SCSI);
	die_applied();
	put_boot("second-boot");
	assert_int_equal(restore_all(&count), 0);
	assert_int_equal(count, 1);
	assert_true(cached_drive->write_cache);
	assert_true(cached_says(&notes, "but not those of the drive"));
	assert_int_equal(count_records(), 0);
	end();
	/* A loss of power brought back the saved value: nothing is left to do. */
	begin(CACHED_SCSI);
	die_applied();
	put_boot("second-boot");
	cached_drive->write_cache = true;
	assert_int_equal(restore_all(&count), 0);
	assert_true(cached_drive->write_cache);
	end();
}

/* Another drive in the old one's place is left alone, until the old one is back. */
static void test_exchanged(void **state)
{
	static const char wwid[] = "sys/devices/pci0/host2/target2:0:0/2:0:0:0/wwid";
	unsigned count;

	(void)state;
	for (int restarted = 0; restarted < 2; restarted++) {
		begin(CACHED_SCSI);
		die_applied();
		if (restarted)
			put_boot("second-boot");
		sysroot_write(&cached_root, wwid, "naa.5000c500deadbeef\n", 21);
		cached_drive->commands = 0;
		assert_int_equal(restore_all(&count), -ENODEV);
		assert_true(cached_says(&faults, "is not there"));
		assert_int_equal(cached_drive->commands, 0);
		assert_false(cached_drive->write_cache);
		assert_int_equal(count_records(), 1);
		sysroot_write(&cached_root, wwid, "naa.5000c500a1b2c3d5\n", 21);
		assert_int_equal(restore_all(&count), 0);
		assert_true(cached_drive->write_cache);
		assert_int_equal(count_records(), 0);
		end();
	}
}

/* What cannot be put back keeps its record, and a later attempt ends it. */
static void test_later(void **state)
{
	unsigned count;

	(void)state;
	begin(CACHED_SCSI);
	die_applied();
	cached_drive->stubborn = true;
	assert_int_equal(restore_all(&count), -EIO);
	assert_int_equal(count_records(), 1);
	cached_drive->stubborn = false;
	assert_int_equal(restore_all(&count), 0);
	assert_true(cached_drive->write_cache);
	assert_int_equal(count_records(), 0);
	end();
}

static void test_record_text(void **state)
{
	static const char head[] = "bareplatter-state 1\nidentity a\nname sdb\nboot b\nqueue 1\n"
				   "pid 2\nstarted c\nphase applied\n";
	struct state_record record;
	char text[STATE_RECORD_TEXT], again[STATE_RECORD_TEXT];

	(void)state;
	(void)snprintf(text, sizeof(text),
		"%ssysfs nomerges 0 2 0\ndrive write_cache on off on\n"
		"drive read_cache off - off\nend\n",
		head);
	assert_int_equal(state_record_parse(text, &record, NULL), 0);
	assert_string_equal(record.drive[DRIVE_WRITE_CACHE].during, "off");
	assert_string_equal(record.drive[DRIVE_READ_CACHE].during, "");
	(void)state_record_write(&record, again, sizeof(again));
	assert_string_equal(text, again);
	for (size_t i = 0; i < 4; i++) {
		static const char *const wrong[] = { "drive write_cache on off",
			"drive write_cash on off on", "drive write_cache on off of",
			"driver write_cache off on on" };

		(void)snprintf(text, sizeof(text), "%s%s\nend\n", head, wrong[i]);
		assert_int_equal(state_record_parse(text, &record, NULL), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_changed_meanwhile),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_killed_at_every_step),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_exchanged),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_record_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
