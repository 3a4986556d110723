/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb `reorder`: what a trace tells of the order in which the drive served, and what order and
 * overlap each brought. Reads files only. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/command.h"
#include "tools/document.h"
#include "tools/output.h"
#include "tools/reorder_gains.h"
#include "tools/reorder_report.h"
#include "tools/trace_cell.h"

#define STARVED_LINES 10u

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

static const char *const formats[] = { "table", "json", "csv", NULL };

struct reorder_config {
	const char *single, *replay, *kept;
	uint64_t revolutions_per_min;
	unsigned format;
	bool json;
	const char *output;
};

/* clang-format off */
static const struct option_spec specs[] = {
	{ .name = "single", .type = OPTION_TEXT, .offset = offsetof(struct reorder_config, single),
	  .argument = "TRACE", .group = "Order and overlap",
	  .help = "the same requests in the order of submission at depth 1" },
	{ .name = "replay", .type = OPTION_TEXT, .offset = offsetof(struct reorder_config, replay),
	  .argument = "TRACE",
	  .help = "the same requests in the drive's order at depth 1 "
		  "(run --dispatch replay-order=TRACE)" },
	{ .name = "kept", .type = OPTION_TEXT, .offset = offsetof(struct reorder_config, kept),
	  .argument = "TRACE",
	  .help = "the same requests at the same depth on a drive that keeps their order" },
	{ .name = "rpm", .type = OPTION_U64,
	  .offset = offsetof(struct reorder_config, revolutions_per_min), .argument = "N",
	  .minimum = 1, .maximum = 100000, .group = "Cache",
	  .help = "revolutions per minute: reads faster than a tenth of one are cache hits and "
		  "left out; by default none can be told" },
	{ .name = "output-format", .type = OPTION_CHOICE,
	  .offset = offsetof(struct reorder_config, format), .argument = "table|json|csv",
	  .choices = formats, .group = "Output", .help = "what is printed" },
	{ .name = "json", .letter = 'J', .type = OPTION_FLAG,
	  .offset = offsetof(struct reorder_config, json),
	  .help = "the same as --output-format=json" },
	{ .name = "output", .letter = 'o', .type = OPTION_TEXT,
	  .offset = offsetof(struct reorder_config, output), .argument = "FILE",
	  .help = "write to FILE; default stdout" },
	{ .name = NULL },
};
/* clang-format on */

/* What the gains need of a cell. */
struct played {
	unsigned depth;
	uint64_t read_bytes, write_bytes;
	nsec_t elapsed_ns;
	bool order_kept;
};

struct played_list {
	struct played *cells;
	size_t count;
	enum reorder_arms arms;
};

/* Where the cells of the trace that is analysed go; the other traces are only timed. */
struct findings {
	struct report *report;
	FILE *lines; /* those that waited too long, as text */
	struct document *document;
};

static int note_played(
	struct played_list *list, const struct reordering *reordering, struct error *error)
{
	struct played *cells = reallocarray(list->cells, list->count + 1, sizeof(*list->cells));

	if (!cells)
		return error_set(error, -ENOMEM, "no memory for %zu cells", list->count + 1);
	list->cells = cells;
	list->cells[list->count++] = (struct played){
		.depth = reordering->depth,
		.read_bytes = reordering->read_bytes,
		.write_bytes = reordering->write_bytes,
		.elapsed_ns = reordering->elapsed_ns,
		.order_kept = reordering->order_kept,
	};
	return 0;
}

static void note_findings(struct findings *findings, unsigned number, const struct trace_cell *cell,
	const struct reordering *reordering)
{
	reorder_report_add(findings->report, number, trace_cell_cache_commands(cell), reordering);
	if (reordering->starved_count)
		(void)fprintf(findings->lines, "\ncell %u:\n", number);
	reorder_report_starved(reordering, STARVED_LINES, findings->lines);
	if (!*cell->cut_off)
		return;
	(void)fprintf(
		stderr, "bareplatter: warning: %s; what came before is analysed\n", cell->cut_off);
	document_message(findings->document, SEVERITY_WARNING, "%s", cell->cut_off);
}

static int take_cell(const struct reorder_config *config, unsigned number,
	const struct trace_cell *cell, struct findings *findings, struct played_list *list,
	struct error *error)
{
	nsec_t hit_below_ns = reordering_hit_below((unsigned)config->revolutions_per_min);
	const struct reordering_config measured = {
		.scope = reordering_scope_of(trace_cell_cache_commands(cell), hit_below_ns),
		.depth = trace_cell_depth(cell),
		.hit_below_ns = hit_below_ns,
		.starved_max = findings ? REORDER_STARVED_LISTED : 0,
	};
	struct reordering reordering;
	int r = reordering_measure(cell->records, cell->count, &measured, &reordering, error);

	if (r < 0)
		return r;
	if (findings)
		note_findings(findings, number, cell, &reordering);
	r = note_played(list, &reordering, error);
	reordering_done(&reordering);
	return r;
}

static int take_cells(const struct reorder_config *config, const struct trace_choice *choice,
	struct trace_reader *reader, struct findings *findings, struct played_list *list,
	struct error *error)
{
	bool cut_off = false;

	for (unsigned number = 1; !cut_off; number++) {
		struct trace_cell cell;
		int r = trace_cell_next(reader, &cell, error);

		if (r < 0)
			return r;
		if (r == 0)
			break;
		cut_off = *cell.cut_off;
		if (!choice->cell || choice->cell == number)
			r = take_cell(config, number, &cell, findings, list, error);
		trace_cell_done(&cell);
		if (r < 0)
			return r;
	}
	if (!list->count)
		return error_set(error, -ENOENT, "%s: there is no cell %u", choice->path,
			choice->cell ? choice->cell : 1);
	return 0;
}

/* Reads a trace cell by cell; findings is NULL for one that is only timed. */
static int take_trace(const struct reorder_config *config, const char *text,
	struct findings *findings, struct played_list *list, struct error *error)
{
	struct trace_choice choice = { 0 };
	struct trace_reader *reader;
	struct device device;
	int r = trace_choice_parse(text, &choice, error);

	if (r < 0)
		return r;
	r = trace_reader_open(choice.path, &reader, error);
	if (r == 0) {
		list->arms = trace_cell_device(reader, &device) ? reorder_gains_arms(&device)
								: ARMS_UNKNOWN;
		r = take_cells(config, &choice, reader, findings, list, error);
		trace_reader_close(reader);
	}
	trace_choice_done(&choice);
	return r;
}

static double throughput(const struct played *played)
{
	return played->elapsed_ns > 0 ? (double)(played->read_bytes + played->write_bytes) *
						NSEC_PER_SEC / (double)played->elapsed_ns
				      : 0;
}

/* A trace to compare with must hold the same requests, repeat by repeat. */
static int check_other(const char *text, const struct played_list *base,
	const struct played_list *other, unsigned depth, struct error *error)
{
	if (other->count != base->count)
		return error_set(error, -EINVAL,
			"%s holds %zu cells to compare with %zu: each needs its own repeat", text,
			other->count, base->count);
	for (size_t i = 0; i < other->count; i++) {
		const struct played *a = &base->cells[i], *b = &other->cells[i];

		if (b->depth != depth)
			return error_set(error, -EINVAL, "%s was traced at depth %u, not %u", text,
				b->depth, depth);
		if (a->read_bytes != b->read_bytes || a->write_bytes != b->write_bytes)
			return error_set(error, -EINVAL,
				"%s holds other requests: %" PRIu64 " bytes read and %" PRIu64
				" written, not %" PRIu64 " and %" PRIu64,
				text, b->read_bytes, b->write_bytes, a->read_bytes, a->write_bytes);
	}
	return 0;
}

/* One depth in all cells: then they are repeats of one condition. */
static int check_base(const struct played_list *base, struct error *error)
{
	for (size_t i = 1; i < base->count; i++)
		if (base->cells[i].depth != base->cells[0].depth)
			return error_set(error, -EINVAL,
				"the trace holds cells of depth %u and %u: name one as "
				"TRACE,cell=N to part order from overlap",
				base->cells[0].depth, base->cells[i].depth);
	return 0;
}

static int compute_gains(const struct reorder_config *config, const struct played_list *base,
	struct reorder_gains *ret_gains, struct error *error)
{
	const unsigned depth = base->cells[0].depth;
	const char *const texts[] = { config->single, config->replay, config->kept };
	_cleanup_free_ struct reorder_throughput *repeats = calloc(base->count, sizeof(*repeats));
	bool kept = true;
	int r = repeats ? check_base(base, error) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < base->count; i++) {
		repeats[i].submission_deep = throughput(&base->cells[i]);
		kept &= base->cells[i].order_kept;
	}
	for (size_t which = 0; r == 0 && which < ARRAY_SIZE(texts); which++) {
		struct played_list other = { 0 };

		if (!texts[which])
			continue;
		r = take_trace(config, texts[which], NULL, &other, error);
		if (r == 0)
			r = check_other(texts[which], base, &other, which == 2 ? depth : 1, error);
		for (size_t i = 0; r == 0 && i < base->count; i++)
			*(which == 0         ? &repeats[i].submission_single
				: which == 1 ? &repeats[i].drive_single
					     : &repeats[i].kept_deep) = throughput(&other.cells[i]);
		free(other.cells);
	}
	if (r == 0)
		reorder_gains_compute(repeats, base->count, kept, ret_gains);
	return r;
}

/* Everything that is known in the end. */
struct outcome {
	struct played_list base;
	bool has_gains;
	struct reorder_gains gains;
	char *lines;
	size_t lines_bytes;
};

static int analyse(const struct reorder_config *config, const char *trace,
	struct findings *findings, struct outcome *outcome, struct error *error)
{
	int r = take_trace(config, trace, findings, &outcome->base, error);

	outcome->has_gains = config->single || config->replay || config->kept;
	if (r == 0 && outcome->has_gains)
		r = compute_gains(config, &outcome->base, &outcome->gains, error);
	(void)fclose(findings->lines);
	findings->lines = NULL;
	return r;
}

static int print(const struct reorder_config *config, const struct findings *findings,
	const struct outcome *outcome, FILE *stream, struct error *error)
{
	int r = 0;

	if (config->format == FORMAT_CSV) {
		report_csv(findings->report, stream);
		return 0;
	}
	if (config->format == FORMAT_TABLE) {
		r = report_table(findings->report, stream,
			stream == stdout ? report_terminal_width() : 0, false, error);
		(void)fputs(outcome->lines, stream);
		if (outcome->base.arms == ARMS_MANY)
			(void)fputs("\nparallelism, not reordering: this device is not one arm\n",
				stream);
		if (outcome->has_gains) {
			(void)fputc('\n', stream);
			reorder_gains_print(&outcome->gains, outcome->base.cells[0].depth,
				outcome->base.arms, 1e-6, "MB/s", stream);
		}
		return r;
	}
	for (size_t i = 0; i < report_row_count(findings->report); i++)
		document_add_cell(findings->document, report_json_row(findings->report, i));
	document_set(findings->document, "meaning",
		outcome->base.arms == ARMS_MANY
			? json_object_new_string("parallelism, not reordering")
			: NULL);
	document_set(findings->document, "gains",
		outcome->has_gains ? reorder_gains_json(&outcome->gains, outcome->base.arms,
					     "throughput_bytes_per_s")
				   : NULL);
	document_set_status(findings->document, STATUS_COMPLETE);
	document_write(findings->document, stream);
	return 0;
}

/* What was named wrongly is a fault of usage. */
static int exit_code_of(int rc)
{
	switch (rc) {
	case -ENOMEM:
		return EXIT_NOT_POSSIBLE;
	case -EBADMSG:
	case -EIO:
	case -ENOSPC:
		return EXIT_RUN_FAILED;
	default:
		return EXIT_USAGE;
	}
}

static int perform(const struct reorder_config *config, const char *trace,
	struct document *document, struct faults *faults)
{
	struct error error = { 0 };
	struct output output;
	struct outcome outcome = { 0 };
	struct findings findings = { .document = document };
	int r = output_open(&output, config->output, &error);

	if (r < 0) {
		faults_add(faults, "%s", error.text);
		return document_give_up(document, config->format == FORMAT_JSON, NULL,
			&command_reorder, faults, EXIT_USAGE);
	}
	findings.report = reorder_report_new();
	findings.lines = open_memstream(&outcome.lines, &outcome.lines_bytes);
	if (!findings.lines)
		r = error_set(&error, -ENOMEM, "no memory for the text");
	if (r == 0)
		r = analyse(config, trace, &findings, &outcome, &error);
	if (r == 0)
		r = print(config, &findings, &outcome, output.stream, &error);
	if (r == 0)
		r = output_commit(&output, &error);
	report_free(findings.report);
	free(outcome.lines);
	free(outcome.base.cells);
	if (r < 0) {
		faults_add(faults, "%s", error.text);
		return document_give_up(document, config->format == FORMAT_JSON, &output,
			&command_reorder, faults, exit_code_of(r));
	}
	output_cancel(&output);
	return EXIT_DONE;
}

static int reorder_run(int argc, char **argv)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct reorder_config config = { 0 };
	struct document *document = document_new(argc, argv);
	const char *trace = NULL;
	unsigned count = 0;
	int code = EXIT_DONE;
	int rc = options_parse(&command_reorder, argc, argv, &config, &trace, &count, &faults);

	if (config.json)
		config.format = FORMAT_JSON;
	if (rc == 0)
		code = perform(&config, trace, document, &faults);
	else if (rc < 0)
		code = document_give_up(document, config.format == FORMAT_JSON, NULL,
			&command_reorder, &faults, EXIT_USAGE);
	document_free(document);
	return code;
}

const struct command command_reorder = {
	.name = "reorder",
	.arguments = "TRACE[,cell=N]",
	.summary = "Tells from a trace in which order the drive served, and what that brought.",
	.description =
		"Counts requests as the drive got them, merged ones as one. OVERTAKEN is the share "
		"that some later one passed; MEAN, P99 and MAX are how many passed one; KENDALL "
		"is the share of pairs, in windows of the depth, that came back the other way "
		"round: 0 first come first served, 0.25 (depth 2) to 0.37 a drive that picks by "
		"chance, 1 reversed. Requests that came back together are TIED: a pair of them "
		"counts half. LBA Q, D and C are the mean distances, in sectors, from the end of "
		"one request to the start of the next in the order queued, dispatched and "
		"completed; they are distances of LBA, not of an arm. STARVED counts waits above "
		"1 s or 50 times the median.\n"
		"\n"
		"Figures of order are blank where completion is not the medium's: a write-back "
		"cache accepts a write before its place in the order is chosen. There only reads "
		"that missed the cache count, if --rpm lets hits be told.\n"
		"\n"
		"Order and overlap: a queue lets the drive choose the order, and lets it go on "
		"without waiting. --single and --replay give the same requests one at a time, as "
		"they were submitted and as the drive completed them. Then order alone is REPLAY / "
		"SINGLE, all is TRACE / SINGLE, and what is left, TRACE / REPLAY, is overlap alone "
		"times what came only together; --kept tells these apart. A drive that overtook "
		"nobody gains exactly 1.00 by order. Cells of one depth are repeats, and from "
		"five on there are intervals of 95 %. Where the device is not one arm (memory, "
		"flash, RAID) all this is parallelism, not reordering.\n"
		"\n"
		"  bareplatter reorder deep.trace --single one.trace --replay drive.trace",
	.specs = specs,
	.operands_min = 1,
	.operands_max = 1,
	.run = reorder_run,
};
