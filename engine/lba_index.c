/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A directory of chunks in ascending order. `least` is a lower bound of a chunk's keys and above
 * every key of the chunk before it, so a removal never touches the directory unless its chunk runs
 * empty. Two neighbours that together fill less than half a chunk are joined; hence any two
 * neighbours fill more than that, and 4 x capacity / CHUNK chunks are enough.
 */
#include "engine/lba_index.h"

#include <stdlib.h>
#include <string.h>

/* Keys in a chunk: with 128 requests an insertion moves a few hundred bytes, and with 65,536 a
 * split, which moves the directory, is rare (tests/bench/bench_host_queue measures both). */
#define CHUNK 32

/* (list, offset, low half of the sequence): equal offsets go by age. */
typedef unsigned __int128 lba_key;

struct chunk {
	lba_key keys[CHUNK];
	struct request *requests[CHUNK];
	uint32_t count;
	uint32_t next_free;
};

struct lba_index {
	lba_key *least;  /* the directory, in ascending order */
	uint32_t *order; /* its chunks */
	size_t length;   /* at least one chunk, which may be empty only when alone */
	struct chunk *chunks;
	uint32_t free;
	size_t chunk_count;
	size_t found_at; /* what lba_index_around found last: it is often taken out next */
	size_t found_place;
};

static lba_key key_of(uint32_t list, uint64_t offset_bytes, uint32_t sequence)
{
	return (lba_key)list << 96 | (lba_key)offset_bytes << 32 | sequence;
}

static lba_key request_key(const struct request *request)
{
	return key_of(request->list, request->offset_bytes, (uint32_t)request->sequence);
}

static uint32_t key_list(lba_key key)
{
	return (uint32_t)(key >> 96);
}

static size_t chunks_needed(size_t capacity)
{
	return 4 * capacity / CHUNK + 3;
}

size_t lba_index_memory_bytes(size_t capacity)
{
	return sizeof(struct lba_index) +
	       chunks_needed(capacity) *
		       (sizeof(struct chunk) + sizeof(lba_key) + sizeof(uint32_t));
}

int lba_index_new(size_t capacity, struct lba_index **ret_index)
{
	struct lba_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->chunk_count = chunks_needed(capacity);
	index->least = calloc(index->chunk_count, sizeof(*index->least));
	index->order = calloc(index->chunk_count, sizeof(*index->order));
	index->chunks = calloc(index->chunk_count, sizeof(*index->chunks));
	if (!index->least || !index->order || !index->chunks) {
		lba_index_free(index);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < index->chunk_count; i++)
		index->chunks[i].next_free = i + 1;
	index->free = 1;
	index->length = 1;
	*ret_index = index;
	return 0;
}

void lba_index_free(struct lba_index *index)
{
	if (!index)
		return;
	free(index->least);
	free(index->order);
	free(index->chunks);
	free(index);
}

/* How many of the ascending keys are below key: halves until few are left, which are compared side
 * by side. Sums and products instead of choices, for a branch on random keys is mispredicted half
 * the time. */
static size_t count_below(const lba_key *keys, size_t count, lba_key key)
{
	size_t begin = 0, below = 0;

	while (count > 4) {
		const size_t half = count / 2;

		begin += half * (keys[begin + half - 1] < key);
		count -= half;
	}
	for (size_t i = 0; i < count; i++)
		below += keys[begin + i] < key;
	return begin + below;
}

/* The place in the directory of the chunk that holds key or would hold it. */
static size_t find_chunk(const struct lba_index *index, lba_key key)
{
	/* The first bound is below every key. */
	return count_below(index->least + 1, index->length - 1, key + 1);
}

static struct chunk *chunk_at(const struct lba_index *index, size_t at)
{
	return &index->chunks[index->order[at]];
}

/* Moves the upper half of a full chunk into a new one behind it. */
static void split(struct lba_index *index, size_t at)
{
	struct chunk *chunk = chunk_at(index, at), *upper;
	uint32_t fresh = index->free;
	size_t behind = index->length - at - 1;

	assert(fresh < index->chunk_count);
	upper = &index->chunks[fresh];
	index->free = upper->next_free;
	upper->count = CHUNK / 2;
	chunk->count = CHUNK - CHUNK / 2;
	memcpy(upper->keys, &chunk->keys[chunk->count], upper->count * sizeof(upper->keys[0]));
	memcpy(upper->requests, &chunk->requests[chunk->count],
		upper->count * sizeof(upper->requests[0]));
	memmove(&index->least[at + 2], &index->least[at + 1], behind * sizeof(index->least[0]));
	memmove(&index->order[at + 2], &index->order[at + 1], behind * sizeof(index->order[0]));
	index->least[at + 1] = upper->keys[0];
	index->order[at + 1] = fresh;
	index->length++;
}

/* Whether the chunk at `at` and the one behind it should be one. */
static bool may_join(const struct lba_index *index, size_t at)
{
	const uint32_t lower = chunk_at(index, at)->count, upper = chunk_at(index, at + 1)->count;

	return !lower || !upper || lower + upper <= CHUNK / 2;
}

/* Moves the chunk behind `at` into it. */
static void join(struct lba_index *index, size_t at)
{
	struct chunk *chunk = chunk_at(index, at), *upper = chunk_at(index, at + 1);
	size_t behind = index->length - at - 2;

	memcpy(&chunk->keys[chunk->count], upper->keys, upper->count * sizeof(upper->keys[0]));
	memcpy(&chunk->requests[chunk->count], upper->requests,
		upper->count * sizeof(upper->requests[0]));
	chunk->count += upper->count;
	upper->next_free = index->free;
	index->free = index->order[at + 1];
	memmove(&index->least[at + 1], &index->least[at + 2], behind * sizeof(index->least[0]));
	memmove(&index->order[at + 1], &index->order[at + 2], behind * sizeof(index->order[0]));
	index->length--;
}

/* Whether the two, the upper one not starting first, may be queued together. */
static bool may_meet(const struct request *lower, const struct request *upper)
{
	return request_end(lower) <= upper->offset_bytes ||
	       (lower->op != REQUEST_WRITE && upper->op != REQUEST_WRITE);
}

void lba_index_insert(struct lba_index *index, struct request *request)
{
	const lba_key key = request_key(request);
	size_t at = find_chunk(index, key), place, above;
	struct chunk *chunk = chunk_at(index, at);

	if (chunk->count == CHUNK) {
		split(index, at);
		at += key >= index->least[at + 1];
		chunk = chunk_at(index, at);
	}
	place = count_below(chunk->keys, chunk->count, key);
	above = chunk->count - place;
	assert(!above || chunk->keys[place] != key);
	assert(!place || key_list(chunk->keys[place - 1]) != request->list ||
		may_meet(chunk->requests[place - 1], request));
	assert(!above || key_list(chunk->keys[place]) != request->list ||
		may_meet(request, chunk->requests[place]));
	memmove(&chunk->keys[place + 1], &chunk->keys[place], above * sizeof(chunk->keys[0]));
	memmove(&chunk->requests[place + 1], &chunk->requests[place],
		above * sizeof(chunk->requests[0]));
	chunk->keys[place] = key;
	chunk->requests[place] = request;
	chunk->count++;
}

/* Where the request is. */
static struct chunk *find(const struct lba_index *index, const struct request *request,
	size_t *ret_at, size_t *ret_place)
{
	const lba_key key = request_key(request);
	struct chunk *chunk;

	*ret_at = index->found_at;
	*ret_place = index->found_place;
	if (*ret_at < index->length) {
		chunk = chunk_at(index, *ret_at);
		if (*ret_place < chunk->count && chunk->requests[*ret_place] == request)
			return chunk;
	}
	*ret_at = find_chunk(index, key);
	chunk = chunk_at(index, *ret_at);
	*ret_place = count_below(chunk->keys, chunk->count, key);
	assert(*ret_place < chunk->count && chunk->requests[*ret_place] == request);
	return chunk;
}

void lba_index_remove(struct lba_index *index, const struct request *request)
{
	size_t at, place, above;
	struct chunk *chunk = find(index, request, &at, &place);

	chunk->count--;
	above = chunk->count - place;
	memmove(&chunk->keys[place], &chunk->keys[place + 1], above * sizeof(chunk->keys[0]));
	memmove(&chunk->requests[place], &chunk->requests[place + 1],
		above * sizeof(chunk->requests[0]));
	if (chunk->count > CHUNK / 2)
		return;
	if (at + 1 < index->length && may_join(index, at))
		join(index, at);
	else if (at && may_join(index, at - 1))
		join(index, at - 1);
}

void lba_index_replace(
	struct lba_index *index, const struct request *request, struct request *replacement)
{
	size_t at, place;
	struct chunk *chunk = find(index, request, &at, &place);

	assert(request_key(request) == request_key(replacement));
	chunk->requests[place] = replacement;
}

void lba_index_around(struct lba_index *index, uint32_t list, uint64_t offset_bytes,
	struct request **ret_before, struct request **ret_after)
{
	const lba_key key = key_of(list, offset_bytes, 0);
	const size_t at = find_chunk(index, key);
	const struct chunk *chunk = chunk_at(index, at), *before = chunk, *after = chunk;
	const size_t place = count_below(chunk->keys, chunk->count, key);
	size_t below = place, above = place;

	if (above == after->count && at + 1 < index->length) {
		after = chunk_at(index, at + 1);
		above = 0;
	}
	if (!below && at) {
		before = chunk_at(index, at - 1);
		below = before->count;
	}
	index->found_at = at + (after != chunk);
	index->found_place = above;
	*ret_after = above < after->count && key_list(after->keys[above]) == list
			     ? after->requests[above]
			     : NULL;
	*ret_before = below && key_list(before->keys[below - 1]) == list
			      ? before->requests[below - 1]
			      : NULL;
}

struct request *lba_index_after(struct lba_index *index, uint32_t list, uint64_t offset_bytes)
{
	struct request *before, *after;

	lba_index_around(index, list, offset_bytes, &before, &after);
	return after;
}
