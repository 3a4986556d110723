/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What runs have left changed: the records in the folder, for `restore` and for whoever wants to
 * offer it.
 */
#ifndef DEVICES_SETTINGS_LEFT_H
#define DEVICES_SETTINGS_LEFT_H

#include "devices/settings_step.h"

enum settings_left_state {
	SETTINGS_LEFT,         /* by a process that is gone */
	SETTINGS_LEFT_RUNNING, /* its process runs */
	SETTINGS_LEFT_NOTHING, /* its process ended before it changed anything */
	SETTINGS_LEFT_DAMAGED, /* cannot be understood */
};

struct settings_left {
	char folder[PATH_MAX];
	char file[NAME_MAX + 1];
	enum settings_left_state state;
	struct state_record record; /* zeroed when empty or damaged */
};

struct settings_left_list {
	struct settings_left *items;
	size_t count;
};

/* Every record, or only those that mean the device (NULL: all): its disk by identity, or by the
 * very queue that was changed. No folder is an empty list. */
int settings_left_list(const struct settings_place *place, const struct device *device,
	struct settings_left_list *ret_list, struct error *error);
void settings_left_done(struct settings_left_list *list);

/* Puts back and removes the record. 0, -EBUSY when its process runs, -ENODEV when the device is
 * not there (the record stays), -EIO when something could not be put back. */
int settings_left_restore(const struct settings_place *place, const struct settings_left *left,
	struct faults *notes, struct faults *faults);

/* Removes the record and leaves the device as it is. 0 or -EBUSY or as above. */
int settings_left_forget(const struct settings_place *place, const struct settings_left *left,
	struct faults *faults);

#endif
