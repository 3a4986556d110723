/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: a layout's plans touch exactly the blocks of their files, in order and cut as asked, a
 * full device fails without harm, and the judge agrees at every point.
 * Method: random operations on a few files in a small area. The model learns where a file's
 * blocks are from the writes alone, keeps them as a plain list per file and an owner per block,
 * and says what every further plan must look like, request by request.
 */
#include "fsmodel/layout.h"

#include "engine/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define FILES 40
#define NOBODY UINT32_MAX
#define FIRST_BLOCK 500
#define LONGEST 7 /* blocks in a request */

struct file {
	bool exists;
	uint64_t bytes;
	uint64_t count;
	uint64_t *blocks;
};

struct model {
	struct layout *layout;
	struct layout_config config;
	struct file files[FILES];
	uint32_t *owner; /* by block from the first one */
	uint64_t free_count;
	uint64_t created;
	struct request_pool pool;
	struct plan plan;
};

static uint64_t seed_from_environment(void)
{
	const char *text = getenv("SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 0) : 20261130;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

static struct layout_config small_config(uint64_t block_count)
{
	return (struct layout_config){
		.first_block = FIRST_BLOCK,
		.block_count = block_count,
		.block_bytes = 4096,
		.files_max = FILES,
		.files_expected = FILES / 2,
		.seed = 42,
		.max_request_bytes = LONGEST * 4096 + 4095,
	};
}

static void judge(const struct layout *layout)
{
	struct error error = { 0 };
	const int result = layout_judge(layout, &error);

	if (result)
		print_message("%s\n", error.text);
	assert_int_equal(result, 0);
}

static void model_init(struct model *model, const char *name, const struct layout_config *config)
{
	*model = (struct model){ .config = *config, .free_count = config->block_count };
	assert_int_equal(layout_find(name)->format(config, &model->layout, NULL), 0);
	assert_int_equal(
		request_pool_init(&model->pool, layout_requests_max(layout_find(name), config,
							config->block_count * config->block_bytes)),
		0);
	model->owner = malloc(config->block_count * sizeof(*model->owner));
	assert_non_null(model->owner);
	memset(model->owner, 0xff, config->block_count * sizeof(*model->owner));
	for (int i = 0; i < FILES; i++) {
		model->files[i].blocks = malloc(config->block_count * sizeof(uint64_t));
		assert_non_null(model->files[i].blocks);
	}
	plan_clear(&model->plan, &model->pool);
}

static void model_done(struct model *model)
{
	model->layout->ops->free(model->layout);
	request_pool_done(&model->pool);
	for (int i = 0; i < FILES; i++)
		free(model->files[i].blocks);
	free(model->owner);
}

static uint64_t blocks_for(const struct model *model, uint64_t bytes)
{
	return (bytes + model->config.block_bytes - 1) / model->config.block_bytes;
}

/* The run of free blocks from block (counted from the area's start) on. */
static uint64_t free_run(const struct model *model, uint64_t block)
{
	uint64_t end = block;

	while (end < model->config.block_count && model->owner[end] == NOBODY)
		end++;
	return end - block;
}

/* Takes the blocks behind the first known_count ones of the file from the plan's writes. */
static void learn(struct model *model, uint32_t slot, uint64_t from, uint64_t known_count)
{
	struct file *file = &model->files[slot];
	uint64_t at = from;

	for (const struct request *r = model->plan.first; r; r = r->next) {
		if (r->op != REQUEST_WRITE)
			continue;
		for (uint32_t done = 0; done < r->length_bytes; done += 4096, at++) {
			const uint64_t block = (r->offset_bytes + done) / 4096;

			assert_in_range(
				block, FIRST_BLOCK, FIRST_BLOCK + model->config.block_count - 1);
			if (at < known_count) {
				assert_int_equal(block, file->blocks[at]);
				continue;
			}
			assert_int_equal(model->owner[block - FIRST_BLOCK], NOBODY);
			model->owner[block - FIRST_BLOCK] = slot;
			file->blocks[at] = block;
			model->free_count--;
		}
	}
	file->count = max_u64(at, known_count);
}

/* Expects requests for blocks from .. to - 1, block by block; returns the request behind. */
static const struct request *expect(const struct model *model, const struct request *request,
	const struct file *file, enum request_op op, unsigned stage, uint64_t from, uint64_t to)
{
	const uint64_t grid = model->config.request_bytes / 4096;
	uint64_t extent_start = 0, length = 0, first = from;

	for (uint64_t i = 0; i <= to; i++) {
		const bool breaks = i > 0 && i < to && file->blocks[i] != file->blocks[i - 1] + 1;
		const bool cut = breaks || i == to || (grid && (i - extent_start) % grid == 0) ||
				 length == LONGEST;

		if (cut && length) {
			assert_non_null(request);
			assert_int_equal(request->op, op);
			assert_int_equal(request->role, ROLE_DATA);
			assert_int_equal(request->stage, stage);
			assert_int_equal(request->offset_bytes, file->blocks[first] * 4096);
			assert_int_equal(request->length_bytes, length * 4096);
			request = request->next;
			length = 0;
		}
		if (breaks)
			extent_start = i;
		if (i < from || i == to)
			continue;
		if (!length)
			first = i;
		length++;
	}
	return request;
}

static bool is_contiguous(const struct model *model)
{
	return !strcmp(model->layout->ops->name, "contiguous");
}

/* Where one extent of that many blocks belongs: from goal on, then later, then from the start. */
static uint64_t naive_near(const struct model *model, uint64_t goal, uint64_t count)
{
	const uint64_t all = model->config.block_count;

	if (free_run(model, goal) >= count)
		return goal;
	for (uint64_t i = 1; i <= all; i++) {
		const uint64_t block = (goal + i) % all;
		const bool starts = block == 0 || model->owner[block - 1] != NOBODY;

		if (starts && free_run(model, block) >= count)
			return block;
	}
	return UINT64_MAX;
}

static void try_create(struct model *model, uint32_t slot, uint64_t bytes)
{
	struct file *file = &model->files[slot];
	const uint64_t count = blocks_for(model, bytes);
	const uint64_t step = model->created % model->config.files_expected;
	const uint64_t goal = step * model->config.span_blocks / model->config.files_expected;
	const uint64_t expected = count ? naive_near(model, goal, count) : UINT64_MAX;
	const int result = model->layout->ops->create(model->layout, slot, bytes, 0, &model->plan);

	if (file->exists || count > model->free_count) {
		assert_int_equal(result, file->exists ? -EEXIST : -ENOSPC);
		assert_int_equal(model->plan.request_count, 0);
		return;
	}
	assert_int_equal(result, 0);
	model->created++;
	file->exists = true;
	file->bytes = bytes;
	learn(model, slot, 0, 0);
	assert_int_equal(file->count, count);
	assert_null(expect(model, model->plan.first, file, REQUEST_WRITE, 0, 0, count));
	if (is_contiguous(model) && expected != UINT64_MAX)
		for (uint64_t i = 0; i < count; i++)
			assert_int_equal(file->blocks[i], FIRST_BLOCK + expected + i);
}

static void try_append(struct model *model, uint32_t slot, uint64_t bytes)
{
	struct file *file = &model->files[slot];
	const uint64_t old_count = file->count;
	const bool has_tail = file->bytes % 4096 != 0;
	const uint64_t count = blocks_for(model, file->bytes + bytes);
	const bool reads = has_tail && model->config.tail_read && bytes;
	const uint64_t from = bytes ? old_count - has_tail : count;
	const struct request *request;
	uint64_t in_place = 0;
	int result;

	if (file->exists && old_count) {
		const uint64_t end = file->blocks[old_count - 1] + 1 - FIRST_BLOCK;

		in_place = min_u64(free_run(model, end), count - old_count);
	}
	result = model->layout->ops->append(model->layout, slot, bytes, 0, &model->plan);
	if (!file->exists || count - old_count > model->free_count) {
		assert_int_equal(result, file->exists ? -ENOSPC : -ENOENT);
		assert_int_equal(model->plan.request_count, 0);
		return;
	}
	assert_int_equal(result, 0);
	file->bytes += bytes;
	learn(model, slot, from, old_count);
	assert_int_equal(file->count, count);
	request = model->plan.first;
	if (reads)
		request = expect(model, request, file, REQUEST_READ, 0, old_count - 1, old_count);
	assert_null(expect(model, request, file, REQUEST_WRITE, reads, from, count));
	for (uint64_t i = 0; is_contiguous(model) && i < in_place; i++)
		assert_int_equal(file->blocks[old_count + i], file->blocks[old_count - 1] + 1 + i);
}

static void try_read(struct model *model, uint32_t slot)
{
	const struct file *file = &model->files[slot];
	const int result = model->layout->ops->read(model->layout, slot, 0, &model->plan);

	assert_int_equal(result, file->exists ? 0 : -ENOENT);
	assert_null(expect(model, model->plan.first, file, REQUEST_READ, 0, 0, file->count));
}

static void try_remove(struct model *model, uint32_t slot)
{
	struct file *file = &model->files[slot];
	const int result = model->layout->ops->remove(model->layout, slot, 0, &model->plan);

	assert_int_equal(result, file->exists ? 0 : -ENOENT);
	assert_int_equal(model->plan.request_count, 0);
	for (uint64_t i = 0; i < file->count; i++)
		model->owner[file->blocks[i] - FIRST_BLOCK] = NOBODY;
	model->free_count += file->count;
	file->exists = false;
	file->count = 0;
	file->bytes = 0;
}

static int check_owner(void *user, struct extent extent, enum request_role role, uint64_t owner)
{
	const struct model *model = user;

	assert_int_equal(role, ROLE_DATA);
	for (uint64_t i = 0; i < extent.length_blocks; i++)
		assert_int_equal(model->owner[extent.start_block - FIRST_BLOCK + i],
			owner == LAYOUT_OWNER_FREE ? NOBODY : owner);
	return 0;
}

static int count_free(void *user, struct extent extent, enum request_role role, uint64_t owner)
{
	uint64_t *blocks = user;

	(void)role;
	assert_true(owner == LAYOUT_OWNER_FREE);
	assert_int_equal(*blocks, 0);
	*blocks = extent.length_blocks;
	return 0;
}

static void play(uint64_t seed, const char *name, const struct layout_config *config, int count)
{
	struct model model;
	uint64_t blocks = 0, failures = 0;
	struct rng rng;

	model_init(&model, name, config);
	rng_seed(&rng, seed, RNG_LOAD);
	for (int i = 0; i < count; i++) {
		const uint32_t slot = (uint32_t)rng_below(&rng, FILES);
		/* Small sizes and, now and then, one that will not fit for long. */
		const uint64_t high = rng_below(&rng, 16) ? 20 : config->block_count;
		const uint64_t bytes = rng_below(&rng, high * 4096) >> rng_below(&rng, 3);
		const uint64_t before = model.free_count;

		switch (rng_below(&rng, 8)) {
		case 0:
		case 1:
			try_create(&model, slot, bytes);
			break;
		case 2:
			try_append(&model, slot, bytes / 4096 * 4096);
			break;
		case 3:
		case 4:
			try_append(&model, slot, bytes);
			break;
		case 5:
		case 6:
			try_read(&model, slot);
			break;
		default:
			try_remove(&model, slot);
			break;
		}
		failures += before == model.free_count && before < 20;
		plan_release(&model.plan);
		plan_clear(&model.plan, &model.pool);
		assert_int_equal(model.layout->used_blocks, config->block_count - model.free_count);
		if (i % 16 == 0) {
			judge(model.layout);
			assert_int_equal(
				model.layout->ops->walk(model.layout, check_owner, &model), 0);
		}
	}
	assert_true(failures > 0); /* the area did run full */
	for (uint32_t slot = 0; slot < FILES; slot++)
		try_remove(&model, slot);
	judge(model.layout);
	assert_int_equal(model.layout->ops->walk(model.layout, count_free, &blocks), 0);
	assert_int_equal(blocks, config->block_count);
	model_done(&model);
}

static void test_plans_and_space_agree_with_the_model(void **state)
{
	const uint64_t seed = seed_from_environment();
	const uint64_t requests[] = { 0, 4096, 3 * 4096, 100 * 4096 };

	(void)state;
	for (size_t i = 0; layouts[i]; i++) {
		for (unsigned variant = 0; variant < 16; variant++) {
			struct layout_config config = small_config(400);

			config.request_bytes = requests[variant % 4];
			config.tail_read = variant / 4 % 2;
			config.span_blocks = variant / 8 ? 333 : 0;
			play(seed + variant, layouts[i]->name, &config, 4000);
		}
	}
}

/* A device that fills in the middle: an operation that does not fit changes nothing. */
static void test_a_full_device_fails_without_harm(void **state)
{
	(void)state;
	for (size_t i = 0; layouts[i]; i++) {
		const struct layout_config config = small_config(10);
		struct model model;

		model_init(&model, layouts[i]->name, &config);
		try_create(&model, 0, 4 * 4096 + 1);
		plan_release(&model.plan);
		try_create(&model, 1, 6 * 4096); /* one block too many */
		try_read(&model, 1);
		try_append(&model, 0, 9 * 4096);
		try_read(&model, 0);
		plan_release(&model.plan);
		try_append(&model, 0, 4095); /* fits into the last block */
		plan_release(&model.plan);
		try_create(&model, 1, 5 * 4096);
		plan_release(&model.plan);
		assert_int_equal(model.layout->used_blocks, 10);
		try_append(&model, 0, 1);
		try_create(&model, 2, 1);
		try_create(&model, 3, 0); /* needs no space */
		assert_int_equal(model.plan.request_count, 0);
		judge(model.layout);
		model_done(&model);
	}
}

static uint64_t first_block_of(struct model *model, uint32_t slot, uint64_t bytes)
{
	uint64_t block;

	assert_int_equal(
		model->layout->ops->create(model->layout, slot, bytes, 0, &model->plan), 0);
	block = model->plan.first->offset_bytes / 4096;
	plan_release(&model->plan);
	return block;
}

/* The files cover their share of a large device evenly, the last one included; packed ones lie
 * side by side. The span is so large that a 64-bit product would overflow. */
static void test_span_spreads_and_packed_is_dense(void **state)
{
	struct layout_config config = small_config(1000);
	struct model model;

	(void)state;
	model_init(&model, "contiguous", &config);
	for (uint32_t i = 0; i < FILES / 2; i++)
		assert_int_equal(first_block_of(&model, i, 2 * 4096), FIRST_BLOCK + 2 * i);
	model.layout->ops->free(model.layout);
	model.config.block_count = UINT64_C(1) << 39;
	model.config.span_blocks = (UINT64_C(1) << 38) + 7;
	model.config.files_expected = 7;
	assert_int_equal(layout_find("contiguous")->format(&model.config, &model.layout, NULL), 0);
	for (uint32_t i = 0; i < 20; i++) {
		const unsigned __int128 span = model.config.span_blocks;
		const uint64_t goal = FIRST_BLOCK + (uint64_t)(i % 7 * span / 7);

		assert_int_equal(first_block_of(&model, i, 4096), goal + i / 7);
	}
	judge(model.layout);
	model_done(&model);
}

/* Every block of the span is as likely as any other: chi-square over 64 equal parts, 63 degrees
 * of freedom; above 120 is less likely than 2 in 100,000 (the seed is fixed). */
static void test_scatter_is_uniform_over_the_span(void **state)
{
	enum { PARTS = 64, DRAWS = 6400 };
	struct layout_config config = small_config(1000 * PARTS * 2);
	uint64_t counts[PARTS] = { 0 };
	double chi_square = 0;
	struct model model;

	(void)state;
	config.span_blocks = 1000 * PARTS;
	model_init(&model, "scatter", &config);
	assert_int_equal(
		model.layout->ops->create(model.layout, 0, DRAWS * 4096, 0, &model.plan), 0);
	learn(&model, 0, 0, 0);
	for (uint64_t i = 0; i < DRAWS; i++) {
		const uint64_t block = model.files[0].blocks[i] - FIRST_BLOCK;

		assert_true(block < config.span_blocks);
		counts[block / 1000]++;
	}
	for (int i = 0; i < PARTS; i++) {
		const double off = (double)counts[i] - (double)DRAWS / PARTS;

		chi_square += off * off / ((double)DRAWS / PARTS);
	}
	assert_true(chi_square < 120);
	plan_release(&model.plan);
	/* A full span lets the rest lie outside. */
	assert_int_equal(model.layout->ops->create(model.layout, 1,
				 (config.span_blocks - DRAWS + 10) * 4096, 0, &model.plan),
		0);
	judge(model.layout);
	model_done(&model);
}

/* Equal seeds give equal plans, and another seed moves what is random. */
static uint64_t scatter_digest(uint64_t seed)
{
	struct layout_config config = small_config(5000);
	uint64_t digest = 0;
	struct model model;

	config.seed = seed;
	model_init(&model, "scatter", &config);
	for (uint32_t slot = 0; slot < FILES; slot++) {
		assert_int_equal(
			model.layout->ops->create(model.layout, slot, 9000, 0, &model.plan), 0);
		for (const struct request *r = model.plan.first; r; r = r->next)
			digest = digest * 31 + r->offset_bytes;
		plan_release(&model.plan);
	}
	model_done(&model);
	return digest;
}

static void test_one_seed_gives_one_stream(void **state)
{
	(void)state;
	assert_true(scatter_digest(1) == scatter_digest(1));
	assert_true(scatter_digest(1) != scatter_digest(2));
}

static void test_what_cannot_be_laid_out_is_refused(void **state)
{
	struct layout_config config;
	struct layout *layout;
	struct error error;

	(void)state;
	assert_null(layout_find("ext9"));
	for (int i = 0; i < 8; i++) {
		config = small_config(100);
		switch (i) {
		case 0:
			config.block_bytes = 1000;
			break;
		case 1:
			config.block_count = 0;
			break;
		case 2:
			config.block_count = UINT64_C(1) << 40;
			break;
		case 3:
			config.first_block = UINT64_MAX / 4096;
			break;
		case 4:
			config.span_blocks = 101;
			break;
		case 5:
			config.span_blocks = 50, config.files_expected = 0;
			break;
		case 6:
			config.request_bytes = 512;
			break;
		default:
			config.max_request_bytes = 4095;
			break;
		}
		error = (struct error){ 0 };
		assert_int_equal(layouts[0]->format(&config, &layout, &error), -EINVAL);
		assert_true(strlen(error.text) > 20);
	}
	config = small_config(100);
	assert_int_equal(layouts[0]->format(&config, &layout, NULL), 0);
	assert_int_equal(layout->ops->create(layout, FILES, 1, 0, NULL), -EINVAL);
	assert_int_equal(layout->ops->create(layout, 0, UINT64_MAX, 0, NULL), -EFBIG);
	assert_int_equal(layout->ops->read(layout, FILES, 0, NULL), -ENOENT);
	assert_int_equal(layout->ops->sync(layout, 0, NULL), 0);
	layout->ops->free(layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans_and_space_agree_with_the_model),
		cmocka_unit_test(test_a_full_device_fails_without_harm),
		cmocka_unit_test(test_span_spreads_and_packed_is_dense),
		cmocka_unit_test(test_scatter_is_uniform_over_the_span),
		cmocka_unit_test(test_one_seed_gives_one_stream),
		cmocka_unit_test(test_what_cannot_be_laid_out_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
