/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_signals.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define TICK_USEC 250000

struct scheduler_signals run_signals;
static volatile sig_atomic_t stopped_by;

static void on_stop(int number)
{
	if (!stopped_by)
		stopped_by = number;
	run_signals.stop++;
}

static void on_tick(int number)
{
	(void)number;
	run_signals.tick = 1;
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	(void)sigaction(number, &action, NULL);
}

static void set_timer(int interval_usec)
{
	const struct itimerval timer = {
		.it_interval = { .tv_usec = interval_usec },
		.it_value = { .tv_usec = interval_usec },
	};

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

void run_signals_install(void)
{
	handle(SIGINT, on_stop);
	handle(SIGTERM, on_stop);
	handle(SIGHUP, on_stop);
	handle(SIGALRM, on_tick);
	set_timer(TICK_USEC);
}

void run_signals_remove(void)
{
	set_timer(0);
	handle(SIGALRM, SIG_IGN);
}

int run_signals_stopped_by(void)
{
	return stopped_by;
}
