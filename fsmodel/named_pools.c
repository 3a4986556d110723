/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fsmodel/named_pools.h"

#include <string.h>

/* The 2007 paper's smaller disk, on which its figures 1 to 6 were measured. */
#define PAPER_DISK_BYTES 18e9

/* Files x mean size, as a share of that disk: SS 0.7 %, SL 14 %, LS 9 %, LL 38 %. The paper also
 * says in words that the large sets fill about half of it; its table does not bear that out. */
#define SHARE(files, low, high) ((files) * (((low) + (high)) / 2.0) / PAPER_DISK_BYTES)

#define SMALL_LOW 9216     /* 9 KB, ATC 2007 table 2 */
#define SMALL_HIGH 15360   /* 15 KB, ATC 2007 table 2 */
#define LARGE_LOW 102400   /* 0.1 MB as 100 KB, ATC 2007 table 2 */
#define LARGE_HIGH 3145728 /* 3 MB, ATC 2007 table 2 */

#define POOL_2007(pool_name, text, low, high, files_, transactions_, large)                        \
	{                                                                                          \
		.name = (pool_name), .summary = (text), .size_low_bytes = (low),                   \
		.size_high_bytes = (high), .files = (files_), .transactions = (transactions_),     \
		.transactions_large = (large), .disk_share = SHARE(files_, low, high),             \
	}

/* The 1997 paper kept PostMark's default sizes; it tells no disk size. */
#define POOL_DEFAULT_SIZES(pool_name, text, files_, transactions_)                                 \
	{                                                                                          \
		.name = (pool_name), .summary = (text), .size_low_bytes = 500,                     \
		.size_high_bytes = 10000, .files = (files_), .transactions = (transactions_),      \
		.transactions_large = (transactions_),                                             \
	}

/* clang-format off */
const struct named_pool named_pools[] = {
	/* ATC 2007, table 2. */
	POOL_2007("SS", "10,000 files of 9-15 KiB", SMALL_LOW, SMALL_HIGH, 10000, 100000, 100000),
	POOL_2007("SL", "200,000 files of 9-15 KiB", SMALL_LOW, SMALL_HIGH, 200000, 100000, 100000),
	POOL_2007("LS", "1,000 files of 0.1-3 MiB", LARGE_LOW, LARGE_HIGH, 1000, 20000, 20000),
	POOL_2007("LL", "4,250 files of 0.1-3 MiB", LARGE_LOW, LARGE_HIGH, 4250, 20000, 40000),
	/* NetApp TR-3022, 1997: base files and transactions of its result tables. */
	POOL_DEFAULT_SIZES("p97-small", "1,000 files of 500-10,000 bytes", 1000, 50000),
	POOL_DEFAULT_SIZES("p97-medium", "20,000 files of 500-10,000 bytes", 20000, 50000),
	POOL_DEFAULT_SIZES("p97-large", "20,000 files of 500-10,000 bytes", 20000, 100000),
	/* PostMark 1.53 without any command. */
	POOL_DEFAULT_SIZES("postmark", "500 files of 500-10,000 bytes", 500, 500),
	{ .name = NULL },
};
/* clang-format on */

const struct named_pool *named_pool_find(const char *name)
{
	for (const struct named_pool *pool = named_pools; pool->name; pool++) {
		if (!strcmp(pool->name, name))
			return pool;
	}
	return NULL;
}

void named_pool_config(
	const struct named_pool *pool, enum paper_disk disk, struct postmark_config *ret_config)
{
	postmark_config_default(ret_config);
	ret_config->size_low_bytes = pool->size_low_bytes;
	ret_config->size_high_bytes = pool->size_high_bytes;
	ret_config->files = pool->files;
	ret_config->transactions =
		disk == PAPER_DISK_LARGE ? pool->transactions_large : pool->transactions;
}
