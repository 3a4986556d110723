/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: every kind of damage is named right, and nothing sound is called damaged.
 * Method: a small image is written through the shadow at random; then one known mutation is made
 * and the report is compared with what that mutation must be called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rng.h"
#include "engine/stamp.h"

#define BLOCK_BYTES 4096u
#define SECTORS (BLOCK_BYTES / STAMP_SECTOR_BYTES)
#define BLOCKS 64u
#define RUN 0xbea7

static struct rng rng;

static int set_up(void **state)
{
	const char *text = getenv("SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 42;

	(void)state;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	rng_seed(&rng, seed, RNG_FAULTS);
	return 0;
}

/* --- Stamps --------------------------------------------------------------------------------- */

static void test_stamp_holds_what_it_was_given(void **state)
{
	char buffer[2 * STAMP_SECTOR_BYTES];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t lba = rng_next(&rng) >> 16;
		uint16_t run = (uint16_t)rng_next(&rng);
		uint32_t file = (uint32_t)rng_next(&rng);
		uint16_t generation = (uint16_t)rng_next(&rng);
		struct stamp stamp;

		lba -= lba > 1;
		stamp_fill(buffer, sizeof(buffer), lba * STAMP_SECTOR_BYTES, run, file, generation);
		for (unsigned sector = 0; sector < 2; sector++) {
			assert_true(stamp_read(buffer + sector * STAMP_SECTOR_BYTES, &stamp));
			assert_int_equal(stamp.lba, lba + sector);
			assert_int_equal(stamp.run, run);
			assert_int_equal(stamp.file, file);
			assert_int_equal(stamp.generation, generation);
		}
	}
}

/* The layout is part of the format on the device: byte by byte, whatever the machine's order. */
static void test_stamp_is_little_endian(void **state)
{
	static const unsigned char expected[14] = { 0x05, 0x04, 0x03, 0x02, 0x01, 0x00, 0xcd, 0xab,
		0x44, 0x33, 0x22, 0x11, 0x66, 0x55 };
	char buffer[STAMP_SECTOR_BYTES];

	(void)state;
	stamp_fill(buffer, sizeof(buffer), UINT64_C(0x0102030405) * STAMP_SECTOR_BYTES, 0xabcd,
		0x11223344, 0x5566);
	assert_memory_equal(buffer, expected, sizeof(expected));
}

static void test_any_flipped_bit_is_noticed(void **state)
{
	unsigned char buffer[STAMP_SECTOR_BYTES];
	struct stamp stamp;
	unsigned missed = 0, pairs = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		stamp_fill(buffer, sizeof(buffer), (rng_next(&rng) >> 20) * STAMP_SECTOR_BYTES,
			(uint16_t)rng_next(&rng), (uint32_t)rng_next(&rng),
			(uint16_t)rng_next(&rng));
		for (unsigned bit = 0; bit < 128; bit++, pairs++) {
			buffer[bit / 8] ^= (unsigned char)(1u << bit % 8);
			missed += stamp_read(buffer, &stamp);
			buffer[bit / 8] ^= (unsigned char)(1u << bit % 8);
		}
	}
	/* 16 check bits let one random change in 65,536 pass. */
	assert_in_range(missed, 0, 6);
	assert_int_equal(pairs, 25600);
}

static void test_blank_sectors_are_not_stamps(void **state)
{
	unsigned char buffer[STAMP_SECTOR_BYTES];
	struct stamp stamp;

	(void)state;
	memset(buffer, 0, sizeof(buffer));
	assert_false(stamp_read(buffer, &stamp));
	memset(buffer, 0xff, sizeof(buffer));
	assert_false(stamp_read(buffer, &stamp));
}

static void test_body_is_left_alone(void **state)
{
	char buffer[BLOCK_BYTES];

	(void)state;
	memset(buffer, 0x5a, sizeof(buffer));
	stamp_fill(buffer, sizeof(buffer), 0, RUN, 1, 1);
	for (unsigned i = 0; i < sizeof(buffer); i++)
		if (i % STAMP_SECTOR_BYTES >= 16)
			assert_int_equal(buffer[i], 0x5a);
}

/* --- Shadow --------------------------------------------------------------------------------- */

struct world {
	struct shadow *shadow;
	char image[BLOCKS * BLOCK_BYTES];
	char older[BLOCKS * BLOCK_BYTES]; /* the state that each block had before its last write */
	bool known[BLOCKS];
};

static void write_blocks(
	struct world *world, unsigned first, unsigned count, uint32_t file, uint16_t generation)
{
	struct plan plan = { .file = file, .generation = generation };
	struct request request = { .op = REQUEST_WRITE,
		.plan = &plan,
		.offset_bytes = (uint64_t)first * BLOCK_BYTES,
		.length_bytes = count * BLOCK_BYTES };
	char *body = world->image + first * BLOCK_BYTES;

	memcpy(world->older + first * BLOCK_BYTES, body, request.length_bytes);
	stamp_fill(body, request.length_bytes, request.offset_bytes, RUN, file, generation);
	shadow_write(world->shadow, &request);
	for (unsigned i = first; i < first + count; i++)
		world->known[i] = true;
}

static void forget_block(struct world *world, unsigned block)
{
	struct request request = { .op = REQUEST_WRITE,
		.length_bytes = BLOCK_BYTES,
		.offset_bytes = (uint64_t)block * BLOCK_BYTES };

	shadow_forget(world->shadow, &request);
	world->known[block] = false;
}

static struct stamp_report verify(
	const struct world *world, unsigned first_sector, unsigned sectors, bool *ret_good)
{
	struct request request = { .op = REQUEST_READ,
		.offset_bytes = (uint64_t)first_sector * STAMP_SECTOR_BYTES,
		.length_bytes = sectors * STAMP_SECTOR_BYTES };
	struct stamp_report report = { 0 };

	*ret_good = shadow_verify(world->shadow, &request,
		world->image + first_sector * STAMP_SECTOR_BYTES, RUN, &report);
	return report;
}

static struct world *world_new(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	assert_int_equal(shadow_new(BLOCK_BYTES, &world->shadow), 0);
	for (unsigned i = 0; i < 200; i++) {
		unsigned first = (unsigned)rng_below(&rng, BLOCKS);
		unsigned count = 1 + (unsigned)rng_below(&rng, min_u64(BLOCKS - first, 9));

		write_blocks(world, first, count, (uint32_t)rng_below(&rng, 4), (uint16_t)i);
	}
	return world;
}

static void world_free(struct world *world)
{
	shadow_free(world->shadow);
	free(world);
}

static void test_sound_data_is_called_good(void **state)
{
	struct world *world = world_new();
	unsigned known = 0;
	bool good;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		forget_block(world, (unsigned)rng_below(&rng, BLOCKS));
	for (unsigned i = 0; i < BLOCKS; i++) {
		known += world->known[i];
		if (!world->known[i])
			memset(world->image + i * BLOCK_BYTES, 0, BLOCK_BYTES);
	}
	struct stamp_report report = verify(world, 0, BLOCKS * SECTORS, &good);

	assert_true(good);
	assert_int_equal(report.sectors_checked, known * SECTORS);
	assert_int_equal(report.faults[STAMP_GOOD], known * SECTORS);
	world_free(world);
}

/* A read may begin and end inside a block; what it shows of the block is judged. */
static void test_parts_of_blocks_are_judged(void **state)
{
	struct world *world = world_new();
	bool good;

	(void)state;
	for (unsigned i = 0; i < BLOCKS; i++)
		write_blocks(world, i, 1, 7, 1);
	struct stamp_report report = verify(world, 3, SECTORS, &good);

	assert_true(good);
	assert_int_equal(report.sectors_checked, SECTORS);
	memset(world->image + 4 * STAMP_SECTOR_BYTES, 0, STAMP_SECTOR_BYTES);
	report = verify(world, 3, SECTORS, &good);
	assert_false(good);
	assert_int_equal(report.faults[STAMP_TORN], 1);
	assert_int_equal(report.first_lba, 4);
	world_free(world);
}

static void mutate(struct world *world, unsigned block, enum stamp_fault fault)
{
	char *body = world->image + block * BLOCK_BYTES;
	unsigned other = (block + 1 + (unsigned)rng_below(&rng, BLOCKS - 1)) % BLOCKS;
	unsigned part = 1 + (unsigned)rng_below(&rng, SECTORS - 1);

	switch (fault) {
	case STAMP_LOST:
		if (rng_next(&rng) & 1)
			memset(body, 0, BLOCK_BYTES);
		else
			stamp_fill(body, BLOCK_BYTES, (uint64_t)block * BLOCK_BYTES, RUN + 1, 1, 1);
		break;
	case STAMP_STALE:
		memcpy(body, world->older + block * BLOCK_BYTES, BLOCK_BYTES);
		break;
	case STAMP_MISPLACED:
		memcpy(body, world->image + other * BLOCK_BYTES, BLOCK_BYTES);
		break;
	case STAMP_TORN:
		memcpy(body, world->older + block * BLOCK_BYTES, (size_t)part * STAMP_SECTOR_BYTES);
		break;
	default:
		break;
	}
}

static void test_each_damage_has_its_name(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		enum stamp_fault fault = STAMP_LOST + round % 4;
		struct world *world = calloc(1, sizeof(*world));
		unsigned block = (unsigned)rng_below(&rng, BLOCKS);
		struct stamp_report report;
		bool good;

		assert_int_equal(shadow_new(BLOCK_BYTES, &world->shadow), 0);
		write_blocks(world, 0, BLOCKS, 1, 1);
		write_blocks(world, 0, BLOCKS, round % 3 ? 1 : 2, round % 3 ? 2 : 1);
		mutate(world, block, fault);
		report = verify(world, 0, BLOCKS * SECTORS, &good);
		assert_false(good);
		assert_int_equal(report.sectors_checked, BLOCKS * SECTORS);
		assert_int_equal(report.first_fault, fault);
		assert_int_equal(report.first_lba, block * SECTORS);
		assert_int_equal(
			report.faults[STAMP_GOOD] + report.faults[fault], BLOCKS * SECTORS);
		if (fault != STAMP_TORN)
			assert_int_equal(report.faults[fault], SECTORS);
		else
			assert_in_range(report.faults[fault], 1, SECTORS - 1);
		world_free(world);
	}
}

/* The first fault stays the first when later reads find more, and counts add up. */
static void test_reports_add_up(void **state)
{
	struct world *world = world_new();
	struct request request = { .op = REQUEST_READ, .length_bytes = BLOCK_BYTES };
	struct stamp_report report = { 0 };

	(void)state;
	write_blocks(world, 0, BLOCKS, 9, 9);
	memset(world->image + 5 * BLOCK_BYTES, 0, BLOCK_BYTES);
	memcpy(world->image + 6 * BLOCK_BYTES, world->image, BLOCK_BYTES);
	for (unsigned i = 4; i < 8; i++) {
		request.offset_bytes = (uint64_t)i * BLOCK_BYTES;
		assert_int_equal(shadow_verify(world->shadow, &request,
					 world->image + i * BLOCK_BYTES, RUN, &report),
			i != 5 && i != 6);
	}
	assert_int_equal(report.first_fault, STAMP_LOST);
	assert_int_equal(report.first_lba, 5 * SECTORS);
	assert_int_equal(report.faults[STAMP_LOST], SECTORS);
	assert_int_equal(report.faults[STAMP_MISPLACED], SECTORS);
	assert_int_equal(report.faults[STAMP_GOOD], 2 * SECTORS);
	world_free(world);
}

/* Blocks at the far end of a large disk cost what they touch, not what lies before them. */
static void test_far_blocks(void **state)
{
	struct plan plan = { .file = 3, .generation = 4 };
	struct request request = { .op = REQUEST_WRITE,
		.plan = &plan,
		.length_bytes = BLOCK_BYTES,
		.offset_bytes = 20 * TIB };
	struct stamp_report report = { 0 };
	struct shadow *shadow;
	char body[BLOCK_BYTES];

	(void)state;
	assert_int_equal(shadow_new(BLOCK_BYTES, &shadow), 0);
	shadow_write(shadow, &request);
	stamp_fill(body, sizeof(body), request.offset_bytes, RUN, 3, 4);
	assert_true(shadow_verify(shadow, &request, body, RUN, &report));
	assert_int_equal(report.sectors_checked, SECTORS);
	request.offset_bytes -= BLOCK_BYTES;
	assert_true(shadow_verify(shadow, &request, body, RUN, &report));
	assert_int_equal(report.sectors_checked, SECTORS);
	shadow_free(shadow);
}

static void test_faults_have_names(void **state)
{
	(void)state;
	assert_string_equal(stamp_fault_name(STAMP_GOOD), "good");
	assert_string_equal(stamp_fault_name(STAMP_LOST), "lost");
	assert_string_equal(stamp_fault_name(STAMP_STALE), "stale");
	assert_string_equal(stamp_fault_name(STAMP_MISPLACED), "misplaced");
	assert_string_equal(stamp_fault_name(STAMP_TORN), "torn");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stamp_holds_what_it_was_given),
		cmocka_unit_test(test_stamp_is_little_endian),
		cmocka_unit_test(test_any_flipped_bit_is_noticed),
		cmocka_unit_test(test_blank_sectors_are_not_stamps),
		cmocka_unit_test(test_body_is_left_alone),
		cmocka_unit_test(test_sound_data_is_called_good),
		cmocka_unit_test(test_parts_of_blocks_are_judged),
		cmocka_unit_test(test_each_damage_has_its_name),
		cmocka_unit_test(test_reports_add_up),
		cmocka_unit_test(test_far_blocks),
		cmocka_unit_test(test_faults_have_names),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
