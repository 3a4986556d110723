/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel counted for a device; see the header. */
#include "devices/counters.h"

#include "devices/sysfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Order of the fields in stat: Documentation/block/stat.rst. */
enum {
	STAT_READS,
	STAT_READ_MERGES,
	STAT_READ_SECTORS,
	STAT_READ_TICKS,
	STAT_WRITES,
	STAT_WRITE_MERGES,
	STAT_WRITE_SECTORS,
	STAT_WRITE_TICKS,
	STAT_IN_FLIGHT,
	STAT_IO_TICKS,
	STAT_TIME_IN_QUEUE,
	STAT_OLDEST_FIELDS,
	STAT_FLUSHES = 15, /* discards since 4.18 come before */
	STAT_FIELDS = 17
};

bool counters_parse(const char *stat, const char *inflight, struct counters *ret_counters)
{
	uint64_t fields[STAT_FIELDS] = { 0 };
	struct counters counters = { .valid = true };
	int count = 0, used;

	while (count < STAT_FIELDS && sscanf(stat, " %" SCNu64 "%n", &fields[count], &used) == 1) {
		stat += used;
		count++;
	}
	if (count < STAT_OLDEST_FIELDS ||
		sscanf(inflight, "%" SCNu32 " %" SCNu32, &counters.inflight_reads,
			&counters.inflight_writes) != 2)
		return false;
	counters.reads = fields[STAT_READS];
	counters.read_merges = fields[STAT_READ_MERGES];
	counters.read_sectors = fields[STAT_READ_SECTORS];
	counters.writes = fields[STAT_WRITES];
	counters.write_merges = fields[STAT_WRITE_MERGES];
	counters.write_sectors = fields[STAT_WRITE_SECTORS];
	counters.flushes = fields[STAT_FLUSHES];
	counters.time_in_queue_ns = (nsec_t)fields[STAT_TIME_IN_QUEUE] * NSEC_PER_MSEC;
	*ret_counters = counters;
	return true;
}

struct counters counters_read_below(const char *sysroot, const struct device *device)
{
	const char *disk = device->is_partition ? device->parent : device->name;
	struct counters counters = { 0 };
	char stat[512], inflight[64];
	uint64_t counting = 1;

	/* With iostats off the files are there and stand still. */
	(void)sysfs_read_u64(sysroot, &counting, "sys/class/block/%s/queue/iostats", disk);
	if (!counting ||
		sysfs_read(sysroot, stat, sizeof(stat), "sys/class/block/%s/stat", device->name) <=
			0 ||
		sysfs_read(sysroot, inflight, sizeof(inflight), "sys/class/block/%s/inflight",
			device->name) <= 0 ||
		!counters_parse(stat, inflight, &counters))
		return (struct counters){ 0 };
	return counters;
}

struct counters counters_read(const struct device *device)
{
	return counters_read_below(NULL, device);
}

struct counters counters_since(const struct counters *before, const struct counters *after)
{
	return (struct counters){
		.valid = before->valid && after->valid,
		.reads = after->reads - before->reads,
		.read_merges = after->read_merges - before->read_merges,
		.read_sectors = after->read_sectors - before->read_sectors,
		.writes = after->writes - before->writes,
		.write_merges = after->write_merges - before->write_merges,
		.write_sectors = after->write_sectors - before->write_sectors,
		.flushes = after->flushes - before->flushes,
		.time_in_queue_ns = after->time_in_queue_ns - before->time_in_queue_ns,
		.inflight_reads = after->inflight_reads,
		.inflight_writes = after->inflight_writes,
	};
}
