/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command itself: which verb is meant, and what the process returns.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include "tools/options.h"

extern const struct command command_list, command_check, command_plan, command_operations,
	command_run, command_trace, command_reorder, command_cache, command_restore, command_help;

/* Runs the verb that argv names. A result that could not be written to stdout turns "done" into
 * "failed". */
int command_main(int argc, char **argv);

#endif
