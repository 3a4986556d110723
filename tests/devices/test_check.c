/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reasons against writing, on recorded machines: each must be named with what it is about, and an
 * unused disk must have none. Then the parsers below, on odd inputs.
 */
#include "devices/check.h"
#include "devices/mounts.h"
#include "devices/relations.h"
#include "devices/swap.h"
#include "tests/support/sysroot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sysroot machine;
static struct check_result result;

static void look(const char *name)
{
	struct error error = { 0 };

	if (check_device(machine.path, name, &result, &error))
		fail_msg("%s: %s", name, error.text);
}

static bool says(const struct check_finding *list, size_t count, enum check_reason reason,
	bool hard, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].reason == reason && list[i].hard == hard && strstr(list[i].text, text))
			return true;
	for (size_t i = 0; i < count; i++)
		print_message("  %s: %s\n", check_reason_name(list[i].reason), list[i].text);
	return false;
}

#define assert_finding(reason, hard, text)                                                         \
	assert_true(says(result.findings, result.count, reason, hard, text))
#define assert_note(reason, text)                                                                  \
	assert_true(says(result.notes, result.note_count, reason, false, text))

static void expect_clean(const char *name)
{
	look(name);
	for (size_t i = 0; i < result.count; i++)
		print_message("  %s\n", result.findings[i].text);
	assert_true(check_is_clean(&result));
	check_result_done(&result);
}

static void test_unused_disk(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	expect_clean("sda");
	expect_clean("/dev/disk/by-id/wwn-0x5000c500a0000001");
	sysroot_done(&machine);
}

static void test_root_on_a_partition_through_dm(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	look("/dev/disk/by-id/wwn-0x5000c500a0000002");
	assert_finding(REASON_SYSTEM_DISK, true, "the system's disk sdb");
	assert_finding(REASON_MOUNTED, true, "sdb > sdb3 > dm-0 (vg-root) is mounted on / (ext4)");
	assert_finding(REASON_MOUNTED, true, "sdb > sdb1 is mounted on /boot/efi (vfat)");
	assert_finding(REASON_SWAP, true, "sdb > sdb2 is active swap, named /dev/sdb2");
	assert_finding(REASON_HELD, true, "sdb > sdb3 > dm-0 (vg-root)");
	assert_finding(REASON_CONTENTS, false, "partition table: gpt");
	assert_finding(REASON_CONTENTS, false, "LVM2_member in partition 3 (as udev recorded it)");
	/* Both the name given and the node that it means. */
	assert_finding(
		REASON_SYSTEM_DISK, true, "/dev/disk/by-id/wwn-0x5000c500a0000002 (/dev/sdb)");
	check_result_done(&result);
	/* Another partition of that disk, and the volume itself. */
	look("sdb1");
	assert_finding(REASON_SYSTEM_DISK, true, "lies on the system's disk sdb");
	check_result_done(&result);
	look("dm-0");
	assert_finding(REASON_SYSTEM_DISK, true, "lies on the system's disk sdb");
	assert_finding(REASON_MOUNTED, true, "is mounted on /");
	check_result_done(&result);
	sysroot_done(&machine);
}

static void test_encrypted_volume_on_lvm_on_md(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	look("sdc");
	assert_finding(REASON_HELD, true,
		"sdc > sdc1 > md0 > dm-1 (vg-data) > dm-2 (secret); take that apart");
	assert_finding(REASON_MOUNTED, true, "dm-2 (secret) is mounted on /data big (xfs)");
	check_result_done(&result);
	look("dm-1");
	assert_finding(REASON_HELD, true, "dm-1 (vg-data) > dm-2 (secret)");
	check_result_done(&result);
	sysroot_done(&machine);
}

static void test_multipath_and_another_mount_namespace(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	look("sde");
	assert_finding(REASON_HELD, true, "sde > dm-3 (mpatha) > dm-4 (mpatha-part1)");
	assert_finding(REASON_MOUNTED, true,
		"/srv/paths (ext4) in the mount namespace of process 4242 (containerd-demo)");
	check_result_done(&result);
	look("/dev/mapper/mpatha");
	assert_finding(REASON_HELD, true, "dm-3 (mpatha) > dm-4 (mpatha-part1)");
	check_result_done(&result);
	sysroot_done(&machine);
}

static void test_swap_and_signature_only(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	look("sdg");
	assert_finding(REASON_SWAP, true, "sdg > sdg1 is active swap");
	assert_finding(REASON_SYSTEM_DISK, true, "swap");
	check_result_done(&result);
	look("nvme0n1");
	assert_int_equal(result.count, 1);
	assert_finding(REASON_CONTENTS, false, "holds a file system: ext4, label \"archive\"");
	check_result_done(&result);
	sysroot_done(&machine);
}

static void test_raid_volume_is_a_note(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	look("sdh");
	assert_true(check_is_clean(&result));
	assert_note(REASON_RAID_VOLUME, "neither cache nor depth of the drives can be seen");
	check_result_done(&result);
	sysroot_done(&machine);
}

static void test_stick_that_the_system_came_from(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "stick");
	look("sda");
	assert_finding(REASON_SYSTEM_DISK, true, "carries /run/live/medium");
	assert_finding(REASON_MOUNTED, true, "sda > sda1 is mounted on /run/live/medium");
	check_result_done(&result);
	look("loop0");
	assert_finding(REASON_READ_ONLY, true, "read-only");
	assert_finding(REASON_MOUNTED, true, "/run/live/rootfs");
	check_result_done(&result);
	expect_clean("sdb");
	sysroot_done(&machine);
}

static void write_identify(uint64_t sectors)
{
	uint8_t page[60 + 512] = { 0 };

	page[61 + 2 * 83] = 1 << 2; /* word 83, bit 10: 48-bit addresses */
	for (int word = 100; word <= 103; word++, sectors >>= 16) {
		page[60 + 2 * word] = (uint8_t)sectors;
		page[61 + 2 * word] = (uint8_t)(sectors >> 8);
	}
	sysroot_write(&machine,
		"sys/devices/pci0000:00/0000:00:17.0/ata7/host6/target6:0:0/6:0:0:0/vpd_pg89", page,
		sizeof(page));
}

static void test_odd_drives(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "odd");
	look("sda");
	assert_finding(REASON_ZONED, true, "host-managed zones");
	check_result_done(&result);
	look("sdb");
	assert_true(check_is_clean(&result));
	assert_note(REASON_ZONED, "host-aware");
	check_result_done(&result);
	look("sdc");
	assert_finding(REASON_NO_MEDIUM, true, "no medium or unsupported sector size");
	check_result_done(&result);
	look("sdd");
	assert_finding(REASON_NO_MEDIUM, true, "520 or 528 bytes");
	check_result_done(&result);
	look("sde");
	assert_true(check_is_clean(&result));
	assert_note(REASON_SIZE_MISMATCH, "130000000000000000 bytes, more than any single drive");
	check_result_done(&result);
	look("sdf");
	assert_finding(REASON_SIZE_MISMATCH, true, "9223372036854775808 sectors");
	check_result_done(&result);
	look("sdh");
	assert_finding(REASON_NO_MEDIUM, true, "sector size of 520 bytes");
	check_result_done(&result);
	expect_clean("sdg");
	write_identify(UINT64_C(31251759104));
	look("sdg");
	assert_true(check_is_clean(&result));
	assert_note(REASON_SIZE_MISMATCH, "the kernel counts 2000398934016 bytes");
	assert_note(REASON_SIZE_MISMATCH, "16000900661248 bytes");
	check_result_done(&result);
	write_identify(UINT64_C(3907029168));
	look("sdg");
	assert_int_equal(result.note_count, 0);
	check_result_done(&result);
	look("zram0");
	assert_note(REASON_IDENTITY, "little more than its size");
	check_result_done(&result);
	sysroot_done(&machine);
}

static void test_members_of_a_mounted_btrfs(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	/* mountinfo names one member only, with a number of its own. */
	sysroot_write(&machine, "sys/fs/btrfs/0f0f-demo/devices/sda", "", 0);
	look("sda");
	assert_finding(REASON_HELD, true, "sda belongs to the mounted btrfs 0f0f-demo");
	check_result_done(&result);
	sysroot_done(&machine);
	sysroot_open(&machine, SOURCE_DIR, "server");
	sysroot_write(
		&machine, "proc/self/mountinfo", "22 1 0:33 /@ / rw - btrfs /dev/sda rw\n", 38);
	look("sda");
	assert_finding(REASON_MOUNTED, true, "sda is mounted on / (btrfs)");
	assert_finding(REASON_SYSTEM_DISK, true, "is the system's disk sda");
	check_result_done(&result);
	sysroot_done(&machine);
}

static void test_missing(void **state)
{
	struct error error = { 0 };

	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	assert_int_equal(check_device(machine.path, "/dev/nosuchdisk", &result, &error), -ENOENT);
	assert_non_null(strstr(error.text, "no such device: /dev/nosuchdisk"));
	sysroot_done(&machine);
	/* Without mountinfo nobody can tell; that is no clean bill. */
	sysroot_new(&machine, "sys/devices/virtual/block/zram0/dev\t252:0\n");
	error = (struct error){ 0 };
	assert_int_equal(check_device(machine.path, "zram0", &result, &error), -ENOENT);
	assert_non_null(strstr(error.text, "mountinfo"));
	sysroot_done(&machine);
}

static void test_wrong_kinds_of_file(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = { { "/tmp", "a directory" }, { "/dev/null", "a character device" },
		{ "/proc/self/status", "file:/proc/self/status,size=BYTES" } };

	(void)state;
	machine.path[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		look(cases[i].name);
		assert_finding(REASON_NOT_A_DEVICE, true, cases[i].text);
		check_result_done(&result);
	}
}

static void test_use_column(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = { { "sda", "" }, { "sdb", "system,mounted,swap,held" },
		{ "sdc", "mounted,held" }, { "sdg", "system,swap" }, { "sdh", "" } };
	struct device_list list;
	struct relations_use *uses;

	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	assert_int_equal(device_list_read(machine.path, false, &list, NULL), 0);
	assert_int_equal(relations_use_read(machine.path, &list, &uses, NULL), 0);
	for (size_t i = 0; i < list.count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(cases); j++)
			if (strcmp(cases[j].name, list.devices[i].name) == 0)
				assert_string_equal(uses[i].text, cases[j].text);
	free(uses);
	device_list_done(&list);
	sysroot_done(&machine);
}

static void test_mountinfo_lines(void **state)
{
	struct mount_list mounts = { 0 };

	(void)state;
	mounts_parse(&mounts, "", 0, "");
	mounts_parse(&mounts, "garbage\n36 35\n36 35 x:y / /p rw - ext4 a b\n36 35 8:1 / /p rw\n",
		0, "");
	assert_int_equal(mounts.count, 0);
	mounts_parse(&mounts,
		"36 35 8:1 / /a\\040b rw shared:1 master:2 - fuse.x src\\134y rw\n"
		"37 35 8:2 / /a rw - ext4 /dev/sda2 rw",
		0, "");
	assert_int_equal(mounts.count, 2);
	assert_string_equal(mounts.mounts[0].point, "/a b");
	assert_string_equal(mounts.mounts[0].source, "src\\y");
	assert_string_equal(mounts.mounts[0].type, "fuse.x");
	assert_int_equal(mounts.mounts[1].minor, 2);
	/* What another namespace shares with ours is told once. */
	mounts_parse(&mounts, "1 2 8:2 / /a rw - ext4 /dev/sda2 rw\n1 2 8:2 / /z rw - ext4 x rw", 9,
		"other");
	assert_int_equal(mounts.count, 3);
	assert_int_equal(mounts.mounts[2].pid, 9);
	assert_string_equal(mounts_holding(&mounts, "/a/file")->point, "/a");
	assert_null(mounts_holding(&mounts, "/ab"));
	mounts_done(&mounts);
}

static void test_swaps_lines(void **state)
{
	struct swap_list swaps = { 0 };

	(void)state;
	swap_parse(&swaps, "Filename\tType\tSize\tUsed\tPriority\n\n/dev/sda2\n");
	assert_int_equal(swaps.count, 0);
	swap_parse(&swaps, "/swap\\040file  file\t\t4 0 -2\n/dev/dm-1 partition 8 0 5\n");
	assert_int_equal(swaps.count, 2);
	assert_string_equal(swaps.swaps[0].path, "/swap file");
	assert_true(swaps.swaps[0].is_file);
	assert_false(swaps.swaps[1].is_file);
	swap_done(&swaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unused_disk),
		cmocka_unit_test(test_root_on_a_partition_through_dm),
		cmocka_unit_test(test_encrypted_volume_on_lvm_on_md),
		cmocka_unit_test(test_multipath_and_another_mount_namespace),
		cmocka_unit_test(test_swap_and_signature_only),
		cmocka_unit_test(test_raid_volume_is_a_note),
		cmocka_unit_test(test_stick_that_the_system_came_from),
		cmocka_unit_test(test_odd_drives),
		cmocka_unit_test(test_members_of_a_mounted_btrfs),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_wrong_kinds_of_file),
		cmocka_unit_test(test_use_column),
		cmocka_unit_test(test_mountinfo_lines),
		cmocka_unit_test(test_swaps_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
