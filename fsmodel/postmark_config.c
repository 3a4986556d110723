/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings of a PostMark run: defaults, copies and what cannot be run. */
#include "fsmodel/postmark.h"

#include <stdlib.h>
#include <string.h>

void postmark_config_default(struct postmark_config *config)
{
	*config = (struct postmark_config){
		.size_low_bytes = 500,
		.size_high_bytes = 10000,
		.files = 500,
		.transactions = 500,
		.seed = 42,
		.subdirectories = 0,
		.read_block_bytes = 512,
		.write_block_bytes = 512,
		.bias_read = 5,
		.bias_create = 5,
		.buffered = true,
	};
}

void postmark_config_done(struct postmark_config *config)
{
	for (size_t i = 0; i < config->location_count; i++)
		free(config->locations[i].name);
	free(config->locations);
	*config = (struct postmark_config){ 0 };
}

int postmark_config_copy(const struct postmark_config *from, struct postmark_config *ret_to)
{
	struct postmark_config to = *from;

	to.locations = NULL;
	to.location_count = 0;
	if (from->location_count > 0) {
		to.locations = calloc(from->location_count, sizeof(*to.locations));
		if (!to.locations)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->location_count; i++) {
		to.locations[i].weight = from->locations[i].weight;
		to.locations[i].name = strdup(from->locations[i].name);
		to.location_count = i + 1;
		if (!to.locations[i].name) {
			postmark_config_done(&to);
			return -ENOMEM;
		}
	}
	*ret_to = to;
	return 0;
}

static void check_positive(const char *what, int32_t value, struct faults *faults)
{
	if (value < 1)
		faults_add(faults, "%s is %d: it must be at least 1", what, value);
}

static void check_bias(const char *what, int32_t value, struct faults *faults)
{
	if (value < -1 || value > 10)
		faults_add(faults, "%s is %d: it must be -1 (off) or 0 to 10", what, value);
}

static size_t digits(uint64_t value)
{
	size_t count = 1;

	while (value >= 10) {
		value /= 10;
		count++;
	}
	return count;
}

static void check_locations(const struct postmark_config *config, struct faults *faults)
{
	const uint64_t id_max = (uint64_t)config->files + (uint64_t)config->transactions;
	int64_t weight_total = 0;

	for (size_t i = 0; i < config->location_count; i++) {
		const struct postmark_location *location = &config->locations[i];
		size_t name_bytes = strlen(location->name) + 1 + digits(id_max);

		if (config->subdirectories > 1)
			name_bytes += strlen("s/") + digits((uint64_t)config->subdirectories - 1);
		if (name_bytes > POSTMARK_NAME_BYTES_MAX)
			faults_add(faults,
				"location '%s' makes file names of up to %zu bytes: PostMark has "
				"room for %d and damages its table beyond; use a shorter one",
				location->name, name_bytes, POSTMARK_NAME_BYTES_MAX);
		if (location->weight < 1)
			faults_add(faults, "location '%s' has weight %d: it must be at least 1",
				location->name, location->weight);
		weight_total += location->weight;
	}
	if (weight_total > INT32_MAX)
		faults_add(faults, "the weights of the locations add up to %lld: the most is %d",
			(long long)weight_total, INT32_MAX);
}

void postmark_config_check(const struct postmark_config *config, struct faults *faults)
{
	check_positive("size low", config->size_low_bytes, faults);
	check_positive("size high", config->size_high_bytes, faults);
	check_positive("number of files", config->files, faults);
	check_positive("number of transactions", config->transactions, faults);
	check_positive("seed", config->seed, faults);
	check_positive("read block size", config->read_block_bytes, faults);
	check_positive("write block size", config->write_block_bytes, faults);
	if (config->subdirectories < 0)
		faults_add(faults, "number of subdirectories is %d: it must be at least 0",
			config->subdirectories);
	check_bias("bias read", config->bias_read, faults);
	check_bias("bias create", config->bias_create, faults);
	if (config->size_low_bytes > config->size_high_bytes)
		faults_add(faults,
			"size low is %d bytes but size high is only %d: low must not "
			"exceed high",
			config->size_low_bytes, config->size_high_bytes);
	if (config->size_high_bytes > POSTMARK_SIZE_MAX)
		faults_add(faults,
			"size high is %d bytes: PostMark cannot run 2^30 bytes or more; "
			"use at most %d",
			config->size_high_bytes, POSTMARK_SIZE_MAX);
	if (config->files > POSTMARK_FILES_MAX)
		faults_add(faults,
			"number of files is %d: PostMark cannot run 2^30 files or more; "
			"use at most %d",
			config->files, POSTMARK_FILES_MAX);
	check_locations(config, faults);
}
