/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run over time: one row per window of equal length, the empty ones included, so that a stall
 * is seen as rows with count 0 and not as a gap. A window is named by its start and end (from the
 * run's start); a request belongs to the window in which it completed. Percentiles of an empty
 * window are absent, not 0 (count tells).
 */
#ifndef ENGINE_SERIES_H
#define ENGINE_SERIES_H

#include "engine/histogram.h"

struct series_row {
	nsec_t start_ns, end_ns; /* since the run's start; end is exclusive */
	uint64_t reads, writes;
	uint64_t read_bytes, write_bytes;
	nsec_t drive_p50_ns, drive_p99_ns, drive_max_ns; /* -1 when empty or not kept */
};

struct series {
	nsec_t origin_ns;
	nsec_t window_ns;
	struct series_row *rows; /* closed windows */
	size_t count, capacity;
	struct series_row open;
	bool times; /* keep a histogram per window; else counts only */
	struct histogram drive;
	bool truncated; /* memory for further rows could not be had */
};

/* times: whether windows have percentiles (a few ns more per request). -ENOMEM. */
int series_init(struct series *series, nsec_t window_ns, bool times);
void series_done(struct series *series);

/* Empties the series; the run begins at now_ns. */
void series_start(struct series *series, nsec_t now_ns);

/* Closes every window that ends at or before now_ns. */
void series_advance(struct series *series, nsec_t now_ns);

static inline void series_add(
	struct series *series, nsec_t completed_ns, nsec_t drive_ns, uint32_t bytes, bool write)
{
	if (completed_ns - series->origin_ns >= series->open.end_ns)
		series_advance(series, completed_ns);
	if (series->times)
		histogram_add(&series->drive, drive_ns);
	if (write) {
		series->open.writes++;
		series->open.write_bytes += bytes;
	} else {
		series->open.reads++;
		series->open.read_bytes += bytes;
	}
}

/* Closes the window that now_ns lies in as well; its end is now. */
void series_finish(struct series *series, nsec_t now_ns);

#endif
