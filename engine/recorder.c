/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/recorder.h"

#include <string.h>

void recorder_clear(struct recorder *recorder, struct series *series)
{
	memset(recorder, 0, sizeof(*recorder));
	for (unsigned i = 0; i < REQUEST_OPS; i++) {
		histogram_clear(&recorder->operations[i].drive);
		histogram_clear(&recorder->operations[i].host);
	}
	for (unsigned i = 0; i < RECORDER_KINDS; i++) {
		histogram_clear(&recorder->kinds[i].drive);
		histogram_clear(&recorder->kinds[i].host);
	}
	recorder->series = series;
}

nsec_t recorder_elapsed_ns(const struct recorder *recorder)
{
	return recorder->started ? recorder->last_completion_ns - recorder->first_dispatch_ns : 0;
}

double recorder_depth_mean(const struct recorder *recorder)
{
	nsec_t elapsed_ns = recorder_elapsed_ns(recorder);

	if (elapsed_ns <= 0)
		return 0;
	return (double)recorder->at_drive_ns / (double)elapsed_ns;
}

uint64_t recorder_errors(const struct recorder *recorder)
{
	uint64_t errors = 0;

	for (unsigned i = 0; i < REQUEST_OPS; i++)
		errors += recorder->operations[i].errors;
	return errors;
}
