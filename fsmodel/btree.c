/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search in and change of the B+tree; see btree.h for the idea, btree_node.h for the nodes. */
#include "fsmodel/btree_node.h"

/* A sibling takes entries of a full node when it has room for this many. */
#define SIBLING_ROOM 4u

#define CACHE_LINE_BYTES 64u

static void open_gap(struct node *node, bool inner, unsigned index)
{
	memmove(entry_of(node, inner, index + 1), entry_of(node, inner, index),
		(node->count - index) * entry_bytes(inner));
	node->count++;
}

static void close_gap(struct node *node, bool inner, unsigned index)
{
	node->count--;
	memmove(entry_of(node, inner, index), entry_of(node, inner, index + 1),
		(node->count - index) * entry_bytes(inner));
	memset(entry_of(node, inner, node->count), 0xff, entry_bytes(inner));
}

int btree_init(struct btree *tree, struct arena *nodes, bool summed)
{
	int result = arena_reserve(nodes, 1);

	if (result < 0)
		return result;
	*tree = (struct btree){ .nodes = nodes, .height = 1, .summed = summed };
	tree->root = arena_take(nodes);
	node_clear(node_at(tree, tree->root));
	return 0;
}

/* How many of the entries at every stride-th index behind `from`, `steps` of them, are not above
 * key. The unused ones of a node are above every key. */
static inline __attribute__((always_inline)) unsigned count_steps(const unsigned char *entries,
	unsigned bytes, unsigned from, unsigned stride, unsigned steps, unsigned __int128 key)
{
	unsigned count = 0;

	entries += from * bytes;
#pragma GCC unroll 8
	for (unsigned i = 1; i <= steps; i++)
		count += entry_key(entries + i * stride * bytes) <= key;
	return count;
}

/*
 * The last entry that is not above key; 0 also if all are above it. Goes by wide, then narrow,
 * then single steps; the comparisons of a kind do not wait for each other, and nothing jumps by
 * the data. Halving is a chain of loads, and with branches half of them are predicted wrong.
 */
_Static_assert(INNER_ENTRIES == 4 * 4 * 3 && LEAF_ENTRIES == 4 * 5 * 5, "steps end at the last");

static unsigned search_inner(const struct node *node, unsigned __int128 key)
{
	const unsigned char *entries = node->entries;
	unsigned index = 12 * count_steps(entries, INNER_BYTES, 0, 12, 3, key);

	index += 3 * count_steps(entries, INNER_BYTES, index, 3, 3, key);
	return index + count_steps(entries, INNER_BYTES, index, 1, 2, key);
}

static unsigned search_leaf(const struct node *node, unsigned __int128 key)
{
	const unsigned char *entries = node->entries;
	unsigned index = 25 * count_steps(entries, LEAF_BYTES, 0, 25, 3, key);

	index += 5 * count_steps(entries, LEAF_BYTES, index, 5, 4, key);
	return index + count_steps(entries, LEAF_BYTES, index, 1, 4, key);
}

static unsigned __int128 packed_key(struct btree_entry entry)
{
	assert(entry.first <= BTREE_NUMBER_MAX && entry.second <= BTREE_NUMBER_MAX);
	return (unsigned __int128)entry.first << 40 | entry.second;
}

/* Seeks several keys level by level: their waits for memory overlap. */
static inline __attribute__((always_inline)) void seek_together(const struct btree *tree,
	const struct btree_entry *keys, unsigned count, struct btree_place *places)
{
	const unsigned leaf = tree->height - 1;

	for (unsigned i = 0; i < count; i++)
		places[i].node[0] = tree->root;
	for (unsigned level = 0; level < leaf; level++) {
		for (unsigned i = 0; i < count; i++) {
			const struct node *node = node_at(tree, places[i].node[level]);
			const unsigned index = search_inner(node, packed_key(keys[i]));
			const uint32_t child = entry_child(entry_at(node, true, index));
			const char *next = (const char *)node_at(tree, child);

			/* All lines of the node at once: one wait instead of one per step. */
#pragma GCC unroll 16
			for (unsigned line = 0; line < BTREE_NODE_BYTES; line += CACHE_LINE_BYTES)
				__builtin_prefetch(next + line);
			places[i].index[level] = (int)index;
			places[i].node[level + 1] = child;
		}
	}
	for (unsigned i = 0; i < count; i++) {
		const struct node *node = node_at(tree, places[i].node[leaf]);
		const unsigned __int128 key = packed_key(keys[i]);
		const unsigned index = search_leaf(node, key);

		places[i].index[leaf] =
			entry_key(entry_at(node, false, index)) <= key ? (int)index : -1;
	}
}

bool btree_seek(const struct btree *tree, struct btree_entry key, struct btree_place *ret_place)
{
	seek_together(tree, &key, 1, ret_place);
	return ret_place->index[tree->height - 1] >= 0;
}

struct btree_entry btree_get(const struct btree *tree, const struct btree_place *place)
{
	const unsigned leaf = tree->height - 1;

	assert(place->index[leaf] >= 0);
	return entry_get(
		entry_at(node_at(tree, place->node[leaf]), false, (unsigned)place->index[leaf]));
}

bool btree_next(const struct btree *tree, struct btree_place *place)
{
	unsigned level = tree->height - 1;

	while (place->index[level] + 1 >= node_at(tree, place->node[level])->count)
		if (level-- == 0)
			return false;
	place->index[level]++;
	for (; is_inner(tree, level); level++) {
		place->node[level + 1] = entry_child(entry_at(
			node_at(tree, place->node[level]), true, (unsigned)place->index[level]));
		place->index[level + 1] = 0;
	}
	return true;
}

static void refresh(
	const struct btree *tree, struct node *parent, unsigned position, bool child_inner)
{
	unsigned char *entry = entry_of(parent, true, position);
	const struct summary summary =
		summarise(tree, node_at(tree, entry_child(entry)), child_inner, entry_first(entry));

	entry_put_summary(entry, &summary);
}

/* Carries a change of the entry at place from old_second to new_second (0: not there) to the
 * root. The largest number must be sought anew only where the old one was the largest. */
static void carry_up(const struct btree *tree, const struct btree_place *place, uint64_t old_second,
	uint64_t new_second)
{
	for (unsigned level = tree->height - 1; level > 0; level--) {
		const struct node *child = node_at(tree, place->node[level]);
		unsigned char *entry = entry_of(node_at(tree, place->node[level - 1]), true,
			(unsigned)place->index[level - 1]);
		const bool at_start = place->index[level] == 0 && child->count;
		struct summary summary;

		if (!tree->summed) {
			if (!at_start)
				return;
			entry_put(entry, entry_get(child->entries));
			continue;
		}
		summary.pair = entry_get(entry);
		summary.sum = entry_sum(entry) + new_second - old_second;
		if (at_start)
			summary.pair.first = entry_first(child->entries);
		if (new_second >= summary.pair.second) {
			summary.pair.second = new_second;
		} else if (old_second == summary.pair.second) {
			summary.pair.second = 0;
			for (unsigned i = 0; i < child->count; i++)
				summary.pair.second = max_u64(summary.pair.second,
					entry_second(entry_at(child, is_inner(tree, level), i)));
		}
		entry_put_summary(entry, &summary);
	}
}

/* Cuts the entries of two neighbours anew: the left one gets left_count of them. */
static void recut(struct btree *tree, struct node *parent, unsigned left_position, bool inner,
	unsigned left_count)
{
	const unsigned bytes = entry_bytes(inner);
	struct node *left = node_at(tree, entry_child(entry_at(parent, true, left_position)));
	struct node *right = node_at(tree, entry_child(entry_at(parent, true, left_position + 1)));
	const unsigned total = left->count + right->count;

	tree->recuts++;
	assert(left_count <= capacity(inner) && total - left_count <= capacity(inner));
	if (left_count > left->count) {
		const unsigned moved = left_count - left->count;

		memcpy(entry_of(left, inner, left->count), right->entries, moved * bytes);
		memmove(right->entries, entry_of(right, inner, moved),
			(right->count - moved) * bytes);
	} else {
		const unsigned moved = left->count - left_count;

		memmove(entry_of(right, inner, moved), right->entries, right->count * bytes);
		memcpy(right->entries, entry_of(left, inner, left_count), moved * bytes);
	}
	if (left_count < left->count)
		memset(entry_of(left, inner, left_count), 0xff, (left->count - left_count) * bytes);
	else
		memset(entry_of(right, inner, total - left_count), 0xff,
			(left_count - left->count) * bytes);
	left->count = (uint16_t)left_count;
	right->count = (uint16_t)(total - left_count);
	refresh(tree, parent, left_position, inner);
	refresh(tree, parent, left_position + 1, inner);
}

/* A new root above the old one; the place's way grows at its upper end. */
static void grow_root(struct btree *tree, struct btree_place *place)
{
	const uint32_t number = arena_take(tree->nodes);
	struct node *root = node_at(tree, number);

	assert(tree->height < BTREE_LEVELS);
	node_clear(root);
	root->count = 1;
	entry_put_summary(root->entries, &(struct summary){ 0 });
	memcpy(root->entries + 15, &tree->root, sizeof(tree->root));
	refresh(tree, root, 0, tree->height > 1);
	memmove(place->node + 1, place->node, tree->height * sizeof(place->node[0]));
	memmove(place->index + 1, place->index, tree->height * sizeof(place->index[0]));
	tree->root = number;
	tree->height++;
	place->node[0] = number;
	place->index[0] = 0;
}

/* Where two neighbours are cut: `point` is the place of the new entry, counted from the start of
 * the left one. */
struct cut {
	unsigned left_position;
	unsigned left_count;
	unsigned point;
};

static unsigned child_count(const struct btree *tree, const struct node *parent, unsigned position)
{
	return node_at(tree, entry_child(entry_at(parent, true, position)))->count;
}

/* Whether a sibling of the full child has room, and the cut that evens the two out. */
static bool sibling_cut(
	const struct btree *tree, const struct node *parent, unsigned full, struct cut *cut)
{
	const unsigned position = cut->left_position;

	if (position > 0) {
		const unsigned count = child_count(tree, parent, position - 1);

		if (count + SIBLING_ROOM <= full) {
			cut->left_position--;
			cut->left_count = (count + full + 1) / 2;
			cut->point += count;
			return true;
		}
	}
	if (position + 1 < parent->count) {
		const unsigned count = child_count(tree, parent, position + 1);

		if (count + SIBLING_ROOM <= full) {
			cut->left_count = (count + full) / 2;
			return true;
		}
	}
	return false;
}

static void add_empty_child(struct btree *tree, struct node *parent, unsigned position)
{
	const uint32_t number = arena_take(tree->nodes);
	unsigned char *entry;

	node_clear(node_at(tree, number));
	open_gap(parent, true, position);
	entry = entry_of(parent, true, position);
	entry_put_summary(entry, &(struct summary){ 0 });
	memcpy(entry + 15, &number, sizeof(number));
}

/*
 * Makes room for one entry in the node of place at this level, by moving entries to a sibling or
 * by a split, and lets place follow. The new entry goes before index in a leaf, and behind index
 * in an inner node, where index is the child that is split. A node that overflows at one of its
 * ends is split there: keys that come in order fill nodes wholly.
 */
static void make_room(struct btree *tree, struct btree_place *place, unsigned level)
{
	const bool inner = is_inner(tree, level);
	const unsigned full = capacity(inner);
	struct cut cut = { .point = (unsigned)place->index[level] + inner };
	struct node *parent;
	bool to_right;

	if (node_at(tree, place->node[level])->count < full)
		return;
	if (level == 0) {
		grow_root(tree, place);
		level = 1;
	}
	parent = node_at(tree, place->node[level - 1]);
	cut.left_position = (unsigned)place->index[level - 1];
	if (!sibling_cut(tree, parent, full, &cut)) {
		const unsigned height = tree->height;

		make_room(tree, place, level - 1);
		level += tree->height - height;
		parent = node_at(tree, place->node[level - 1]);
		cut.left_position = (unsigned)place->index[level - 1];
		cut.left_count = cut.point == full    ? full - inner
				 : cut.point == inner ? inner
						      : full / 2;
		add_empty_child(tree, parent, cut.left_position + 1);
	}
	recut(tree, parent, cut.left_position, inner, cut.left_count);
	to_right = cut.point > cut.left_count || cut.left_count == full;
	cut.left_position += to_right;
	place->index[level - 1] = (int)cut.left_position;
	place->node[level] = entry_child(entry_at(parent, true, cut.left_position));
	place->index[level] = (int)(cut.point - (to_right ? cut.left_count : 0) - inner);
}

void btree_insert_after(struct btree *tree, struct btree_place *place, struct btree_entry entry)
{
	struct node *leaf;
	unsigned index;

	assert(entry.first <= BTREE_NUMBER_MAX && entry.second <= BTREE_NUMBER_MAX);
	place->index[tree->height - 1]++;
	make_room(tree, place, tree->height - 1);
	leaf = node_at(tree, place->node[tree->height - 1]);
	index = (unsigned)place->index[tree->height - 1];
	open_gap(leaf, false, index);
	entry_put(entry_of(leaf, false, index), entry);
	tree->count++;
	carry_up(tree, place, 0, entry.second);
}

void btree_replace(struct btree *tree, const struct btree_place *place, struct btree_entry entry)
{
	unsigned char *packed = entry_of(node_at(tree, place->node[tree->height - 1]), false,
		(unsigned)place->index[tree->height - 1]);
	const uint64_t old_second = entry_second(packed);

	assert(entry.first <= BTREE_NUMBER_MAX && entry.second <= BTREE_NUMBER_MAX);
	entry_put(packed, entry);
	carry_up(tree, place, old_second, entry.second);
}

/* Carries the first number of place's node at this level to the entries above that show it. Only
 * a first node that has been empty needs it: carry_up had no number to carry then. */
static void carry_first(const struct btree *tree, const struct btree_place *place, unsigned level)
{
	for (; level > 0; level--) {
		const struct node *child = node_at(tree, place->node[level]);
		unsigned char *entry = entry_of(node_at(tree, place->node[level - 1]), true,
			(unsigned)place->index[level - 1]);
		struct btree_entry pair = entry_get(child->entries);

		if (tree->summed)
			pair.second = entry_second(entry);
		entry_put(entry, pair);
		if (place->index[level - 1] > 0)
			break;
	}
}

/* Merges a node that is less than half full with a neighbour where both fit with some room left;
 * evens the two out when it is nearly empty. Goes up as long as nodes vanish. */
static void rebalance(struct btree *tree, const struct btree_place *place)
{
	for (unsigned level = tree->height - 1; level > 0; level--) {
		const bool inner = is_inner(tree, level);
		const unsigned full = capacity(inner);
		const unsigned count = node_at(tree, place->node[level])->count;
		struct node *parent = node_at(tree, place->node[level - 1]);
		unsigned left = (unsigned)place->index[level - 1];
		unsigned total;

		if (count >= full / 2)
			break;
		assert(parent->count >= 2);
		left -= left > 0;
		total = child_count(tree, parent, left) + child_count(tree, parent, left + 1);
		if (total > full - full / 8) {
			if (count < full / 4)
				recut(tree, parent, left, inner, total / 2);
			if (count == 0 && left == 0)
				carry_first(tree, place, level - 1);
			break;
		}
		recut(tree, parent, left, inner, total);
		if (count == 0 && left == 0)
			carry_first(tree, place, level - 1);
		arena_give(tree->nodes, entry_child(entry_at(parent, true, left + 1)));
		close_gap(parent, true, left + 1);
	}
	while (tree->height > 1 && node_at(tree, tree->root)->count == 1) {
		const uint32_t old_root = tree->root;

		tree->root = entry_child(node_at(tree, old_root)->entries);
		arena_give(tree->nodes, old_root);
		tree->height--;
	}
}

void btree_remove(struct btree *tree, struct btree_place *place)
{
	struct node *leaf = node_at(tree, place->node[tree->height - 1]);
	const unsigned index = (unsigned)place->index[tree->height - 1];
	const uint64_t second = entry_second(entry_at(leaf, false, index));

	close_gap(leaf, false, index);
	tree->count--;
	carry_up(tree, place, second, 0);
	rebalance(tree, place);
}

void btree_exchange(struct btree *tree, const struct btree_entry *removed, unsigned removed_count,
	const struct btree_entry *added, unsigned added_count)
{
	const unsigned count = removed_count + added_count;
	const uint64_t recuts = tree->recuts;
	struct btree_entry keys[BTREE_EXCHANGE_MAX];
	struct btree_place places[BTREE_EXCHANGE_MAX];

	assert(count <= BTREE_EXCHANGE_MAX);
	for (unsigned i = 0; i < count; i++)
		keys[i] = i < removed_count ? removed[i] : added[i - removed_count];
	seek_together(tree, keys, count, places);
	for (unsigned i = 0; i < count; i++) {
		bool stale = tree->recuts != recuts;

		for (unsigned earlier = 0; earlier < i && !stale; earlier++)
			stale = places[earlier].node[tree->height - 1] ==
				places[i].node[tree->height - 1];
		if (stale)
			(void)btree_seek(tree, keys[i], &places[i]);
		if (i < removed_count) {
			const struct btree_entry there = btree_get(tree, &places[i]);

			assert(there.first == keys[i].first && there.second == keys[i].second);
			btree_remove(tree, &places[i]);
		} else {
			btree_insert_after(tree, &places[i], keys[i]);
		}
	}
}
