/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace file byte by byte, for engine/trace.c and engine/trace_reader.c alone. All numbers are
 * little endian.
 *
 *   file header   0 magic 8, 8 version u32, 12 bytes a record u32, 16 bytes of the text u64,
 *                 then the text
 *   blocks        0 tag 4, 4 count u32, 8 bytes that follow u64, then these
 *     CELL        count = number of the cell, from 1; the text
 *     RECS        count = records; 64 bytes each, as trace_writer_add() puts them
 *     ENDC        count = number of the cell; 0 records of the cell u64, 8 their XXH3 u64
 *
 * The magic is made like PNG's: a byte that is not ASCII, both kinds of line end and the end of
 * file of MS-DOS, so that a transfer that changes text is seen at once.
 */
#ifndef ENGINE_TRACE_FORMAT_H
#define ENGINE_TRACE_FORMAT_H

#include "engine/trace.h"

#define TRACE_MAGIC                                                                                \
	"\x89"                                                                                     \
	"BPT\r\n\x1a\n"
#define TRACE_MAGIC_BYTES 8
#define TRACE_VERSION 1
#define TRACE_HEADER_BYTES 24
#define TRACE_BLOCK_BYTES 16
#define TRACE_TAG_BYTES 4
#define TRACE_END_BYTES 16 /* of ENDC, after the header of the block */

static inline uint32_t trace_get_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t trace_get_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/* The header of a block; tag has 4 letters. */
static inline void trace_put_block(uint8_t *bytes, const char *tag, uint32_t count, uint64_t length)
{
	memcpy(bytes, tag, TRACE_TAG_BYTES);
	trace_put_u32(bytes + 4, count);
	trace_put_u64(bytes + 8, length);
}

#endif
