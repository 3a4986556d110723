/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Goal: a command file means what PostMark makes of it or is refused with all its faults. Method:
 * per line, whether it is accepted and which line a fault names; the settings that result. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fsmodel/named_pools.h"
#include "fsmodel/postmark_file.h"

static int parse_bytes(
	const char *text, size_t length, struct postmark_runs *runs, struct faults *faults)
{
	*runs = (struct postmark_runs){ 0 };
	*faults = (struct faults){ 0 };
	return postmark_file_parse("t", text, length, false, runs, faults);
}

static struct postmark_runs accept(const char *text)
{
	struct postmark_runs runs;
	struct faults faults;

	if (parse_bytes(text, strlen(text), &runs, &faults) < 0)
		fail_msg("refused: %s", faults.text[0]);
	faults_done(&faults);
	return runs;
}

/* Every number in lines, ended by 0, must be named by exactly one fault, in that order. */
static void refuse_bytes(const char *text, size_t length, const unsigned *lines)
{
	struct postmark_runs runs;
	struct faults faults;
	size_t count = 0;

	if (parse_bytes(text, length, &runs, &faults) == 0)
		fail_msg("accepted: %s", text);
	assert_int_equal(runs.count, 0);
	for (; lines[count]; count++) {
		char prefix[16];

		(void)snprintf(prefix, sizeof(prefix), "t:%u: ", lines[count]);
		if (count >= faults.count || strncmp(faults.text[count], prefix, strlen(prefix)))
			fail_msg("'%s': expected a fault of line %u, got %s", text, lines[count],
				count < faults.count ? faults.text[count] : "none");
	}
	if (faults.count != count)
		fail_msg("'%s': one fault more: %s", text, faults.text[count]);
	faults_done(&faults);
}

#define REFUSE(text, ...) refuse_bytes(text, sizeof(text) - 1, (const unsigned[]){ __VA_ARGS__, 0 })

static void test_defaults_and_settings(void **state)
{
	struct postmark_runs runs = accept(
		"run\nset size 700 900\nset number 12\nset seed 7\n"
		"set transactions 4\nset subdirectories 3\nset read 4096\nset write 8192\n"
		"set buffering false\nset bias read -1\nset bias create 10\nset report terse\n"
		"show\nhelp set\nrun\nrun\nquit\n");
	const struct postmark_config *config;

	(void)state;
	assert_int_equal(runs.count, 3);
	config = &runs.configs[0];
	assert_int_equal(config->size_low_bytes, 500);
	assert_int_equal(config->size_high_bytes, 10000);
	assert_int_equal(config->files, 500);
	assert_int_equal(config->transactions, 500);
	assert_int_equal(config->seed, 42);
	assert_int_equal(config->bias_read, 5);
	for (int i = 1; i <= 2; i++) {
		config = &runs.configs[i];
		assert_int_equal(config->size_low_bytes, 700);
		assert_int_equal(config->size_high_bytes, 900);
		assert_int_equal(config->files, 12);
		assert_int_equal(config->seed, 7);
		assert_int_equal(config->transactions, 4);
		assert_int_equal(config->subdirectories, 3);
		assert_int_equal(config->read_block_bytes, 4096);
		assert_int_equal(config->write_block_bytes, 8192);
		assert_false(config->buffered);
		assert_int_equal(config->bias_read, -1);
		assert_int_equal(config->bias_create, 10);
	}
	/* read, write, buffering, report, show, help. */
	assert_int_equal(runs.notes.count, 6);
	assert_memory_equal(runs.notes.text[0], "t:7: ", 5);
	postmark_runs_done(&runs);
}

static void test_odd_but_read_correctly(void **state)
{
	static const struct {
		const char *line;
		int32_t low, high, files;
	} cases[] = {
		{ "set size 4096", 4096, 4096, 500 },
		{ "set size 4096 ", 4096, 4096, 500 },
		{ "set size  4096", 4096, 4096, 500 },
		{ "set size 500  900", 500, 900, 500 },
		{ "set size 500 900 ", 500, 900, 500 },
		{ "set size 900 900", 900, 900, 500 },
		{ "set number  30", 500, 10000, 30 },
		{ "set number +30 ", 500, 10000, 30 },
		{ "set number 0030", 500, 10000, 30 },
		/* A later line mends what could not run. */
		{ "set number 2000000000\nset number 30", 500, 10000, 30 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128];
		struct postmark_runs runs;

		(void)snprintf(text, sizeof(text), "%s\nrun\nquit \n", cases[i].line);
		runs = accept(text);
		assert_int_equal(runs.configs[0].size_low_bytes, cases[i].low);
		assert_int_equal(runs.configs[0].size_high_bytes, cases[i].high);
		assert_int_equal(runs.configs[0].files, cases[i].files);
		postmark_runs_done(&runs);
	}
}

static void test_locations(void **state)
{
	struct postmark_runs runs =
		accept("set location gone\nset location a\nset location +b 3\n"
		       "set location +two words 2\nset location +x\nset location -b\nrun\n");

	(void)state;
	assert_int_equal(runs.configs[0].location_count, 3);
	assert_string_equal(runs.configs[0].locations[0].name, "a");
	assert_int_equal(runs.configs[0].locations[0].weight, 1);
	assert_string_equal(runs.configs[0].locations[1].name, "two words");
	assert_int_equal(runs.configs[0].locations[1].weight, 2);
	assert_string_equal(runs.configs[0].locations[2].name, "x");
	postmark_runs_done(&runs);
	REFUSE("set location\nset location \nset location +\nset location a 0\nset location a x\n"
	       "set location a -2\nset location a \nset location  a\nset location a  3\n"
	       "set location a\t3\nset location -nosuch\nset location a b\nrun\n",
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	REFUSE("set location a 2147483647\nset location +b 2147483647\nrun\n", 3);
	/* Longer than the original's table has room for. */
	REFUSE("set location 0123456789012345678901234567890123456789012345678901234567890123456789"
	       "0123456789\nrun\n",
		2);
}

static void test_misread_numbers(void **state)
{
	(void)state;
	REFUSE("set number 9k\nset number 1e3\nset number 0x10\nset number 1.5\nset number 40abc\n"
	       "set number\nset number \nset number 1 2\nset number 0\nset number -5\n"
	       "set number 99999999999\nset number 3000000000\nset number 99999999999999999999\n"
	       "set seed 4294967338\nset transactions abc\nset subdirectories 0\nset read 4k\n"
	       "set write 0\nrun\n",
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
	REFUSE("set bias read 11\nset bias create -2\nset bias read 3 4\nset bias read 3.9\n"
	       "set bias read abc\nset bias read\nset read bias 3\nset bias 3\nrun\n",
		1, 2, 3, 4, 5, 6, 7, 8);
}

static void test_misread_sizes(void **state)
{
	(void)state;
	REFUSE("set size 5000 100\nset size  500 900\nset size 5,10\nset size 9k 15k\n"
	       "set size 0 10\nset size 10 0\nset size 1 2 3\nset size\nset size 500\t900\n"
	       "set size 500 900k\nrun\n",
		1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10);
}

static void test_misread_lines(void **state)
{
	(void)state;
	REFUSE("set number=300\nset transactions\t120\nset transactions: 70\nset numbers 100000\n"
	       "running\nshowing\nhelpx\nloader\n set seed 9\nSet seed 9\nset  seed 9\n\n"
	       "# comment\n?\nexit\nset bogus 3\n!echo hi\nload\nload x\nrun \nshow \n"
	       "set buffering yes\nset buffering true \nset buffering\nset report brief\n"
	       "set report TERSE\nset report terse \nquitting\nquit now\n",
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
		24, 25, 26, 27, 28, 29);
}

static void test_line_ends(void **state)
{
	struct postmark_runs runs;
	char text[600];

	(void)state;
	/* A last character that would be lost, a Windows line end, a NUL byte. */
	REFUSE("run\nset transactions 5678", 2);
	REFUSE("run\nquit", 2);
	REFUSE("set number 77\r\nrun\r\n", 1, 2);
	REFUSE("set number 77\r\nset size 9k\r\nrun\n", 1, 2, 2);
	REFUSE("set number 7\0007\nrun\n", 1);

	/* 253 characters and the newline are what PostMark reads at once. */
	(void)snprintf(text, sizeof(text), "set number 33%*s\nrun\n", 253 - 13, "");
	runs = accept(text);
	assert_int_equal(runs.configs[0].files, 33);
	postmark_runs_done(&runs);
	(void)snprintf(text, sizeof(text), "set number 33%*s\nrun\n", 254 - 13, "");
	refuse_bytes(text, strlen(text), (const unsigned[]){ 1, 0 });
}

static void test_sessions(void **state)
{
	struct postmark_runs runs;
	struct faults faults;

	(void)state;
	/* No run at all is a fault of the file, not of a line. */
	assert_int_equal(parse_bytes("set number 3\nquit\n", 18, &runs, &faults), -EINVAL);
	assert_int_equal(faults.count, 1);
	assert_non_null(strstr(faults.text[0], "`run`"));
	faults_done(&faults);
	assert_int_equal(parse_bytes("", 0, &runs, &faults), -EINVAL);
	assert_int_equal(faults.count, 1);
	faults_done(&faults);

	/* What follows quit is not read, whatever it is, and a note tells so. */
	runs = accept("run out.txt\nquit\n# nonsense\r\nrun");
	assert_int_equal(runs.count, 1);
	assert_int_equal(runs.notes.count, 2);
	postmark_runs_done(&runs);

	/* What cannot run names the line that set it, once. */
	REFUSE("set number 5\nset size 1000 1073741824\nrun\nrun\n", 2);
	REFUSE("set number 1073741824\nset size 1073741824\nrun\n", 2, 1);
	runs = accept("set size 1000 1073741823\nset number 2\nrun\n");
	postmark_runs_done(&runs);
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) >= 0, 1);
	assert_int_equal(fclose(file), 0);
}

static void test_load(void **state)
{
	static const char *const names[] = { "inner", "outer", "twice", "cycle", "again" };
	char folder[] = "/tmp/bareplatter-load-XXXXXX";
	char *before = getcwd(NULL, 0);
	struct postmark_runs runs = { 0 };
	struct faults faults = { 0 };

	(void)state;
	assert_non_null(before);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	write_file("inner", "set number 20\nrun\nquit\nset number 3\n");
	write_file("outer", "load inner\nset transactions 9\nrun\nquit\n");
	write_file("twice", "load inner\nload inner\n");
	write_file("cycle", "run\nload again\n");
	write_file("again", "load cycle\nset size 9k\n");

	/* quit inside a loaded file ends that file alone; its settings stay. */
	assert_int_equal(postmark_file_read("outer", &runs, &faults), 0);
	assert_int_equal(runs.count, 2);
	assert_int_equal(runs.configs[1].files, 20);
	assert_int_equal(runs.configs[1].transactions, 9);
	postmark_runs_done(&runs);
	assert_int_equal(postmark_file_read("twice", &runs, &faults), 0);
	assert_int_equal(runs.count, 2);
	postmark_runs_done(&runs);

	assert_int_equal(postmark_file_read("cycle", &runs, &faults), -EINVAL);
	assert_int_equal(faults.count, 2);
	assert_non_null(strstr(faults.text[0], "again:1: `load`: 'cycle' loads itself"));
	assert_non_null(strstr(faults.text[1], "again:2: "));
	faults_done(&faults);
	assert_int_equal(postmark_file_read("nosuch", &runs, &faults), -EINVAL);
	assert_int_equal(postmark_file_read(".", &runs, &faults), -EINVAL);
	assert_int_equal(faults.count, 2);
	faults_done(&faults);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(unlink(names[i]), 0);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(rmdir(folder), 0);
	free(before);
}

/* A KB of the sources is 1024 bytes; the shares are files x mean size over 18 GB. */
static void test_named_pools(void **state)
{
	static const struct {
		const char *name;
		int32_t low, high, files, transactions, transactions_large;
		double share;
	} cases[] = {
		{ "SS", 9216, 15360, 10000, 100000, 100000, 0.0068 },
		{ "SL", 9216, 15360, 200000, 100000, 100000, 0.1365 },
		{ "LS", 102400, 3145728, 1000, 20000, 20000, 0.0902 },
		{ "LL", 102400, 3145728, 4250, 20000, 40000, 0.3835 },
		{ "p97-small", 500, 10000, 1000, 50000, 50000, 0 },
		{ "p97-medium", 500, 10000, 20000, 50000, 50000, 0 },
		{ "p97-large", 500, 10000, 20000, 100000, 100000, 0 },
		{ "postmark", 500, 10000, 500, 500, 500, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct named_pool *pool = named_pool_find(cases[i].name);
		struct postmark_config config;
		struct faults faults = { 0 };

		assert_non_null(pool);
		named_pool_config(pool, PAPER_DISK_SMALL, &config);
		assert_int_equal(config.size_low_bytes, cases[i].low);
		assert_int_equal(config.size_high_bytes, cases[i].high);
		assert_int_equal(config.files, cases[i].files);
		assert_int_equal(config.transactions, cases[i].transactions);
		assert_int_equal(config.seed, 42);
		assert_true(pool->disk_share >= cases[i].share - 0.0001);
		assert_true(pool->disk_share <= cases[i].share + 0.0001);
		named_pool_config(pool, PAPER_DISK_LARGE, &config);
		assert_int_equal(config.transactions, cases[i].transactions_large);
		postmark_config_check(&config, &faults);
		assert_int_equal(faults.count, 0);
	}
	assert_null(named_pool_find("ss"));
	assert_null(named_pools[ARRAY_SIZE(cases)].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_and_settings),
		cmocka_unit_test(test_odd_but_read_correctly),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_misread_numbers),
		cmocka_unit_test(test_misread_sizes),
		cmocka_unit_test(test_misread_lines),
		cmocka_unit_test(test_line_ends),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_named_pools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
