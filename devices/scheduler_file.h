/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue/scheduler, as kernels write it (block/elevator.c, elv_iosched_show): the names that can be
 * chosen, parted by blanks, the active one in brackets.
 *
 * The brackets stand anywhere (`none [mq-deadline] kyber`, `[none]`, `noop deadline [cfq]`), the
 * final blank and newline may be missing, a driver without a queue of requests shows a bare `none`
 * or nothing, and device-mapper of some releases has no such file at all. Pure: text in.
 */
#ifndef DEVICES_SCHEDULER_FILE_H
#define DEVICES_SCHEDULER_FILE_H

#include "engine/base.h"

#define SCHEDULER_NAME 32
#define SCHEDULER_COUNT_MAX 16

struct scheduler_file {
	char names[SCHEDULER_COUNT_MAX][SCHEDULER_NAME];
	size_t count;
	int active; /* index, or -1: several names and none in brackets, or no name */
};

/* -EBADMSG when it is no list of names: a bracket without its partner, two active ones, a name
 * that is too long, or too many of them. An empty text is an empty list. */
int scheduler_file_parse(const char *text, struct scheduler_file *ret_file);

/* The active name, "" when there is none. */
const char *scheduler_file_active(const struct scheduler_file *file);

/* Listed, or one that kernels load as a module when it is first asked for, and list only then. */
bool scheduler_file_offers(const struct scheduler_file *file, const char *name);

/* The names for a sentence: "none, mq-deadline, kyber", or "nothing". */
struct scheduler_names {
	char text[SCHEDULER_COUNT_MAX * (SCHEDULER_NAME + 2)];
};
struct scheduler_names scheduler_file_names(const struct scheduler_file *file);

#endif
