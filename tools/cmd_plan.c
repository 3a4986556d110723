/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/command.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/document.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/run_cell.h"
#include "tools/run_plan_json.h"

static int errno_to_exit(int code)
{
	return code == -EINVAL || code == -ENOENT ? EXIT_USAGE : EXIT_NOT_POSSIBLE;
}

/* A file that `run` would make: its size is all that a plan needs. */
static bool imagine_file(const char *text, struct claim *claim)
{
	enum target_kind kind;
	char path[512];
	struct stat status;
	uint64_t size_bytes = 0;

	if (claim_parse(text, &kind, path, sizeof(path), &size_bytes, NULL) < 0 ||
		kind != TARGET_FILE || !size_bytes || stat(path, &status) == 0)
		return false;
	memset(claim, 0, sizeof(*claim));
	claim->target = (struct target){
		.kind = TARGET_FILE,
		.fd = -1,
		.size_bytes = size_bytes,
		.logical_block_bytes = 512,
		.physical_block_bytes = 4096,
		.name = text,
	};
	(void)snprintf(claim->device.identity, sizeof(claim->device.identity),
		"none: the file will be made");
	return true;
}

static struct json_object *cell_json(const struct cell *cell)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "cache", report_json_text(cache_choice_names[cell->cache]));
	json_object_object_add(object, "elevator", report_json_text(cell->elevator->name));
	json_object_object_add(object, "merge", report_json_text(cell->merge ? "on" : "off"));
	json_object_object_add(
		object, "layout", cell->layout ? report_json_text(cell->layout->name) : NULL);
	json_object_object_add(object, "pattern",
		cell->layout ? NULL : report_json_text(pattern_names[cell->pattern]));
	json_object_object_add(object, "repeat", json_object_new_uint64(cell->repeat));
	json_object_object_add(object, "depth", json_object_new_uint64(cell->depth));
	return object;
}

static void print_bytes(FILE *stream, const char *label, uint64_t bytes)
{
	(void)fprintf(stream, "%-22s%llu bytes (%s)\n", label, (unsigned long long)bytes,
		units_format_size(bytes).text);
}

/* How often the pool is written: once for each layout and seed, or before every cell. */
static uint64_t creations(const struct run_plan *plan)
{
	uint64_t times = 0;

	if (plan->options->verify || plan->options->recreate)
		return plan->cell_count;
	for (size_t i = 0; i < plan->cell_count; i++)
		if (!i || plan->cells[i].layout != plan->cells[i - 1].layout ||
			plan->cells[i].repeat != plan->cells[i - 1].repeat)
			times++;
	return times;
}

static void print_pool(FILE *stream, const struct run_plan *plan)
{
	const struct pool_estimate *estimate = plan->estimates;
	uint64_t times = creations(plan);
	uint32_t logical = plan->claim->target.logical_block_bytes;
	uint64_t written = times * estimate->creation.written_bytes;

	for (size_t i = 0; i < plan->cell_count; i++)
		written += run_plan_estimate(plan, &plan->cells[i])->transactions.written_bytes;
	(void)fprintf(stream, "%-22s%s: %d files of %d-%d bytes, %d transactions%s, seed %d\n",
		"pool", plan->pool_name, plan->load.files, plan->load.size_low_bytes,
		plan->load.size_high_bytes, plan->load.transactions,
		plan->shortened ? " (shortened)" : "", plan->load.seed);
	print_bytes(stream, "bytes at worst", estimate->worst_bytes);
	print_bytes(stream, "bytes at the peak", estimate->peak_blocks * plan->block_bytes);
	(void)fprintf(stream, "%-22s%llu-%llu (blocks of %u bytes)\n", "LBA range",
		(unsigned long long)(estimate->first_byte / logical),
		(unsigned long long)(estimate->end_byte / logical), logical);
	print_bytes(stream, "span", plan->span_bytes);
	(void)fprintf(stream, "%-22s%llu times, %llu requests of %llu bytes in all each time\n",
		"pool written", (unsigned long long)times,
		(unsigned long long)estimate->creation.requests,
		(unsigned long long)estimate->creation.written_bytes);
	(void)fprintf(stream, "%-22s%llu requests, %s read, %s written\n", "each cell",
		(unsigned long long)estimate->transactions.requests,
		units_format_size(estimate->transactions.read_bytes).text,
		units_format_size(estimate->transactions.written_bytes).text);
	print_bytes(stream, "written in all", written);
	for (size_t i = 0; i < plan->notes.count; i++)
		(void)fprintf(stream, "%-22s%s\n", i ? "" : "without effect", plan->notes.text[i]);
}

static void print_plan(FILE *stream, const struct run_plan *plan)
{
	const struct claim *claim = plan->claim;

	(void)fprintf(stream, "%-22s%s (%llu bytes), identity: %s\n", "target", claim->target.name,
		(unsigned long long)claim->target.size_bytes,
		claim->target.kind == TARGET_NULL ? "none" : claim->device.identity);
	(void)fprintf(stream, "%-22s%llu bytes from byte %llu\n", "area",
		(unsigned long long)plan->area_bytes, (unsigned long long)plan->area_offset_bytes);
	if (plan->is_pattern)
		(void)fprintf(stream, "%-22s%u bytes\n", "block", plan->block_bytes);
	else
		print_pool(stream, plan);
	if (plan->time_limit_ns)
		(void)fprintf(stream, "%-22s%s and the drain\n", "time per cell",
			units_format_duration(plan->time_limit_ns).text);
	else
		(void)fprintf(stream, "%-22sunknown: it is what the drive makes of it\n",
			"time per cell");
	print_bytes(stream, "memory", plan->memory_bytes);
	(void)fprintf(stream, "%-22s%zu\n", "cells", plan->cell_count);
	for (size_t i = 0; i < plan->cell_count; i++) {
		const struct cell *cell = &plan->cells[i];

		(void)fprintf(stream,
			"  %3zu  cache %s, elevator %s, merge %s, %s, repeat %u, depth %u, "
			"host share %llu\n",
			i + 1, cache_choice_names[cell->cache], cell->elevator->name,
			cell->merge ? "on" : "off", run_cell_load(plan, cell), cell->repeat,
			cell->depth, (unsigned long long)(plan->options->window - cell->depth));
	}
}

static void write_plan(const struct run_plan *plan, struct document *document, FILE *stream)
{
	if (plan->options->output_format == OUTPUT_TABLE) {
		print_plan(stream, plan);
		return;
	}
	if (plan->claim->target.kind == TARGET_BLOCK)
		document_set_device(document, &plan->claim->device);
	document_set(document, "plan", run_plan_json(plan));
	for (size_t i = 0; i < plan->cell_count; i++)
		document_add_cell(document, cell_json(&plan->cells[i]));
	document_set_status(document, STATUS_COMPLETE);
	document_write(document, stream);
}

static int fail(const struct run_options *options, struct document *document, struct output *output,
	const struct faults *faults, int code)
{
	return document_give_up(document, options->output_format == OUTPUT_JSON, output,
		&command_plan, faults, code);
}

static int make_and_show(const struct run_options *options, const char *text,
	struct document *document, struct output *output)
{
	_cleanup_faults_ struct faults faults = { 0 };
	const struct claim_request request = { .text = text };
	struct claim imagined, *claim = NULL;
	struct run_plan plan = { 0 };
	struct error error = { 0 };
	int r = imagine_file(text, &imagined) ? 0 : claim_open(&request, &claim, &faults);

	if (r < 0)
		return fail(options, document, output, &faults, errno_to_exit(r));
	r = run_plan_make(options, claim ? claim : &imagined, &plan, &faults);
	if (r == 0)
		write_plan(&plan, document, output->stream);
	run_plan_done(&plan);
	if (claim)
		claim_close(claim);
	if (r < 0)
		return fail(options, document, output, &faults, errno_to_exit(r));
	if (output_commit(output, &error) < 0) {
		faults_add(&faults, "%s", error.text);
		return command_fail(&command_plan, &faults, EXIT_RUN_FAILED);
	}
	return EXIT_DONE;
}

static int plan_run(int argc, char **argv)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct run_options options;
	struct document *document;
	struct output output = { 0 };
	struct error error = { 0 };
	const char *target = NULL;
	unsigned operands = 0;
	int r, code;

	run_options_default(&options);
	r = options_parse(&command_plan, argc, argv, &options, &target, &operands, &faults);
	if (r > 0)
		return EXIT_DONE;
	run_options_complete(&options);
	if (output_open(&output, options.output, &error) < 0) {
		faults_add(&faults, "%s", error.text);
		options_done(&command_plan, &options);
		return command_fail(&command_plan, &faults, EXIT_USAGE);
	}
	document = document_new(argc, argv);
	code = r < 0 ? fail(&options, document, &output, &faults, EXIT_USAGE)
		     : make_and_show(&options, target, document, &output);
	document_free(document);
	options_done(&command_plan, &options);
	return code;
}

const struct command command_plan = {
	.name = "plan",
	.arguments = "TARGET",
	.summary = "say what a run would do, before anything is written",
	.description =
		"Takes the options of run and tells: the bytes at worst, the range of LBAs, "
		"the bytes written, the memory, the time per cell where it is known, and the cells "
		"in their order (cache, layout or pattern, repeat, depth fastest). What cannot fit "
		"is refused here. Nothing is opened for writing.",
	.specs = run_option_specs,
	.operands_min = 1,
	.operands_max = 1,
	.run = plan_run,
};
