/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks and claims on live loop devices: what is mounted, swapped on, held, labelled or replaced
 * must be refused, with its reason, and nothing may be written by looking.
 * Runs alone: a loop device that it lets go must not become another test's.
 */
#include "devices/claim.h"
#include "devices/sysfs.h"
#include "tests/support/check.h"
#include "tests/support/labels.h"
#include "tests/support/loop.h"
#include "tests/support/require.h"

#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/loop.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES LABELS_GPT_DISK_BYTES

static struct check_result result;

static void look(const char *name)
{
	struct error error = { 0 };

	if (check_device(NULL, name, &result, &error))
		fail_msg("%s: %s", name, error.text);
}

static bool says(
	const struct check_finding *list, size_t count, enum check_reason reason, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].reason == reason && strstr(list[i].text, text))
			return true;
	for (size_t i = 0; i < count; i++)
		print_message("  %s: %s\n", check_reason_name(list[i].reason), list[i].text);
	return false;
}

#define assert_finding(reason, text) assert_true(says(result.findings, result.count, reason, text))

static void expect_clean(const char *name)
{
	look(name);
	for (size_t i = 0; i < result.count; i++)
		print_message("  %s\n", result.findings[i].text);
	assert_true(check_is_clean(&result));
	check_result_done(&result);
}

/* A claim that says all the right words, and must still be refused when a hard reason exists. */
static int claim_fully(const char *name, struct claim **ret_claim, struct faults *faults)
{
	struct claim_request request = { .text = name, .write = true, .discard_contents = true };
	char identity[sizeof(result.device.identity)];

	look(name);
	sysfs_copy(identity, sizeof(identity), result.device.identity);
	check_result_done(&result);
	request.identity = identity;
	return claim_open(&request, ret_claim, faults);
}

static void expect_refused(const char *name)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim *claim = NULL;

	assert_int_equal(claim_fully(name, &claim, &faults), -EPERM);
	assert_true(!claim && faults.count > 0);
}

static void run(const char *program, const char *first, const char *second)
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		const int out = open("/dev/null", O_WRONLY);

		(void)dup2(out, 1);
		(void)dup2(out, 2);
		(void)execlp(program, program, first, second, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("%s %s %s: status %d", program, first, second, status);
}

/* A kernel without a parser for the table is told about the partition. */
static void ensure_partition(const struct loop *loop, int number, char *ret_node, size_t size)
{
	struct blkpg_partition partition = {
		.start = 8 * (long long)MIB, .length = 16 * (long long)MIB, .pno = number
	};
	struct blkpg_ioctl_arg argument = {
		.op = BLKPG_ADD_PARTITION, .datalen = sizeof(partition), .data = &partition
	};

	(void)snprintf(ret_node, size, "%sp%d", loop->node, number);
	if (access(ret_node, F_OK) < 0) {
		const int fd = open(loop->node, O_RDONLY | O_CLOEXEC);

		assert_int_equal(ioctl(fd, BLKPG, &argument), 0);
		(void)close(fd);
	}
	assert_int_equal(access(ret_node, F_OK), 0);
}

static void test_parent_of_a_mounted_partition(void **state)
{
	struct loop loop;
	char node[48], first[48], point[] = "/tmp/mounted-XXXXXX", expected[256];
	uint64_t before;

	(void)state;
	loop_make_file(&loop, DISK_BYTES);
	labels_write_gpt(loop.fd);
	loop_attach(&loop, LOOP_PARTITIONS, 0);
	ensure_partition(&loop, 2, node, sizeof(node));
	run("mkfs.ext4", "-q", node);
	assert_non_null(mkdtemp(point));
	assert_int_equal(mount(node, point, "ext4", MS_RDONLY, ""), 0);
	(void)sync();
	before = loop_checksum(&loop);

	look(loop.node);
	(void)snprintf(expected, sizeof(expected), "%s > %s is mounted on %s (ext4)",
		sysfs_base_name(loop.node), sysfs_base_name(node), point);
	assert_finding(REASON_MOUNTED, expected);
	assert_finding(REASON_CONTENTS, "partition table: gpt at byte 512");
	assert_finding(REASON_CONTENTS, "file system: ext4 in partition 2 at byte 8389688");
	check_result_done(&result);
	expect_refused(loop.node);
	expect_refused(node);
	/* The partition beside it is not in use; the whole disk's holder is not its own. */
	(void)snprintf(first, sizeof(first), "%sp1", loop.node);
	if (access(first, F_OK) == 0)
		expect_clean(first);
	assert_int_equal(umount(point), 0);
	assert_true(loop_checksum(&loop) == before);
	(void)rmdir(point);
	loop_done(&loop);
}

static void test_link_to_a_mounted_device(void **state)
{
	struct loop loop;
	char point[] = "/tmp/mounted-XXXXXX", link[64], expected[128];

	(void)state;
	loop_new(&loop, DISK_BYTES);
	run("mkfs.ext4", "-q", loop.node);
	assert_non_null(mkdtemp(point));
	(void)snprintf(link, sizeof(link), "%s.link", point);
	assert_int_equal(symlink(loop.node, link), 0);
	assert_int_equal(mount(loop.node, point, "ext4", MS_RDONLY, ""), 0);
	look(link);
	(void)snprintf(expected, sizeof(expected), "%s (%s) is in use", link, loop.node);
	assert_finding(REASON_MOUNTED, expected);
	check_result_done(&result);
	expect_refused(link);
	assert_int_equal(umount(point), 0);
	look(link);
	assert_int_equal(result.count, 1);
	assert_finding(REASON_CONTENTS, "ext4");
	check_result_done(&result);
	(void)unlink(link);
	(void)rmdir(point);
	loop_done(&loop);
}

static void hold_in_own_namespace(const char *node, const char *point, int ready)
{
	/* A failing test must not leave it behind. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount(node, point, "ext4", MS_RDONLY, "") < 0 || write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

static void test_mounted_in_another_namespace(void **state)
{
	struct loop loop;
	char point[] = "/tmp/mounted-XXXXXX", expected[96], byte;
	int ready[2], status;
	pid_t child;

	(void)state;
	loop_new(&loop, DISK_BYTES);
	run("mkfs.ext4", "-q", loop.node);
	assert_non_null(mkdtemp(point));
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0)
		hold_in_own_namespace(loop.node, point, ready[1]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	look(loop.node);
	(void)snprintf(expected, sizeof(expected), "in the mount namespace of process %d", child);
	assert_finding(REASON_MOUNTED, expected);
	check_result_done(&result);
	expect_refused(loop.node);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	(void)close(ready[0]);
	(void)rmdir(point);
	loop_done(&loop);
}

static char swap_node[32];

static void stop_swapping(void)
{
	if (swap_node[0])
		(void)swapoff(swap_node);
}

static void test_active_swap(void **state)
{
	struct loop loop;

	(void)state;
	loop_new(&loop, DISK_BYTES);
	run("mkswap", "-q", loop.node);
	look(loop.node);
	assert_int_equal(result.count, 1);
	assert_finding(REASON_CONTENTS, "signature: swap at byte 4086");
	check_result_done(&result);
	if (swapon(loop.node, 0) == 0) {
		sysfs_copy(swap_node, sizeof(swap_node), loop.node);
		look(loop.node);
		assert_finding(REASON_SWAP, "is active swap");
		check_result_done(&result);
		/* Also with --discard-contents. */
		expect_refused(loop.node);
		assert_int_equal(swapoff(loop.node), 0);
		swap_node[0] = '\0';
	}
	loop_done(&loop);
}

static void write_luks_at_start(int fd)
{
	labels_write_luks(fd, 0);
}

static void test_every_kind_of_label(void **state)
{
	static const struct {
		void (*write)(int fd);
		const char *text;
	} cases[] = { { labels_write_lvm, "LVM2_member at byte 536" },
		{ labels_write_md, "linux_raid_member at byte 4096, label \"host:demo\"" },
		{ labels_write_zfs, "zfs_member" },
		{ write_luks_at_start, "crypto_LUKS at byte 0" },
		{ labels_write_dos, "partition table: dos at byte 510" },
		{ labels_write_gpt, "partition table: gpt at byte 512" } };
	static const uint8_t zeroes[MIB];
	struct loop loop;

	(void)state;
	/* A ZFS device is never smaller than 64 MiB, and libblkid looks at none that is. */
	loop_new(&loop, 64 * MIB);
	expect_clean(loop.node);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_faults_ struct faults faults = { 0 };
		struct claim_request request = { .text = loop.node, .write = true };
		struct claim *claim;
		/* Through the device, so that its page cache sees it. */
		const int fd = open(loop.node, O_RDWR | O_CLOEXEC);

		assert_true(fd >= 0);
		cases[i].write(fd);
		look(loop.node);
		assert_finding(REASON_CONTENTS, cases[i].text);
		request.identity = result.device.identity;
		assert_int_equal(claim_open(&request, &claim, &faults), -EPERM);
		assert_non_null(strstr(faults.text[0], "--discard-contents"));
		request.discard_contents = true;
		assert_int_equal(claim_open(&request, &claim, &faults), 0);
		claim_close(claim);
		check_result_done(&result);
		assert_int_equal(pwrite(fd, zeroes, sizeof(zeroes), 0), sizeof(zeroes));
		(void)close(fd);
	}
	loop_done(&loop);
}

static void test_several_labels_are_all_told(void **state)
{
	struct loop loop;

	(void)state;
	loop_make_file(&loop, DISK_BYTES);
	labels_write_gpt(loop.fd);
	labels_write_md_at_end(loop.fd);
	/* A file system inside a partition that the kernel has no node for. */
	labels_write_luks(loop.fd, 8 * MIB);
	loop_attach(&loop, 0, 0);
	look(loop.node);
	assert_finding(REASON_CONTENTS, "gpt at byte 512");
	assert_finding(REASON_CONTENTS, "linux_raid_member at byte 33546240");
	assert_finding(REASON_CONTENTS, "crypto_LUKS in partition 2 at byte 8388608");
	check_result_done(&result);
	loop_done(&loop);
}

static void test_read_only_and_held(void **state)
{
	struct loop loop;
	int fd;

	(void)state;
	loop_make_file(&loop, DISK_BYTES);
	loop_attach(&loop, LOOP_READ_ONLY, 0);
	look(loop.node);
	assert_finding(REASON_READ_ONLY, "is read-only");
	check_result_done(&result);
	expect_refused(loop.node);
	loop_detach(&loop);
	loop_attach(&loop, 0, 0);
	expect_clean(loop.node);
	fd = open(loop.node, O_RDONLY | O_EXCL | O_CLOEXEC);
	assert_true(fd >= 0);
	look(loop.node);
	assert_finding(REASON_HELD, "held by another program");
	check_result_done(&result);
	expect_refused(loop.node);
	(void)close(fd);
	expect_clean(loop.node);
	loop_done(&loop);
}

static void test_claims(void **state)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim_request request = { .write = true };
	struct claim *claim, *second = NULL;
	struct loop loop;
	char identity[256];

	(void)state;
	loop_new(&loop, DISK_BYTES);
	request.text = loop.node;
	assert_int_equal(claim_open(&request, &claim, &faults), -EPERM);
	assert_non_null(strstr(faults.text[0], "needs --write and its identity"));
	request.identity = "loop:1-2-3";
	assert_int_equal(claim_open(&request, &claim, &faults), -EPERM);
	assert_non_null(strstr(faults.text[1], "does not match"));
	look(loop.node);
	sysfs_copy(identity, sizeof(identity), result.device.identity);
	check_result_done(&result);
	request.identity = identity;
	assert_int_equal(claim_open(&request, &claim, &faults), 0);
	assert_true(claim->target.writable);
	assert_ptr_equal(claim->target.claim, claim);
	assert_true(claim->target.size_bytes == DISK_BYTES);
	assert_int_equal(claim->target.logical_block_bytes, 512);
	assert_string_equal(claim->target.name, loop.node);
	assert_true(fcntl(claim->target.fd, F_GETFL) & O_DIRECT);
	assert_int_equal(claim_verify(claim, NULL), 0);
	/* It is held: neither a second claim nor a mount gets it; reading does. */
	assert_int_equal(claim_open(&request, &second, &faults), -EPERM);
	assert_non_null(strstr(faults.text[2], "held by another program"));
	request.write = false;
	request.identity = NULL;
	assert_int_equal(claim_open(&request, &second, &faults), 0);
	assert_false(second->target.writable);
	assert_null(second->target.claim);
	assert_int_equal(fcntl(second->target.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	claim_close(second);
	claim_close(claim);
	expect_clean(loop.node);
	loop_done(&loop);
}

static void test_blocks_of_4096_bytes(void **state)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim *claim;
	struct loop loop;

	(void)state;
	loop_make_file(&loop, DISK_BYTES);
	loop_attach(&loop, 0, 4096);
	assert_int_equal(claim_fully(loop.node, &claim, &faults), 0);
	assert_int_equal(claim->target.logical_block_bytes, 4096);
	claim_close(claim);
	loop_done(&loop);
}

static void test_replaced_behind_the_name(void **state)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim_request request = { .write = true };
	struct loop first, second;
	struct claim *claim;
	char identity[256], node[32];
	int fd, read_only;

	(void)state;
	loop_make_file(&first, DISK_BYTES);
	loop_make_file(&second, DISK_BYTES);
	loop_attach(&first, LOOP_READ_ONLY, 0);
	look(first.node);
	sysfs_copy(identity, sizeof(identity), result.device.identity);
	check_result_done(&result);

	/* Another file behind the node while it is open (the kernel allows it read-only). */
	sysfs_copy(node, sizeof(node), first.node);
	request = (struct claim_request){ .text = node };
	assert_int_equal(claim_open(&request, &claim, &faults), 0);
	fd = open(node, O_RDONLY | O_CLOEXEC);
	assert_int_equal(claim_verify(claim, NULL), 0);
	read_only = open(second.file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(ioctl(fd, LOOP_CHANGE_FD, read_only), 0);
	(void)close(read_only);
	(void)close(fd);
	assert_int_equal(claim_verify(claim, NULL), -ENODEV);
	claim_close(claim);

	/* The identity of what was there before does not open what is there now. */
	loop_detach(&first);
	loop_attach(&second, 0, 0);
	request =
		(struct claim_request){ .text = second.node, .write = true, .identity = identity };
	assert_int_equal(claim_open(&request, &claim, &faults), -EPERM);
	assert_non_null(strstr(faults.text[0], "does not match"));

	/* A device that shrinks is another one. */
	assert_int_equal(claim_fully(second.node, &claim, &faults), 0);
	assert_int_equal(ftruncate(second.fd, DISK_BYTES / 2), 0);
	fd = open(second.node, O_RDONLY | O_CLOEXEC);
	assert_int_equal(ioctl(fd, LOOP_SET_CAPACITY, 0), 0);
	(void)close(fd);
	assert_int_equal(claim_verify(claim, NULL), -ENODEV);
	claim_close(claim);
	loop_done(&second);
	loop_done(&first);
}

static void test_two_ways_to_the_same_blocks(void **state)
{
	struct loop loop, twin, over;

	(void)state;
	loop_new(&loop, DISK_BYTES);
	loop_make_file(&twin, MIB);
	(void)close(twin.fd);
	twin.fd = open(loop.file, O_RDWR | O_CLOEXEC);
	loop_attach(&twin, 0, 0);
	look(loop.node);
	assert_finding(REASON_HELD, twin.node);
	check_result_done(&result);
	expect_refused(loop.node);
	loop_done(&twin);
	loop_make_file(&over, MIB);
	(void)close(over.fd);
	over.fd = open(loop.node, O_RDWR | O_CLOEXEC);
	loop_attach(&over, 0, 0);
	look(loop.node);
	assert_finding(REASON_HELD, sysfs_base_name(over.node));
	check_result_done(&result);
	expect_refused(loop.node);
	look(over.node);
	assert_finding(REASON_HELD, "only stands before the block device");
	check_result_done(&result);
	loop_done(&over);
	loop_done(&loop);
}

static uint64_t writes_of(const struct loop *loop)
{
	char text[256];
	unsigned long long writes = 0;

	assert_true(sysfs_read(NULL, text, sizeof(text), "sys/class/block/%s/stat",
			    sysfs_base_name(loop->node)) > 0);
	assert_int_equal(sscanf(text, "%*u %*u %*u %*u %llu", &writes), 1);
	return writes;
}

/* The kernel tells every close of a descriptor that was open for writing. */
static void test_looking_opens_nothing_for_writing(void **state)
{
	struct loop loop;
	struct claim_request request = { 0 };
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim *claim;
	uint64_t before, writes;
	char events[1024];
	int watch;

	(void)state;
	loop_new(&loop, DISK_BYTES);
	run("mkfs.ext4", "-q", loop.node);
	(void)sync();
	before = loop_checksum(&loop);
	writes = writes_of(&loop);
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(inotify_add_watch(watch, loop.node, IN_CLOSE_WRITE | IN_MODIFY) >= 0);
	look(loop.node);
	check_result_done(&result);
	request.text = loop.node;
	assert_int_equal(claim_open(&request, &claim, &faults), 0);
	claim_close(claim);
	/* A refused claim has not opened it for writing either. */
	request.write = true;
	assert_int_equal(claim_open(&request, &claim, &faults), -EPERM);
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	assert_int_equal(errno, EAGAIN);
	(void)close(watch);
	assert_true(writes_of(&loop) == writes);
	assert_true(loop_checksum(&loop) == before);
	loop_done(&loop);
}

static void test_truncated_backing_file(void **state)
{
	struct loop loop;

	(void)state;
	loop_new(&loop, DISK_BYTES);
	assert_int_equal(ftruncate(loop.fd, DISK_BYTES / 2), 0);
	look(loop.node);
	assert_true(says(result.notes, result.note_count, REASON_SIZE_MISMATCH,
		"what lies beyond cannot be read"));
	/* What cannot be read may hold something. */
	assert_finding(REASON_UNREADABLE, "could not be read everywhere");
	check_result_done(&result);
	loop_done(&loop);
}

static void test_disk_below_the_root(void **state)
{
	struct device device;
	struct stat status;
	char name[64];

	(void)state;
	assert_int_equal(stat("/", &status), 0);
	/* A root on a network, in memory or in a container lies on no device of this machine. */
	if (sysfs_name_of(NULL, major(status.st_dev), minor(status.st_dev), name, sizeof(name)) ||
		device_read(NULL, name, &device, NULL) || access(device.node, F_OK) < 0) {
		print_message("the root is on no block device that has a node\n");
		skip();
	}
	look(device.node);
	assert_finding(REASON_SYSTEM_DISK, "the system's disk");
	check_result_done(&result);
	expect_refused(device.node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parent_of_a_mounted_partition),
		cmocka_unit_test(test_link_to_a_mounted_device),
		cmocka_unit_test(test_mounted_in_another_namespace),
		cmocka_unit_test(test_active_swap),
		cmocka_unit_test(test_every_kind_of_label),
		cmocka_unit_test(test_several_labels_are_all_told),
		cmocka_unit_test(test_read_only_and_held),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_blocks_of_4096_bytes),
		cmocka_unit_test(test_replaced_behind_the_name),
		cmocka_unit_test(test_two_ways_to_the_same_blocks),
		cmocka_unit_test(test_looking_opens_nothing_for_writing),
		cmocka_unit_test(test_truncated_backing_file),
		cmocka_unit_test(test_disk_below_the_root),
	};

	require("root", geteuid() == 0);
	require("loop", loop_is_possible());
	/* Mounts of a failing test end with the program, because they are in its own namespace. */
	require("unshare", unshare(CLONE_NEWNS) == 0 &&
				   mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	(void)atexit(stop_swapping);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
