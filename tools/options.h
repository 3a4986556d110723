/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options as data: one table per verb gives the parser (GNU argp), the help and the man page.
 *
 * Each row writes one typed field of the verb's configuration struct, which the caller filled with
 * the defaults beforehand. All faults of a command line are collected, not only the first.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include "engine/base.h"
#include "engine/units.h"

enum option_type {
	OPTION_FLAG,     /* bool, set to true */
	OPTION_TEXT,     /* const char *, points into argv */
	OPTION_U64,      /* uint64_t */
	OPTION_SIZE,     /* uint64_t bytes */
	OPTION_DURATION, /* nsec_t */
	OPTION_FRACTION, /* double, 0 < x <= 1 */
	OPTION_LIST,     /* struct units_list */
	OPTION_CHOICE,   /* unsigned: index into choices */
	OPTION_CHOICES,  /* struct option_choices: several of choices, comma list, order kept */
};

#define OPTION_CHOICES_MAX 16

struct option_choices {
	unsigned index[OPTION_CHOICES_MAX];
	size_t count;
};

struct option_spec {
	const char *name; /* long name without dashes */
	char letter;      /* short letter or 0 */
	enum option_type type;
	size_t offset;        /* of the field in the configuration struct */
	const char *argument; /* how the help calls the value; NULL for a flag */
	const char *help;
	const char *group;          /* heading, only on the first row of a group */
	const char *const *choices; /* NULL-ended, for OPTION_CHOICE(S) */
	uint64_t minimum, maximum;  /* numbers, sizes, ns, list items; maximum 0: none */
};

/* A verb of the command. */
struct command {
	const char *name;
	const char *arguments;           /* "TARGET" or "" */
	const char *summary;             /* one line */
	const char *description;         /* paragraphs for --help and the man page, parted by empty
					  * lines; one that starts with two blanks is an example */
	const struct option_spec *specs; /* ended by name == NULL */
	unsigned operands_min, operands_max;
	int (*run)(int argc, char **argv); /* argv[0] is the verb; returns the exit code */
};

/* Parses argv by the command's table into config; operands go to ret_operands (operands_max
 * pointers into argv). Returns 0, 1 when --help or --usage was printed (exit 0), or -EINVAL with
 * every fault in faults; fields whose options were good are set then too, so that a fault can be
 * answered in the output format that was asked for. Option names are never abbreviated: a
 * shortened name would change its meaning when a later release adds an option. */
int options_parse(const struct command *command, int argc, char **argv, void *config,
	const char **ret_operands, unsigned *ret_operand_count, struct faults *faults);

/* Releases what OPTION_LIST fields own. */
void options_done(const struct command *command, void *config);

/* Exit codes of the command, as documented in README and man page. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_RUN_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_REFUSED = 3,
	EXIT_NOT_POSSIBLE = 4,
	EXIT_NOT_RESTORED = 5,
	EXIT_INTERRUPTED = 130,
	EXIT_TERMINATED = 143,
};

/* Prints every fault on stderr, each on a line that starts with "bareplatter: ", then for usage
 * faults a line naming the verb's --help. Returns code. */
int command_fail(const struct command *command, const struct faults *faults, int code);

extern const struct command *const commands[]; /* NULL-ended, in the order of the help */

#endif
