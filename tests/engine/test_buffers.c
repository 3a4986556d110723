/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: areas never overlap, are aligned for any drive, and hold bodies that do not compress.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/buffers.h"

static void test_areas_are_apart_and_aligned(void **state)
{
	static const struct {
		unsigned slots;
		size_t slot_bytes;
		bool reads, writes;
	} shapes[] = {
		{ 1, 512, true, false },
		{ 3, 5000, true, true },
		{ 32, 4096, false, true },
		{ 5, MIB, true, true },
		{ 128, 512 * KIB, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct buffers buffers;
		unsigned areas = shapes[i].slots;
		char *end;

		assert_int_equal(buffers_open(&buffers, shapes[i].slots, shapes[i].slot_bytes,
					 shapes[i].reads, shapes[i].writes, 1, NULL),
			0);
		assert_int_equal((uintptr_t)buffers.memory % (2 * MIB), 0);
		assert_int_equal(buffers.separate, shapes[i].reads && shapes[i].writes);
		assert_true(buffers.slot_bytes >= shapes[i].slot_bytes);
		assert_int_equal(buffers.slot_bytes % 4096, 0);
		end = (char *)buffers.memory + buffers.bytes;
		for (unsigned slot = 0; slot < areas; slot++) {
			char *read = buffers_area(&buffers, slot, false);
			char *write = buffers_area(&buffers, slot, true);

			assert_true(read + buffers.slot_bytes <= end);
			assert_true(write + buffers.slot_bytes <= end);
			assert_true(write - read ==
				    (ptrdiff_t)(buffers.separate ? areas * buffers.slot_bytes : 0));
			read[buffers.slot_bytes - 1] = 1;
			write[buffers.slot_bytes - 1] = 1;
		}
		buffers_close(&buffers);
		assert_null(buffers.memory);
		buffers_close(&buffers);
	}
}

/* Bodies: every byte value about equally often (a sum of squares near that of chance), no two
 * areas alike, the same again for the same seed, and others for another. */
static void test_bodies_do_not_compress(void **state)
{
	struct buffers first, again, other;
	uint64_t counts[256] = { 0 };
	double squares = 0;
	size_t total;

	(void)state;
	assert_int_equal(buffers_open(&first, 8, 64 * KIB, true, true, 42, NULL), 0);
	assert_int_equal(buffers_open(&again, 8, 64 * KIB, false, true, 42, NULL), 0);
	assert_int_equal(buffers_open(&other, 8, 64 * KIB, false, true, 43, NULL), 0);
	total = 8 * first.slot_bytes;
	for (size_t i = 0; i < total; i++)
		counts[((unsigned char *)buffers_area(&first, 0, true))[i]]++;
	for (unsigned i = 0; i < 256; i++) {
		double surplus = (double)counts[i] - (double)total / 256;

		squares += surplus * surplus / ((double)total / 256);
	}
	/* Chi squared with 255 degrees of freedom: mean 255, standard deviation 22.6. */
	assert_true(squares > 120 && squares < 400);
	for (unsigned slot = 1; slot < 8; slot++)
		assert_memory_not_equal(buffers_area(&first, slot, true),
			buffers_area(&first, slot - 1, true), first.slot_bytes);
	assert_memory_equal(buffers_area(&first, 0, true), buffers_area(&again, 0, true), total);
	assert_memory_not_equal(
		buffers_area(&first, 0, true), buffers_area(&other, 0, true), total);
	buffers_close(&first);
	buffers_close(&again);
	buffers_close(&other);
}

static void test_too_much_is_refused_with_its_size(void **state)
{
	struct buffers buffers;
	struct error error = { 0 };

	(void)state;
	assert_int_equal(
		buffers_open(&buffers, 4096, SIZE_MAX / 4096, true, true, 1, &error), -ENOMEM);
	assert_non_null(strstr(error.text, "8192 areas"));
	error = (struct error){ 0 };
	assert_int_equal(
		buffers_open(&buffers, 4096, UINT64_C(1) << 44, true, false, 1, &error), -ENOMEM);
	assert_non_null(strstr(error.text, "17592186044416 bytes"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_areas_are_apart_and_aligned),
		cmocka_unit_test(test_bodies_do_not_compress),
		cmocka_unit_test(test_too_much_is_refused_with_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
