/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drive and kernel together: what the two views mean, that a change is only done when the drive
 * says so, that a kernel which would send no flush is corrected or the change undone, in which
 * order ways are tried, and what lies below stacked devices.
 */
#include "devices/write_cache.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "devices/sense.h"
#include "devices/write_cache_stack.h"
#include "tests/support/cached_drive.h"
#include "engine/rng.h"
#include "tests/support/check.h"

static struct write_cache *cache;
static struct faults notes, faults, tried;
static const char *method;

static void begin(enum cached_kind kind)
{
	notes = faults = tried = (struct faults){ 0 };
	method = NULL;
	cached_drive_new(kind);
	assert_int_equal(write_cache_open(cached_place(), cached_name, &cache, NULL), 0);
}

static void end(void)
{
	/* Whatever was done, the drive was never asked to save it. */
	assert_int_equal(cached_drive->saved, 0);
	assert_null(strstr(cached_drive->log, "temporary"));
	write_cache_close(cache);
	faults_done(&notes);
	faults_done(&faults);
	faults_done(&tried);
	cached_drive_done();
}

static struct cache_report look(void)
{
	struct cache_report report;

	write_cache_get(cache, &report, &tried);
	return report;
}

static int set(bool on)
{
	return write_cache_set(cache, DRIVE_WRITE_CACHE, on, &method, &notes, &faults);
}

static void test_judge(void **state)
{
	(void)state;
	assert_int_equal(write_cache_judge(CACHE_ON, "write back"), CACHE_AGREES);
	assert_int_equal(write_cache_judge(CACHE_ON, "write through"), CACHE_DANGEROUS);
	assert_int_equal(write_cache_judge(CACHE_OFF, "write back"), CACHE_HARMLESS);
	assert_int_equal(write_cache_judge(CACHE_OFF, "write through"), CACHE_AGREES);
	assert_int_equal(write_cache_judge(CACHE_NONE, "write back"), CACHE_HARMLESS);
	assert_int_equal(write_cache_judge(CACHE_NONE, "write through"), CACHE_AGREES);
	assert_int_equal(write_cache_judge(CACHE_UNKNOWN, "write through"), CACHE_UNDECIDED);
	assert_int_equal(write_cache_judge(CACHE_ON, ""), CACHE_UNDECIDED);
}

/* Somebody wrote "write through" to the queue and believes the drive's cache to be off. */
static void test_kernel_is_not_drive(void **state)
{
	struct cache_report report;

	(void)state;
	begin(CACHED_SCSI);
	cached_put_kernel("write through");
	report = look();
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_ON);
	assert_string_equal(report.kernel, "write through");
	assert_string_equal(report.cache_type, "write back");
	assert_int_equal(report.verdict, CACHE_DANGEROUS);
	assert_non_null(strstr(report.verdict_text, "no flush"));
	assert_string_equal(cached_drive->log, "");
	/* Asked to be on, which it is, the kernel is put right. */
	assert_int_equal(set(true), 0);
	assert_null(method);
	cached_expect_kernel("write back");
	end();
}

static void test_every_kind(void **state)
{
	static const char *const names[] = { [CACHED_SCSI] = "SCSI mode page",
		[CACHED_SATA] = "ATA pass-through",
		[CACHED_USB] = "SCSI mode page",
		[CACHED_NVME] = "NVMe feature 06h",
		[CACHED_VIRTIO] = "virtio cache_type" };

	(void)state;
	for (enum cached_kind kind = CACHED_SCSI; kind <= CACHED_VIRTIO; kind++) {
		const bool follows = kind != CACHED_NVME;

		begin(kind);
		assert_string_equal(look().method, names[kind]);
		assert_int_equal(set(false), 0);
		assert_string_equal(method, names[kind]);
		cached_expect_kernel(follows ? "write through" : "write back");
		assert_int_equal(look().drive.state[DRIVE_WRITE_CACHE], CACHE_OFF);
		assert_int_equal(cached_drive->write_cache, false);
		assert_int_equal(cached_drive->flushes, kind <= CACHED_USB);
		/* Again: nothing is sent that changes anything. */
		assert_int_equal(set(false), 0);
		assert_null(method);
		assert_int_equal(cached_drive->flushes, kind <= CACHED_USB);
		assert_int_equal(set(true), 0);
		cached_expect_kernel("write back");
		assert_int_equal(look().verdict, CACHE_AGREES);
		assert_int_equal(cached_drive->write_cache, true);
		assert_int_equal(faults.count, 0);
		end();
	}
}

static void test_read_cache(void **state)
{
	(void)state;
	for (enum cached_kind kind = CACHED_SCSI; kind <= CACHED_USB; kind++) {
		begin(kind);
		assert_int_equal(
			write_cache_set(cache, DRIVE_READ_CACHE, false, &method, &notes, &faults),
			0);
		assert_false(cached_drive->read_cache);
		assert_true(cached_drive->write_cache);
		assert_int_equal(look().drive.state[DRIVE_READ_CACHE], CACHE_OFF);
		assert_int_equal(
			write_cache_set(cache, DRIVE_READ_CACHE, true, &method, &notes, &faults),
			0);
		assert_true(cached_drive->read_cache);
		end();
	}
	begin(CACHED_NVME);
	assert_int_equal(write_cache_set(cache, DRIVE_READ_CACHE, true, &method, &notes, &faults),
		-EOPNOTSUPP);
	assert_true(cached_says(&faults, "the drive has none"));
	end();
}

/* A USB bridge without the caching page: the kernel assumed write through, the drive caches. */
static void test_bridge_without_page(void **state)
{
	struct cache_report report;

	(void)state;
	begin(CACHED_USB);
	cached_drive->no_page = true;
	cached_put_kernel("write through");
	report = look();
	assert_string_equal(report.method, "ATA pass-through");
	assert_int_equal(report.verdict, CACHE_DANGEROUS);
	assert_true(cached_says(&tried, "SCSI mode page: MODE SENSE(10)"));
	assert_int_equal(set(false), 0);
	assert_string_equal(method, "ATA pass-through");
	assert_false(cached_drive->write_cache);
	/* On again the kernel would send no flush: it is made to. */
	assert_int_equal(set(true), 0);
	cached_expect_kernel("write back");
	assert_true(cached_says(&notes, "was raised to \"write back\""));
	end();
	/* And where it refuses, the cache stays off. */
	begin(CACHED_USB);
	cached_drive->no_page = cached_drive->will_not_raise = true;
	cached_drive->write_cache = false;
	cached_put_kernel("write through");
	assert_int_equal(set(true), -EIO);
	assert_false(cached_drive->write_cache);
	assert_true(cached_says(&faults, "could lose data; it is set back"));
	end();
}

/* The kernel is told to look and does not: no flush would be sent. */
static void test_deaf_kernel(void **state)
{
	(void)state;
	begin(CACHED_SCSI);
	cached_drive->write_cache = false;
	cached_drive->deaf = true;
	cached_put_kernel("write through");
	assert_int_equal(set(true), 0);
	assert_string_equal(cached_drive->log, "rescan 1\nqueue/write_cache write back\n");
	cached_expect_kernel("write back");
	end();
}

static void test_only_six(void **state)
{
	(void)state;
	begin(CACHED_SCSI);
	cached_drive->only_six = true;
	cached_drive->attentions = 2;
	assert_int_equal(set(false), 0);
	assert_false(cached_drive->write_cache);
	end();
}

/* "Success" from a drive that did nothing is none, whichever way it was told. */
static void test_stubborn(void **state)
{
	(void)state;
	for (enum cached_kind kind = CACHED_SCSI; kind <= CACHED_NVME; kind++) {
		begin(kind);
		cached_drive->stubborn = true;
		assert_int_equal(set(false), -EIO);
		assert_true(
			cached_says(&faults, "the drive took the command, and the write cache"));
		assert_true(cached_drive->write_cache);
		assert_int_equal(look().verdict, CACHE_AGREES);
		end();
	}
}

static void test_unchangeable(void **state)
{
	(void)state;
	begin(CACHED_SCSI);
	cached_drive->unchangeable = true;
	assert_int_equal(look().drive.changeable[DRIVE_WRITE_CACHE], CACHE_NO);
	assert_int_equal(set(false), -EOPNOTSUPP);
	assert_true(cached_says(&faults, "says that it cannot be changed"));
	assert_string_equal(cached_drive->log, "");
	end();
}

static void test_no_volatile_cache(void **state)
{
	(void)state;
	begin(CACHED_NVME);
	cached_drive->no_page = true;
	assert_int_equal(look().drive.state[DRIVE_WRITE_CACHE], CACHE_NONE);
	assert_int_equal(set(false), 0);
	assert_true(cached_says(&notes, "nothing to toggle"));
	assert_int_equal(set(true), -EOPNOTSUPP);
	end();
}

/* Nothing answers: that is not "off", and nothing is changed. */
static void test_cannot_tell(void **state)
{
	struct cache_report report;

	(void)state;
	begin(CACHED_USB);
	cached_drive->no_page = cached_drive->no_ata = true;
	cached_put_kernel("write through");
	report = look();
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_UNKNOWN);
	assert_int_equal(report.verdict, CACHE_UNDECIDED);
	assert_true(cached_says(&tried, "ATA pass-through: ATA IDENTIFY DEVICE"));
	assert_true(cached_says(&tried, "kernel cache_type: "));
	assert_int_equal(set(true), -EOPNOTSUPP);
	assert_true(cached_says(&faults, "because it cannot be seen"));
	assert_string_equal(cached_drive->log, "");
	end();
	begin(CACHED_SCSI);
	cached_drive->gone = true;
	assert_int_equal(set(false), -EOPNOTSUPP);
	end();
}

/* A volume of a RAID controller answers for itself and not for its drives; it is not asked. */
static void test_raid_volume(void **state)
{
	struct cache_report report;

	(void)state;
	begin(CACHED_SCSI);
	write_cache_close(cache);
	sysroot_write(
		&cached_root, "sys/devices/pci0/host2/target2:0:0/2:0:0:0/model", "RAIDVD\n", 7);
	assert_int_equal(write_cache_open(cached_place(), cached_name, &cache, NULL), 0);
	report = look();
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_UNKNOWN);
	assert_non_null(strstr(
		report.reason, "neither cache nor depth of the drives can be seen from here"));
	assert_int_equal(set(false), -EOPNOTSUPP);
	assert_int_equal(cached_drive->commands, 0);
	end();
}

static void add_above(const char *name, const char *number, const char *view)
{
	char path[512], link[128];

	(void)snprintf(path, sizeof(path), "sys/devices/virtual/block/%s/queue/write_cache", name);
	sysroot_write(&cached_root, path, view, strlen(view));
	(void)snprintf(path, sizeof(path), "sys/devices/virtual/block/%s/dev", name);
	sysroot_write(&cached_root, path, number, strlen(number));
	(void)snprintf(path, sizeof(path), "sys/devices/virtual/block/%s/slaves/sdb/x", name);
	sysroot_write(&cached_root, path, "", 0);
	(void)snprintf(path, sizeof(path), "%s/sys/class/block/%s", cached_root.path, name);
	(void)snprintf(link, sizeof(link), "../../devices/virtual/block/%s", name);
	assert_int_equal(symlink(link, path), 0);
}

/* A volume that was made over a cache that was off does not hear of the change. */
static void test_stale_volume(void **state)
{
	const enum cache_wish on[DRIVE_SETTING_COUNT] = { CACHE_WISH_ON };
	struct write_cache_stack stack;

	(void)state;
	begin(CACHED_SCSI);
	add_above("dm-0", "253:0\n", "write through\n");
	assert_int_equal(write_cache_stack_open(cached_place(), "dm-0", &stack, NULL), 0);
	assert_int_equal(stack.member_count, 1);
	assert_string_equal(stack.members[0].name, "sdb");
	assert_int_equal(stack.layer_count, 1);
	write_cache_stack_get(&stack);
	assert_int_equal(stack.members[0].report.verdict, CACHE_AGREES);
	assert_int_equal(stack.layers[0].verdict, CACHE_DANGEROUS);
	assert_int_equal(write_cache_stack_check(&stack, on, &faults), 0);
	cached_drive->will_not_raise = true;
	assert_int_equal(write_cache_stack_repair(&stack, &notes, &faults), -EIO);
	assert_true(cached_says(&faults, "dm-0 sends no flush"));
	cached_drive->will_not_raise = false;
	assert_int_equal(write_cache_stack_repair(&stack, &notes, &faults), 0);
	assert_int_equal(stack.layers[0].verdict, CACHE_AGREES);
	cached_drive->unchangeable = true;
	cached_drive->write_cache = false;
	write_cache_stack_get(&stack);
	assert_int_equal(write_cache_stack_check(&stack, on, &faults), -EOPNOTSUPP);
	assert_true(cached_says(&faults, "the write cache of sdb is off"));
	write_cache_stack_done(&stack);
	end();
}

/* A drive that answers everything by the same bytes. */
struct babbler {
	struct passthrough base;
	uint8_t bytes[64];
	size_t count;
};

static int babble(struct passthrough *passthrough, struct scsi_command *command)
{
	const struct babbler *babbler = container_of(passthrough, struct babbler, base);

	if (command->direction == PASSTHROUGH_FROM_DRIVE)
		memcpy(command->data, babbler->bytes, babbler->count);
	command->transferred_bytes = babbler->count;
	return 0;
}

/* The byte with WCE and RCD in an answer of one form, found step by step; -1 when there is none. */
static int naive_page(const struct babbler *babbler, bool six)
{
	const uint8_t *bytes = babbler->bytes;
	const size_t head = six ? 4 : 8;
	size_t end, at;

	if (babbler->count < head)
		return -1;
	end = six ? bytes[0] + 1U : (bytes[0] << 8 | bytes[1]) + 2U;
	end = end < babbler->count ? end : babbler->count;
	at = head + (six ? bytes[3] : (size_t)(bytes[6] << 8 | bytes[7]));
	while (at + 3 <= end) {
		const size_t size = bytes[at] & 0x40
					    ? 4U + (size_t)(bytes[at + 2] << 8 | bytes[at + 3])
					    : 2U + bytes[at + 1];

		if ((bytes[at] & 0x7f) == 8)
			return size >= 3 && at + size <= end ? bytes[at + 2] : -1;
		at += size;
	}
	return -1;
}

/* Lengths that fit and lengths that do not; small numbers are frequent, so that many fit. */
static void fill_random(struct rng *rng, struct babbler *babbler)
{
	for (size_t i = 0; i < sizeof(babbler->bytes); i++)
		babbler->bytes[i] = (uint8_t)rng_next(rng);
	babbler->count = rng_below(rng, sizeof(babbler->bytes) + 1);
	for (size_t i = 0; i < 8; i++)
		babbler->bytes[i] = (uint8_t)(rng_below(rng, 4) ? 0 : rng_below(rng, 16));
	babbler->bytes[1] = (uint8_t)rng_below(rng, 64);
	babbler->bytes[0] = (uint8_t)(rng_below(rng, 2) ? 0 : rng_below(rng, 64));
	babbler->bytes[8] = (uint8_t)(rng_below(rng, 2) ? 0x08 : 0x0a);
	babbler->bytes[9] = (uint8_t)rng_below(rng, 20);
}

/* Whatever comes back, nothing is read beyond it, and what is told is in the caching page. */
static void test_random_answers(void **state)
{
	static const struct passthrough_ops ops = { .scsi = babble };
	struct babbler babbler = { .base.ops = &ops };
	struct write_cache one = { .place = cached_place(), .passthrough = &babbler.base };
	unsigned told = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	for (int round = 0; round < 20000; round++) {
		struct scsi_command command = { .what = "a test", .status = 2 };
		struct ata_registers registers;
		struct cache_reading reading;
		int page;

		fill_random(&rng, &babbler);
		memcpy(command.sense, babbler.bytes, sizeof(command.sense));
		command.sense[0] = (uint8_t)(0x70 | rng_below(&rng, 8));
		command.sense_bytes = babbler.count;
		(void)sense_judge(&command, NULL);
		(void)sense_ata_registers(&command, &registers);
		if (write_cache_scsi.get(&one, &reading, NULL))
			continue;
		told++;
		page = naive_page(&babbler, false);
		if (page < 0)
			page = naive_page(&babbler, true);
		assert_true(page >= 0);
		assert_int_equal(reading.state[DRIVE_WRITE_CACHE], page & 4 ? CACHE_ON : CACHE_OFF);
		assert_int_equal(reading.state[DRIVE_READ_CACHE], page & 1 ? CACHE_OFF : CACHE_ON);
	}
	print_message("%u answers held a page\n", told);
	assert_true(told > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_kernel_is_not_drive),
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_read_cache),
		cmocka_unit_test(test_bridge_without_page),
		cmocka_unit_test(test_deaf_kernel),
		cmocka_unit_test(test_only_six),
		cmocka_unit_test(test_stubborn),
		cmocka_unit_test(test_unchangeable),
		cmocka_unit_test(test_no_volatile_cache),
		cmocka_unit_test(test_cannot_tell),
		cmocka_unit_test(test_raid_volume),
		cmocka_unit_test(test_stale_volume),
		cmocka_unit_test(test_random_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
