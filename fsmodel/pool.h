/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pool: PostMark's operations laid out by a layout, as sources for the scheduler.
 *
 * The pool is created once (POOL_CREATION); a cell then plays the transactions. Before the next
 * cell load and layout are rewound to the state after creation by laying the creation out again
 * without sending it, so nothing is rewritten. A dry run of all operations on a layout of its own
 * says beforehand what a run will touch, byte for byte.
 */
#ifndef FSMODEL_POOL_H
#define FSMODEL_POOL_H

#include "engine/source.h"
#include "fsmodel/layout.h"
#include "fsmodel/postmark.h"

struct pool_config {
	const struct postmark_config *load;
	const struct layout_ops *layout;
	struct layout_config layout_config;
	nsec_t operation_time_ns; /* the operation clock: operation number x this */
	unsigned plans_max;       /* in flight at once */
	uint32_t streams;         /* processes that operations stand for, in turn; 0 means 1 */
};

enum pool_stage {
	POOL_CREATION,     /* writes the pool's files */
	POOL_TRANSACTIONS, /* one cell */
	POOL_READBACK,     /* reads every live file once; for the verification after a cell */
};

struct pool_counts {
	uint64_t transactions;        /* both halves complete, wasted halves included */
	uint64_t transactions_failed; /* a half failed: no space, or an I/O error */
	uint64_t operations[4];       /* by enum postmark_kind, drawn, wasted ones not counted */
	uint64_t no_space;            /* creates and appends that found no room */
	uint64_t no_file;             /* operations on files that could not be created */
	uint64_t wasted_appends, wasted_creates;
	uint64_t asked_read_bytes, asked_written_bytes; /* by the load, before rounding to blocks */
};

struct pool;

/* Formats the layout. -EINVAL, -ENOMEM. */
int pool_new(const struct pool_config *config, struct pool **ret_pool, struct error *error);
void pool_free(struct pool *pool);

/* The pool's source, set to a stage; owned by the pool. POOL_CREATION and POOL_TRANSACTIONS must
 * follow each other (or come after a rewind). */
struct source *pool_source(struct pool *pool, enum pool_stage stage);

/* Back to the state just after creation, without sending anything; or to the empty pool. */
int pool_rewind(struct pool *pool, bool created, struct error *error);

/* Plays the final deletions (they send nothing on bare layouts) so that the load's counts are
 * those of a whole PostMark run. */
void pool_cleanup(struct pool *pool);

/* Of the stage that pool_source set last. */
const struct pool_counts *pool_counts(const struct pool *pool);
const struct postmark_counts *pool_load_counts(const struct pool *pool);
const struct layout *pool_layout(const struct pool *pool);

struct pool_extent {
	uint64_t requests, read_bytes, written_bytes;
};

/* What a run will do. */
struct pool_estimate {
	struct pool_extent creation, transactions;
	uint64_t first_byte, end_byte; /* of everything touched */
	uint64_t peak_blocks;
	uint64_t worst_bytes; /* 2 N files of the upper bound: what can never be exceeded */
	uint64_t created_first_byte, created_end_byte; /* of the created pool */
	struct pool_counts counts;                     /* of the transactions */
	uint64_t creation_no_space;
	struct postmark_counts load;
	size_t memory_bytes; /* slot table, layout, free space */
	uint64_t live_files; /* after creation */
};

/* Lays everything out and sends nothing. */
int pool_estimate(
	const struct pool_config *config, struct pool_estimate *ret_estimate, struct error *error);

#endif
