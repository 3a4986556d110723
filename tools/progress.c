/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress line: formatted by a pure function, printed by a thin one. */
#include "tools/progress.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "engine/units.h"
#include "tools/report.h"

/* Fast enough to look alive, slow enough to cost nothing. */
#define TERMINAL_PERIOD_NS (NSEC_PER_SEC / 5)
#define PLAIN_PERIOD_NS (5 * NSEC_PER_SEC)
#define LINE_MAX_COLUMNS 240

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
	(void)number;
	asked = 1;
}

void progress_listen(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	(void)sigaction(SIGUSR1, &action, NULL);
}

/* Adds a part with its separator if the line stays within width. */
static void add(char *text, size_t size, size_t width, const char *part)
{
	size_t used = strlen(text);
	size_t length = strlen(part) + (used ? 2 : 0);

	if (used + length >= size || (width && used + length > width))
		return;
	(void)snprintf(text + used, size - used, "%s%s", used ? ", " : "", part);
}

void progress_format(const struct progress_state *state, size_t width, char *ret_text, size_t size)
{
	char part[96];

	ret_text[0] = '\0';
	if (state->cells) {
		(void)snprintf(part, sizeof(part), "cell %u of %u", state->cell, state->cells);
		add(ret_text, size, width, part);
	}
	if (state->total) {
		double share = fmin((double)state->done / (double)state->total, 1);

		(void)snprintf(part, sizeof(part), "%.48s %u %%", state->phase,
			(unsigned)floor(share * 100));
	} else {
		(void)snprintf(part, sizeof(part), "%.48s", state->phase);
	}
	add(ret_text, size, width, part);
	if (state->rate_per_s > 0) {
		(void)snprintf(part, sizeof(part), "%s %.24s/s",
			units_format_count(state->rate_per_s).text, state->unit);
		add(ret_text, size, width, part);
	}
	if (state->depth >= 0) {
		long long tenths = llround(fmin(state->depth, 1e6) * 10);

		(void)snprintf(part, sizeof(part), "depth %lld.%lld", tenths / 10, tenths % 10);
		add(ret_text, size, width, part);
	}
	if (state->left_ns != NSEC_NEVER && state->left_ns >= 0) {
		/* Whole seconds: more digits would only flicker. */
		nsec_t seconds = state->left_ns / NSEC_PER_SEC;

		if (seconds < 60)
			(void)snprintf(part, sizeof(part), "%d s left", (int)seconds);
		else
			(void)snprintf(part, sizeof(part), "%s left",
				units_format_duration(seconds * NSEC_PER_SEC).text);
		add(ret_text, size, width, part);
	}
}

void progress_start(struct progress *progress, bool quiet)
{
	*progress = (struct progress){ .stream = stderr, .quiet = quiet };
	progress->terminal = isatty(STDERR_FILENO) == 1;
	if (progress->terminal)
		progress->width = report_terminal_width();
	if (progress->terminal && progress->width == 0)
		progress->width = 80;
}

bool progress_due(const struct progress *progress, nsec_t now_ns)
{
	return asked || (!progress->quiet && now_ns >= progress->next_ns);
}

void progress_update(struct progress *progress, const struct progress_state *state, nsec_t now_ns)
{
	char text[LINE_MAX_COLUMNS + 1];
	bool once = asked != 0;

	if (!progress_due(progress, now_ns))
		return;
	asked = 0;
	/* The last column stays free, or some terminals would break the line. */
	progress_format(state, progress->width ? progress->width - 1 : LINE_MAX_COLUMNS, text,
		sizeof(text));
	if (!progress->terminal || progress->quiet) {
		(void)fprintf(progress->stream, "%s\n", text);
	} else {
		int blank = (int)progress->shown - (int)strlen(text);

		(void)fprintf(progress->stream, "\r%s%*s", text, blank > 0 ? blank : 0, "");
		progress->shown = strlen(text);
		if (once) {
			(void)fputc('\n', progress->stream);
			progress->shown = 0;
		}
	}
	(void)fflush(progress->stream);
	if (now_ns >= progress->next_ns)
		progress->next_ns =
			now_ns + (progress->terminal ? TERMINAL_PERIOD_NS : PLAIN_PERIOD_NS);
}

void progress_clear(struct progress *progress)
{
	if (progress->shown == 0)
		return;
	(void)fprintf(progress->stream, "\r%*s\r", (int)progress->shown, "");
	(void)fflush(progress->stream);
	progress->shown = 0;
}
