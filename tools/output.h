/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a result goes: stdout, or a file that is there whole or not at all.
 *
 * A file is written beside its place as FILE.tmp and renamed when it is complete and on disk, so
 * that a full disk or a kill never leaves half a result, nor destroys an older one. It is opened
 * before the run: a path that cannot be written is told before hours of work, not after.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdio.h>

#include "engine/base.h"

struct output {
	FILE *stream;
	char *path;      /* NULL: stdout, or a pipe or terminal written in place */
	char *temporary; /* path + ".tmp" */
};

/* path NULL or "-" is stdout. A link is followed; pipes, terminals and /dev/null are written in
 * place; a block device is refused. */
int output_open(struct output *output, const char *path, struct error *error);

/* Flushes, syncs, renames. Any error, of earlier writes too, leaves an existing file as it was. */
int output_commit(struct output *output, struct error *error);

/* Drops what was written to a file. Harmless after output_commit. */
void output_cancel(struct output *output);

#endif
