/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fio command that comes nearest to a cell, for a cross-check with the tool everybody has. A
 * pattern has an exact counterpart; a file pool has none, so its command plays random blocks of
 * the cell's mean sizes and its mix over the same area.
 */
#ifndef TOOLS_FIO_COMMAND_H
#define TOOLS_FIO_COMMAND_H

#include "tools/run_cell.h"

struct fio_command {
	char text[768];
};

struct fio_command fio_command(const struct run_session *session, const struct cell_result *result);

#endif
