/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How btree.c and btree_query.c pack a node; nobody else includes this.
 *
 * A node is a count and packed entries, little endian:
 *
 *   leaf    second 5 | first 5                            10 bytes, at most 100
 *   inner   second 5 | first 5 | sum 5 | child 4          19 bytes, at most 48
 *
 * The first ten bytes are one 80-bit number that orders like the pair. An inner entry holds the
 * first pair below its child, exactly; in a summed tree `second` is the largest one below instead
 * (harmless to the search, whose keys there have the highest second number) and `sum` their sum.
 */
#ifndef FSMODEL_BTREE_NODE_H
#define FSMODEL_BTREE_NODE_H

#include "fsmodel/btree.h"

#include <endian.h>
#include <string.h>

#define LEAF_BYTES 10u
#define INNER_BYTES 19u
#define LEAF_ENTRIES 100u
#define INNER_ENTRIES 48u

struct node {
	uint16_t count;
	unsigned char entries[BTREE_NODE_BYTES - sizeof(uint16_t)];
};

_Static_assert(sizeof(struct node) == BTREE_NODE_BYTES, "a node fills its arena item");
_Static_assert(LEAF_ENTRIES *LEAF_BYTES <= sizeof(((struct node *)0)->entries), "leaf");
_Static_assert(INNER_ENTRIES *INNER_BYTES <= sizeof(((struct node *)0)->entries), "inner");

struct summary {
	struct btree_entry pair;
	uint64_t sum;
};

static inline uint64_t load64(const unsigned char *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

static inline void store40(unsigned char *bytes, uint64_t value)
{
	const uint32_t low = htole32((uint32_t)value);

	memcpy(bytes, &low, sizeof(low));
	bytes[4] = (unsigned char)(value >> 32);
}

static inline uint64_t entry_second(const unsigned char *entry)
{
	return load64(entry) & BTREE_NUMBER_MAX;
}

static inline uint64_t entry_first(const unsigned char *entry)
{
	return load64(entry + 2) >> 24;
}

/* Both numbers as the one by which entries are ordered. */
static inline unsigned __int128 entry_key(const unsigned char *entry)
{
	uint16_t high;

	memcpy(&high, entry + 8, sizeof(high));
	return (unsigned __int128)le16toh(high) << 64 | load64(entry);
}

static inline struct btree_entry entry_get(const unsigned char *entry)
{
	return (struct btree_entry){ entry_first(entry), entry_second(entry) };
}

static inline void entry_put(unsigned char *entry, struct btree_entry pair)
{
	store40(entry, pair.second);
	store40(entry + 5, pair.first);
}

static inline uint64_t entry_sum(const unsigned char *entry)
{
	return load64(entry + 7) >> 24;
}

static inline uint32_t entry_child(const unsigned char *entry)
{
	uint32_t child;

	memcpy(&child, entry + 15, sizeof(child));
	return child;
}

static inline void entry_put_summary(unsigned char *entry, const struct summary *summary)
{
	entry_put(entry, summary->pair);
	store40(entry + 10, summary->sum);
}

static inline struct node *node_at(const struct btree *tree, uint32_t number)
{
	return arena_at(tree->nodes, number);
}

/* Unused entries are above every key, so that the search need not ask how many there are. */
static inline void node_clear(struct node *node)
{
	node->count = 0;
	memset(node->entries, 0xff, sizeof(node->entries));
}

static inline bool is_inner(const struct btree *tree, unsigned level)
{
	return level + 1 < tree->height;
}

static inline unsigned entry_bytes(bool inner)
{
	return inner ? INNER_BYTES : LEAF_BYTES;
}

static inline unsigned capacity(bool inner)
{
	return inner ? INNER_ENTRIES : LEAF_ENTRIES;
}

static inline const unsigned char *entry_at(const struct node *node, bool inner, unsigned index)
{
	return node->entries + index * entry_bytes(inner);
}

static inline unsigned char *entry_of(struct node *node, bool inner, unsigned index)
{
	return node->entries + index * entry_bytes(inner);
}

/* What an inner entry says about a child. An empty child keeps the first number it had. */
static inline struct summary summarise(
	const struct btree *tree, const struct node *node, bool inner, uint64_t first_if_empty)
{
	struct summary summary = { .pair.first = first_if_empty };

	if (!node->count)
		return summary;
	summary.pair = entry_get(node->entries);
	if (!tree->summed)
		return summary;
	summary.pair.second = 0;
	for (unsigned i = 0; i < node->count; i++) {
		const unsigned char *entry = entry_at(node, inner, i);

		summary.pair.second = max_u64(summary.pair.second, entry_second(entry));
		summary.sum += inner ? entry_sum(entry) : entry_second(entry);
	}
	return summary;
}

#endif
