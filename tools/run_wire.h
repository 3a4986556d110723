/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order on the wire, proven before the first cell: where a batch does not reach the driver in
 * the order in which it was handed over, --submit auto turns to one request per system call, and
 * what was asked for is told to be otherwise.
 */
#ifndef TOOLS_RUN_WIRE_H
#define TOOLS_RUN_WIRE_H

#include "tools/document.h"
#include "tools/run_cell.h"

/* Checks and, with --submit auto, mends; puts "wire_order" into the document. Kernel elevators and
 * devices in memory are not checked: their order is not ours. 0, or -errno when the engine cannot
 * be used or a signal came. */
int run_wire_check(struct run_session *session, struct document *document, struct faults *notes,
	struct error *error);

#endif
