/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge of layouts on layouts that lie: every offence is found and named. */
#include "tests/support/check.h"

#include <string.h>

#include "fsmodel/layout.h"

struct liar {
	struct layout layout;
	struct extent extents[3];
	uint64_t owners[3];
};

static int liar_walk(const struct layout *layout, layout_visit_fn visit, void *user)
{
	const struct liar *liar = container_of(layout, const struct liar, layout);
	int result = 0;

	for (int i = 0; i < 3 && !result; i++)
		if (liar->extents[i].length_blocks)
			result = visit(user, liar->extents[i], ROLE_DATA, liar->owners[i]);
	return result;
}

static const char *verdict(struct extent a, struct extent b, struct extent c, uint64_t used)
{
	static const struct layout_ops ops = { .name = "liar", .walk = liar_walk };
	static struct error error;
	const struct liar liar = {
		.layout = { .ops = &ops,
			.config = { .first_block = 500, .block_count = 100, .block_bytes = 4096 },
			.used_blocks = used },
		.extents = { a, b, c },
		.owners = { 7, 9, LAYOUT_OWNER_FREE },
	};
	int result;

	error = (struct error){ 0 };
	result = layout_judge(&liar.layout, &error);
	assert_int_equal(result, error.code);
	assert_true(result == 0 || result == -EUCLEAN);
	return error.text;
}

static void test_the_judge_finds_every_offence(void **state)
{
	(void)state;
	assert_string_equal("", verdict((struct extent){ 580, 20 }, (struct extent){ 500, 30 },
					(struct extent){ 530, 50 }, 50));
	assert_string_equal("block 520 belongs to file 9 and to free space",
		verdict((struct extent){ 580, 20 }, (struct extent){ 500, 30 },
			(struct extent){ 520, 60 }, 50));
	assert_string_equal("block 570 is neither owned nor free",
		verdict((struct extent){ 580, 20 }, (struct extent){ 500, 30 },
			(struct extent){ 530, 40 }, 50));
	assert_string_equal("block 590 is neither owned nor free",
		verdict((struct extent){ 580, 10 }, (struct extent){ 500, 30 },
			(struct extent){ 530, 50 }, 40));
	assert_string_equal("file 7 claims 21 blocks from 580 on, outside blocks 500 to 599",
		verdict((struct extent){ 580, 21 }, (struct extent){ 500, 30 },
			(struct extent){ 530, 50 }, 51));
	assert_string_equal("the layout counts 49 used blocks, owned are 50",
		verdict((struct extent){ 580, 20 }, (struct extent){ 500, 30 },
			(struct extent){ 530, 50 }, 49));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_judge_finds_every_offence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
