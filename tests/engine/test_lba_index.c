/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index against a list that is searched from end to end. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "engine/lba_index.h"
#include "engine/rng.h"

#define CAPACITY 700

static struct request requests[CAPACITY];
static bool present[CAPACITY];

static bool is_before(const struct request *a, const struct request *b)
{
	return a->offset_bytes != b->offset_bytes ? a->offset_bytes < b->offset_bytes
						  : a->sequence < b->sequence;
}

static void compare(struct lba_index *index, uint32_t list, uint64_t offset_bytes)
{
	struct request *before = NULL, *after = NULL, *found_before, *found_after;

	for (size_t i = 0; i < CAPACITY; i++) {
		struct request *request = &requests[i];

		if (!present[i] || request->list != list)
			continue;
		if (request->offset_bytes >= offset_bytes && (!after || is_before(request, after)))
			after = request;
		if (request->offset_bytes < offset_bytes && (!before || is_before(before, request)))
			before = request;
	}
	lba_index_around(index, list, offset_bytes, &found_before, &found_after);
	assert_ptr_equal(found_before, before);
	assert_ptr_equal(found_after, after);
	assert_ptr_equal(lba_index_after(index, list, offset_bytes), after);
}

/* Grows to the brim, shrinks to nothing and so on, on the way with steps back. */
static void random_changes_agree_with_a_plain_list(void **state)
{
	struct lba_index *index;
	struct rng rng;
	size_t count = 0, full = 0, empty = 0;
	bool grows = true;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	assert_int_equal(lba_index_new(CAPACITY, &index), 0);
	for (unsigned step = 0; step < 60000; step++) {
		const size_t i = rng_below(&rng, CAPACITY);
		const bool against = count > CAPACITY / 8 && count < CAPACITY - CAPACITY / 8 &&
				     rng_below(&rng, 16) == 0;

		if (count == CAPACITY || count == 0) {
			full += count == CAPACITY;
			empty += count == 0;
			grows = count == 0;
		}
		if (!present[i] && grows != against) {
			requests[i].op = REQUEST_READ;
			requests[i].list = (uint32_t)rng_below(&rng, 3) * 40000;
			requests[i].offset_bytes = rng_below(&rng, 400) << rng_below(&rng, 50);
			requests[i].sequence = step;
			lba_index_insert(index, &requests[i]);
		} else if (present[i] && grows == against) {
			lba_index_remove(index, &requests[i]);
		} else {
			continue;
		}
		present[i] = !present[i];
		count += present[i] ? 1 : (size_t)-1;
		compare(index, (uint32_t)rng_below(&rng, 3) * 40000,
			rng_below(&rng, 400) << rng_below(&rng, 50));
	}
	assert_true(full && empty);
	lba_index_free(index);
}

static void a_replacement_stands_in_the_same_place(void **state)
{
	struct request a = { .offset_bytes = 5, .sequence = 1 }, b = a, c = { .sequence = 2 };
	struct lba_index *index;

	(void)state;
	assert_int_equal(lba_index_new(4, &index), 0);
	lba_index_insert(index, &c);
	lba_index_insert(index, &a);
	lba_index_replace(index, &a, &b);
	assert_ptr_equal(lba_index_after(index, 0, 1), &b);
	lba_index_remove(index, &b);
	assert_null(lba_index_after(index, 0, 1));
	assert_ptr_equal(lba_index_after(index, 0, 0), &c);
	lba_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes_agree_with_a_plain_list),
		cmocka_unit_test(a_replacement_stands_in_the_same_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
