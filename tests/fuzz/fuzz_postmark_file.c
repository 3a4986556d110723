/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of command files must take any bytes: it refuses them with faults, or hands over
 * configurations that can be run. */
#include <stdlib.h>

#include "fsmodel/postmark_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct postmark_runs runs = { 0 };
	struct faults faults = { 0 };
	const int result =
		postmark_file_parse("fuzz", (const char *)data, size, false, &runs, &faults);

	if (result == 0) {
		assert(runs.count > 0 && faults.count == 0);
		for (size_t i = 0; i < runs.count; i++)
			postmark_config_check(&runs.configs[i], &faults);
		assert(faults.count == 0);
	} else {
		assert(result == -EINVAL && runs.count == 0 && faults.count > 0);
	}
	postmark_runs_done(&runs);
	faults_done(&faults);
	return 0;
}
