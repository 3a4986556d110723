/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Goal: the draws are the original's. Method: the generator's published outputs, a trace worked
 * out by hand, and for every recorded configuration all counts, the numbers drawn and the
 * single-precision counters of the real program. (The streams themselves are compared by
 * SHA-256 in tests/tools/test_operations.sh.) */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include <gsl/gsl_rng.h>

#include "engine/rng.h"
#include "fsmodel/postmark.h"
#include "fsmodel/postmark_file.h"

#define GOLDEN SOURCE_DIR "/tests/golden/postmark/"

/* First six outputs, the 625th and the 1000th, of the authors' C version of 28 October 1999. */
static const struct {
	unsigned long seed;
	unsigned long outputs[8];
} vectors[] = {
	{ 1, { 3556162021, 4012392791, 221657543, 586320575, 3355844478, 1469533884, 2383753642,
		     1033021715 } },
	{ 42, { 4179544424, 615236124, 4165290828, 3119652344, 1623863471, 605280572, 299826205,
		      2144691740 } },
	{ 4357, { 2867219139, 1585203162, 3113124129, 2953900839, 2463794868, 3482265796,
			1044672925, 1030650439 } },
	{ 2147483647, { 3840883527, 3795727268, 3590866082, 844510805, 557394967, 500913273,
			      1985683551, 3163011166 } },
};

static void test_generator(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937_1999);
		size_t seen = 0;

		gsl_rng_set(rng, vectors[i].seed);
		for (int output = 1; output <= 1000; output++) {
			const unsigned long value = gsl_rng_get(rng);

			if (output <= 6 || output == 625 || output == 1000)
				assert_int_equal(value, vectors[i].outputs[seen++]);
		}
		assert_int_equal(seen, 8);
		gsl_rng_free(rng);
	}
}

static void expect(struct postmark *postmark, enum postmark_kind kind, uint32_t id, uint32_t bytes)
{
	struct postmark_operation operation;

	assert_int_equal(postmark_next(postmark, &operation), 1);
	assert_int_equal(operation.kind, kind);
	assert_int_equal(operation.id, id);
	assert_int_equal(operation.bytes, bytes);
	assert_false(operation.wasted);
	assert_int_equal(operation.location, -1);
	assert_int_equal(operation.subdirectory, -1);
}

static void test_worked_trace(void **state)
{
	static const uint32_t sizes[] = { 1390, 4732, 3583, 6507, 9640, 8219 };
	struct postmark_config config;
	struct postmark_operation operation;
	struct postmark *postmark;

	(void)state;
	postmark_config_default(&config);
	assert_int_equal(postmark_new(&config, &postmark), 0);
	assert_int_equal(postmark_counts(postmark)->draws, 20000);
	for (uint32_t i = 0; i < 500; i++) {
		assert_int_equal(postmark_phase(postmark), POSTMARK_POOL);
		assert_int_equal(postmark_next(postmark, &operation), 1);
		assert_int_equal(operation.kind, POSTMARK_CREATE);
		assert_int_equal(operation.slot, i);
		assert_int_equal(operation.id, i + 1);
		if (i < ARRAY_SIZE(sizes))
			assert_int_equal(operation.bytes, sizes[i]);
	}
	assert_int_equal(postmark_phase(postmark), POSTMARK_TRANSACTIONS);
	assert_int_equal(postmark_counts(postmark)->draws, 20500);
	expect(postmark, POSTMARK_APPEND, 222, 9);
	assert_int_equal(postmark_counts(postmark)->draws, 20506);
	assert_int_equal(postmark_counts(postmark)->transactions, 0);
	assert_int_equal(postmark_slot_id(postmark, 139), 140);
	const uint32_t size_140 = postmark_slot_bytes(postmark, 139);
	assert_int_not_equal(size_140, 0);
	expect(postmark, POSTMARK_DELETE, 140, size_140);
	assert_int_equal(postmark_slot_bytes(postmark, 139), 0);
	assert_int_equal(postmark_counts(postmark)->transactions, 1);
	expect(postmark, POSTMARK_APPEND, 454, 4156);
	assert_int_equal(postmark_next(postmark, &operation), 1);
	assert_int_equal(operation.kind, POSTMARK_DELETE);
	assert_int_equal(operation.id, 143);
	assert_int_equal(operation.transaction, 1);
	expect(postmark, POSTMARK_READ, 154, 6736);
	assert_int_equal(postmark_counts(postmark)->draws, 20525);
	postmark_free(postmark);
}

struct facts {
	char name[64];
	unsigned long long draws, wasted_appends, wasted_creates, transactions, deleted_alone;
	unsigned long long created, read, appended, deleted, written_bytes, read_bytes;
	unsigned long long written_float, read_float, peak_files, peak_bytes;
};

static void play(const struct facts *facts, const struct postmark_config *config)
{
	struct postmark_operation operation;
	struct postmark *postmark;
	const struct postmark_counts *counts;

	assert_int_equal(postmark_new(config, &postmark), 0);
	while (postmark_next(postmark, &operation))
		;
	counts = postmark_counts(postmark);
	assert_int_equal(counts->draws, facts->draws);
	assert_int_equal(counts->wasted_appends, facts->wasted_appends);
	assert_int_equal(counts->wasted_creates, facts->wasted_creates);
	assert_int_equal(counts->transactions, facts->transactions);
	assert_int_equal(counts->created_alone, config->files);
	assert_int_equal(counts->deleted_alone, facts->deleted_alone);
	assert_int_equal(counts->created, facts->created);
	assert_int_equal(counts->read, facts->read);
	assert_int_equal(counts->appended, facts->appended);
	assert_int_equal(counts->deleted, facts->deleted);
	assert_int_equal(counts->written_bytes, facts->written_bytes);
	assert_int_equal(counts->read_bytes, facts->read_bytes);
	assert_int_equal((uint64_t)counts->written_bytes_float, facts->written_float);
	assert_int_equal((uint64_t)counts->read_bytes_float, facts->read_float);
	assert_int_equal(counts->peak_live_files, facts->peak_files);
	assert_int_equal(counts->peak_live_bytes, facts->peak_bytes);
	assert_int_equal(counts->live_files, 0);
	assert_int_equal(counts->live_bytes, 0);
	assert_int_equal(
		counts->pool_emptied, counts->transactions < (uint64_t)config->transactions);
	postmark_free(postmark);
}

static bool read_facts(FILE *file, struct facts *facts)
{
	return fscanf(file,
		       "%63s %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu "
		       "%llu %llu",
		       facts->name, &facts->draws, &facts->wasted_appends, &facts->wasted_creates,
		       &facts->transactions, &facts->deleted_alone, &facts->created, &facts->read,
		       &facts->appended, &facts->deleted, &facts->written_bytes, &facts->read_bytes,
		       &facts->written_float, &facts->read_float, &facts->peak_files,
		       &facts->peak_bytes) == 16;
}

static void test_recorded_configurations(void **state)
{
	char heading[512];
	FILE *file = fopen(GOLDEN "facts.tsv", "r");
	struct facts facts;
	unsigned played = 0, refused = 0;

	(void)state;
	assert_non_null(file);
	assert_non_null(fgets(heading, sizeof(heading), file));
	while (read_facts(file, &facts)) {
		struct postmark_runs runs = { 0 };
		struct faults faults = { 0 };
		char path[512];

		(void)snprintf(path, sizeof(path), GOLDEN "%s.cfg", facts.name);
		print_message("%s\n", facts.name);
		if (postmark_file_read(path, &runs, &faults) < 0) {
			refused++;
		} else {
			assert_int_equal(runs.count, 1);
			play(&facts, &runs.configs[0]);
			played++;
		}
		faults_done(&faults);
		postmark_runs_done(&runs);
	}
	(void)fclose(file);
	/* Refused: grammar, sizeswap, sizedblspace. */
	assert_int_equal(refused, 3);
	assert_int_equal(played, 42);
}

/* Every invariant that a stream has whatever its configuration is. */
static void check_stream(struct postmark *postmark, uint64_t *ret_hash)
{
	const struct postmark_config *config = postmark_config(postmark);
	const struct postmark_counts *counts = postmark_counts(postmark);
	struct postmark_operation operation;
	enum postmark_phase phase = POSTMARK_POOL;
	uint64_t halves = 0;

	*ret_hash = 0;
	while (postmark_phase(postmark) != POSTMARK_END) {
		const enum postmark_phase announced = postmark_phase(postmark);

		assert_int_equal(postmark_next(postmark, &operation), 1);
		assert_int_equal(operation.phase, announced);
		assert_true(operation.phase >= phase);
		phase = operation.phase;
		halves += phase == POSTMARK_TRANSACTIONS;
		*ret_hash = *ret_hash * 1000003 + operation.kind * 7 + operation.id * 31 +
			    operation.bytes;
		assert_true(counts->live_files <= postmark_slots(postmark));
		if (operation.wasted && operation.kind == POSTMARK_CREATE) {
			assert_int_equal(counts->live_files, postmark_slots(postmark));
			continue;
		}
		assert_true(operation.slot < postmark_slots(postmark));
		assert_true(operation.size_bytes <= (uint32_t)config->size_high_bytes);
		assert_true(operation.size_bytes >= (uint32_t)config->size_low_bytes);
		assert_int_equal(operation.wasted, operation.bytes == 0);
		if (operation.kind != POSTMARK_DELETE)
			assert_int_equal(postmark_slot_bytes(postmark, operation.slot),
				operation.size_bytes);
	}
	assert_int_equal(postmark_next(postmark, &operation), 0);
	assert_int_equal(counts->created, counts->deleted);
	assert_int_equal(halves, counts->read + counts->appended + counts->wasted_appends +
					 counts->created - counts->created_alone +
					 counts->wasted_creates + counts->deleted -
					 counts->deleted_alone);
	if (config->bias_read >= 0)
		assert_int_equal(counts->read + counts->appended + counts->wasted_appends,
			counts->transactions);
}

static void test_any_configuration(void **state)
{
	const char *text = getenv("SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
	char names[3][3] = { "a", "bb", "c" };
	struct postmark_location locations[3] = {
		{ names[0], 1 },
		{ names[1], 3 },
		{ names[2], 2 },
	};
	struct rng rng;

	(void)state;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	rng_seed(&rng, seed, RNG_LOAD);
	for (int i = 0; i < 300; i++) {
		struct postmark_config config;
		struct postmark *postmark;
		uint64_t first_hash, second_hash;

		postmark_config_default(&config);
		config.size_low_bytes = 1 + (int32_t)rng_below(&rng, 1000);
		config.size_high_bytes = config.size_low_bytes + (int32_t)rng_below(&rng, 3000);
		config.files = 1 + (int32_t)rng_below(&rng, 60);
		config.transactions = 1 + (int32_t)rng_below(&rng, 300);
		config.seed = 1 + (int32_t)rng_below(&rng, INT32_MAX);
		config.subdirectories = (int32_t)rng_below(&rng, 4);
		config.bias_read = (int32_t)rng_below(&rng, 12) - 1;
		config.bias_create = (int32_t)rng_below(&rng, 12) - 1;
		config.locations = locations;
		config.location_count = rng_below(&rng, ARRAY_SIZE(locations) + 1);
		assert_int_equal(postmark_new(&config, &postmark), 0);
		check_stream(postmark, &first_hash);
		postmark_restart(postmark);
		check_stream(postmark, &second_hash);
		assert_int_equal(first_hash, second_hash);
		postmark_free(postmark);
	}
}

static void test_what_cannot_run(void **state)
{
	char names[2][2] = { "a", "b" };
	struct postmark_location locations[2] = { { names[0], INT32_MAX }, { names[1], 1 } };
	struct postmark_config config;
	struct faults faults = { 0 };

	(void)state;
	postmark_config_default(&config);
	postmark_config_check(&config, &faults);
	assert_int_equal(faults.count, 0);
	config.size_low_bytes = 1073741824;
	config.size_high_bytes = 1073741824;
	config.files = 1073741824;
	config.transactions = 0;
	config.seed = -1;
	config.subdirectories = -1;
	config.read_block_bytes = 0;
	config.write_block_bytes = 0;
	config.bias_read = 11;
	config.bias_create = -2;
	config.locations = locations;
	config.location_count = 2;
	postmark_config_check(&config, &faults);
	assert_int_equal(faults.count, 10);
	faults_done(&faults);
	postmark_config_default(&config);
	config.size_low_bytes = 10001;
	postmark_config_check(&config, &faults);
	assert_int_equal(faults.count, 1);
	faults_done(&faults);
}

static void test_memory_per_file(void **state)
{
	struct postmark_config config;

	(void)state;
	postmark_config_default(&config);
	config.files = 10000000;
	/* Eight bytes a slot, and a little more than a bit. */
	assert_true(postmark_memory_bytes(&config) < 20000000ull * 8 + 20000000ull / 7);
	config.subdirectories = 2;
	assert_true(postmark_memory_bytes(&config) < 20000000ull * 16 + 20000000ull / 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generator),
		cmocka_unit_test(test_worked_trace),
		cmocka_unit_test(test_recorded_configurations),
		cmocka_unit_test(test_any_configuration),
		cmocka_unit_test(test_what_cannot_run),
		cmocka_unit_test(test_memory_per_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
