/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every test program needs: cmocka with its prerequisites, and the seed of its random parts,
 * from the environment variable SEED or the process number, printed so that a failure can be
 * run again.
 */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

uint64_t check_seed(void);

#endif
