/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a trace of one cell says about the order in which the drive served it.
 *
 * Counting. The unit is the merged request: what the drive got as one. Flushes, and what never
 * reached the drive or never came back, are left out. "Dispatched before" is the dispatch number;
 * "completed before" is the instant, and equal instants are one reap, a tie, whose pairs count
 * half. A request is overtaken when some request dispatched later completed earlier.
 *
 * When order is told. Only where completion means the medium: with the write cache off (wce0), with
 * FUA, without a volatile cache, in memory; otherwise (plain, write+flush) for reads that missed
 * the cache, if hits can be told from misses. A write that a write-back cache accepted completes
 * before its place on the medium is even chosen, so under write-back the figures of order are
 * unknown: the order of destaging cannot be seen. Reads at the drive for less than hit_below_ns
 * (a tenth of a revolution) are cache hits and left out of order; where it is 0, hits cannot be
 * told. Requests left out neither overtake nor are overtaken. A figure that is unknown is NaN, or
 * has known = false.
 *
 * LBA distance. |start of next - end of previous| in sectors of 512 bytes over one set of requests
 * in three orders: as queued (a merged request at the place of its first child), dispatched,
 * completed (of one reap, as dispatched). The set is what counts for order where writes do too;
 * elsewhere it is every transfer and the completed order is unknown. It is no seek: drives remap,
 * zones differ in length and a cache hit moves no arm. mean_log2 is the mean of log2(1 + distance),
 * so that short hops show beside a few long ones.
 *
 * On a device that is not one arm completion order tells which request was done first, not which
 * was chosen: see reorder_gains_arms().
 */
#ifndef TOOLS_REORDERING_H
#define TOOLS_REORDERING_H

#include "engine/histogram.h"
#include "engine/trace.h"

enum reordering_scope {
	REORDERING_BLANK, /* completion does not mean the medium */
	REORDERING_READS, /* it does for reads that missed the cache */
	REORDERING_ALL,
};

/* By the commands sent (cell key cache_commands). What is not known is blank. */
enum reordering_scope reordering_scope_of(const char *cache_commands, nsec_t hit_below_ns);

/* A tenth of a revolution; 0 when the speed is not known. */
nsec_t reordering_hit_below(unsigned revolutions_per_min);

struct reordering_config {
	enum reordering_scope scope;
	unsigned depth;      /* of the cell; 0: the largest number seen at the drive */
	nsec_t hit_below_ns; /* 0: hits cannot be told from misses */
	size_t starved_max;  /* length of the list */
};

enum reordering_order {
	REORDERING_QUEUED,
	REORDERING_DISPATCHED,
	REORDERING_COMPLETED,
	REORDERING_ORDERS
};

struct reordering_distance {
	bool known;
	double mean_sectors, mean_log2;
	uint64_t median_sectors, total_sectors;
};

/* A request that waited longer than 1 s or 50 times the median, from queued to completed (of a
 * merged request: since its first child was queued). */
struct reordering_starved {
	uint64_t lba; /* in sectors of 512 bytes */
	uint32_t length_bytes;
	uint32_t sequence, dispatch;
	uint8_t op, role;
	bool failed;
	nsec_t wait_ns, host_ns, drive_ns;
	double overtaken_by; /* NaN when it does not count for order */
};

struct reordering {
	enum reordering_scope scope;
	unsigned depth;
	uint64_t requests_queued;     /* transfers at Q that completed */
	uint64_t requests_dispatched; /* merged requests that they became */
	double merge_ratio;           /* queued / dispatched */
	uint64_t flushes, unfinished, failed, cache_hits;
	uint64_t read_bytes, write_bytes;
	nsec_t elapsed_ns; /* last completion - first dispatch, of transfers */

	uint64_t counted;       /* merged requests that count for order */
	double overtaken_share; /* a request that was only tied counts half */
	double tied_share;      /* completed in one reap with another: how fine the figures are */
	bool order_kept;        /* known, and nobody was overtaken outside of a tie */
	double overtakes_mean, overtakes_p99, overtakes_max; /* per request */
	double kendall; /* in windows of depth requests: see tools/overtakes.h */
	uint64_t kendall_windows;

	struct reordering_distance distance[REORDERING_ORDERS];
	struct histogram host;  /* Q to D, of requests at Q: each child waited for itself */
	struct histogram drive; /* D to C, of merged requests */

	nsec_t wait_median_ns, starved_above_ns;
	uint64_t starved_count;
	struct reordering_starved *starved; /* longest first */
	size_t starved_listed;
};

/* Analyses the records of one cell, in any order, in O(n log n). -EBADMSG for a damaged trace,
 * -ENOMEM; else free with reordering_done. */
int reordering_measure(const struct trace_record *records, size_t count,
	const struct reordering_config *config, struct reordering *ret_reordering,
	struct error *error);
void reordering_done(struct reordering *reordering);

#endif
