/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb `operations`: the load by itself, to be read, compared or counted. Touches no device. */
#include <stdio.h>

#include "tools/command.h"
#include "tools/document.h"
#include "tools/operations.h"
#include "tools/output.h"
#include "tools/pool_options.h"
#include "tools/report.h"

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

static const char *const formats[] = {
	[FORMAT_TABLE] = "table",
	[FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",
	NULL,
};

struct operations_config {
	struct pool_options pool;
	bool count;
	unsigned format;
	const char *output;
};

/* clang-format off */
static const struct option_spec specs[] = {
	POOL_OPTION_ROWS(struct operations_config, pool),
	{ .name = "count", .type = OPTION_FLAG, .offset = offsetof(struct operations_config, count),
	  .group = "Output", .help = "only count the operations, one row per run" },
	{ .name = "output-format", .type = OPTION_CHOICE,
	  .offset = offsetof(struct operations_config, format), .argument = "FORMAT",
	  .choices = formats, .help = "table, json or csv, of --count" },
	{ .name = "output", .letter = 'o', .type = OPTION_TEXT,
	  .offset = offsetof(struct operations_config, output), .argument = "FILE",
	  .help = "write to FILE; default stdout" },
	{ .name = NULL },
};
/* clang-format on */

static void tell(const struct pool_load *load)
{
	for (size_t i = 0; i < load->runs.notes.count; i++)
		(void)fprintf(stderr, "bareplatter: note: %s\n", load->runs.notes.text[i]);
	if (load->shortened)
		(void)fprintf(stderr,
			"bareplatter: note: %s is shortened: %llu of its %llu "
			"transactions\n",
			load->name, (unsigned long long)load->transactions,
			(unsigned long long)load->transactions_own);
}

/* report is NULL when faults tell why there is none. */
static void write_document(int argc, char *const *argv, const struct pool_load *load,
	const struct report *report, const struct faults *faults, FILE *stream)
{
	struct document *document = document_new(argc, argv);

	document_set_status(document, STATUS_COMPLETE);
	for (size_t i = 0; i < load->runs.notes.count; i++)
		document_message(document, SEVERITY_INFO, "%s", load->runs.notes.text[i]);
	for (size_t i = 0; report && i < report_row_count(report); i++)
		document_add_cell(document, report_json_row(report, i));
	if (!report)
		document_fail(document, STATUS_FAILED, faults);
	document_write(document, stream);
	document_free(document);
}

static int write_counts(int argc, char *const *argv, const struct operations_config *config,
	const struct pool_load *load, FILE *stream, struct error *error)
{
	struct report *report;
	int result = operations_count(&load->runs, &report, error);

	if (result < 0)
		return result;
	if (config->format == FORMAT_JSON)
		write_document(argc, argv, load, report, NULL, stream);
	else if (config->format == FORMAT_CSV)
		report_csv(report, stream);
	else
		result = report_table(report, stream,
			stream == stdout ? report_terminal_width() : 0, false, error);
	report_free(report);
	return result;
}

/* Tells the faults on stderr, and in a JSON document on stdout where one was asked for. */
static int fail(int argc, char *const *argv, const struct operations_config *config,
	const struct pool_load *load, const struct faults *faults, int code)
{
	if (config->count && config->format == FORMAT_JSON)
		write_document(argc, argv, load, NULL, faults, stdout);
	return command_fail(&command_operations, faults, code);
}

static int perform(int argc, char *const *argv, const struct operations_config *config,
	const struct pool_load *load, struct faults *faults)
{
	struct error error = { 0 };
	struct output output;
	int result;

	if (output_open(&output, config->output, &error) < 0) {
		faults_add(faults, "%s", error.text);
		return fail(argc, argv, config, load, faults, EXIT_USAGE);
	}
	tell(load);
	if (config->count)
		result = write_counts(argc, argv, config, load, output.stream, &error);
	else
		result = operations_print(&load->runs, output.stream, &error);
	if (result >= 0)
		result = output_commit(&output, &error);
	output_cancel(&output);
	if (result >= 0)
		return EXIT_DONE;
	faults_add(faults, "%s", error.text);
	return fail(argc, argv, config, load, faults,
		result == -ENOMEM ? EXIT_NOT_POSSIBLE : EXIT_RUN_FAILED);
}

static int operations_run(int argc, char **argv)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct operations_config config = { 0 };
	struct pool_load load = { 0 };
	unsigned operand_count = 0;
	int result;

	result = options_parse(
		&command_operations, argc, argv, &config, NULL, &operand_count, &faults);
	if (result > 0)
		return EXIT_DONE;
	if (config.format != FORMAT_TABLE && !config.count)
		faults_add(&faults,
			"--output-format %s needs --count: the operations themselves "
			"are plain lines",
			formats[config.format]);
	(void)pool_options_load(&config.pool, &load, &faults);
	if (faults.count > 0)
		result = fail(argc, argv, &config, &load, &faults, EXIT_USAGE);
	else
		result = perform(argc, argv, &config, &load, &faults);
	pool_load_done(&load);
	return result;
}

const struct command command_operations = {
	.name = "operations",
	.arguments = "",
	.summary = "Prints the operations that a pool or a PostMark command file draws.",
	.description =
		"One line per operation, as PostMark performs it: `C NAME BYTES` creates, `A NAME "
		"BYTES` appends, `R NAME BYTES` reads, `D NAME` deletes a file; `# run N` parts "
		"the runs of a command file. The stream equals that of PostMark 1.5 and later.\n"
		"\n"
		"A command file is taken only where PostMark and a person read the same. What "
		"PostMark would misread or skip is refused, all faults at once with their lines; "
		"what has no effect without a file system is listed.\n"
		"\n"
		"--count tells how many there are. One transaction has two halves: READ + APPENDED "
		"+ WASTED-A = TRANS and CREATED + DELETED + WASTED-C = TRANS, unless a bias of -1 "
		"leaves the half out. Wasted are appends to a file already at its largest size, "
		"which PostMark skips, and creates in a table that is full. Bytes are exact; "
		"PostMark adds them in single precision and prints what POSTMARK-READ and "
		"POSTMARK-WRITE show.\n"
		"\n"
		"  bareplatter operations --pool SS --transactions 5000 --count",
	.specs = specs,
	.run = operations_run,
};
