/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recorded machines for tests: a text of a few lines becomes a tree with sys/, proc/ and run/.
 *
 * Each line is `PATH<TAB>CONTENT` (a file; \n and \t are understood), `PATH -> TARGET` (a symbolic
 * link) or a comment after `#`. Links that every machine has are made by themselves: a folder
 * below sys/devices with a file `dev` gets sys/class/block/NAME and sys/dev/block/MAJOR:MINOR.
 */
#ifndef TESTS_SUPPORT_SYSROOT_H
#define TESTS_SUPPORT_SYSROOT_H

#include <stddef.h>

struct sysroot {
	char path[256];
};

/* Expands text, or the file tests/golden/sysroots/NAME.tree. Asserts on failure. */
void sysroot_new(struct sysroot *sysroot, const char *text);
void sysroot_open(struct sysroot *sysroot, const char *source_folder, const char *name);
/* Adds or replaces one file. */
void sysroot_write(const struct sysroot *sysroot, const char *path, const void *bytes, size_t size);
void sysroot_done(struct sysroot *sysroot);

#endif
