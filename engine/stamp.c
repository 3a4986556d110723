/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/stamp.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* --- Stamps --------------------------------------------------------------------------------- */

#define LBA_BITS 48
#define LBA_MASK ((UINT64_C(1) << LBA_BITS) - 1)
#define OWNER_MASK LBA_MASK /* file and generation */

/* 16 bits over the other 14 bytes. Each step is a bijection in the word that it mixes in (the
 * multipliers are odd: those of splitmix64), so any change of one word reaches the top bits; the
 * constant keeps sectors of zeros from being valid. */
static inline uint64_t check_of(uint64_t place, uint64_t owner)
{
	uint64_t mix = place * UINT64_C(0xbf58476d1ce4e5b9);

	mix ^= mix >> 32;
	mix = (mix + owner) * UINT64_C(0x94d049bb133111eb);
	mix ^= mix >> 32;
	return ((mix * UINT64_C(0xbf58476d1ce4e5b9)) >> 48) ^ 0x5a17;
}

void stamp_fill(void *buffer, uint32_t length_bytes, uint64_t offset_bytes, uint16_t run,
	uint32_t file, uint16_t generation)
{
	uint64_t owner = file | (uint64_t)generation << 32;
	uint64_t place = offset_bytes / STAMP_SECTOR_BYTES | (uint64_t)run << LBA_BITS;
	char *sector = buffer;
	char *end = sector + length_bytes;

	assert(offset_bytes % STAMP_SECTOR_BYTES == 0 && length_bytes % STAMP_SECTOR_BYTES == 0);
	assert((offset_bytes + length_bytes) / STAMP_SECTOR_BYTES <= LBA_MASK);
	for (; sector < end; sector += STAMP_SECTOR_BYTES, place++) {
		uint64_t words[2] = { htole64(place),
			htole64(owner | check_of(place, owner) << 48) };

		memcpy(sector, words, sizeof(words));
	}
}

bool stamp_read(const void *sector, struct stamp *ret_stamp)
{
	uint64_t words[2], place, owner;

	memcpy(words, sector, sizeof(words));
	place = le64toh(words[0]);
	owner = le64toh(words[1]) & OWNER_MASK;
	if (le64toh(words[1]) >> 48 != check_of(place, owner))
		return false;
	ret_stamp->lba = place & LBA_MASK;
	ret_stamp->run = (uint16_t)(place >> LBA_BITS);
	ret_stamp->file = (uint32_t)owner;
	ret_stamp->generation = (uint16_t)(owner >> 32);
	return true;
}

const char *stamp_fault_name(enum stamp_fault fault)
{
	static const char *const names[STAMP_FAULTS] = {
		[STAMP_GOOD] = "good",
		[STAMP_LOST] = "lost",
		[STAMP_STALE] = "stale",
		[STAMP_MISPLACED] = "misplaced",
		[STAMP_TORN] = "torn",
	};

	assert((unsigned)fault < STAMP_FAULTS);
	return names[fault];
}

/* --- Shadow --------------------------------------------------------------------------------- */

/* Two levels: a root of pointers that grows with the highest block, and leaves of which the
 * kernel gives only the pages that are touched. An entry is file (bits 0-31), generation (bits
 * 32-47) and whether it is known. */
#define LEAF_BITS 16
#define LEAF_BLOCKS (UINT64_C(1) << LEAF_BITS)
#define ENTRY_KNOWN (UINT64_C(1) << 63)

struct shadow {
	uint32_t block_bytes;
	uint64_t leaf_count;
	uint64_t **leaves;
};

int shadow_new(uint32_t block_bytes, struct shadow **ret_shadow)
{
	struct shadow *shadow = calloc(1, sizeof(*shadow));

	assert(block_bytes > 0 && block_bytes % STAMP_SECTOR_BYTES == 0);
	if (!shadow)
		return -ENOMEM;
	shadow->block_bytes = block_bytes;
	*ret_shadow = shadow;
	return 0;
}

void shadow_free(struct shadow *shadow)
{
	if (!shadow)
		return;
	for (uint64_t i = 0; i < shadow->leaf_count; i++)
		free(shadow->leaves[i]);
	free(shadow->leaves);
	free(shadow);
}

/* The entry of a block, made if need be. Without memory there is no judge, and a run that goes
 * on would claim to have been verified: that is fatal. */
static uint64_t *entry_make(struct shadow *shadow, uint64_t block)
{
	uint64_t leaf = block >> LEAF_BITS;

	if (leaf >= shadow->leaf_count) {
		uint64_t count = max_u64(leaf + 1, shadow->leaf_count * 2);
		uint64_t **grown = realloc(shadow->leaves, count * sizeof(*grown));

		if (!grown)
			abort();
		memset(grown + shadow->leaf_count, 0,
			(count - shadow->leaf_count) * sizeof(*grown));
		shadow->leaves = grown;
		shadow->leaf_count = count;
	}
	if (!shadow->leaves[leaf]) {
		shadow->leaves[leaf] = calloc(LEAF_BLOCKS, sizeof(uint64_t));
		if (!shadow->leaves[leaf])
			abort();
	}
	return &shadow->leaves[leaf][block & (LEAF_BLOCKS - 1)];
}

static uint64_t entry_of(const struct shadow *shadow, uint64_t block)
{
	uint64_t leaf = block >> LEAF_BITS;

	if (leaf >= shadow->leaf_count || !shadow->leaves[leaf])
		return 0;
	return shadow->leaves[leaf][block & (LEAF_BLOCKS - 1)];
}

static void set_entries(struct shadow *shadow, const struct request *request, uint64_t entry)
{
	uint64_t first = request->offset_bytes / shadow->block_bytes;
	uint64_t count = request->length_bytes / shadow->block_bytes;

	assert(request->offset_bytes % shadow->block_bytes == 0);
	assert(request->length_bytes % shadow->block_bytes == 0);
	for (uint64_t i = 0; i < count; i++)
		*entry_make(shadow, first + i) = entry;
}

void shadow_write(struct shadow *shadow, const struct request *request)
{
	const struct plan *plan = request->plan;

	set_entries(shadow, request,
		ENTRY_KNOWN | (uint32_t)plan->file | (uint64_t)(uint16_t)plan->generation << 32);
}

void shadow_forget(struct shadow *shadow, const struct request *request)
{
	set_entries(shadow, request, 0);
}

static enum stamp_fault judge_sector(const void *sector, const struct stamp *expected)
{
	struct stamp found;

	if (!stamp_read(sector, &found) || found.run != expected->run)
		return STAMP_LOST;
	if (found.lba != expected->lba)
		return STAMP_MISPLACED;
	if (found.file != expected->file || found.generation != expected->generation)
		return STAMP_STALE;
	return STAMP_GOOD;
}

static void count_fault(struct stamp_report *report, enum stamp_fault fault, uint64_t lba)
{
	if (report->sectors_checked == report->faults[STAMP_GOOD]) {
		report->first_lba = lba;
		report->first_fault = fault;
	}
	report->sectors_checked++;
	report->faults[fault]++;
}

/* Judges the sectors of one block: a torn one shows only when all have been seen. */
static bool judge_block(
	const char *sectors, uint64_t count, struct stamp expected, struct stamp_report *report)
{
	uint64_t good = 0;

	for (uint64_t i = 0; i < count; i++, expected.lba++)
		good += judge_sector(sectors + i * STAMP_SECTOR_BYTES, &expected) == STAMP_GOOD;
	expected.lba -= count;
	if (good == count) {
		report->sectors_checked += count;
		report->faults[STAMP_GOOD] += count;
		return true;
	}
	for (uint64_t i = 0; i < count; i++, expected.lba++) {
		enum stamp_fault fault = judge_sector(sectors + i * STAMP_SECTOR_BYTES, &expected);

		if (fault == STAMP_GOOD) {
			report->sectors_checked++;
			report->faults[STAMP_GOOD]++;
		} else {
			count_fault(report, good ? STAMP_TORN : fault, expected.lba);
		}
	}
	return false;
}

bool shadow_verify(const struct shadow *shadow, const struct request *request, const void *buffer,
	uint16_t run, struct stamp_report *report)
{
	uint64_t offset_bytes = request->offset_bytes;
	uint64_t end_bytes = offset_bytes + request->length_bytes;
	const char *sectors = buffer;
	bool good = true;

	assert(offset_bytes % STAMP_SECTOR_BYTES == 0 && end_bytes % STAMP_SECTOR_BYTES == 0);
	while (offset_bytes < end_bytes) {
		uint64_t block = offset_bytes / shadow->block_bytes;
		uint64_t part_bytes =
			min_u64((block + 1) * shadow->block_bytes, end_bytes) - offset_bytes;
		uint64_t entry = entry_of(shadow, block);
		struct stamp expected = {
			.lba = offset_bytes / STAMP_SECTOR_BYTES,
			.run = run,
			.file = (uint32_t)entry,
			.generation = (uint16_t)(entry >> 32),
		};

		if (entry & ENTRY_KNOWN)
			good &= judge_block(
				sectors, part_bytes / STAMP_SECTOR_BYTES, expected, report);
		offset_bytes += part_bytes;
		sectors += part_bytes;
	}
	return good;
}
