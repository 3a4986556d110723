/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The same rule as require.sh for C tests: what is missing skips the program (exit 77), unless the
 * comma list in REQUIRE names it.
 */
#ifndef TESTS_SUPPORT_REQUIRE_H
#define TESTS_SUPPORT_REQUIRE_H

#include <stdbool.h>

/* Ends the program with 77, or 1 when REQUIRE promises the means. */
void require(const char *means, bool present);

#endif
