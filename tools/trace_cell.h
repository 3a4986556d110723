/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One cell of a trace in memory: its description and all its records.
 *
 * A cell is named as FILE or FILE,cell=N, counted from 1 in the order of the file (a file whose
 * name ends in ",cell=N" is named as ./FILE,cell=N,cell=1).
 *
 * Read of the descriptions: of the run "device" (as tools/document writes it: rotational,
 * transport, memory_backed, raid_volume), of the cell "depth" and "cache_commands". What is absent
 * is unknown.
 */
#ifndef TOOLS_TRACE_CELL_H
#define TOOLS_TRACE_CELL_H

#include "devices/device.h"
#include "engine/trace.h"

struct json_object;

struct trace_cell {
	unsigned number;              /* in the trace, from 1; 0 where the caller does not count */
	struct json_object *text;     /* owned; an empty object when it is no JSON */
	struct trace_record *records; /* owned */
	size_t count;
	char cut_off[256]; /* the reader's sentence when records are missing, else "" */
};

struct trace_choice {
	char *path;    /* owned */
	unsigned cell; /* 0: none named */
};

int trace_choice_parse(const char *text, struct trace_choice *ret_choice, struct error *error);
void trace_choice_done(struct trace_choice *choice);

/* The next cell of an open trace: 1, 0 at the end, -errno. A cell that is cut off is good as far
 * as it goes and says so. */
int trace_cell_next(struct trace_reader *reader, struct trace_cell *ret_cell, struct error *error);
void trace_cell_done(struct trace_cell *cell);

/* The whole of one cell, for a replay: the one named, or the only one of the file. -ENOENT when
 * there is no such cell, -ENOTUNIQ when none is named and there are several, -EBADMSG when it is
 * cut off. */
int trace_cell_read(
	const struct trace_choice *choice, struct trace_cell *ret_cell, struct error *error);

/* What the descriptions say; 0 and "" when unknown. */
unsigned trace_cell_depth(const struct trace_cell *cell);
const char *trace_cell_cache_commands(const struct trace_cell *cell);
/* The facts that tell how many arms there are; false when the run does not name its device. */
bool trace_cell_device(const struct trace_reader *reader, struct device *ret_device);

#endif
