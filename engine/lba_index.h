/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests by LBA: what the sorting elevators choose from.
 *
 * One index holds several lists (reads and writes, one per stream), each in ascending order of
 * (offset, sequence); request->list says which one a request is in. Keys lie side by side in
 * chunks below one directory, so that a search is two short binary searches without a jump
 * through memory: as fast as a sorted array at 128 entries, and still fast at 65,536, where a
 * single array would have to move half a megabyte for an insertion (a two-level B+ tree; Bayer and
 * McCreight, "Organization and Maintenance of Large Ordered Indices", 1972).
 *
 * Requests in one list never overlap each other unless both read: the conflict index keeps
 * writers out. That is why an elevator may order freely; lba_index_insert asserts it against the
 * neighbours.
 */
#ifndef ENGINE_LBA_INDEX_H
#define ENGINE_LBA_INDEX_H

#include "engine/request.h"

struct lba_index;

/* Room for capacity requests; -ENOMEM. */
int lba_index_new(size_t capacity, struct lba_index **ret_index);
void lba_index_free(struct lba_index *index);
/* Memory that lba_index_new takes. */
size_t lba_index_memory_bytes(size_t capacity);

void lba_index_insert(struct lba_index *index, struct request *request);

/* The request must be in the index, with list, offset and sequence as at its insertion. */
void lba_index_remove(struct lba_index *index, const struct request *request);

/* Puts replacement, which has the same list, offset and sequence, where request is. */
void lba_index_replace(
	struct lba_index *index, const struct request *request, struct request *replacement);

/* The first request of the list that starts at or after the offset, and the last one that
 * starts before it; NULL where there is none. */
void lba_index_around(struct lba_index *index, uint32_t list, uint64_t offset_bytes,
	struct request **ret_before, struct request **ret_after);

/* The first request of the list that starts at or after the offset, or NULL. */
struct request *lba_index_after(struct lba_index *index, uint32_t list, uint64_t offset_bytes);

#endif
