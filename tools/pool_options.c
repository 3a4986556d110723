/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/pool_options.h"

#include <stdio.h>
#include <string.h>

const char *const pool_paper_disks[] = {
	[PAPER_DISK_SMALL] = "small",
	[PAPER_DISK_LARGE] = "large",
	NULL,
};

static void fault_pool(const char *name, struct faults *faults)
{
	char names[256] = "";

	for (const struct named_pool *pool = named_pools; pool->name; pool++) {
		const size_t used = strlen(names);

		(void)snprintf(
			names + used, sizeof(names) - used, "%s%s", used ? ", " : "", pool->name);
	}
	faults_add(faults, "--pool: there is no pool '%s'; the pools are %s", name, names);
}

/* Fills the runs with what is chosen, before any value of its own replaces something. */
static void load_base(
	const struct pool_options *options, struct pool_load *load, struct faults *faults)
{
	struct postmark_config config;

	if (options->postmark) {
		if (options->pool)
			faults_add(faults, "--pool %s and --postmark %s exclude each other",
				options->pool, options->postmark);
		if (options->paper_disk != PAPER_DISK_SMALL)
			faults_add(faults,
				"--paper-disk belongs to the named pools, not to --postmark");
		load->name = options->postmark;
		(void)postmark_file_read(options->postmark, &load->runs, faults);
		return;
	}
	load->name = options->pool ? options->pool : POOL_OPTIONS_DEFAULT;
	load->pool = named_pool_find(load->name);
	if (!load->pool) {
		fault_pool(load->name, faults);
		return;
	}
	load->disk_share = load->pool->disk_share;
	named_pool_config(load->pool, (enum paper_disk)options->paper_disk, &config);
	postmark_runs_add(&load->runs, &config);
}

static void replace(int32_t *value, uint64_t given, bool *changed)
{
	if (!given)
		return;
	assert(given <= INT32_MAX);
	*changed |= *value != (int32_t)given;
	*value = (int32_t)given;
}

static void replace_bias(int32_t *value, const int32_t *given, bool *changed)
{
	if (!given)
		return;
	*changed |= *value != *given;
	*value = *given;
}

static bool parse_bias(const char *option, const char *text, int32_t *value, struct faults *faults)
{
	uint64_t number;

	if (!text)
		return false;
	if (!strcmp(text, "-1")) {
		*value = -1;
		return true;
	}
	if (units_parse_u64(text, &number, NULL) < 0 || number > 10) {
		faults_add(faults, "--%s %s: it must be -1 (off) or 0 to 10", option, text);
		return false;
	}
	*value = (int32_t)number;
	return true;
}

static void replace_values(
	const struct pool_options *options, struct pool_load *load, struct faults *faults)
{
	int32_t bias_read, bias_create;
	const bool has_bias_read = parse_bias("bias-read", options->bias_read, &bias_read, faults);
	const bool has_bias_create =
		parse_bias("bias-create", options->bias_create, &bias_create, faults);

	for (size_t i = 0; i < load->runs.count; i++) {
		struct postmark_config *config = &load->runs.configs[i];
		const int32_t transactions_own = config->transactions;
		bool ignored = false;

		replace(&config->files, options->files, &load->changed);
		replace(&config->size_low_bytes, options->size_low_bytes, &load->changed);
		replace(&config->size_high_bytes, options->size_high_bytes, &load->changed);
		replace(&config->subdirectories, options->subdirectories, &load->changed);
		replace(&config->transactions, options->transactions, &ignored);
		replace(&config->seed, options->seed, &ignored);
		replace_bias(&config->bias_read, has_bias_read ? &bias_read : NULL, &load->changed);
		replace_bias(&config->bias_create, has_bias_create ? &bias_create : NULL,
			&load->changed);
		load->shortened |= config->transactions < transactions_own;
		load->transactions_own += (uint64_t)transactions_own;
		load->transactions += (uint64_t)config->transactions;
		postmark_config_check(config, faults);
	}
	if (load->changed)
		load->disk_share = 0;
}

int pool_options_load(
	const struct pool_options *options, struct pool_load *ret_load, struct faults *faults)
{
	const size_t faults_before = faults->count;
	struct pool_load load = { 0 };

	load_base(options, &load, faults);
	replace_values(options, &load, faults);
	if (faults->count > faults_before) {
		pool_load_done(&load);
		return -EINVAL;
	}
	*ret_load = load;
	return 0;
}

void pool_load_done(struct pool_load *load)
{
	postmark_runs_done(&load->runs);
	*load = (struct pool_load){ 0 };
}
