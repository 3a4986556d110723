/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which order the kernel hands a device's requests to its driver, seen from outside: the
 * events block_rq_issue (include/trace/events/block.h, sent by blk_mq_start_request) of one disk.
 *
 * They are watched through a trace instance of our own (Documentation/trace/ftrace.rst,
 * "Instances"), so that nobody's global buffer is touched. Its clock is `counter`, which is no
 * time but one number for every event on all processors: instants in microseconds, as the default
 * clock prints them, are equal within a batch. The instance is removed by wire_order_stop();
 * one that a killed process left behind is removed by the next start.
 */
#ifndef DEVICES_WIRE_ORDER_H
#define DEVICES_WIRE_ORDER_H

#include "devices/device.h"

struct wire_watch;

/* Begins to watch the device (a partition: its part of the disk). -ENOENT when there is no
 * tracefs or no such event, -EACCES or -EPERM when it is not for us, others as tracefs says;
 * always with a sentence. One watch at a time per process (-EEXIST). */
int wire_order_start(
	const struct device *device, struct wire_watch **ret_watch, struct error *error);

/* The same with tracefs at this place. */
int wire_order_start_below(const char *tracefs, const struct device *device,
	struct wire_watch **ret_watch, struct error *error);

/* Ends the watch, whatever it returns, and removes the instance. The first sectors of the issued
 * reads and writes in the order of issue, in 512 bytes from the start of the device as it was
 * named; flushes, discards and what lies outside a partition are left out. A request that the
 * driver gave back appears each time. -EOVERFLOW when events were lost, -ENOBUFS for more than
 * max. NULL for ret_count asks for nothing. */
int wire_order_stop(struct wire_watch *watch, uint64_t *ret_sectors, size_t max, size_t *ret_count,
	struct error *error);

/* --- Reading the text, without a device ------------------------------------------------------ */

struct wire_event {
	uint64_t stamp; /* of the trace clock: a count, or microseconds */
	unsigned cpu;
	unsigned major, minor;
	uint64_t sector;
	uint64_t sectors;
	bool data; /* a read or a write of at least one sector */
};

/* One line: 1 and the event, 0 for any other line, -EINVAL for an event that cannot be read. */
int wire_order_parse(const char *line, struct wire_event *ret_event);

/* What is kept: data on this disk, wholly inside these sectors. */
struct wire_range {
	unsigned major, minor;
	uint64_t first_sector, sectors;
};

/* A whole file `trace`, as wire_order_stop() reads it. -EBADMSG for text that is not understood or
 * whose order cannot be told. */
int wire_order_collect(const char *text, const struct wire_range *range, uint64_t *ret_sectors,
	size_t max, size_t *ret_count, struct error *error);

#endif
