/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a queue at the drive brought, split into order and overlap.
 *
 * A drive with d requests at hand gains in two ways. It may serve them in a better order. And it
 * overlaps: it need not wait for the host between two requests, it seeks for one while it transfers
 * another, and a run of contiguous requests goes on without losing a revolution. Throughputs of one
 * and the same set of requests stand in a table of two by two:
 *
 *                        one at a time         d at the drive
 *   submission order     submission_single     kept_deep
 *   the drive's order    drive_single          submission_deep
 *
 * submission_deep is the run itself, sent in the order of submission, d at the drive: what was
 * served is the drive's order, so it stands in that row. drive_single is the replay in the order of
 * completion at depth 1: the same requests, order alone. kept_deep is what a drive that serves
 * first come first served would do at depth d. A drive that reorders never shows it, so it is
 * unknown, unless it is measured by other means (ordered tags, a drive or a simulated drive that
 * keeps the order), or the run itself overtook nobody: then submission_deep is it.
 *
 * Gains are ratios of throughputs and multiply:
 *
 *   total    = submission_deep / submission_single    what depth d brought
 *   order    = drive_single / submission_single       order alone, with nothing overlapping
 *   overlap  = kept_deep / submission_single          overlap alone, with nothing reordered
 *   together = total / (order x overlap)              the interaction: above 1, what came only
 *                                                     because both were there; below 1, each
 *                                                     took from what the other could give
 *   rest     = total / order                          = overlap x together: what overlap added
 *                                                     once the order was the drive's
 *
 * With three throughputs order and rest are known, overlap and together are not: no arithmetic
 * parts them. They are then told as the range 1 .. rest, which holds both if neither is a loss.
 *
 * A run that overtook nobody was served in the order of submission, so order is 1 by identity, not
 * by measurement; overlap = total, together = 1. Its replay is submission_single measured again and
 * tells how well that repeats (`control`, 1 but for noise).
 *
 * All this holds for a device with one arm. Where several requests are served at once (memory,
 * flash, RAID, several actuators) the sums are the same but mean nothing of the kind: a later
 * request done earlier was not chosen before another, it was done beside it, and what depth brings
 * is parallelism, not reordering.
 */
#ifndef TOOLS_REORDER_GAINS_H
#define TOOLS_REORDER_GAINS_H

#include <stdio.h>

#include "devices/device.h"
#include "engine/base.h"

struct json_object;

/* Throughputs of one repeat, in any unit that is the same in all; 0: not measured. */
struct reorder_throughput {
	double submission_single, submission_deep;
	double drive_single, kept_deep;
};

struct reorder_gain {
	double value;     /* NaN: unknown */
	double low, high; /* 95 % interval; NaN where there is none */
};

enum reorder_arms { ARMS_UNKNOWN, ARMS_ONE, ARMS_MANY };

struct reorder_gains {
	size_t repeats;
	struct reorder_throughput mean; /* over the repeats, geometric */
	bool order_kept;
	struct reorder_gain total, order, rest, overlap, together, control;
};

/*
 * Repeats are pairs (the same seed in every throughput of one), so gains are taken within each and
 * averaged as logarithms; from five repeats on with Student's interval of their mean. order_kept:
 * the run overtook nobody, in any repeat. A gain is unknown where one of its throughputs is missing
 * in any repeat.
 */
void reorder_gains_compute(const struct reorder_throughput *repeats, size_t count, bool order_kept,
	struct reorder_gains *ret_gains);

/* Whether one arm serves the device's requests. Rotational and directly attached: one, although a
 * drive with several actuators does not show here. Rotational behind something else: unknown. */
enum reorder_arms reorder_gains_arms(const struct device *device);

/* The table, the gains and, in words, what they mean. scale and unit turn throughputs into what is
 * shown ("MB/s" with 1e-6 for bytes per second). */
void reorder_gains_print(const struct reorder_gains *gains, unsigned depth, enum reorder_arms arms,
	double scale, const char *unit, FILE *stream);
/* {"meaning", "repeats", "throughput": {...}, "total": {"value", "low", "high"}, ...}; unknown is
 * null. Throughputs as given, under the unit's name: "throughput_bytes_per_s". */
struct json_object *reorder_gains_json(
	const struct reorder_gains *gains, enum reorder_arms arms, const char *throughput_key);

#endif
