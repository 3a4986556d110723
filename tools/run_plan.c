/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nothing is written in the first and last MiB: a partition parser looks there. */
#define MARGIN_BYTES MIB
#define LAYOUT_BLOCK_BYTES 4096u
#define DEFAULT_SEED 42 /* PostMark's default, for patterns too */
#define PATTERN_TIME_NS (10 * NSEC_PER_SEC)
/* 35 cells of 16 s and their flushes are about ten minutes. */
#define PRESET_TIME_NS (16 * NSEC_PER_SEC)

static const struct {
	enum pattern_kind kind;
	double read_share;
} preset_patterns[] = {
	{ PATTERN_RANDREAD, 1 },
	{ PATTERN_RANDWRITE, 0 },
	{ PATTERN_RANDRW, 0.7 },
};

static bool options_are_pattern(const struct run_options *options)
{
	return options->pattern != PATTERN_NONE || options->preset == PRESET_DRIVE ||
	       run_plan_replay_of(options);
}

const char *run_plan_replay_of(const struct run_options *options)
{
	static const char word[] = "replay-order=";

	if (options->dispatch && strncmp(options->dispatch, word, strlen(word)) == 0)
		return options->dispatch + strlen(word);
	return NULL;
}

bool run_plan_wants_write(const struct run_options *options)
{
	if (options->preset == PRESET_DRIVE)
		return options->write != NULL;
	if (run_plan_replay_of(options))
		return true;
	if (options->pattern != PATTERN_NONE)
		return pattern_writes((enum pattern_kind)(options->pattern - 1));
	return true;
}

static void check_area(struct run_plan *plan, struct faults *faults)
{
	const struct run_options *options = plan->options;
	const struct target *target = &plan->claim->target;
	uint64_t end, limit;

	if (target->size_bytes < 4 * MARGIN_BYTES) {
		faults_add(faults, "%s has %llu bytes: at least 4 MiB are needed", target->name,
			(unsigned long long)target->size_bytes);
		return;
	}
	limit = target->size_bytes - MARGIN_BYTES;
	plan->area_offset_bytes = options->offset_bytes ? options->offset_bytes : MARGIN_BYTES;
	if (plan->area_offset_bytes < MARGIN_BYTES)
		faults_add(faults, "--offset %llu lies in the first MiB, which is never touched",
			(unsigned long long)options->offset_bytes);
	if (plan->area_offset_bytes % LAYOUT_BLOCK_BYTES ||
		options->size_bytes % LAYOUT_BLOCK_BYTES)
		faults_add(faults, "--offset and --size must be multiples of %u bytes",
			LAYOUT_BLOCK_BYTES);
	if (plan->area_offset_bytes >= limit) {
		faults_add(faults, "--offset %llu lies beyond the usable end of %s at %llu bytes",
			(unsigned long long)plan->area_offset_bytes, target->name,
			(unsigned long long)limit);
		return;
	}
	plan->area_bytes = limit - plan->area_offset_bytes;
	end = plan->area_offset_bytes + options->size_bytes;
	if (options->size_bytes && (end < options->size_bytes || end > limit))
		faults_add(faults,
			"--size %llu from offset %llu ends beyond the usable end of %s "
			"at %llu bytes (the last MiB is never touched)",
			(unsigned long long)options->size_bytes,
			(unsigned long long)plan->area_offset_bytes, target->name,
			(unsigned long long)limit);
	else if (options->size_bytes)
		plan->area_bytes = options->size_bytes;
}

static void check_queue(struct run_plan *plan, struct faults *faults)
{
	const struct run_options *options = plan->options;
	const struct backend_ops *engine = backend_find(engine_choice_names[options->engine]);

	for (size_t i = 0; i < options->depth.count; i++)
		plan->depth_max = options->depth.values[i] > plan->depth_max
					  ? options->depth.values[i]
					  : plan->depth_max;
	if (options->window < plan->depth_max)
		faults_add(faults,
			"--window %llu is smaller than --depth %u: the window holds "
			"those at the drive too",
			(unsigned long long)options->window, plan->depth_max);
	if (engine && plan->depth_max > engine->depth_max)
		faults_add(faults, "--engine %s holds at most %u request%s, --depth asks for %u",
			engine->name, engine->depth_max, engine->depth_max == 1 ? "" : "s",
			plan->depth_max);
	if (options->max_request_bytes % LAYOUT_BLOCK_BYTES)
		faults_add(faults, "--max-request %llu is no multiple of %u",
			(unsigned long long)options->max_request_bytes, LAYOUT_BLOCK_BYTES);
}

/* A replay brings its requests along: one cell, one at a time. */
static int check_replay(struct run_plan *plan, struct faults *faults)
{
	const struct run_options *options = plan->options;
	const char *text = run_plan_replay_of(options);
	struct trace_choice choice = { 0 };
	struct error error = { 0 };
	int r;

	if (!text) {
		if (options->dispatch && strcmp(options->dispatch, "queue") != 0)
			faults_add(faults,
				"--dispatch '%s' is neither queue nor "
				"replay-order=TRACE",
				options->dispatch);
		return 0;
	}
	plan->is_replay = true;
	if (options->pattern != PATTERN_NONE || options->preset != PRESET_NONE)
		faults_add(faults, "--dispatch replay-order brings its own requests: leave "
				   "--pattern and --preset out");
	if (plan->depth_max > 1)
		faults_add(
			faults, "--dispatch replay-order sends one request at a time: --depth 1");
	r = trace_choice_parse(text, &choice, &error);
	if (r == 0)
		r = trace_cell_read(&choice, &plan->replay, &error);
	trace_choice_done(&choice);
	if (r < 0)
		faults_add(faults, "--dispatch: %s", error.text);
	return r == -ENOMEM ? r : 0;
}

static void check_pattern(struct run_plan *plan, struct faults *faults)
{
	const struct run_options *options = plan->options;
	uint32_t logical = plan->claim->target.logical_block_bytes;

	if (options->pattern != PATTERN_NONE && options->preset != PRESET_NONE)
		faults_add(faults, "--preset drive brings its own patterns: leave --pattern out");
	if (options->verify)
		faults_add(faults, "--verify checks a file pool: a pattern has none");
	if (!plan->is_replay && options->block_bytes % logical)
		faults_add(faults, "--bs %llu is no multiple of the logical block of %s, %u bytes",
			(unsigned long long)options->block_bytes, plan->claim->target.name,
			logical);
	plan->block_bytes = (uint32_t)options->block_bytes;
	plan->time_limit_ns = options->time_ns                  ? options->time_ns
			      : options->preset == PRESET_DRIVE ? PRESET_TIME_NS
			      : options->count                  ? 0
								: PATTERN_TIME_NS;
}

static void parse_scale(struct run_plan *plan, struct faults *faults)
{
	const char *text = plan->options->scale;
	char *end;
	double scale;

	if (!text)
		return;
	scale = strtod(text, &end);
	if (end == text || *end || !(scale > 0) || scale > 1e6 || scale * plan->load.files < 1 ||
		scale * plan->load.files >= 1 << 30) {
		faults_add(faults,
			"--scale '%s' times %d files is no number of files from 1 to "
			"2^30 - 1",
			text, plan->load.files);
		return;
	}
	plan->load.files = (int32_t)llround(scale * plan->load.files);
}

static void parse_request_size(struct run_plan *plan, struct faults *faults)
{
	const char *text = plan->options->request_size;
	struct error error = { 0 };

	if (!text || strcmp(text, "extent") == 0)
		return;
	if (units_parse_size(text, &plan->request_bytes, &error) < 0)
		faults_add(faults, "--request-size: %s", error.text);
	else if (!plan->request_bytes || plan->request_bytes % plan->block_bytes)
		faults_add(faults,
			"--request-size %s is no multiple of the layout's block, "
			"%u bytes",
			text, plan->block_bytes);
}

/* What the created files take when they lie side by side: sizes are uniform in low .. high - 1,
 * so a file takes its mean size and on average half a block more. */
static uint64_t dense_bytes(const struct run_plan *plan)
{
	uint64_t mean =
		((uint64_t)plan->load.size_low_bytes + (uint64_t)plan->load.size_high_bytes) / 2;

	return (uint64_t)plan->load.files * (mean + plan->block_bytes / 2);
}

static void place(struct run_plan *plan, double disk_share, struct faults *faults)
{
	const struct run_options *options = plan->options;
	double share = options->span > 0 ? options->span : disk_share;
	double wanted = share * (double)plan->claim->target.size_bytes;

	if (options->packed && options->span > 0)
		faults_add(faults, "--packed and --span contradict each other");
	if (options->packed || share <= 0)
		return;
	plan->span_bytes = max_u64((uint64_t)wanted, dense_bytes(plan));
	plan->span_bytes = min_u64(plan->span_bytes, plan->area_bytes);
}

/* Which of the load's runs is meant: the only one, or the one that --postmark-run names. */
static const struct postmark_config *choose_run(
	const struct run_plan *plan, const struct pool_load *load, struct faults *faults)
{
	uint64_t wanted = plan->options->postmark_run;

	if (!wanted && load->runs.count > 1)
		faults_add(faults, "%s has %zu runs: choose one with --postmark-run 1 to %zu",
			load->name, load->runs.count, load->runs.count);
	else if (wanted > load->runs.count)
		faults_add(faults, "--postmark-run %llu: %s has %zu run%s",
			(unsigned long long)wanted, load->name, load->runs.count,
			load->runs.count == 1 ? "" : "s");
	return &load->runs.configs[wanted && wanted <= load->runs.count ? wanted - 1 : 0];
}

static int take_load(struct run_plan *plan, double *ret_disk_share, struct faults *faults)
{
	struct pool_load load = { 0 };
	int r = pool_options_load(&plan->options->pool, &load, faults);

	if (r < 0)
		return r;
	r = postmark_config_copy(choose_run(plan, &load, faults), &plan->load);
	plan->pool_name = load.name;
	plan->shortened = load.shortened;
	plan->transactions_own = load.transactions_own;
	*ret_disk_share = load.disk_share;
	for (size_t i = 0; i < load.runs.notes.count; i++)
		faults_add(&plan->notes, "%s", load.runs.notes.text[i]);
	pool_load_done(&load);
	return r;
}

static int check_pool(struct run_plan *plan, struct faults *faults)
{
	const struct run_options *options = plan->options;
	double disk_share = 0;
	int r = take_load(plan, &disk_share, faults);

	if (r < 0)
		return r;
	plan->seed = (uint64_t)plan->load.seed;
	plan->block_bytes = LAYOUT_BLOCK_BYTES;
	if (plan->claim->target.logical_block_bytes > plan->block_bytes)
		plan->block_bytes = plan->claim->target.logical_block_bytes;
	plan->time_limit_ns = options->time_ns;
	parse_scale(plan, faults);
	parse_request_size(plan, faults);
	place(plan, disk_share, faults);
	postmark_config_check(&plan->load, faults);
	if (options->verify && options->data == DATA_NONE)
		faults_add(faults, "--verify needs stamps: leave --data none out");
	if (options->verify && plan->claim->target.kind == TARGET_NULL)
		faults_add(faults, "--verify on null would find every sector lost: it keeps none");
	if (options->count)
		faults_add(faults, "--count ends a pattern: a pool has --transactions");
	if (plan->seed + options->repeat - 1 > INT32_MAX)
		faults_add(faults, "--seed %d plus %llu repeats exceeds PostMark's largest seed",
			plan->load.seed, (unsigned long long)options->repeat);
	return 0;
}

void run_plan_pool_config(const struct run_plan *plan, const struct layout_ops *layout,
	unsigned repeat, struct postmark_config *ret_load, struct pool_config *ret_config)
{
	const struct run_options *options = plan->options;
	uint64_t first_block = divide_up(plan->area_offset_bytes, plan->block_bytes);
	uint64_t end_block = (plan->area_offset_bytes + plan->area_bytes) / plan->block_bytes;

	*ret_load = plan->load;
	ret_load->seed = (int32_t)(plan->seed + repeat);
	*ret_config = (struct pool_config){
		.load = ret_load,
		.layout = layout,
		.operation_time_ns = options->operation_time_ns,
		.plans_max = (unsigned)options->plans,
		.streams = (uint32_t)options->streams,
		.layout_config = {
			.first_block = first_block,
			.block_count = end_block - first_block,
			.block_bytes = plan->block_bytes,
			.files_max = 2 * (uint32_t)plan->load.files,
			.span_blocks = plan->span_bytes / plan->block_bytes,
			.files_expected = (uint64_t)plan->load.files,
			.seed = plan->seed + repeat,
			.request_bytes = plan->request_bytes,
			.max_request_bytes = max_u64(options->max_request_bytes / plan->block_bytes,
				1) * plan->block_bytes,
			.tail_read = options->tail == TAIL_READ,
		},
	};
}

static const struct layout_ops *layout_at(const struct run_plan *plan, size_t position)
{
	return layouts[plan->options->layout.index[position]];
}

/* What does not fit is told here, before anything is written. */
static void check_room(const struct run_plan *plan, const struct pool_estimate *estimate,
	const struct layout_ops *layout, unsigned repeat, struct faults *faults)
{
	uint64_t missing = estimate->creation_no_space + estimate->counts.no_space;

	if (missing && plan->options->when_full == FULL_REFUSE)
		faults_add(faults,
			"pool %s does not fit: with layout %s and seed %llu %llu "
			"operations find no room in the area of %llu bytes; give a larger --size, "
			"a smaller --scale, or --when-full count",
			plan->pool_name, layout->name, (unsigned long long)(plan->seed + repeat),
			(unsigned long long)missing, (unsigned long long)plan->area_bytes);
}

static int estimate_all(struct run_plan *plan, struct faults *faults)
{
	size_t layout_count = plan->options->layout.count;
	size_t repeats = plan->options->repeat;
	size_t before = faults->count;

	plan->estimates = calloc(layout_count * repeats, sizeof(*plan->estimates));
	if (!plan->estimates)
		return -ENOMEM;
	plan->estimate_count = layout_count * repeats;
	for (size_t i = 0; i < plan->estimate_count; i++) {
		const struct layout_ops *layout = layout_at(plan, i / repeats);
		struct postmark_config load;
		struct pool_config config;
		struct error error = { 0 };
		int r;

		run_plan_pool_config(plan, layout, (unsigned)(i % repeats), &load, &config);
		r = pool_estimate(&config, &plan->estimates[i], &error);
		if (r < 0) {
			faults_add(faults, "%s", error.text);
			return r;
		}
		check_room(plan, &plan->estimates[i], layout, (unsigned)(i % repeats), faults);
		plan->memory_bytes = max_u64(plan->memory_bytes, plan->estimates[i].memory_bytes);
	}
	return faults->count > before ? -ENOSPC : 0;
}

const struct pool_estimate *run_plan_estimate(const struct run_plan *plan, const struct cell *cell)
{
	for (size_t i = 0; cell->layout && i < plan->options->layout.count; i++)
		if (layout_at(plan, i) == cell->layout)
			return &plan->estimates[i * plan->options->repeat + cell->repeat];
	return NULL;
}

/* The cache modes asked for, `both` taken apart, each once. */
static size_t expand_caches(const struct run_options *options, enum cache_choice ret_modes[3])
{
	bool seen[3] = { false };
	size_t count = 0;

	for (size_t i = 0; i < options->cache.count; i++) {
		unsigned choice = options->cache.index[i];
		unsigned first = choice == CACHE_BOTH ? CACHE_WB : choice;
		unsigned last = choice == CACHE_BOTH ? CACHE_WT : choice;

		for (unsigned mode = first; mode <= last; mode++)
			if (!seen[mode]) {
				seen[mode] = true;
				ret_modes[count++] = (enum cache_choice)mode;
			}
	}
	return count;
}

static void add_cell(struct run_plan *plan, struct cell cell)
{
	plan->cells[plan->cell_count++] = cell;
}

/* One load at every repeat and depth. */
static void add_cells(struct run_plan *plan, struct cell cell)
{
	const struct run_options *options = plan->options;

	for (unsigned repeat = 0; repeat < options->repeat; repeat++)
		for (size_t i = 0; i < options->depth.count; i++) {
			cell.repeat = repeat;
			cell.depth = options->depth.values[i];
			add_cell(plan, cell);
		}
}

/* Reads do not depend on the mode of the write cache: they are measured once. */
static void add_preset_cells(struct run_plan *plan, struct cell cell, bool first)
{
	enum cache_choice cache = cell.cache;

	for (size_t i = 0; i < ARRAY_SIZE(preset_patterns); i++) {
		bool writes = pattern_writes(preset_patterns[i].kind);

		cell.cache = writes ? cache : CACHE_AS_IS;
		cell.pattern = preset_patterns[i].kind;
		cell.read_share = preset_patterns[i].read_share;
		if (writes ? plan->writes : first)
			add_cells(plan, cell);
	}
}

/* Cells of one cache mode, elevator and merging. */
static void add_load_cells(struct run_plan *plan, struct cell cell, bool first)
{
	const struct run_options *options = plan->options;

	if (options->preset == PRESET_DRIVE) {
		add_preset_cells(plan, cell, first);
	} else if (plan->is_pattern) {
		cell.pattern = plan->is_replay ? PATTERN_RANDREAD
					       : (enum pattern_kind)(options->pattern - 1);
		cell.read_share = (double)options->read_percent / 100;
		add_cells(plan, cell);
	}
	for (size_t k = 0; !plan->is_pattern && k < options->layout.count; k++) {
		cell.layout = layout_at(plan, k);
		add_cells(plan, cell);
	}
}

/* The nesting is cache, elevator, merge, layout or pattern, repeat, depth. */
static int make_cells(struct run_plan *plan)
{
	const struct run_options *options = plan->options;
	enum cache_choice caches[3];
	size_t cache_count = expand_caches(options, caches);
	size_t most = 3 * ARRAY_SIZE(preset_patterns) * max_u64(options->layout.count, 1) *
		      options->repeat * options->depth.count * plan->elevators.count * 2;

	plan->cells = calloc(most, sizeof(*plan->cells));
	if (!plan->cells)
		return -ENOMEM;
	for (size_t i = 0; i < cache_count; i++)
		for (size_t e = 0; e < plan->elevators.count; e++)
			for (size_t m = 0; m < options->merge.count; m++)
				add_load_cells(plan,
					(struct cell){
						.cache = caches[i],
						.elevator = &plan->elevators.items[e],
						.merge = options->merge.index[m] == MERGE_ON,
					},
					i == 0);
	return 0;
}

static size_t requests_per_plan(const struct run_plan *plan)
{
	struct postmark_config load;
	struct pool_config config;

	if (plan->is_pattern)
		return 1;
	run_plan_pool_config(plan, layout_at(plan, 0), 0, &load, &config);
	return layout_requests_max(
		config.layout, &config.layout_config, (uint64_t)load.size_high_bytes);
}

/* Buffers, requests in flight and the histograms come on top of load and layout. */
static void add_engine_memory(struct run_plan *plan)
{
	uint64_t request_bytes = plan->is_pattern
					 ? plan->block_bytes
					 : min_u64(plan->options->max_request_bytes,
						   round_up((uint64_t)plan->load.size_high_bytes,
							   plan->block_bytes));

	plan->memory_bytes +=
		(plan->writes ? 2 : 1) * plan->depth_max * request_bytes + sizeof(struct recorder) +
		scheduler_memory_bytes(requests_per_plan(plan), (unsigned)plan->options->window,
			(unsigned)plan->options->plans);
}

int run_plan_make(const struct run_options *options, const struct claim *claim,
	struct run_plan *ret_plan, struct faults *faults)
{
	struct run_plan plan = {
		.options = options,
		.claim = claim,
		.writes = run_plan_wants_write(options),
		.is_pattern = options_are_pattern(options),
	};
	size_t before = faults->count;
	int r = 0;

	check_area(&plan, faults);
	check_queue(&plan, faults);
	run_queue_parse(options->elevator, options->elevator_option, &plan.elevators, faults);
	r = check_replay(&plan, faults);
	if (r == 0 && plan.is_pattern) {
		check_pattern(&plan, faults);
		plan.seed = options->pool.seed ? options->pool.seed : DEFAULT_SEED;
	} else if (r == 0) {
		r = check_pool(&plan, faults);
	}
	if (r == 0 && faults->count > before)
		r = -EINVAL;
	if (r == 0 && !plan.is_pattern)
		r = estimate_all(&plan, faults);
	if (r == -ENOMEM && faults->count == before)
		faults_add(faults, "no memory for the plan");
	if (r < 0) {
		run_plan_done(&plan);
		return r;
	}
	add_engine_memory(&plan);
	*ret_plan = plan;
	/* Cells point into the plan where it stays. */
	return make_cells(ret_plan);
}

void run_plan_done(struct run_plan *plan)
{
	free(plan->cells);
	free(plan->estimates);
	postmark_config_done(&plan->load);
	faults_done(&plan->notes);
	trace_cell_done(&plan->replay);
	*plan = (struct run_plan){ 0 };
}
