/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the bare layouts share: files that are extents and nothing else - no inode, no directory,
 * no journal. They differ only in where blocks go, which a placement tells.
 *
 * Reads and writes are whole blocks. An append writes from the start of the block that holds the
 * old end (its content is regenerated; tail_read adds the read of that block as stage 0 and the
 * writes are stage 1), takes further extents as the placement has them and never copies. Removal
 * and sync send nothing.
 *
 * A file of one extent is one record of 16 bytes in the table of slots; further extents live in
 * an arena as a ring whose last member the record names.
 */
#ifndef FSMODEL_BARE_H
#define FSMODEL_BARE_H

#include "fsmodel/arena.h"
#include "fsmodel/freespace.h"

#include "engine/rng.h"

struct bare;

struct bare_placement {
	/* Where the next file should begin. */
	uint64_t (*goal)(const struct bare *bare);
	/* Takes 1 .. wanted blocks (at least that many are free) for a file that begins or goes on
	 * at goal, which may lie just past the area. -ENOMEM. */
	int (*take)(struct bare *bare, uint64_t goal, uint64_t wanted, struct extent *ret_taken);
	/* An append first takes the free blocks right behind the file. */
	bool grows_in_place;
};

/* 48 + 48 + 32 bits: a file's first block, bytes and ring, or an extent's start, length and
 * next in the ring. */
struct bare_record {
	uint64_t words[2];
};

struct bare {
	struct layout layout;
	const struct bare_placement *placement;
	struct freespace *space;
	struct arena extents;
	struct bare_record *files; /* by slot; pages are touched when used */
	uint64_t files_touched;    /* slots 0 .. files_touched - 1 were in use at some time */
	uint64_t created_count;
	struct rng rng;
};

int bare_format(const struct layout_config *config, const struct layout_ops *ops,
	const struct bare_placement *placement, struct layout **ret_layout, struct error *error);
int bare_create(
	struct layout *layout, uint32_t slot, uint64_t bytes, nsec_t time_ns, struct plan *plan);
int bare_append(
	struct layout *layout, uint32_t slot, uint64_t bytes, nsec_t time_ns, struct plan *plan);
int bare_read(struct layout *layout, uint32_t slot, nsec_t time_ns, struct plan *plan);
int bare_remove(struct layout *layout, uint32_t slot, nsec_t time_ns, struct plan *plan);
int bare_sync(struct layout *layout, nsec_t time_ns, struct plan *plan);
int bare_walk(const struct layout *layout, layout_visit_fn visit, void *user);
void bare_free(struct layout *layout);

extern const struct layout_ops contiguous_layout;
extern const struct layout_ops scatter_layout;

#endif
