/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs, one const array; a new verb is one file and one line here. */
#include "tools/command.h"

#include <stdio.h>
#include <string.h>

#include "tools/help.h"
#include "version.h"

const struct command *const commands[] = {
	&command_list,
	&command_check,
	&command_plan,
	&command_operations,
	&command_run,
	&command_trace,
	&command_reorder,
	&command_cache,
	&command_restore,
	&command_help,
	NULL,
};

static const struct command *command_find(const char *name)
{
	for (const struct command *const *command = commands; *command; command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
}

static void fault_verb(struct faults *faults, const char *name)
{
	char verbs[256] = "";

	for (size_t i = 0, used = 0; commands[i] && used < sizeof(verbs); i++)
		used += (size_t)snprintf(verbs + used, sizeof(verbs) - used, "%s%s", i ? ", " : "",
			commands[i]->name);
	faults_add(faults, "unknown verb \"%.64s\"; the verbs are: %s", name, verbs);
}

int command_fail(const struct command *command, const struct faults *faults, int code)
{
	for (size_t i = 0; i < faults->count; i++)
		(void)fprintf(stderr, "bareplatter: %s\n", faults->text[i]);
	if (code == EXIT_USAGE && command)
		(void)fprintf(
			stderr, "bareplatter: see \"bareplatter %s --help\"\n", command->name);
	else if (code == EXIT_USAGE)
		(void)fputs("bareplatter: see \"bareplatter --help\"\n", stderr);
	return code;
}

struct help_config {
	bool man;
};

static const struct option_spec help_specs[] = {
	{ .name = "man",
		.type = OPTION_FLAG,
		.offset = offsetof(struct help_config, man),
		.help = "print the man page, troff source" },
	{ 0 },
};

static int help_run(int argc, char **argv)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct help_config config = { 0 };
	const char *name = NULL;
	unsigned count = 0;
	const struct command *command;
	int rc = options_parse(&command_help, argc, argv, &config, &name, &count, &faults);

	if (rc != 0)
		return rc < 0 ? command_fail(&command_help, &faults, EXIT_USAGE) : EXIT_DONE;
	if (config.man) {
		help_man(stdout, commands, BAREPLATTER_VERSION);
		return EXIT_DONE;
	}
	if (count == 0) {
		help_overview(stdout, commands);
		return EXIT_DONE;
	}
	command = command_find(name);
	if (!command) {
		fault_verb(&faults, name);
		return command_fail(NULL, &faults, EXIT_USAGE);
	}
	help_command(stdout, command);
	return EXIT_DONE;
}

const struct command command_help = {
	.name = "help",
	.arguments = "[VERB]",
	.summary = "Tells about the command, or about one verb.",
	.description = "",
	.specs = help_specs,
	.operands_max = 1,
	.run = help_run,
};

static int dispatch(int argc, char **argv)
{
	_cleanup_faults_ struct faults faults = { 0 };
	const struct command *command;

	if (argc < 2) {
		faults_add(&faults, "no verb given");
		return command_fail(NULL, &faults, EXIT_USAGE);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)fputs("bareplatter " BAREPLATTER_VERSION "\n", stdout);
		return EXIT_DONE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help_overview(stdout, commands);
		return EXIT_DONE;
	}
	command = command_find(argv[1]);
	if (!command) {
		fault_verb(&faults, argv[1]);
		return command_fail(NULL, &faults, EXIT_USAGE);
	}
	return command->run(argc - 1, argv + 1);
}

int command_main(int argc, char **argv)
{
	int code = dispatch(argc, argv);

	/* A full disk behind a redirection shows here at the latest. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		(void)fprintf(stderr, "bareplatter: stdout: the result could not be written: %m\n");
		if (code == EXIT_DONE)
			code = EXIT_RUN_FAILED;
	}
	return code;
}
