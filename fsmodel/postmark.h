/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PostMark 1.5x as a stream of operations: the same draws from the same generator in the same
 * order as the original, so that for every configuration the stream is equal to the real
 * program's. Source: PostMark 1.53 (Debian postmark 1.53-2); MT19937 with the seeding of its
 * authors' C version of 28 October 1999 (GSL's mt19937_1999).
 *
 * Pure: no file, no clock. One transaction = (read or append) then (create or delete); a half
 * that PostMark wastes (an append to a file already at the upper bound, a create with a full
 * table) is an operation with `wasted` set, counted and without effect.
 */
#ifndef FSMODEL_POSTMARK_H
#define FSMODEL_POSTMARK_H

#include "engine/base.h"

/* Twice these overflow the original's 32-bit arithmetic, which then crashes. */
#define POSTMARK_SIZE_MAX ((1 << 30) - 1)
#define POSTMARK_FILES_MAX ((1 << 30) - 1)
/* Longest file name, location included, that its table holds (Debian 1.53-2 on amd64). */
#define POSTMARK_NAME_BYTES_MAX 83

struct postmark_location {
	char *name;
	int32_t weight;
};

struct postmark_config {
	int32_t size_low_bytes;
	int32_t size_high_bytes;
	int32_t files; /* N; the slot table holds 2 N */
	int32_t transactions;
	int32_t seed;
	int32_t subdirectories; /* values > 1 take part in the draws */
	int32_t read_block_bytes;
	int32_t write_block_bytes;
	int32_t bias_read;   /* -1 .. 10 */
	int32_t bias_create; /* -1 .. 10 */
	bool buffered;
	struct postmark_location *locations; /* owned */
	size_t location_count;
};

/* PostMark's own defaults. */
void postmark_config_default(struct postmark_config *config);
void postmark_config_done(struct postmark_config *config);
int postmark_config_copy(const struct postmark_config *from, struct postmark_config *ret_to);

/* Adds one sentence per setting that cannot be run (high >= 2^30, low > high, bias 11 ...). */
void postmark_config_check(const struct postmark_config *config, struct faults *faults);

enum postmark_kind { POSTMARK_CREATE, POSTMARK_READ, POSTMARK_APPEND, POSTMARK_DELETE };
enum postmark_phase { POSTMARK_POOL, POSTMARK_TRANSACTIONS, POSTMARK_CLEANUP, POSTMARK_END };

struct postmark_operation {
	enum postmark_kind kind;
	enum postmark_phase phase;
	bool wasted;
	uint32_t slot;        /* 0 .. 2 N - 1; not set for a wasted create */
	uint32_t id;          /* the file's number, from 1, never reused */
	int32_t location;     /* index of its location, -1 for none */
	int32_t subdirectory; /* -1 for none */
	uint32_t bytes;       /* created, appended or read; for a delete the size it had */
	uint32_t size_bytes;  /* of the file afterwards (delete: before) */
	uint64_t transaction; /* from 0, in POSTMARK_TRANSACTIONS */
};

struct postmark_counts {
	uint64_t created, read, appended, deleted;
	uint64_t created_alone, deleted_alone; /* in pool creation, in cleanup */
	uint64_t wasted_appends, wasted_creates;
	uint64_t transactions;                       /* whose both halves were drawn */
	uint64_t read_bytes, written_bytes;          /* exact */
	float read_bytes_float, written_bytes_float; /* as PostMark adds them up, binary32 */
	uint64_t live_files, live_bytes, peak_live_files, peak_live_bytes;
	uint64_t draws;    /* numbers consumed */
	bool pool_emptied; /* ended before all transactions */
};

struct postmark;

/* At the start of the pool phase. The configuration must have passed the check. -ENOMEM. */
int postmark_new(const struct postmark_config *config, struct postmark **ret_postmark);
void postmark_free(struct postmark *postmark);

/* Back to the start, same configuration. */
void postmark_restart(struct postmark *postmark);

/* The next operation: 1, or 0 after the last. Phases follow each other by themselves. */
int postmark_next(struct postmark *postmark, struct postmark_operation *ret_operation);

/* The phase that the next operation belongs to. */
enum postmark_phase postmark_phase(const struct postmark *postmark);
const struct postmark_counts *postmark_counts(const struct postmark *postmark);
const struct postmark_config *postmark_config(const struct postmark *postmark);

/* Size now of the file in that slot, 0 when the slot is free. */
uint32_t postmark_slot_bytes(const struct postmark *postmark, uint32_t slot);
uint32_t postmark_slot_id(const struct postmark *postmark, uint32_t slot);
uint32_t postmark_slots(const struct postmark *postmark);

/* Memory of the slot table and the rest, from the configuration alone. */
size_t postmark_memory_bytes(const struct postmark_config *config);

#endif
