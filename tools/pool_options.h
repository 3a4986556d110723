/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The options that choose the load, the same for every verb that draws one.
 *
 * One rule: the base is a named pool (default SS) or a command file's runs, and every value given
 * replaces that of the base, in every run. A verb embeds struct pool_options (all zero is the
 * default) and names POOL_OPTION_ROWS(struct its_config, its_field) among its rows.
 */
#ifndef TOOLS_POOL_OPTIONS_H
#define TOOLS_POOL_OPTIONS_H

#include "fsmodel/named_pools.h"
#include "fsmodel/postmark_file.h"
#include "tools/options.h"

#define POOL_OPTIONS_DEFAULT "SS"

struct pool_options {
	const char *pool;     /* NULL: the default */
	const char *postmark; /* command file */
	unsigned paper_disk;  /* enum paper_disk */
	uint64_t files;       /* this and the following: 0 or NULL = as the base says */
	uint64_t size_low_bytes;
	uint64_t size_high_bytes;
	uint64_t transactions;
	uint64_t subdirectories;
	uint64_t seed;
	const char *bias_read;
	const char *bias_create;
};

/* The load that the options ask for. */
struct pool_load {
	struct postmark_runs runs;     /* at least one; each passes postmark_config_check */
	const char *name;              /* the pool's, or the command file's path as given */
	const struct named_pool *pool; /* NULL for a command file */
	bool changed;                  /* other than the base in more than transactions and seed */
	bool shortened;                /* some run has fewer transactions than its base */
	uint64_t transactions_own;     /* of the base, all runs together */
	uint64_t transactions;         /* now, all runs together */
	double disk_share;             /* of the paper's disk; 0 when not told or not that pool */
};

/* 0, or -EINVAL with every fault. Accepts only *ret_load = {0} or what pool_load_done left. */
int pool_options_load(
	const struct pool_options *options, struct pool_load *ret_load, struct faults *faults);
void pool_load_done(struct pool_load *load);

extern const char *const pool_paper_disks[];

#define POOL_OPTION_NUMBER(name_, type_, field_, argument_, help_)                                 \
	{                                                                                          \
		.name = (name_), .type = (type_), .offset = (field_), .argument = (argument_),     \
		.help = (help_), .minimum = 1, .maximum = INT32_MAX,                               \
	}

/* clang-format off */
#define POOL_OPTION_ROWS(config, field)                                                            \
	{ .name = "pool", .type = OPTION_TEXT, .offset = offsetof(config, field.pool),             \
	  .argument = "NAME", .group = "Load",                                                     \
	  .help = "SS, SL, LS, LL (2007 paper), p97-small, p97-medium, p97-large (PostMark's "     \
		"own paper) or postmark (its default); default SS; KB are 1024 bytes" },           \
	{ .name = "postmark", .type = OPTION_TEXT, .offset = offsetof(config, field.postmark),     \
	  .argument = "FILE", .help = "PostMark's command file; every `run` is one run" },         \
	{ .name = "paper-disk", .type = OPTION_CHOICE,                                             \
	  .offset = offsetof(config, field.paper_disk), .argument = "SIZE",                        \
	  .choices = pool_paper_disks,                                                             \
	  .help = "small or large: LL with 20,000 or 40,000 transactions" },                       \
	POOL_OPTION_NUMBER("files", OPTION_U64, offsetof(config, field.files), "N",                \
		"number of files at the start, in place of the pool's"),                           \
	POOL_OPTION_NUMBER("size-low", OPTION_SIZE, offsetof(config, field.size_low_bytes),        \
		"BYTES", "smallest file"),                                                         \
	POOL_OPTION_NUMBER("size-high", OPTION_SIZE, offsetof(config, field.size_high_bytes),      \
		"BYTES", "largest file"),                                                          \
	POOL_OPTION_NUMBER("transactions", OPTION_U64, offsetof(config, field.transactions), "N",  \
		"number of transactions; fewer than the pool's own are marked as shortened"),      \
	POOL_OPTION_NUMBER("subdirectories", OPTION_U64, offsetof(config, field.subdirectories),   \
		"N", "two or more take part in the draws"),                                        \
	POOL_OPTION_NUMBER("seed", OPTION_U64, offsetof(config, field.seed), "N",                  \
		"seed of PostMark's generator; default 42"),                                       \
	{ .name = "bias-read", .type = OPTION_TEXT, .offset = offsetof(config, field.bias_read),   \
	  .argument = "N", .help = "reads in ten against appends, 0 to 10; -1: neither" },         \
	{ .name = "bias-create", .type = OPTION_TEXT,                                              \
	  .offset = offsetof(config, field.bias_create), .argument = "N",                          \
	  .help = "creates in ten against deletes, 0 to 10; -1: neither" }
/* clang-format on */

#endif
