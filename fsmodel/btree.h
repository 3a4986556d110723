/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A B+tree of pairs of 40-bit numbers, ordered by the first and then by the second.
 *
 * Why not a binary tree: with 10 million entries a binary search path misses the cache about
 * twenty times, a path through these nodes of 1 KiB about twice. Why 40 bits: an entry takes
 * ten bytes, and 2^40 blocks of 4 KiB are 4 PiB. After Bayer and McCreight, "Organization and
 * maintenance of large ordered indices" (Acta Informatica 1, 1972); entries move to a sibling
 * before a node is split, as in Knuth's B*-tree (The Art of Computer Programming 3, 6.2.4), and
 * a node that overflows at its end is split there, so that rising keys leave full nodes behind.
 *
 * A summed tree (one entry per first number) keeps above every subtree the largest and the sum of
 * its second numbers: the next entry that is large enough and the n-th unit are then found in
 * O(log n) however many small entries lie between. All calls are O(log n), none allocates but
 * from the arena's reserve.
 */
#ifndef FSMODEL_BTREE_H
#define FSMODEL_BTREE_H

#include "fsmodel/arena.h"

#define BTREE_NODE_BYTES 1024u
#define BTREE_LEVELS 16
#define BTREE_EXCHANGE_MAX 3
#define BTREE_NUMBER_MAX ((UINT64_C(1) << 40) - 1) /* entries lie below it, keys may be it */

struct btree_entry {
	uint64_t first;
	uint64_t second;
};

struct btree {
	struct arena *nodes; /* may be shared */
	uint32_t root;
	unsigned height; /* 1: the root is a leaf */
	uint64_t count;
	uint64_t recuts; /* how often entries changed their node */
	bool summed;
};

/* An entry and the way to it. Insertion and removal make every place of the tree invalid. */
struct btree_place {
	uint32_t node[BTREE_LEVELS];
	int index[BTREE_LEVELS]; /* the leaf's may be -1: before the first entry of all */
};

/* Takes the root from the arena; the arena ends the tree. -ENOMEM. */
int btree_init(struct btree *tree, struct arena *nodes, bool summed);

/* How many nodes an insertion may take. */
static inline uint32_t btree_reserve_for_insert(const struct btree *tree)
{
	return tree->height + 1;
}

/* The last entry that is not above key; false: there is none, the place is before the first.
 * In a summed tree key.second must be BTREE_NUMBER_MAX. */
bool btree_seek(const struct btree *tree, struct btree_entry key, struct btree_place *ret_place);
bool btree_next(const struct btree *tree, struct btree_place *place);
struct btree_entry btree_get(const struct btree *tree, const struct btree_place *place);

/* The entry must belong right behind place. */
void btree_insert_after(struct btree *tree, struct btree_place *place, struct btree_entry entry);
void btree_remove(struct btree *tree, struct btree_place *place);
/* Removes entries that must be there (asserted), then adds others: at most BTREE_EXCHANGE_MAX
 * together, sought at the same time so that their waits for memory overlap. */
void btree_exchange(struct btree *tree, const struct btree_entry *removed, unsigned removed_count,
	const struct btree_entry *added, unsigned added_count);
/* Changes an entry whose place in the order stays; the place stays valid. */
void btree_replace(struct btree *tree, const struct btree_place *place, struct btree_entry entry);

/* Of summed trees: the largest second number; the next entry behind place, or the first of all,
 * whose second number is at least this; the sum of the second numbers before place; the entry
 * in which the running sum passes *sum, which is left with the rest inside it. */
uint64_t btree_largest(const struct btree *tree);
bool btree_next_fit(const struct btree *tree, struct btree_place *place, uint64_t second);
bool btree_first_fit(const struct btree *tree, struct btree_place *ret_place, uint64_t second);
uint64_t btree_sum_before(const struct btree *tree, const struct btree_place *place);
struct btree_entry btree_select(const struct btree *tree, uint64_t *sum);

/* For tests: asserts order, fill, depth and every sum; returns the number of nodes. */
uint32_t btree_verify(const struct btree *tree);

#endif
