/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices of recorded machines: fields, identity with and without udev, names, odd files. */
#include "devices/device.h"
#include "devices/sysfs.h"
#include "tests/support/sysroot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct sysroot machine;

static struct device find(const char *name)
{
	struct device device;
	struct error error = { 0 };

	if (device_find(machine.path, name, &device, &error))
		fail_msg("%s: %s", name, error.text);
	return device;
}

static void test_fields_of_a_sata_disk(void **state)
{
	struct device disk;

	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	disk = find("/dev/sda");
	assert_string_equal(disk.node, "/dev/sda");
	assert_int_equal(disk.major, 8);
	assert_int_equal(disk.minor, 0);
	assert_true(disk.size_bytes == UINT64_C(1000204886016));
	assert_string_equal(disk.transport, "sata");
	assert_string_equal(disk.vendor, "ATA");
	assert_string_equal(disk.model, "DEMO DISK 1000");
	assert_int_equal(disk.logical_block_bytes, 512);
	assert_int_equal(disk.physical_block_bytes, 4096);
	assert_int_equal(disk.queue_depth, 32);
	assert_int_equal(disk.nr_requests, 64);
	assert_string_equal(disk.scheduler, "mq-deadline");
	assert_string_equal(disk.write_cache, "write back");
	assert_true(disk.rotational);
	assert_false(disk.removable);
	assert_false(disk.native_fua);
	assert_false(disk.raid_volume);
	sysroot_done(&machine);
}

static void test_identity_is_the_same_with_and_without_udev(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	/* sda only has sysfs' naa. form, sdb a record of udev with its 0x form. */
	assert_string_equal(find("sda").identity, "0x5000c500a0000001");
	assert_string_equal(find("sdb").identity, "0x5000c500a0000002");
	assert_string_equal(find("sdb").model, "DEMO DISK 1000");
	assert_string_equal(find("sdb3").identity, "0x5000c500a0000002-part3");
	assert_string_equal(find("nvme0n1").identity, "eui.0025385a00000001");
	sysroot_write(&machine, "run/udev/data/b259:0", "E:A=B\n", 6);
	assert_string_equal(find("nvme0n1").identity, "eui.0025385a00000001");
	assert_string_equal(find("dm-0").identity, "LVM-aaaaaaaa");
	assert_string_equal(find("md0").identity, "11111111-2222-3333-4444-555555555555");
	sysroot_done(&machine);
	sysroot_open(&machine, SOURCE_DIR, "stick");
	/* Blanks in a serial number do not need quotes on a command line. */
	assert_string_equal(find("sda").identity, "DEMO_STICK_01");
	assert_string_equal(find("sda").transport, "usb");
	assert_true(find("sda").removable);
	/* A t10 name is no world-wide one; the page with the serial number counts. */
	sysroot_write(&machine,
		"sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/vpd_pg80",
		"\0\x80\0\x0a  DEMOSER1", 14);
	assert_string_equal(find("sdb").identity, "DEMOSER1");
	/* A file behind a loop device that cannot be looked at: kind, size, sequence. */
	assert_string_equal(find("loop0").identity, "loop:2048000000:5");
	sysroot_done(&machine);
}

static void test_names(void **state)
{
	struct device device;
	struct error error = { 0 };

	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	assert_string_equal(find("/dev/disk/by-id/wwn-0x5000c500a0000001").name, "sda");
	assert_string_equal(find("/dev/mapper/vg-root").name, "dm-0");
	assert_string_equal(find("sdb3").parent, "sdb");
	assert_int_equal(find("sdb3").partition_number, 3);
	assert_true(find("sdb3").start_bytes == UINT64_C(9439232) * 512);
	assert_string_equal(find("dm-0").title, "vg-root");
	assert_int_equal(device_find(machine.path, "/dev/sdz", &device, &error), -ENOENT);
	assert_non_null(strstr(error.text, "no such device: /dev/sdz"));
	sysroot_done(&machine);
}

static void test_list_order_and_partitions(void **state)
{
	struct device_list list;
	struct error error = { 0 };

	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	assert_int_equal(device_list_read(machine.path, false, &list, &error), 0);
	assert_int_equal(list.count, 15);
	assert_string_equal(list.devices[0].name, "dm-0");
	assert_string_equal(list.devices[14].name, "sdh");
	device_list_done(&list);
	assert_int_equal(device_list_read(machine.path, true, &list, &error), 0);
	assert_int_equal(list.count, 21);
	device_list_done(&list);
	sysroot_done(&machine);
	assert_int_equal(device_list_read("/nonexistent", true, &list, &error), -ENOENT);
}

static void test_raid_volume(void **state)
{
	static const char *const scsi =
		"sys/devices/pci0000:40/0000:40:01.0/host8/target8:2:0/8:2:0:0";
	static const struct {
		const char *vendor, *model;
		bool is_volume;
	} cases[] = { { "DEMO", "RAIDVD", true }, { "DELL", "PERC H730 Mini", true },
		{ "HP", "LOGICAL VOLUME", true }, { "AVAGO", "SMC3108", true },
		{ "ATA", "DEMO SSD", false }, { "DEMO", "DISK 15K", false } };

	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "server");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[256];

		(void)snprintf(path, sizeof(path), "%s/vendor", scsi);
		sysroot_write(&machine, path, cases[i].vendor, strlen(cases[i].vendor));
		(void)snprintf(path, sizeof(path), "%s/model", scsi);
		sysroot_write(&machine, path, cases[i].model, strlen(cases[i].model));
		if (find("sdh").raid_volume != cases[i].is_volume)
			fail_msg("%s %s", cases[i].vendor, cases[i].model);
	}
	sysroot_done(&machine);
}

static void test_numbers_that_are_none(void **state)
{
	static const struct {
		const char *text;
		int code;
		uint64_t value;
	} cases[] = { { "12\n", 0, 12 }, { " 7 \n", 0, 7 },
		{ "18446744073709551615\n", 0, UINT64_MAX },
		{ "99999999999999999999999\n", 0, UINT64_MAX }, { "\n", -EINVAL, 0 },
		{ "-1\n", -EINVAL, 0 }, { "12x\n", -EINVAL, 0 }, { "", -EINVAL, 0 } };

	(void)state;
	sysroot_new(&machine, "sys/a\t1\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 0;

		sysroot_write(&machine, "sys/b", cases[i].text, strlen(cases[i].text));
		assert_int_equal(sysfs_read_u64(machine.path, &value, "sys/b"), cases[i].code);
		assert_true(value == cases[i].value);
	}
	sysroot_done(&machine);
}

static void test_size_beyond_64_bits_of_bytes(void **state)
{
	(void)state;
	sysroot_open(&machine, SOURCE_DIR, "odd");
	assert_true(find("sde").size_bytes == UINT64_C(130000000000000000));
	assert_true(find("sdf").size_sectors == UINT64_C(1) << 63);
	assert_true(find("sdf").size_bytes == UINT64_MAX);
	assert_string_equal(find("zram0").identity, "zram:1073741824:0");
	assert_true(find("zram0").memory_backed);
	sysroot_done(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_of_a_sata_disk),
		cmocka_unit_test(test_identity_is_the_same_with_and_without_udev),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_list_order_and_partitions),
		cmocka_unit_test(test_raid_volume),
		cmocka_unit_test(test_numbers_that_are_none),
		cmocka_unit_test(test_size_beyond_64_bits_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
