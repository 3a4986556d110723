/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading and writing quantities, one grammar for command line and files.
 *
 * Sizes: a decimal number (a fraction is allowed with a unit, if the result is whole bytes) and an
 * optional unit: bare K M G T and KiB MiB GiB TiB (also Ki Mi Gi Ti) = powers of 1024, kB MB GB TB
 * = powers of 1000; case of bare letters is free, otherwise exact. `1e9`, `0x..`, signs, inner
 * blanks, stray letters (`9k15`) and overflow are refused with a sentence. Times: ns us ms s min h,
 * bare = s. Lists: `1,2,4`; `a-b` doubles (1-64 = 1 2 4 8 16 32 64, the upper bound always
 * included); `a-b/s` steps by s. Text out is independent of the locale.
 */
#ifndef ENGINE_UNITS_H
#define ENGINE_UNITS_H

#include "engine/base.h"

/* All parsers: 0, or -EINVAL / -ERANGE with a sentence that quotes the text. */
int units_parse_u64(const char *text, uint64_t *ret_value, struct error *error);
int units_parse_size(const char *text, uint64_t *ret_bytes, struct error *error);
int units_parse_duration(const char *text, nsec_t *ret_ns, struct error *error);
/* A share: 0 < value <= 1, as `0.25` or `25%`. */
int units_parse_fraction(const char *text, double *ret_value, struct error *error);

struct units_list {
	uint32_t *values; /* owned; free with units_list_done */
	size_t count;
};
/* Every value at least 1; duplicates are kept out, order is kept. */
int units_parse_list(const char *text, struct units_list *ret_list, struct error *error);
void units_list_done(struct units_list *list);

struct units_text {
	char text[48];
};
/* "132.8 MiB"; exact bytes below 1 KiB. */
struct units_text units_format_size(uint64_t bytes);
/* "1.23 ms", "950 ns", "2.0 s", "1 h 04 min". */
struct units_text units_format_duration(nsec_t duration_ns);
/* Three significant digits with k, M, G: "12.3k". */
struct units_text units_format_count(double value);

#endif
