/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a summed B+tree answers beside search, and the tests' verifier; see btree.h. */
#include "fsmodel/btree_node.h"

uint64_t btree_largest(const struct btree *tree)
{
	assert(tree->summed);
	return summarise(tree, node_at(tree, tree->root), tree->height > 1, 0).pair.second;
}

/* From an entry of place at this level down to the first entry that is large enough, looking at
 * index `from` and later ones. False: there is none in this node. */
static bool descend_fit(const struct btree *tree, struct btree_place *place, unsigned level,
	unsigned from, uint64_t second)
{
	for (;; level++, from = 0) {
		const struct node *node = node_at(tree, place->node[level]);
		const bool inner = is_inner(tree, level);
		const unsigned char *entry = entry_at(node, inner, from);

		for (; from < node->count; from++, entry += entry_bytes(inner))
			if (entry_second(entry) >= second)
				break;
		if (from == node->count)
			return false;
		place->index[level] = (int)from;
		if (!inner)
			return true;
		place->node[level + 1] = entry_child(entry);
	}
}

bool btree_next_fit(const struct btree *tree, struct btree_place *place, uint64_t second)
{
	assert(tree->summed);
	for (unsigned level = tree->height; level-- > 0;)
		if (descend_fit(tree, place, level, (unsigned)(place->index[level] + 1), second))
			return true;
	return false;
}

bool btree_first_fit(const struct btree *tree, struct btree_place *ret_place, uint64_t second)
{
	assert(tree->summed);
	ret_place->node[0] = tree->root;
	return descend_fit(tree, ret_place, 0, 0, second);
}

uint64_t btree_sum_before(const struct btree *tree, const struct btree_place *place)
{
	uint64_t sum = 0;

	assert(tree->summed);
	for (unsigned level = 0; level < tree->height; level++) {
		const struct node *node = node_at(tree, place->node[level]);
		const bool inner = is_inner(tree, level);

		for (int i = 0; i < place->index[level]; i++) {
			const unsigned char *entry = entry_at(node, inner, (unsigned)i);

			sum += inner ? entry_sum(entry) : entry_second(entry);
		}
	}
	return sum;
}

struct btree_entry btree_select(const struct btree *tree, uint64_t *sum)
{
	const struct node *node = node_at(tree, tree->root);

	assert(tree->summed);
	for (unsigned level = 0;; level++) {
		const bool inner = is_inner(tree, level);
		const unsigned char *entry = node->entries;

		for (unsigned i = 0;; i++, entry += entry_bytes(inner)) {
			const uint64_t step = inner ? entry_sum(entry) : entry_second(entry);

			assert(i < node->count);
			if (*sum < step)
				break;
			*sum -= step;
		}
		if (!inner)
			return entry_get(entry);
		node = node_at(tree, entry_child(entry));
	}
}

static bool pair_below(struct btree_entry a, struct btree_entry b)
{
	return a.first < b.first || (a.first == b.first && a.second < b.second);
}

/* Recursion is bounded by BTREE_LEVELS. Returns the nodes below and at number. */
static uint32_t verify_node(
	const struct btree *tree, uint32_t number, unsigned level, uint64_t *entries)
{
	const struct node *node = node_at(tree, number);
	const bool inner = is_inner(tree, level);
	uint32_t nodes = 1;

	assert(node->count <= capacity(inner) && (level == 0 || node->count >= 1u + inner));
	for (unsigned i = 1; i < node->count; i++) {
		const struct btree_entry a = entry_get(entry_at(node, inner, i - 1));
		const struct btree_entry b = entry_get(entry_at(node, inner, i));

		assert(tree->summed ? a.first < b.first : pair_below(a, b));
	}
	if (!inner) {
		*entries += node->count;
		return nodes;
	}
	for (unsigned i = 0; i < node->count; i++) {
		const unsigned char *entry = entry_at(node, true, i);
		const struct node *child = node_at(tree, entry_child(entry));
		const bool child_inner = is_inner(tree, level + 1);
		const struct summary truth = summarise(tree, child, child_inner, 0);
		struct btree_entry last;

		nodes += verify_node(tree, entry_child(entry), level + 1, entries);
		assert(entry_first(entry) == truth.pair.first);
		assert(entry_second(entry) == truth.pair.second);
		assert(entry_sum(entry) == truth.sum);
		last = entry_get(entry_at(child, child_inner, child->count - 1u));
		if (i + 1u < node->count)
			assert(last.first <= entry_first(entry_at(node, true, i + 1u)));
	}
	return nodes;
}

uint32_t btree_verify(const struct btree *tree)
{
	uint64_t entries = 0;
	const uint32_t nodes = verify_node(tree, tree->root, 0, &entries);

	assert(entries == tree->count);
	return nodes;
}
