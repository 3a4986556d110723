/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory that requests transfer from and to: one block, huge pages where the kernel gives
 * them (fewer segments: a 1 MiB request is not split), a read and a write area for each slot, so
 * that what was read never becomes the body of what is written. Bodies are incompressible and
 * prepared once.
 */
#ifndef ENGINE_BUFFERS_H
#define ENGINE_BUFFERS_H

#include "engine/base.h"

struct buffers {
	void *memory;
	size_t bytes;      /* of the whole block */
	size_t slot_bytes; /* of one area */
	unsigned slots;
	bool separate; /* reads and writes have areas of their own */
	bool huge;     /* madvise(MADV_HUGEPAGE) was accepted */
};

/* slots areas of slot_bytes (rounded up to a page); reads, writes: which directions will be used.
 * Write areas are filled from seed. -ENOMEM with a sentence that names the size. */
int buffers_open(struct buffers *buffers, unsigned slots, size_t slot_bytes, bool reads,
	bool writes, uint64_t seed, struct error *error);
void buffers_close(struct buffers *buffers);

static inline void *buffers_area(const struct buffers *buffers, unsigned slot, bool write)
{
	size_t area = (size_t)slot + (buffers->separate && write ? buffers->slots : 0);

	return (char *)buffers->memory + area * buffers->slot_bytes;
}

#endif
