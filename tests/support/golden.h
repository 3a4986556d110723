/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Golden files: a text must equal the file below tests/golden; RENEW=1 in the environment writes
 * the file instead, for a change that is meant and read in the diff. */
#ifndef TESTS_SUPPORT_GOLDEN_H
#define TESTS_SUPPORT_GOLDEN_H

/* path is relative to tests/golden of the tree at source_dir. Fails the running cmocka test. */
void golden_check(const char *source_dir, const char *path, const char *text);

/* A file's whole text, to be freed; NULL when it cannot be read. */
char *golden_read(const char *source_dir, const char *path);

#endif
