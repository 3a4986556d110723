/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PostMark's stream of operations, after a behavioural description of PostMark 1.53; what counts
 * is that every draw happens in the same order and with the same modulus as in the original.
 *
 * D(k) below is the ranged draw: one output of the generator modulo k, and no output at all for
 * k = 0. A run draws, in this order: 2 * high times D(95) for the text that the original writes
 * into its files; per create D(total weight) with two or more locations, D(subdirectories) with
 * two or more, D(high - low) for the size; per transaction D(10) against the read bias, D(2 N)
 * until a used slot comes up, D(high - size) for an append, then the same for create or delete.
 */
#include "fsmodel/postmark.h"

#include <gsl/gsl_rng.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "fsmodel/slotmap.h"

static_assert(FLT_EVAL_METHOD == 0, "the float counters need IEEE binary32 additions");

#define TEXT_CHARACTERS 95 /* printable ASCII, PostMark 1.53 */
#define BIAS_RANGE 10
#define BIAS_OFF (-1)

/* One entry of PostMark's table; bytes = 0 marks a free slot, as there. */
struct slot {
	uint32_t id;
	uint32_t bytes;
};

/* Where the file of a slot lives; kept only when one of the two is drawn. */
struct place {
	int32_t location;
	int32_t subdirectory;
};

struct postmark {
	struct postmark_config config;
	gsl_rng *rng;
	gsl_rng *rng_after_text; /* the text is always the same: restart skips its draws */
	struct slot *slots;
	struct place *places;  /* NULL when nothing of it is drawn */
	uint32_t *weight_ends; /* running sums of the weights, with two or more locations */
	struct slotmap free_slots;
	uint32_t slot_count;
	uint32_t cursor; /* where the next create, or the cleanup, looks first */
	bool second_half;
	uint64_t transaction;
	enum postmark_phase phase;
	struct postmark_counts counts;
};

static bool places_are_drawn(const struct postmark_config *config)
{
	return config->location_count > 1 || config->subdirectories > 1;
}

static uint32_t draw(struct postmark *postmark, uint32_t range)
{
	if (range == 0)
		return 0;
	postmark->counts.draws++;
	return (uint32_t)gsl_rng_get(postmark->rng) % range;
}

static uint32_t size_low(const struct postmark *postmark)
{
	return (uint32_t)postmark->config.size_low_bytes;
}

static uint32_t size_high(const struct postmark *postmark)
{
	return (uint32_t)postmark->config.size_high_bytes;
}

/* Ends a transaction's first half, or the transaction itself. */
static void half_done(struct postmark *postmark)
{
	if (postmark->second_half) {
		postmark->transaction++;
		postmark->counts.transactions++;
	}
	postmark->second_half = !postmark->second_half;
}

/* Steps over the halves that a bias of -1 switches off, to the next one that draws. */
static void settle_transactions(struct postmark *postmark)
{
	const struct postmark_config *config = &postmark->config;

	for (;;) {
		const int32_t bias =
			postmark->second_half ? config->bias_create : config->bias_read;

		if (!postmark->second_half) {
			const bool all_done =
				postmark->transaction == (uint64_t)config->transactions;

			if (!all_done && postmark->counts.live_files == 0)
				postmark->counts.pool_emptied = true;
			if (all_done || postmark->counts.pool_emptied) {
				postmark->phase = POSTMARK_CLEANUP;
				postmark->cursor = 0;
				return;
			}
		}
		if (bias != BIAS_OFF)
			return;
		half_done(postmark);
	}
}

/* After this, phase is that of the next operation. Nothing here draws. */
static void settle(struct postmark *postmark)
{
	if (postmark->phase == POSTMARK_POOL &&
		postmark->counts.created == (uint64_t)postmark->config.files)
		postmark->phase = POSTMARK_TRANSACTIONS;
	if (postmark->phase == POSTMARK_TRANSACTIONS)
		settle_transactions(postmark);
	if (postmark->phase == POSTMARK_CLEANUP && postmark->counts.live_files == 0)
		postmark->phase = POSTMARK_END;
}

static struct place place_of(const struct postmark *postmark, uint32_t slot)
{
	if (postmark->places)
		return postmark->places[slot];
	return (struct place){
		.location = postmark->config.location_count ? 0 : -1,
		.subdirectory = -1,
	};
}

/* Fills what every operation on the file of a slot tells; size as it is now. */
static void describe(const struct postmark *postmark, enum postmark_kind kind, uint32_t slot,
	struct postmark_operation *operation)
{
	const struct place place = place_of(postmark, slot);

	operation->kind = kind;
	operation->slot = slot;
	operation->id = postmark->slots[slot].id;
	operation->location = place.location;
	operation->subdirectory = place.subdirectory;
	operation->bytes = postmark->slots[slot].bytes;
	operation->size_bytes = postmark->slots[slot].bytes;
}

static void count_written(struct postmark *postmark, uint32_t bytes)
{
	struct postmark_counts *counts = &postmark->counts;

	counts->written_bytes += bytes;
	counts->written_bytes_float += (float)bytes;
	counts->live_bytes += bytes;
	counts->peak_live_bytes = max_u64(counts->peak_live_bytes, counts->live_bytes);
	counts->peak_live_files = max_u64(counts->peak_live_files, counts->live_files);
}

static int32_t draw_location(struct postmark *postmark)
{
	const size_t count = postmark->config.location_count;
	size_t low = 0, high = count - 1;
	uint32_t point;

	if (count < 2)
		return count ? 0 : -1;
	point = draw(postmark, postmark->weight_ends[count - 1]);
	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (point < postmark->weight_ends[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return (int32_t)low;
}

static void create(struct postmark *postmark, struct postmark_operation *operation)
{
	const bool cursor_free = postmark->cursor < postmark->slot_count &&
				 slotmap_is_free(&postmark->free_slots, postmark->cursor);
	const uint32_t slot =
		cursor_free ? postmark->cursor : slotmap_lowest(&postmark->free_slots);
	struct place place;

	if (slot == SLOTMAP_NONE) {
		operation->kind = POSTMARK_CREATE;
		operation->wasted = true;
		postmark->counts.wasted_creates++;
		return;
	}
	postmark->cursor = slot + 1;
	slotmap_take(&postmark->free_slots, slot);
	place.location = draw_location(postmark);
	place.subdirectory = -1;
	if (postmark->config.subdirectories > 1)
		place.subdirectory =
			(int32_t)draw(postmark, (uint32_t)postmark->config.subdirectories);
	if (postmark->places)
		postmark->places[slot] = place;
	postmark->slots[slot].id = (uint32_t)++postmark->counts.created;
	postmark->slots[slot].bytes =
		size_low(postmark) + draw(postmark, size_high(postmark) - size_low(postmark));
	postmark->counts.live_files++;
	count_written(postmark, postmark->slots[slot].bytes);
	describe(postmark, POSTMARK_CREATE, slot, operation);
}

static uint32_t pick(struct postmark *postmark)
{
	uint32_t slot;

	assert(postmark->counts.live_files > 0);
	do
		slot = draw(postmark, postmark->slot_count);
	while (!postmark->slots[slot].bytes);
	return slot;
}

static void read_file(
	struct postmark *postmark, uint32_t slot, struct postmark_operation *operation)
{
	const uint32_t bytes = postmark->slots[slot].bytes;

	postmark->counts.read++;
	postmark->counts.read_bytes += bytes;
	postmark->counts.read_bytes_float += (float)bytes;
	describe(postmark, POSTMARK_READ, slot, operation);
}

static void append(struct postmark *postmark, uint32_t slot, struct postmark_operation *operation)
{
	const uint32_t room = size_high(postmark) - postmark->slots[slot].bytes;
	uint32_t bytes = 0;

	if (room == 0) {
		postmark->counts.wasted_appends++;
	} else {
		bytes = draw(postmark, room) + 1;
		postmark->slots[slot].bytes += bytes;
		postmark->counts.appended++;
		count_written(postmark, bytes);
	}
	describe(postmark, POSTMARK_APPEND, slot, operation);
	operation->wasted = room == 0;
	operation->bytes = bytes;
}

static void remove_file(
	struct postmark *postmark, uint32_t slot, struct postmark_operation *operation)
{
	describe(postmark, POSTMARK_DELETE, slot, operation);
	postmark->counts.live_files--;
	postmark->counts.live_bytes -= postmark->slots[slot].bytes;
	postmark->counts.deleted++;
	postmark->slots[slot].bytes = 0;
	slotmap_give(&postmark->free_slots, slot);
}

static void transact(struct postmark *postmark, struct postmark_operation *operation)
{
	const struct postmark_config *config = &postmark->config;
	const bool second_half = postmark->second_half;
	const int32_t bias = second_half ? config->bias_create : config->bias_read;
	const bool below_bias = (int32_t)draw(postmark, BIAS_RANGE) < bias;

	operation->transaction = postmark->transaction;
	if (second_half && below_bias)
		create(postmark, operation);
	else if (second_half)
		remove_file(postmark, pick(postmark), operation);
	else if (below_bias)
		read_file(postmark, pick(postmark), operation);
	else
		append(postmark, pick(postmark), operation);
	half_done(postmark);
}

int postmark_next(struct postmark *postmark, struct postmark_operation *ret_operation)
{
	if (postmark->phase == POSTMARK_END)
		return 0;

	*ret_operation = (struct postmark_operation){ .phase = postmark->phase };
	switch (postmark->phase) {
	case POSTMARK_POOL:
		create(postmark, ret_operation);
		postmark->counts.created_alone++;
		break;
	case POSTMARK_TRANSACTIONS:
		transact(postmark, ret_operation);
		break;
	case POSTMARK_CLEANUP:
		while (!postmark->slots[postmark->cursor].bytes)
			postmark->cursor++;
		remove_file(postmark, postmark->cursor, ret_operation);
		postmark->counts.deleted_alone++;
		break;
	case POSTMARK_END:
		break;
	}
	settle(postmark);
	return 1;
}

void postmark_restart(struct postmark *postmark)
{
	memset(postmark->slots, 0, postmark->slot_count * sizeof(*postmark->slots));
	slotmap_reset(&postmark->free_slots);
	gsl_rng_memcpy(postmark->rng, postmark->rng_after_text);
	postmark->cursor = 0;
	postmark->second_half = false;
	postmark->transaction = 0;
	postmark->phase = POSTMARK_POOL;
	postmark->counts = (struct postmark_counts){
		.draws = 2 * (uint64_t)size_high(postmark),
	};
}

static int allocate(struct postmark *postmark)
{
	const struct postmark_config *config = &postmark->config;
	uint32_t weight_end = 0;

	postmark->rng = gsl_rng_alloc(gsl_rng_mt19937_1999);
	postmark->rng_after_text = gsl_rng_alloc(gsl_rng_mt19937_1999);
	postmark->slots = calloc(postmark->slot_count, sizeof(*postmark->slots));
	if (!postmark->rng || !postmark->rng_after_text || !postmark->slots)
		return -ENOMEM;
	if (places_are_drawn(config)) {
		postmark->places = calloc(postmark->slot_count, sizeof(*postmark->places));
		if (!postmark->places)
			return -ENOMEM;
	}
	if (config->location_count > 1) {
		postmark->weight_ends =
			calloc(config->location_count, sizeof(*postmark->weight_ends));
		if (!postmark->weight_ends)
			return -ENOMEM;
		for (size_t i = 0; i < config->location_count; i++) {
			weight_end += (uint32_t)config->locations[i].weight;
			postmark->weight_ends[i] = weight_end;
		}
	}
	return slotmap_init(&postmark->free_slots, postmark->slot_count);
}

int postmark_new(const struct postmark_config *config, struct postmark **ret_postmark)
{
	struct postmark *postmark = calloc(1, sizeof(*postmark));
	struct faults faults = { 0 };
	int result;

	if (!postmark)
		return -ENOMEM;
	postmark_config_check(config, &faults);
	assert(faults.count == 0);

	result = postmark_config_copy(config, &postmark->config);
	postmark->slot_count = 2 * (uint32_t)config->files;
	if (result >= 0)
		result = allocate(postmark);
	if (result < 0) {
		postmark_free(postmark);
		return result;
	}
	gsl_rng_set(postmark->rng_after_text, (unsigned long)config->seed);
	for (uint64_t i = 0; i < 2 * (uint64_t)size_high(postmark); i++)
		(void)gsl_rng_get(postmark->rng_after_text);
	postmark_restart(postmark);
	*ret_postmark = postmark;
	return 0;
}

void postmark_free(struct postmark *postmark)
{
	if (!postmark)
		return;
	slotmap_done(&postmark->free_slots);
	free(postmark->weight_ends);
	free(postmark->places);
	free(postmark->slots);
	if (postmark->rng)
		gsl_rng_free(postmark->rng);
	if (postmark->rng_after_text)
		gsl_rng_free(postmark->rng_after_text);
	postmark_config_done(&postmark->config);
	free(postmark);
}

enum postmark_phase postmark_phase(const struct postmark *postmark)
{
	return postmark->phase;
}

const struct postmark_counts *postmark_counts(const struct postmark *postmark)
{
	return &postmark->counts;
}

const struct postmark_config *postmark_config(const struct postmark *postmark)
{
	return &postmark->config;
}

uint32_t postmark_slot_bytes(const struct postmark *postmark, uint32_t slot)
{
	assert(slot < postmark->slot_count);
	return postmark->slots[slot].bytes;
}

uint32_t postmark_slot_id(const struct postmark *postmark, uint32_t slot)
{
	assert(slot < postmark->slot_count);
	return postmark->slots[slot].id;
}

uint32_t postmark_slots(const struct postmark *postmark)
{
	return postmark->slot_count;
}

size_t postmark_memory_bytes(const struct postmark_config *config)
{
	const uint32_t slot_count = 2 * (uint32_t)config->files;
	size_t bytes = sizeof(struct postmark) + 2 * gsl_rng_mt19937_1999->size;

	bytes += slot_count * sizeof(struct slot) + slotmap_memory_bytes(slot_count);
	if (places_are_drawn(config))
		bytes += slot_count * sizeof(struct place);
	return bytes;
}
