/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What anticipatory and cfq remember of a stream: the mean time between a read's completion and the
 * next read (think time), and the mean distance from the end of a read to the next one.
 *
 * Both are decaying means as in Linux 2.6 (block/as-iosched.c, block/cfq-iosched.c): a new sample
 * weighs 1/8, the count of samples decays alike, so that the quotient is a mean from the first
 * sample on. Fixed point, 256 = 1. The idea to learn them per process: Iyer and Druschel,
 * "Anticipatory scheduling", SOSP 2001, section 3.
 */
#ifndef ENGINE_ELEVATOR_HISTORY_H
#define ENGINE_ELEVATOR_HISTORY_H

#include "engine/request.h"

#define HISTORY_SECTOR_BYTES 512

struct elevator_history {
	uint64_t think_samples, think_total_ns, think_mean_ns;
	uint64_t seek_samples, seek_total_sectors, seek_mean_sectors;
	uint64_t position;  /* the end of the last read */
	nsec_t last_end_ns; /* a read's last completion */
};

static inline uint64_t history_decay(uint64_t old, uint64_t sample)
{
	return (7 * old + 256 * sample) / 8;
}

static inline void history_think(struct elevator_history *history, nsec_t think_ns)
{
	history->think_samples = history_decay(history->think_samples, 1);
	history->think_total_ns = history_decay(history->think_total_ns, (uint64_t)think_ns);
	history->think_mean_ns = (history->think_total_ns + 128) / history->think_samples;
}

static inline uint64_t history_distance_sectors(uint64_t from, uint64_t to)
{
	return (from < to ? to - from : from - to) / HISTORY_SECTOR_BYTES;
}

/* A stray request far away must not spoil the mean: what one sample may add is bounded, more
 * widely for the first ones. */
static inline void history_seek(struct elevator_history *history, const struct request *read)
{
	const uint64_t early = history->seek_samples <= 60; /* as_update_seekdist() */
	const uint64_t slack =
		early ? 2 * 1024 * 1024 : 2 * 1024 * 64; /* sectors, the same place */
	const uint64_t sectors =
		min_u64(history_distance_sectors(history->position, read->offset_bytes),
			4 * history->seek_mean_sectors + slack);

	history->seek_samples = history_decay(history->seek_samples, 1);
	history->seek_total_sectors = history_decay(history->seek_total_sectors, sectors);
	history->seek_mean_sectors =
		(history->seek_total_sectors + history->seek_samples / 2) / history->seek_samples;
}

#endif
