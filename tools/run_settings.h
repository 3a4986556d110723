/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's queue for the time of a run: taken out of the way before the first cell, changed
 * between cells that ask for different elevators, put back on every way out. A device in memory
 * keeps its queue as it is unless a kernel's elevator is asked for.
 */
#ifndef TOOLS_RUN_SETTINGS_H
#define TOOLS_RUN_SETTINGS_H

#include "tools/document.h"
#include "tools/run_plan.h"

struct run_settings {
	struct settings *settings; /* NULL: nothing is changed */
	struct settings_place place;
	struct faults notes; /* for people and the document */
	bool not_restored;
};

/* Takes the device's lock and puts back what a killed run left. A device that is in use, or no
 * block device, is left alone. 0, or an exit code (3 another run has it, 4 not possible, 5 what was
 * left could not be put back) with faults. Every kernel elevator of the plan is tried once, so that
 * an unknown name is refused before anything is played. */
int run_settings_open(
	struct run_settings *settings, const struct run_plan *plan, struct faults *faults);

/* What the cell asks for. False with faults when it cannot be had. */
bool run_settings_apply(struct run_settings *settings, const struct run_plan *plan,
	const struct cell *cell, struct faults *faults);

/* Values that changed under the cell become its notes. */
void run_settings_verify(struct run_settings *settings, struct faults *notes);

/* {"scheduler": {"before", "during"}, ...} into the document. */
void run_settings_describe(const struct run_settings *settings, struct document *document);

/* Puts everything back; faults tell what could not be (not_restored is set then). abandon: requests
 * are left at the drive, the kernel would wait for them; the record stays for `restore`. */
void run_settings_close(struct run_settings *settings, bool abandon, struct faults *faults);

#endif
