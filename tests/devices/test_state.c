/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Texts and files that settings rest on: scheduler files as they are found in the wild, records
 * that come back as they were written or are refused, and locks that end with their process.
 */
#include "devices/scheduler_file.h"
#include "devices/state_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"

static char folder[PATH_MAX];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/var/tmp/state-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void test_schedulers(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *active, *names;
	} cases[] = {
		{ "[none] mq-deadline kyber bfq \n", 0, "none", "none, mq-deadline, kyber, bfq" },
		{ "none [mq-deadline] kyber\n", 0, "mq-deadline", "none, mq-deadline, kyber" },
		{ "mq-deadline kyber [bfq] none", 0, "bfq", "mq-deadline, kyber, bfq, none" },
		{ "noop deadline [cfq]\n", 0, "cfq", "noop, deadline, cfq" },
		{ "[mq-deadline]", 0, "mq-deadline", "mq-deadline" },
		{ "none\n", 0, "none", "none" },
		{ "[none]\n", 0, "none", "none" },
		{ "none", 0, "none", "none" },
		{ "", 0, "", "nothing" },
		{ " \n", 0, "", "nothing" },
		{ "none mq-deadline", 0, "", "none, mq-deadline" },
		{ "\tnone  [kyber]", 0, "kyber", "none, kyber" },
		{ "none [kyber", -EBADMSG, NULL, NULL },
		{ "none kyber]", -EBADMSG, NULL, NULL },
		{ "[none] [kyber]", -EBADMSG, NULL, NULL },
		{ "no[ne] kyber", -EBADMSG, NULL, NULL },
		{ "[] none", -EBADMSG, NULL, NULL },
		{ "[", -EBADMSG, NULL, NULL },
		{ "a-name-of-more-than-thirty-one-bytes", -EBADMSG, NULL, NULL },
		{ "a b c d e f g h i j k l m n o p q", -EBADMSG, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scheduler_file file;
		const int code = scheduler_file_parse(cases[i].text, &file);

		if (code != cases[i].code)
			fail_msg("\"%s\": %d", cases[i].text, code);
		if (code)
			continue;
		assert_string_equal(scheduler_file_active(&file), cases[i].active);
		assert_string_equal(scheduler_file_names(&file).text, cases[i].names);
	}
}

static void test_offers(void **state)
{
	struct scheduler_file file;

	(void)state;
	assert_int_equal(scheduler_file_parse("none [mq-deadline]", &file), 0);
	assert_true(scheduler_file_offers(&file, "none"));
	assert_true(scheduler_file_offers(&file, "mq-deadline"));
	/* A module that was not asked for yet is in no list. */
	assert_true(scheduler_file_offers(&file, "kyber"));
	assert_false(scheduler_file_offers(&file, "deadline"));
	assert_false(scheduler_file_offers(&file, "cfq"));
	assert_false(scheduler_file_offers(&file, "NONE"));
	assert_false(scheduler_file_offers(&file, ""));
	assert_int_equal(scheduler_file_parse("none", &file), 0);
	assert_false(scheduler_file_offers(&file, "kyber"));
}

static struct state_record example(void)
{
	struct state_record record = {
		.identity = "0x5000c500a1b2c3d4",
		.name = "sda",
		.boot = "6d3c4a52-0000",
		.queue_inode = 6943,
		.pid = 4711,
		.started = "2026-11-30T12:00:00+00:00",
		.phase = STATE_APPLIED,
	};

	record.entries[QUEUE_SCHEDULER] = (struct state_entry){ true, "mq-deadline", "none", "" };
	record.entries[QUEUE_WBT] = (struct state_entry){ true, "", "0", "" };
	return record;
}

static void test_record_comes_back(void **state)
{
	struct state_record record = example(), again;
	struct error error = { 0 };
	char text[STATE_RECORD_TEXT];

	(void)state;
	/* The longest of everything fits. */
	memset(record.identity, 'i', sizeof(record.identity) - 1);
	memset(record.boot, 'b', sizeof(record.boot) - 1);
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		memset(record.entries[i].before, '9', QUEUE_VALUE - 1);
	(void)state_record_write(&record, text, sizeof(text));
	if (state_record_parse(text, &again, &error))
		fail_msg("%s\n%s", error.text, text);
	/* Unused entries hold nothing. */
	for (int i = 0; i < QUEUE_SETTING_COUNT; i++)
		if (!record.entries[i].used)
			record.entries[i] = (struct state_entry){ 0 };
	assert_memory_equal(&record, &again, sizeof(record));
}

/* A record that was cut anywhere, or has something unknown in it, is refused as a whole. */
static void test_damage_is_refused(void **state)
{
	static const struct {
		const char *from, *to;
	} changes[] = { { "state 1", "state 2" }, { "state 1", "state" },
		{ "sysfs scheduler", "drive write_cache" }, { "sysfs wbt", "sysfs wbX" },
		{ "sysfs wbt_lat_usec", "sysfs scheduler" }, { "phase applied", "phase done" },
		{ "queue 6943", "queue 69x3" }, { "queue 6943", "queue -1" },
		{ "queue 6943", "queue 99999999999999999999" }, { "name sda", "name ../sda" },
		{ "name sda", "name s da" }, { "name sda\n", "" }, { "pid", "PID" },
		{ "identity 0x5000c500a1b2c3d4", "identity -" }, { " none ", " " },
		{ "end\n", "end\nend\n" }, { "end\n", "end\n " },
		{ "mq-deadline", "a-name-of-more-than-thirty-one-bytes" } };
	struct state_record record = example(), again;
	char text[STATE_RECORD_TEXT], changed[STATE_RECORD_TEXT * 2];
	size_t length;

	(void)state;
	length = state_record_write(&record, text, sizeof(text));
	for (size_t i = 0; i < length; i++) {
		memcpy(changed, text, i);
		changed[i] = '\0';
		assert_int_equal(state_record_parse(changed, &again, NULL), -EBADMSG);
	}
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		const char *at = strstr(text, changes[i].from);
		struct error error = { 0 };

		assert_non_null(at);
		(void)snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text,
			changes[i].to, at + strlen(changes[i].from));
		if (state_record_parse(changed, &again, &error) != -EBADMSG)
			fail_msg("\"%s\" was taken for \"%s\"", changes[i].to, changes[i].from);
		assert_non_null(strstr(error.text, "line "));
	}
}

static void test_names(void **state)
{
	char name[NAME_MAX + 1], other[NAME_MAX + 1], identity[DEVICE_TEXT * 2];

	(void)state;
	state_file_name("0x5000c500a1b2c3d4", name, sizeof(name));
	assert_string_equal(name, "0x5000c500a1b2c3d4.state");
	state_file_name("loop:12-34-56", name, sizeof(name));
	assert_string_equal(name, "loop:12-34-56.state");
	state_file_name("../a/b%", name, sizeof(name));
	assert_string_equal(name, "%2E.%2Fa%2Fb%25.state");
	memset(identity, '/', sizeof(identity) - 1);
	identity[sizeof(identity) - 1] = '\0';
	state_file_name(identity, name, sizeof(name));
	identity[sizeof(identity) - 2] = '.';
	state_file_name(identity, other, sizeof(other));
	assert_string_not_equal(name, other);
	assert_true(strlen(name) + strlen(".new") <= NAME_MAX);
}

static void test_folder(void **state)
{
	char path[PATH_MAX + 16], real[PATH_MAX];
	struct error error = { 0 };
	struct stat status;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/made", folder);
	assert_int_equal(state_folder_open(path, real, sizeof(real), &error), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(state_folder_open(path, real, sizeof(real), &error), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(state_folder_open(path, real, sizeof(real), &error), -EPERM);
	assert_non_null(strstr(error.text, "written by others"));
	assert_int_equal(rmdir(path), 0);
	error.code = 0;
	(void)snprintf(path, sizeof(path), "%s/a/b", folder);
	assert_int_equal(state_folder_open(path, real, sizeof(real), &error), -ENOENT);
	error.code = 0;
	assert_int_equal(state_folder_open("/dev/null", real, sizeof(real), &error), -ENOTDIR);
}

/* One process holds a record, names itself in it, and is followed when it was killed. */
static void test_lock(void **state)
{
	struct state_record record = example(), seen;
	struct state_file file = { .fd = -1 }, second = { .fd = -1 };
	struct error error = { 0 };
	int channel[2], status;
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(state_file_lock(folder, "a.state", false, &file, &seen, &error), -ENOENT);
	assert_int_equal(pipe(channel), 0);
	child = fork();
	if (child == 0) {
		record.pid = (uint64_t)getpid();
		if (state_file_lock(folder, "a.state", true, &file, &seen, NULL) ||
			state_file_save(&file, &record, NULL) || write(channel[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_true(read(channel[0], &byte, 1) == 1);
	assert_int_equal(state_file_lock(folder, "a.state", true, &file, &seen, &error), -EBUSY);
	assert_int_equal(seen.pid, child);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(state_file_lock(folder, "a.state", false, &file, &seen, &error), 1);
	assert_int_equal(seen.pid, child);
	/* Saving leaves no instant, and no second file, without the lock. */
	assert_int_equal(state_file_save(&file, &record, &error), 0);
	assert_int_equal(state_file_lock(folder, "a.state", true, &second, &seen, &error), -EBUSY);
	assert_int_equal(state_file_remove(&file, &error), 0);
	(void)close(channel[0]);
	(void)close(channel[1]);
}

static void test_damaged_file(void **state)
{
	struct state_record seen;
	struct state_file file = { .fd = -1 };
	struct error error = { 0 };
	char path[PATH_MAX + 16];
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/b.state", folder);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0 && write(fd, "bareplatter-state 9\n", 20) == 20);
	(void)close(fd);
	assert_int_equal(state_file_lock(folder, "b.state", true, &file, &seen, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "--forget b.state"));
	assert_int_equal(state_file_remove(&file, &error), 0);
	/* A link in the place of a record is not followed. */
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_true(state_file_lock(folder, "b.state", true, &file, &seen, NULL) < 0);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedulers),
		cmocka_unit_test(test_offers),
		cmocka_unit_test(test_record_comes_back),
		cmocka_unit_test(test_damage_is_refused),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_damaged_file),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
