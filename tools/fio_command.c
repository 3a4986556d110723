/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/fio_command.h"

#include <stdio.h>
#include <string.h>

static uint64_t mean_bytes(const struct recorder_operation *operation)
{
	uint64_t bytes = operation->completed ? operation->bytes / operation->completed : 4096;

	return max_u64(4096, (bytes + 2048) / 4096 * 4096);
}

static const char *fio_engine(const struct cell_result *result)
{
	if (strcmp(result->engine, "sync") == 0)
		return "psync";
	return result->engine;
}

/* What to play: the pattern itself, or random blocks of the pool's mix. */
static void describe_load(const struct run_session *session, const struct cell_result *result,
	char *text, size_t size)
{
	const struct recorder_operation *reads = &session->recorder->operations[REQUEST_READ];
	const struct recorder_operation *writes = &session->recorder->operations[REQUEST_WRITE];
	uint64_t sum = reads->completed + writes->completed;
	const char *name = pattern_names[result->cell.pattern];

	if (!result->cell.layout) {
		/* fio's names for sequential patterns are read and write. */
		if (strncmp(name, "seq", 3) == 0)
			name += 3;
		(void)snprintf(text, size, "--rw=%s --bs=%u --norandommap", name,
			session->plan->block_bytes);
		if (result->cell.pattern == PATTERN_RANDRW)
			(void)snprintf(text + strlen(text), size - strlen(text),
				" --rwmixread=%.0f", result->cell.read_share * 100);
		return;
	}
	(void)snprintf(text, size, "--rw=randrw --rwmixread=%.0f --bs=%llu,%llu --norandommap",
		sum ? 100.0 * (double)reads->completed / (double)sum : 50.0,
		(unsigned long long)mean_bytes(reads), (unsigned long long)mean_bytes(writes));
}

struct fio_command fio_command(const struct run_session *session, const struct cell_result *result)
{
	const struct run_plan *plan = session->plan;
	struct fio_command command;
	char load[200], limit[80];
	uint64_t seconds = (uint64_t)divide_up(
		(uint64_t)max_u64((uint64_t)result->elapsed_ns, 1), (uint64_t)NSEC_PER_SEC);

	describe_load(session, result, load, sizeof(load));
	(void)snprintf(
		limit, sizeof(limit), "--time_based --runtime=%llu", (unsigned long long)seconds);
	(void)snprintf(command.text, sizeof(command.text),
		"fio --name=cell --filename=%s --direct=1 --ioengine=%s --iodepth=%u %s "
		"--offset=%llu --size=%llu --randseed=%llu%s %s",
		session->claim->target.name, fio_engine(result), result->cell.depth, load,
		(unsigned long long)plan->area_offset_bytes, (unsigned long long)plan->area_bytes,
		(unsigned long long)(plan->seed + result->cell.repeat),
		result->cell.cache == CACHE_WT ? " --sync=dsync" : "", limit);
	return command;
}
