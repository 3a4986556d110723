/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layouts: where a file system would put the pool's files, without the file system.
 *
 * A layout is pure: (state, operation, operation time) -> (state, plan). It sees no back end, no
 * buffer and no wall clock, so that the request stream is the same in every cell. Files are known
 * by their slot (0 .. files_max - 1), which the load reuses after a removal. Space is counted in
 * blocks of block_bytes from first_block; nothing outside first_block .. + block_count is touched.
 *
 * When space runs out an operation returns -ENOSPC, leaves the file as it was (a file that could
 * not be created does not exist: later operations on it return -ENOENT) and adds no request: a
 * counted failure, never an overlap.
 */
#ifndef FSMODEL_LAYOUT_H
#define FSMODEL_LAYOUT_H

#include "engine/request.h"

struct layout;

struct extent {
	uint64_t start_block;
	uint64_t length_blocks;
};

struct layout_config {
	uint64_t first_block;
	uint64_t block_count;
	uint32_t block_bytes;    /* 4096 unless the drive's logical block is larger */
	uint32_t files_max;      /* number of slots */
	uint64_t span_blocks;    /* the pool's files spread evenly over this much; 0 = packed */
	uint64_t files_expected; /* how many files share the span */
	uint64_t seed;
	uint64_t request_bytes;     /* cut data to this; 0 = one request per extent */
	uint64_t max_request_bytes; /* never above this */
	bool tail_read;             /* an append reads the block of the old end first (stage 0) */
};

/* Owner of an extent as walk tells it. */
#define LAYOUT_OWNER_FREE UINT64_MAX
typedef int (*layout_visit_fn)(
	void *user, struct extent extent, enum request_role role, uint64_t owner_slot);

struct layout_ops {
	const char *name;
	const char *summary;

	/* An empty layout. -EINVAL for a configuration that it cannot lay out. */
	int (*format)(const struct layout_config *config, struct layout **ret_layout,
		struct error *error);
	int (*create)(struct layout *layout, uint32_t slot, uint64_t bytes, nsec_t time_ns,
		struct plan *plan);
	int (*append)(struct layout *layout, uint32_t slot, uint64_t bytes, nsec_t time_ns,
		struct plan *plan);
	int (*read)(struct layout *layout, uint32_t slot, nsec_t time_ns, struct plan *plan);
	int (*remove)(struct layout *layout, uint32_t slot, nsec_t time_ns, struct plan *plan);
	int (*sync)(struct layout *layout, nsec_t time_ns, struct plan *plan);

	/* Calls visit for every owned extent (owner = slot) and for every free one; stops at and
	 * returns the first non-zero answer. Order is unspecified. */
	int (*walk)(const struct layout *layout, layout_visit_fn visit, void *user);
	void (*free)(struct layout *layout);
};

struct layout {
	const struct layout_ops *ops;
	struct layout_config config;
	uint64_t used_blocks;
	uint64_t peak_blocks;
	size_t memory_bytes; /* what the layout and its free space take now */
};

/* Ends with NULL. */
extern const struct layout_ops *const layouts[];
/* NULL when there is none of that name. */
const struct layout_ops *layout_find(const char *name);

/* The most requests that one operation can need for files of at most file_bytes. */
size_t layout_requests_max(
	const struct layout_ops *ops, const struct layout_config *config, uint64_t file_bytes);

/* The judge: proves by walk that no two owners share a block, nothing lies outside and
 * owned + free = size. 0, or -EUCLEAN with a sentence that names the first offence. */
int layout_judge(const struct layout *layout, struct error *error);

#endif
