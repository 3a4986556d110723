/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stamps: 16 bytes at the start of every 512-byte sector that say what was written there, so that
 * lost, torn, misplaced and stale sectors can be told apart when it is read back.
 *
 *   bytes 0-5   LBA in 512-byte units (48 bits)      bytes 12-13  generation of the file
 *   bytes 6-7   run (low 16 bits of the run's id)     bytes 14-15  check over the other 14
 *   bytes 8-11  file (0: a pattern)                   all little endian
 *
 * The shadow is the judge's memory: for each block the last write that was sent to it. It is
 * filled when a write is dispatched; since overlapping requests never meet at the drive, what a
 * completed read must show is what the shadow says at that instant.
 */
#ifndef ENGINE_STAMP_H
#define ENGINE_STAMP_H

#include "engine/request.h"

#define STAMP_SECTOR_BYTES 512u

struct stamp {
	uint64_t lba;
	uint16_t run;
	uint32_t file;
	uint16_t generation;
};

/* Stamps every sector of a buffer that goes to offset_bytes. Tens of ns for 4 KiB. */
void stamp_fill(void *buffer, uint32_t length_bytes, uint64_t offset_bytes, uint16_t run,
	uint32_t file, uint16_t generation);

/* Reads one sector's stamp; false when its check does not hold. */
bool stamp_read(const void *sector, struct stamp *ret_stamp);

enum stamp_fault {
	STAMP_GOOD,
	STAMP_LOST,      /* no valid stamp of this run: the write never arrived */
	STAMP_STALE,     /* a valid, older state of the same place */
	STAMP_MISPLACED, /* a valid stamp that belongs to another LBA */
	STAMP_TORN,      /* a block of which some sectors are as expected and others are not */
	STAMP_FAULTS
};
const char *stamp_fault_name(enum stamp_fault fault);

struct shadow;

/* block_bytes: granule of the record (a multiple of 512). Memory grows with what is touched. */
int shadow_new(uint32_t block_bytes, struct shadow **ret_shadow);
void shadow_free(struct shadow *shadow);

/* A write was dispatched: remembers file and generation for its blocks. */
void shadow_write(struct shadow *shadow, const struct request *request);
/* A write failed: what is there is unknown until it is written again. */
void shadow_forget(struct shadow *shadow, const struct request *request);

struct stamp_report {
	uint64_t sectors_checked;
	uint64_t faults[STAMP_FAULTS]; /* sectors by fault; for torn, the sectors not as expected */
	uint64_t first_lba;            /* of the first fault */
	enum stamp_fault first_fault;
};

/* Judges the buffer of a completed read of this run against the shadow, adds to report. Blocks
 * that the shadow does not know are not checked. Returns true when all was good. */
bool shadow_verify(const struct shadow *shadow, const struct request *request, const void *buffer,
	uint16_t run, struct stamp_report *report);

#endif
