/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The single steps that settings are made of: a value set and read back, a record saved, a record
 * removed. Each can be watched or stopped from outside, so that a test can end the process, or
 * refuse the write, at any of them.
 */
#ifndef DEVICES_SETTINGS_STEP_H
#define DEVICES_SETTINGS_STEP_H

#include "devices/state_file.h"

struct passthrough;

/* Where settings live. Zero-initialised it is this machine. */
struct settings_place {
	const char *state_dir; /* NULL: SETTINGS_STATE_DIR */
	const char *sysroot;   /* a recorded machine, else NULL */
	/* Called before each step with what it is ("save", "remove", or a setting's name) and the
	 * value (of "save" the phase); a negative errno takes the step's place. May be NULL. */
	int (*before_step)(void *context, const char *step, const char *value);
	void *context;
	/* Opens the way to a drive's own commands; NULL: its node, and none on a recorded
	 * machine. */
	int (*open_drive)(void *context, const struct device *disk,
		struct passthrough **ret_passthrough, struct error *error);
};

#define SETTINGS_STATE_DIR "/var/lib/bareplatter"

/* Which start of the kernel this is; "" where that cannot be read. */
void settings_step_boot(const struct settings_place *place, char *ret_boot, size_t size);

/* The sentence for a value that cannot be written; returns code. */
int settings_step_explain(const char *disk, enum queue_setting setting, const char *value, int code,
	struct error *error);

/* Writes a value that differs from what is there, and reads it back into ret_now. -EIO when
 * another value is read than was written. */
int settings_step_set(const struct settings_place *place, const char *disk,
	enum queue_setting setting, const char *value, char *ret_now, struct error *error);

int settings_step_save(const struct settings_place *place, struct state_file *file,
	const struct state_record *record, struct error *error);
int settings_step_remove(
	const struct settings_place *place, struct state_file *file, struct error *error);

#endif
