/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel counted for a device: /sys/block/X/stat and inflight
 * (Documentation/block/stat.rst). The counters of a partition are its own node's; merges, flushes
 * and time in queue give the depth as the device saw it (Little's law).
 */
#ifndef DEVICES_COUNTERS_H
#define DEVICES_COUNTERS_H

#include "devices/device.h"

struct counters {
	bool valid; /* false: no such file, or queue/iostats is 0 */
	uint64_t reads, read_merges, read_sectors;
	uint64_t writes, write_merges, write_sectors;
	uint64_t flushes;        /* 0 on kernels before 5.5 */
	nsec_t time_in_queue_ns; /* summed over requests */
	uint32_t inflight_reads, inflight_writes;
};

/* Reads the node's counters; never fails, tells by `valid`. */
struct counters counters_read(const struct device *device);

/* The same below a root prefix. */
struct counters counters_read_below(const char *sysroot, const struct device *device);

/* One `stat` and one `inflight` text; false when they are not understood. */
bool counters_parse(const char *stat, const char *inflight, struct counters *ret_counters);

/* after - before for the sums; inflight from after. */
struct counters counters_since(const struct counters *before, const struct counters *after);

#endif
