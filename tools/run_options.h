/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The options of `run` and `plan`: one table for both, so that what is planned is what is run.
 */
#ifndef TOOLS_RUN_OPTIONS_H
#define TOOLS_RUN_OPTIONS_H

#include "engine/pattern.h"
#include "engine/scheduler.h"
#include "fsmodel/layout.h"
#include "tools/options.h"
#include "tools/pool_options.h"

/* What --cache asks for. */
enum cache_choice { CACHE_AS_IS, CACHE_WB, CACHE_WT, CACHE_BOTH };
enum engine_choice { ENGINE_AUTO, ENGINE_IO_URING, ENGINE_LIBAIO, ENGINE_SYNC, ENGINE_NULL };
enum data_choice { DATA_STAMP, DATA_NONE };
enum submit_choice { SUBMIT_CHOICE_AUTO, SUBMIT_CHOICE_BATCH, SUBMIT_CHOICE_SINGLE };
enum tail_choice { TAIL_REGENERATE, TAIL_READ };
enum merge_choice { MERGE_OFF, MERGE_ON };
enum full_choice { FULL_REFUSE, FULL_COUNT };
enum preset_choice { PRESET_NONE, PRESET_DRIVE };
enum output_format { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_CSV };
#define PATTERN_NONE 0 /* choices of --pattern: 0 none, then enum pattern_kind + 1 */

struct run_options {
	struct pool_options pool;
	uint64_t postmark_run;
	struct option_choices layout;
	const char *request_size;
	uint64_t max_request_bytes;
	unsigned tail;
	const char *scale;
	uint64_t offset_bytes, size_bytes;
	double span;
	bool packed;
	unsigned when_full;

	unsigned pattern, preset;
	uint64_t block_bytes, read_percent, count;
	nsec_t time_ns;

	struct units_list depth;
	uint64_t window, plans;
	struct option_choices cache;
	unsigned engine, submit, order, reads;
	const char *elevator, *elevator_option;
	struct option_choices merge;
	const char *dispatch, *trace, *state_dir;
	uint64_t drive_depth, streams;
	uint64_t repeat;
	nsec_t operation_time_ns;

	const char *write;
	bool discard_contents;
	unsigned data;
	bool verify, recreate;

	const char *series;
	nsec_t interval_ns, watchdog_ns;
	unsigned output_format;
	const char *output;
	bool quiet;
};

extern const struct option_spec run_option_specs[];
void run_options_default(struct run_options *options);

/* Fills in the defaults that depend on other options (the depths of a preset). */
void run_options_complete(struct run_options *options);

/* Names in the order of the enums, for messages and results. */
extern const char *const cache_choice_names[];
extern const char *const engine_choice_names[];
extern const char *const reads_choice_names[];
extern const char *const order_choice_names[];

#endif
