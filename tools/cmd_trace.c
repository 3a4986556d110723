/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `trace`: what a trace holds, one stage of it as lines, or a cell in the words of other tools.
 * Touches no device. */
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/command.h"
#include "tools/document.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/trace_export.h"
#include "tools/trace_info.h"
#include "tools/trace_print.h"

enum format { FORMAT_FIO, FORMAT_BLKPARSE };
enum output_format { OUTPUT_FORMAT_TABLE, OUTPUT_FORMAT_JSON };

#define NOT_GIVEN UINT_MAX

static const char *const stages[] = { "Q", "D", "C", NULL };
static const char *const formats[] = { "fio", "blkparse", NULL };
static const char *const output_formats[] = { "table", "json", NULL };

struct trace_config {
	unsigned stage, format, output_format;
	uint64_t cell; /* 0: not given */
	const char *output;
};

/* clang-format off */
static const struct option_spec specs[] = {
	{ .name = "cell", .type = OPTION_U64, .offset = offsetof(struct trace_config, cell),
	  .argument = "N", .help = "this cell only; print takes all of them without",
	  .minimum = 1, .maximum = UINT32_MAX, .group = "What is taken" },
	{ .name = "stage", .type = OPTION_CHOICE, .offset = offsetof(struct trace_config, stage),
	  .argument = "Q|D|C", .choices = stages,
	  .help = "requests as they were queued, dispatched or completed, in that order and at "
		  "those instants; default D" },
	{ .name = "format", .type = OPTION_CHOICE, .offset = offsetof(struct trace_config, format),
	  .argument = "fio|blkparse", .choices = formats,
	  .help = "export: an iolog of version 3 for fio, or blkparse's text with Q, M, D and C",
	  .group = "Output" },
	{ .name = "output-format", .type = OPTION_CHOICE,
	  .offset = offsetof(struct trace_config, output_format), .argument = "table|json",
	  .choices = output_formats, .help = "of info" },
	{ .name = "output", .letter = 'o', .type = OPTION_TEXT,
	  .offset = offsetof(struct trace_config, output), .argument = "FILE",
	  .help = "write to FILE; default stdout" },
	{ .name = NULL },
};
/* clang-format on */

struct trace_verb {
	struct trace_config config;
	const char *path;
	struct trace_reader *reader;
	struct document *document;
	struct output output;
	struct faults faults;
	struct error error; /* the trace's: what is wrong with the file */
};

static void note(const char *text)
{
	(void)fprintf(stderr, "bareplatter: note: %s\n", text);
}

/* A file that is damaged is data that is bad; the rest as elsewhere. */
static int code_of_error(int r)
{
	switch (r) {
	case -ENOENT:
	case -EISDIR:
	case -ENOTDIR:
		return EXIT_USAGE;
	case -ENOMEM:
	case -EACCES:
	case -EPERM:
		return EXIT_NOT_POSSIBLE;
	default:
		return EXIT_RUN_FAILED;
	}
}

static int give_up(struct trace_verb *verb, int code)
{
	return document_give_up(verb->document, verb->config.output_format == OUTPUT_FORMAT_JSON,
		&verb->output, &command_trace, &verb->faults, code);
}

static int fail(struct trace_verb *verb, int r)
{
	faults_add(&verb->faults, "%s", verb->error.text);
	return give_up(verb, code_of_error(r));
}

/* Ends an action that had a result. r is of the reading: what is good was used all the same. */
static int finish(struct trace_verb *verb, int r)
{
	struct error error = { 0 };

	if (r == -ENOMEM)
		return fail(verb, r);
	if (r < 0)
		note(verb->error.text);
	if (output_commit(&verb->output, &error) < 0) {
		faults_add(&verb->faults, "%s", error.text);
		return command_fail(&command_trace, &verb->faults, EXIT_RUN_FAILED);
	}
	return r < 0 ? EXIT_RUN_FAILED : EXIT_DONE;
}

/* The description of the run as it can be parsed; text where it cannot. */
static struct json_object *run_json(const struct trace_verb *verb)
{
	const char *text = trace_reader_run(verb->reader);
	struct json_object *object = json_tokener_parse(text);

	return object ? object : report_json_text(text);
}

static void write_document(struct trace_verb *verb, const struct report *report, int r)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "file", report_json_text(verb->path));
	json_object_object_add(object, "whole", json_object_new_boolean(r == 0));
	json_object_object_add(object, "run", run_json(verb));
	document_set(verb->document, "trace", object);
	for (size_t i = 0; i < report_row_count(report); i++)
		document_add_cell(verb->document, report_json_row(report, i));
	document_set_status(verb->document, r == 0 ? STATUS_COMPLETE : STATUS_FAILED);
	if (r < 0)
		document_message(verb->document, SEVERITY_ERROR, "%s", verb->error.text);
	document_write(verb->document, verb->output.stream);
}

static int act_info(struct trace_verb *verb)
{
	struct report *report;
	int r = trace_info(verb->reader, &report, &verb->error);

	if (verb->config.output_format == OUTPUT_FORMAT_JSON && r != -ENOMEM)
		write_document(verb, report, r);
	else if (r != -ENOMEM)
		(void)report_table(report, verb->output.stream,
			verb->config.output ? 0 : report_terminal_width(), false, NULL);
	report_free(report);
	return finish(verb, r);
}

static int no_such_cell(struct trace_verb *verb, uint64_t count)
{
	faults_add(&verb->faults, "%s has %llu cells: there is no cell %llu", verb->path,
		(unsigned long long)count, (unsigned long long)verb->config.cell);
	return give_up(verb, EXIT_USAGE);
}

/* Goes to the cell before the one that was asked for. 1, 0 when there are fewer (ret_count: how
 * many), -errno. */
static int skip_cells(struct trace_verb *verb, uint32_t *ret_count)
{
	const char *text;
	int r = 1;

	for (*ret_count = 0; *ret_count + UINT64_C(1) < verb->config.cell; ++*ret_count) {
		r = trace_reader_cell(verb->reader, &text, &verb->error);
		if (r <= 0)
			break;
	}
	return r;
}

/* The next cell, number of the trace: 1, 0 at the end, -errno. Of one that is cut off (-EBADMSG)
 * the good part is there; cell->number is 0 where there is none. */
static int read_cell(struct trace_verb *verb, unsigned number, struct trace_cell *cell)
{
	int r;

	*cell = (struct trace_cell){ 0 };
	r = trace_cell_next(verb->reader, cell, &verb->error);
	if (r <= 0)
		return r;
	cell->number = number;
	return *cell->cut_off ? error_set(&verb->error, -EBADMSG, "%s", cell->cut_off) : 1;
}

static int act_print(struct trace_verb *verb)
{
	const enum trace_stage stage = verb->config.stage == NOT_GIVEN
					       ? TRACE_STAGE_D
					       : (enum trace_stage)verb->config.stage;
	uint32_t number, first;
	int r = skip_cells(verb, &number);

	first = number + 1;
	while (r > 0 && (!verb->config.cell || number < verb->config.cell)) {
		struct trace_cell cell;

		r = read_cell(verb, number + 1, &cell);
		if (cell.number > first)
			(void)fprintf(verb->output.stream, "# cell %u\n", cell.number);
		if (cell.number && r != -ENOMEM &&
			trace_print(&cell, stage, verb->output.stream, &verb->error) < 0)
			r = -ENOMEM;
		number += cell.number > 0;
		trace_cell_done(&cell);
	}
	if (r == 0 && number < verb->config.cell)
		return no_such_cell(verb, number);
	return finish(verb, r < 0 ? r : 0);
}

/* The number of that name in the description of the device; 0 where there is none. */
static unsigned device_number(const struct json_object *run, const char *name)
{
	struct json_object *device, *number;

	if (json_object_object_get_ex(run, "device", &device) &&
		json_object_object_get_ex(device, name, &number))
		return (unsigned)json_object_get_int(number);
	return 0;
}

static int export(struct trace_verb *verb, const struct trace_cell *cell)
{
	struct json_object *run;
	uint64_t fua = 0;
	char text[200];
	int r;

	if (verb->config.format == FORMAT_FIO) {
		r = trace_export_fio(cell,
			verb->config.stage == NOT_GIVEN ? TRACE_STAGE_D
							: (enum trace_stage)verb->config.stage,
			verb->output.stream, &fua, &verb->error);
		(void)snprintf(text, sizeof(text),
			"writes with FUA: %llu. An iolog cannot say so: fio sends plain ones",
			(unsigned long long)fua);
		if (fua)
			note(text);
		return r;
	}
	run = run_json(verb);
	r = trace_export_blkparse(cell, device_number(run, "major"), device_number(run, "minor"),
		verb->output.stream, &verb->error);
	(void)json_object_put(run);
	return r;
}

/* Times start anew in each cell, so that only one can be exported. */
static int act_export(struct trace_verb *verb)
{
	struct trace_cell cell = { 0 };
	uint32_t number;
	const char *text;
	int r = skip_cells(verb, &number);
	int after;

	if (r > 0)
		r = read_cell(verb, number + 1, &cell);
	if (r == 0 && verb->config.cell)
		return no_such_cell(verb, number);
	if (r == 0)
		faults_add(&verb->faults, "%s holds no cell", verb->path);
	if (r > 0 && !verb->config.cell) {
		after = trace_reader_cell(verb->reader, &text, &verb->error);
		if (after > 0)
			faults_add(&verb->faults,
				"%s has several cells, of which one can be "
				"exported: --cell N (bareplatter trace info lists them)",
				verb->path);
		r = after < 0 ? after : r;
	}
	if (verb->faults.count) {
		trace_cell_done(&cell);
		return give_up(verb, EXIT_USAGE);
	}
	if (!cell.number)
		return fail(verb, r);
	if (r != -ENOMEM && export(verb, &cell) < 0)
		r = -ENOMEM;
	trace_cell_done(&cell);
	return finish(verb, r < 0 ? r : 0);
}

static const struct action {
	const char *name;
	int (*act)(struct trace_verb *verb);
	bool takes_cell, takes_stage, takes_format;
} actions[] = {
	{ "info", act_info, false, false, false },
	{ "print", act_print, true, true, false },
	{ "export", act_export, true, true, true },
};

static const struct action *find_action(const char *name, struct faults *faults)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	faults_add(faults, "trace cannot \"%.64s\": it can info, print and export", name);
	return NULL;
}

static void check(const struct trace_verb *verb, const struct action *action, struct faults *faults)
{
	const struct trace_config *config = &verb->config;
	struct stat from, to;

	if (config->cell && !action->takes_cell)
		faults_add(faults, "--cell does not go with %s", action->name);
	if (config->stage != NOT_GIVEN && !action->takes_stage)
		faults_add(faults, "--stage does not go with %s", action->name);
	if (config->format != NOT_GIVEN && !action->takes_format)
		faults_add(faults, "--format does not go with %s", action->name);
	if (config->format == NOT_GIVEN && action->takes_format)
		faults_add(faults, "export needs --format fio or --format blkparse");
	if (config->format == FORMAT_BLKPARSE && config->stage != NOT_GIVEN)
		faults_add(
			faults, "--stage does not go with --format blkparse, which has them all");
	if (config->output_format != OUTPUT_FORMAT_TABLE && action->act != act_info)
		faults_add(faults, "--output-format json goes with info only");
	if (config->output && stat(verb->path, &from) == 0 && stat(config->output, &to) == 0 &&
		from.st_dev == to.st_dev && from.st_ino == to.st_ino)
		faults_add(faults, "--output %s is the trace itself: name another file",
			config->output);
}

static int open_and_act(struct trace_verb *verb, const struct action *action)
{
	int r = trace_reader_open(verb->path, &verb->reader, &verb->error);

	if (r < 0)
		return fail(verb, r);
	if (output_open(&verb->output, verb->config.output, &verb->error) < 0)
		return fail(verb, -ENOENT);
	return action->act(verb);
}

static int trace_run(int argc, char **argv)
{
	struct trace_verb verb = { .config = { .stage = NOT_GIVEN, .format = NOT_GIVEN } };
	const char *operands[2] = { NULL, NULL };
	const struct action *action = NULL;
	unsigned count = 0;
	int code = options_parse(
		&command_trace, argc, argv, &verb.config, operands, &count, &verb.faults);

	if (code > 0) {
		faults_done(&verb.faults);
		return EXIT_DONE;
	}
	verb.document = document_new(argc, argv);
	verb.path = operands[1];
	if (operands[0])
		action = find_action(operands[0], &verb.faults);
	if (action && verb.path)
		check(&verb, action, &verb.faults);
	if (verb.faults.count)
		code = give_up(&verb, EXIT_USAGE);
	else
		code = open_and_act(&verb, action);
	trace_reader_close(verb.reader);
	output_cancel(&verb.output);
	document_free(verb.document);
	faults_done(&verb.faults);
	return code;
}

const struct command command_trace = {
	.name = "trace",
	.arguments = "info|print|export FILE",
	.summary = "Looks into a trace that run --trace left, or hands it to other tools.",
	.description =
		"info lists the cells: what was played, requests by kind, how many were merged, "
		"how long it took, and whether the cell is whole.\n\n"
		"print gives one line `time_us rwbs lba sectors` per request at one stage of the "
		"path, in the order of that stage: microseconds since the start of the cell; the "
		"letters of blkparse (R read, W write, FN flush, behind them F for FUA and M for "
		"metadata); place and length in sectors of 512 bytes. At D and C requests that "
		"were merged are one line. `# cell N` stands before every cell but the first.\n\n"
		"export gives one cell. The iolog calls its file \"target\", so that fio writes "
		"nowhere until it is told where:\n\n"
		"  bareplatter trace export run.trace --cell 3 --format fio -o 3.iolog\n"
		"  fio --name=replay --read_iolog=3.iolog --replay_redirect=/dev/sdx\n\n"
		"Of a trace that is cut off what is whole is used; a note says where it ends, and "
		"the exit status is 1. FILE is read front to back, so /dev/stdin will do.",
	.specs = specs,
	.operands_min = 2,
	.operands_max = 2,
	.run = trace_run,
};
