/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of requests at the driver: lines of several kernels are read, a text whose order cannot
 * be told is refused, and on a loop device of the test's own reads in a known order are seen in
 * that order while nobody's trace is changed and no instance stays behind.
 */
#include "devices/wire_order.h"

#include <fcntl.h>
#include <linux/blkpg.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices/sysfs.h"
#include "tests/support/check.h"
#include "tests/support/loop.h"
#include "tests/support/require.h"

#define TRACEFS "/sys/kernel/tracing"
#define HEADER "# tracer: nop\n#\n# entries-in-buffer/entries-written: %s   #P:2\n#\n"

/* --- Lines ----------------------------------------------------------------------------------- */

static const struct {
	const char *line;
	struct wire_event event;
} lines[] = {
	/* Linux 4.19, four flags (the stable list, March 2022: fsync that always fails). */
	{ " kworker/7:1H-250   [007] .... 19654.923352: block_rq_issue: 8,0 FF 0 () 0 + 0 "
	  "[kworker/7:1H]",
		{ 19654923352, 7, 8, 0, 0, 0, false } },
	/* Linux 6.4, five flags (linux-ext4, January 2024: RWF_DSYNC without journal). */
	{ "  raft-benchmark-37801   [003] .....  9904.831159: block_rq_issue: 259,0 WS 4096 () "
	  "498455480 + 8 [raft-benchmark]",
		{ 9904831159, 3, 259, 0, 498455480, 8, true } },
	{ "  raft-benchmark-35708   [000] .....  9203.271126: block_rq_issue: 259,0 WFS 4096 () "
	  "498455552 + 8 [raft-benchmark]",
		{ 9203271126, 0, 259, 0, 498455552, 8, true } },
	/* Linux 6.18, with the priority; default clock, and the clock `counter`. */
	{ "              dd-4922    [001] .....  5363.760523: block_rq_issue: 7,1 RS 4096 () "
	  "2400 + 8 be,0,4 [dd]",
		{ 5363760523, 1, 7, 1, 2400, 8, true } },
	{ "             fio-4920    [000] .....            5: block_rq_issue: 7,1 R 4096 () 984 + "
	  "8 be,0,4 [fio]",
		{ 5, 0, 7, 1, 984, 8, true } },
	/* Made by hand after the kernel's format: a flush's sector, a discard, a write with a flush
	 * before, a command of SCSI, and programs with names that look like something else. */
	{ "    a-1    [000] d..1.  1.000001: block_rq_issue: 8,16 FF 0 () "
	  "18446744073709551615 + 0 none,0,0 [a]",
		{ 1000001, 0, 8, 16, UINT64_MAX, 0, false } },
	{ "    a-1    [000] d..1.  1.000001: block_rq_issue: 8,16 DS 1048576 () 2048 + 2048 [a]",
		{ 1000001, 0, 8, 16, 2048, 2048, false } },
	{ "    a-1    [000] d..1.  1.000001: block_rq_issue: 8,16 FWFS 512 () 7 + 1 [a]",
		{ 1000001, 0, 8, 16, 7, 1, true } },
	{ "    a-1    [000] d..1.  1.000001: block_rq_issue: 8,16 N 36 (12 00 00 00 24 00) 0 + "
	  "0 [a]",
		{ 1000001, 0, 8, 16, 0, 0, false } },
	{ " x [9] 1.5: y-2-77    [012] d.h1.  3.000000: block_rq_issue: 8,0 R 512 () 9 + 1 "
	  "[x [9] 1.5: y-2]",
		{ 3000000, 12, 8, 0, 9, 1, true } },
	{ " block_rq_issue:-77    (     77) [002] d.h1.  3.000000: block_rq_issue: 8,0 R 512 () 9 "
	  "+ 1 [block_rq_issue:]",
		{ 3000000, 2, 8, 0, 9, 1, true } },
};

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct wire_event *expected = &lines[i].event;
		struct wire_event event;

		if (wire_order_parse(lines[i].line, &event) != 1)
			fail_msg("not read: %s", lines[i].line);
		assert_int_equal(event.stamp, expected->stamp);
		assert_int_equal(event.cpu, expected->cpu);
		assert_int_equal(event.major, expected->major);
		assert_int_equal(event.minor, expected->minor);
		assert_int_equal(event.sector, expected->sector);
		assert_int_equal(event.sectors, expected->sectors);
		assert_int_equal(event.data, expected->data);
	}
}

static void test_other_lines(void **state)
{
	static const char *const none[] = { "", "# tracer: nop", "##### CPU 1 buffer started ####",
		"CPU:1 [LOST 12 EVENTS]",
		" dd-1 [001] ..... 2.000000: block_rq_complete: 7,1 RS () 2400 + 8 be,0,4 [0]" };
	static const char *const broken[] = {
		": block_rq_issue: 7,1 R 4096 () 984 + 8 [a]",
		"a-1 ..... 5: block_rq_issue: 7,1 R 4096 () 984 + 8 [a]",
		"a-1 [x] ..... 5: block_rq_issue: 7,1 R 4096 () 984 + 8 [a]",
		"a-1 [0] ..... 5.123: block_rq_issue: 7,1 R 4096 () 984 + 8 [a]",
		"a-1 [0] ..... 5.12.456: block_rq_issue: 7,1 R 4096 () 984 + 8 [a]",
		"a-1 [0] ..... 5: block_rq_issue: dev=7,1 sector=984",
		"a-1 [0] ..... 5: block_rq_issue: 7,1 R 4096 (",
		"a-1 [0] ..... 5: block_rq_issue: 7,1 R 4096 () 984",
	};
	struct wire_event event;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_int_equal(wire_order_parse(none[i], &event), 0);
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		if (wire_order_parse(broken[i], &event) != -EINVAL)
			fail_msg("read, and should not be: %s", broken[i]);
}

/* --- Whole texts ----------------------------------------------------------------------------- */

static int collect(const char *entries, const char *events, size_t max, uint64_t *sectors,
	size_t *count, struct error *error)
{
	const struct wire_range part = {
		.major = 8, .minor = 16, .first_sector = 1000, .sectors = 100
	};
	char text[4096];

	*error = (struct error){ 0 };
	(void)snprintf(text, sizeof(text), HEADER "%s", entries, events);
	return wire_order_collect(text, &part, sectors, max, count, error);
}

static void test_text_of_a_partition(void **state)
{
	static const char events[] =
		"a-1 [0] ..... 1: block_rq_issue: 8,16 R 4096 () 1050 + 8 [a]\n"
		"a-1 [0] ..... 2: block_rq_issue: 8,16 FF 0 () 0 + 0 [a]\n"
		"a-1 [1] ..... 3: block_rq_issue: 8,16 W 512 () 1000 + 1 [a]\n"
		"a-1 [1] ..... 3: block_rq_issue: 8,16 R 512 () 999 + 1 [a]\n"  /* before it */
		"a-1 [0] ..... 4: block_rq_issue: 8,16 R 512 () 1100 + 1 [a]\n" /* behind it */
		"a-1 [0] ..... 5: block_rq_issue: 8,16 R 1024 () 1099 + 2 [a]\n"
		"a-1 [0] ..... 6: block_rq_issue: 8,0 R 512 () 1010 + 1 [a]\n" /* another disk */
		"a-1 [0] ..... 7: block_rq_issue: 8,16 R 512 () 1099 + 1 [a]"; /* its last one */
	uint64_t sectors[8];
	size_t count;
	struct error error;

	(void)state;
	assert_int_equal(collect("8/8", events, 8, sectors, &count, &error), 0);
	assert_int_equal(count, 3);
	assert_int_equal(sectors[0], 50);
	assert_int_equal(sectors[1], 0);
	assert_int_equal(sectors[2], 99);
	assert_int_equal(collect("8/8", events, 2, sectors, &count, &error), -ENOBUFS);
	assert_int_equal(collect("0/0", "", 8, sectors, &count, &error), 0);
	assert_int_equal(count, 0);
}

static void test_text_without_proof(void **state)
{
	static const struct {
		const char *entries, *events, *says;
		int code;
	} cases[] = {
		{ "8/11", "", "3 of 11", -EOVERFLOW },
		{ "many", "", "does not say", -EBADMSG },
		{ "1/1", "a-1 [0] ..... 5: block_rq_issue: nonsense\n", "nonsense", -EBADMSG },
		/* The same microsecond on two processors. */
		{ "2/2",
			"a-1 [0] ..... 1.000007: block_rq_issue: 8,16 R 512 () 1001 + 1 [a]\n"
			"a-1 [1] ..... 1.000007: block_rq_issue: 8,16 R 512 () 1000 + 1 [a]\n",
			"1000007", -EBADMSG },
		{ "2/2",
			"a-1 [0] ..... 8: block_rq_issue: 8,16 R 512 () 1001 + 1 [a]\n"
			"a-1 [1] ..... 7: block_rq_issue: 8,16 R 512 () 1000 + 1 [a]\n",
			"cannot be told", -EBADMSG },
	};
	uint64_t sectors[8];
	size_t count;
	struct error error;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(
			collect(cases[i].entries, cases[i].events, 8, sectors, &count, &error),
			cases[i].code);
		if (!strstr(error.text, cases[i].says))
			fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].says);
	}
}

/* --- No tracefs ------------------------------------------------------------------------------ */

static void test_refusals(void **state)
{
	struct device device = { .name = "no-such-disk" };
	struct wire_watch *watch = NULL;
	struct error error = { 0 };
	char folder[] = "/tmp/wire-XXXXXX", path[64];

	(void)state;
	assert_true(wire_order_start_below("/nonexistent", &device, &watch, &error) < 0);
	assert_non_null(strstr(error.text, "no-such-disk"));
	if (access("/sys/class/block/loop0/dev", R_OK) < 0)
		skip();
	error = (struct error){ 0 };
	(void)snprintf(device.name, sizeof(device.name), "loop0");
	assert_int_equal(wire_order_start_below("/nonexistent", &device, &watch, &error), -ENOENT);
	assert_non_null(strstr(error.text, "mount -t tracefs"));
	/* Where something fails after the instance was made, it is removed again. */
	error = (struct error){ 0 };
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/instances", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(wire_order_start_below(folder, &device, &watch, &error), -ENOENT);
	assert_non_null(strstr(error.text, "tracing_on"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_null(watch);
}

/* --- On a device ----------------------------------------------------------------------------- */

static struct loop loop;
static char *global_before;

static char *global_state(void)
{
	static const char *const files[] = { "tracing_on", "trace_clock", "buffer_size_kb",
		"set_event", "events/block/block_rq_issue/filter" };
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char line[256] = "";

		(void)sysfs_read(TRACEFS, line, sizeof(line), "%s", files[i]);
		(void)fprintf(stream, "%s: %s\n", files[i], line);
	}
	(void)fclose(stream);
	return text;
}

static bool instance_exists(pid_t process)
{
	return sysfs_exists(TRACEFS, "instances/bareplatter-%d", (int)process);
}

static int make_loop(void **state)
{
	(void)state;
	loop_new(&loop, 16 * MIB);
	global_before = global_state();
	return 0;
}

static int remove_loop(void **state)
{
	char *now = global_state();

	(void)state;
	loop_done(&loop);
	assert_string_equal(now, global_before);
	free(now);
	free(global_before);
	assert_false(instance_exists(getpid()));
	return 0;
}

/* Reads one block at each of these sectors, one after the other. */
static void read_sectors_of(const char *node, const uint64_t *sectors, size_t count)
{
	_cleanup_free_ void *block = aligned_alloc(4096, 4096);
	_cleanup_close_ int fd = open(node, O_RDONLY | O_DIRECT | O_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pread(fd, block, 4096, (off_t)sectors[i] * 512), 4096);
}

static void read_sectors(const uint64_t *sectors, size_t count)
{
	read_sectors_of(loop.node, sectors, count);
}

static struct wire_watch *start_on(const char *node)
{
	struct wire_watch *watch = NULL;
	struct error error = { 0 };
	struct device device;

	assert_int_equal(device_find(NULL, node, &device, NULL), 0);
	if (wire_order_start(&device, &watch, &error) < 0)
		fail_msg("%s", error.text);
	assert_true(instance_exists(getpid()));
	return watch;
}

static struct wire_watch *start(void)
{
	return start_on(loop.node);
}

static void test_known_order(void **state)
{
	static const uint64_t order[] = { 16000, 8, 24000, 4096, 4112, 0, 31000 };
	uint64_t seen[16];
	size_t count = 0;
	struct error error = { 0 };
	struct wire_watch *watch;

	(void)state;
	read_sectors(order, 3); /* before the watch: not to be seen */
	watch = start();
	read_sectors(order, ARRAY_SIZE(order));
	assert_int_equal(wire_order_stop(watch, seen, 16, &count, &error), 0);
	assert_int_equal(count, ARRAY_SIZE(order));
	assert_memory_equal(seen, order, sizeof(order));
	assert_false(instance_exists(getpid()));
	watch = start();
	read_sectors(order, 2);
	assert_int_equal(wire_order_stop(watch, NULL, 0, NULL, &error), 0);
	assert_false(instance_exists(getpid()));
}

/* The kernel is told about the partition: it may have no reader for any table. */
static int add_partition(const char *node, int64_t start_bytes, int64_t length_bytes)
{
	struct blkpg_partition partition = {
		.start = start_bytes, .length = length_bytes, .pno = 1
	};
	struct blkpg_ioctl_arg argument = {
		.op = BLKPG_ADD_PARTITION, .datalen = sizeof(partition), .data = &partition
	};
	_cleanup_close_ int fd = open(node, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : ioctl(fd, BLKPG, &argument);
}

/* Sectors of a partition are counted from its start; the rest of the disk is not its own. */
static void test_partition(void **state)
{
	static const uint64_t order[] = { 4096, 0, 8184, 24 };
	static const uint64_t outside[] = { 16, 2040, 2048 + 8192, 2048 + 8 };
	uint64_t seen[16];
	size_t count = 0;
	struct error error = { 0 };
	struct wire_watch *watch;
	struct loop disk;
	char node[64];

	(void)state;
	loop_make_file(&disk, 8 * MIB);
	loop_attach(&disk, LOOP_PARTITIONS, 0);
	(void)snprintf(node, sizeof(node), "%sp1", disk.node);
	if (add_partition(disk.node, 2048 * 512, 8192 * 512) < 0 || access(node, R_OK) < 0) {
		loop_done(&disk);
		skip();
	}
	watch = start_on(node);
	read_sectors_of(node, order, ARRAY_SIZE(order));
	read_sectors_of(disk.node, outside, ARRAY_SIZE(outside));
	assert_int_equal(wire_order_stop(watch, seen, 16, &count, &error), 0);
	loop_done(&disk);
	assert_int_equal(count, ARRAY_SIZE(order) + 1);
	assert_memory_equal(seen, order, sizeof(order));
	assert_int_equal(seen[ARRAY_SIZE(order)], 8);
}

static void test_too_much(void **state)
{
	uint64_t sectors[1500], seen[4];
	size_t count = 0;
	struct error error = { 0 };
	struct wire_watch *watch = start();
	cpu_set_t all, one;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sectors); i++)
		sectors[i] = i * 16;
	read_sectors(sectors, 5);
	assert_int_equal(wire_order_stop(watch, seen, 4, &count, &error), -ENOBUFS);
	assert_false(instance_exists(getpid()));
	/* More than the kernel's buffer of one processor holds. */
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	watch = start();
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	read_sectors(sectors, ARRAY_SIZE(sectors));
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	error = (struct error){ 0 };
	assert_int_equal(wire_order_stop(watch, seen, 4, &count, &error), -EOVERFLOW);
	assert_false(instance_exists(getpid()));
}

static void test_second_watch(void **state)
{
	struct wire_watch *watch = start(), *second = NULL;
	struct error error = { 0 };
	struct device device;

	(void)state;
	assert_int_equal(device_find(NULL, loop.node, &device, NULL), 0);
	assert_int_equal(wire_order_start(&device, &second, &error), -EEXIST);
	assert_int_equal(wire_order_stop(watch, NULL, 0, NULL, &error), 0);
}

static void test_not_for_this_user(void **state)
{
	const pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		struct wire_watch *watch = NULL;
		struct error error = { 0 };
		struct device device;
		int r;

		if (device_find(NULL, loop.node, &device, NULL) < 0 || setuid(65534) < 0)
			_exit(2);
		r = wire_order_start(&device, &watch, &error);
		_exit(!((r == -EACCES || r == -EPERM) && strstr(error.text, "root may")));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A run that was killed during its watch; the next watch removes what it left. */
static void test_left_over(void **state)
{
	const pid_t child = fork();
	struct wire_watch *watch;
	struct error error = { 0 };
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		(void)start();
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_true(instance_exists(child));
	watch = start();
	assert_false(instance_exists(child));
	assert_int_equal(wire_order_stop(watch, NULL, 0, NULL, &error), 0);
}

int main(void)
{
	const struct CMUnitTest pure[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_other_lines),
		cmocka_unit_test(test_text_of_a_partition),
		cmocka_unit_test(test_text_without_proof),
		cmocka_unit_test(test_refusals),
	};
	const struct CMUnitTest live[] = {
		cmocka_unit_test(test_known_order),
		cmocka_unit_test(test_partition),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_second_watch),
		cmocka_unit_test(test_not_for_this_user),
		cmocka_unit_test(test_left_over),
	};
	const int failed = cmocka_run_group_tests(pure, NULL, NULL);

	if (failed)
		return failed;
	require("loop", loop_is_possible());
	require("tracefs", access(TRACEFS "/instances", W_OK) == 0);
	return cmocka_run_group_tests(live, make_loop, remove_loop);
}
