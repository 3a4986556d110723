/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/series.h"

#include <stdlib.h>
#include <string.h>

/* Enough for 20 minutes of one-second windows; grown by doubling, once per thousands of windows. */
#define ROWS_FIRST 1200

int series_init(struct series *series, nsec_t window_ns, bool times)
{
	assert(window_ns > 0);
	memset(series, 0, sizeof(*series));
	series->window_ns = window_ns;
	series->times = times;
	histogram_clear(&series->drive);
	series->rows = malloc(ROWS_FIRST * sizeof(*series->rows));
	if (!series->rows)
		return -ENOMEM;
	series->capacity = ROWS_FIRST;
	series_start(series, 0);
	return 0;
}

void series_done(struct series *series)
{
	free(series->rows);
	memset(series, 0, sizeof(*series));
}

static void open_window(struct series *series, nsec_t start_ns)
{
	series->open = (struct series_row){
		.start_ns = start_ns,
		.end_ns = start_ns + series->window_ns,
	};
	if (series->drive.count)
		histogram_clear(&series->drive);
}

void series_start(struct series *series, nsec_t now_ns)
{
	series->count = 0;
	series->truncated = false;
	series->origin_ns = now_ns;
	open_window(series, 0);
}

static void close_window(struct series *series)
{
	struct series_row *row = &series->open;
	bool empty = !series->drive.count;

	row->drive_p50_ns = empty ? -1 : histogram_percentile(&series->drive, 0.5);
	row->drive_p99_ns = empty ? -1 : histogram_percentile(&series->drive, 0.99);
	row->drive_max_ns = empty ? -1 : series->drive.max_ns;
	if (series->count == series->capacity) {
		size_t capacity = series->capacity * 2;
		struct series_row *grown = realloc(series->rows, capacity * sizeof(*grown));

		if (!grown) {
			series->truncated = true;
			return;
		}
		series->rows = grown;
		series->capacity = capacity;
	}
	series->rows[series->count++] = *row;
}

void series_advance(struct series *series, nsec_t now_ns)
{
	nsec_t since_ns = now_ns - series->origin_ns;

	while (series->open.end_ns <= since_ns && !series->truncated) {
		nsec_t end_ns = series->open.end_ns;

		close_window(series);
		open_window(series, end_ns);
	}
}

void series_finish(struct series *series, nsec_t now_ns)
{
	nsec_t since_ns = now_ns - series->origin_ns;

	series_advance(series, now_ns);
	if (series->open.start_ns < since_ns && !series->truncated) {
		series->open.end_ns = since_ns;
		close_window(series);
		open_window(series, since_ns);
	}
}
