/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A machine made of files with one disk, sda, for tests of settings. The hook before each step of
 * devices/settings plays the kernel, which changes nr_requests with the scheduler, and on demand
 * kills the process or refuses the step.
 */
#ifndef TESTS_SUPPORT_MACHINE_H
#define TESTS_SUPPORT_MACHINE_H

#include "devices/settings.h"
#include "devices/settings_left.h"
#include "tests/support/sysroot.h"

#define DISK "sys/devices/pci0/ata1/host0/target0:0:0/0:0:0:0"
#define SDA DISK "/block/sda"

extern struct sysroot machine_root;
extern char machine_records[300]; /* the folder */

struct machine_hook {
	char log[2048];                  /* each step on a line: what, and the value */
	unsigned step, fail_at, kill_at; /* counted from 1; 0: never */
	bool no_list;                    /* the scheduler file is as it was put */
};
extern struct machine_hook machine_hook;

/* What a run usually wants. */
extern const struct settings_wanted machine_usual;

/* Set-up and tear-down of a test. */
int machine_new(void **state);
int machine_done(void **state);

const struct settings_place *machine_place(void);
struct device machine_device(const char *name);
/* Replaces an attribute of sda. */
void machine_put(const char *attribute, const char *value);
void machine_expect(const char *attribute, const char *value);
/* Every attribute as the machine had it at first. */
void machine_expect_former(void);

bool machine_says(const struct faults *faults, const char *text);

/* Opens and applies, or fails the test. */
struct settings *machine_apply(
	const struct settings_wanted *wanted, struct faults *notes, struct faults *faults);
/* As `restore` does; the last code that is not 0. */
int machine_restore(struct faults *notes, struct faults *faults);
unsigned machine_count_records(void);

/* Runs function in a process that is killed at its step; false when it ended before. */
bool machine_killed_at(unsigned step, void (*function)(void));
/* For it: a run that dies with its settings applied. */
void machine_apply_and_die(void);

#endif
