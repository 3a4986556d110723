/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals of a run: SIGINT, SIGTERM and SIGHUP stop it (the first drains, the second leaves at
 * once), a timer ticks four times a second. Handlers only set flags; they are installed without
 * SA_RESTART so that they end a blocking wait.
 */
#ifndef TOOLS_RUN_SIGNALS_H
#define TOOLS_RUN_SIGNALS_H

#include "engine/scheduler.h"

extern struct scheduler_signals run_signals;

void run_signals_install(void);
void run_signals_remove(void);

/* The number of the signal that stopped the run; 0 when none did. */
int run_signals_stopped_by(void);

#endif
