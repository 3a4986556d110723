/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the command says about itself: the overview, a verb's help and the man page, all from the
 * tables in tools/options.h and the few sections in tools/help.c. One source, two forms.
 */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include <stdio.h>

#include "tools/options.h"

/* `bareplatter --help`: the verbs and the exit codes. */
void help_overview(FILE *stream, const struct command *const *verbs);
/* `bareplatter VERB --help`, at most 80 columns wide. */
void help_command(FILE *stream, const struct command *command);
/* `bareplatter VERB --usage`: one line. */
void help_usage(FILE *stream, const struct command *command);
/* A man page, man(7) troff. */
void help_man(FILE *stream, const struct command *const *verbs, const char *version);

#endif
