/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pools that have names: the four of Riska, Larkby-Lahti and Riedel, "Evaluating Block-level
 * Optimization through the IO Path" (USENIX ATC 2007, table 2), the three of PostMark's own
 * paper (Katcher, NetApp TR-3022, 1997) and PostMark's default. A KB of a source is 1024 bytes.
 */
#ifndef FSMODEL_NAMED_POOLS_H
#define FSMODEL_NAMED_POOLS_H

#include "fsmodel/postmark.h"

/* The 2007 paper plays LL with 40,000 transactions on its larger disks, else as on its 18 GB. */
enum paper_disk { PAPER_DISK_SMALL, PAPER_DISK_LARGE };

struct named_pool {
	const char *name;
	const char *summary;
	int32_t size_low_bytes;
	int32_t size_high_bytes;
	int32_t files;
	int32_t transactions;       /* on the paper's small disk */
	int32_t transactions_large; /* on its larger ones */
	double disk_share;          /* of the paper's 18 GB disk; 0 where no disk is told */
};

/* In the order of the help; ended by name == NULL. */
extern const struct named_pool named_pools[];

/* NULL when there is no such pool. Names are exact. */
const struct named_pool *named_pool_find(const char *name);

/* PostMark's defaults with the pool's sizes, files and transactions. */
void named_pool_config(
	const struct named_pool *pool, enum paper_disk disk, struct postmark_config *ret_config);

#endif
