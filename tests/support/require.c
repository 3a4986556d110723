/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void require(const char *means, bool present)
{
	const char *promised = getenv("REQUIRE");
	const size_t length = strlen(means);

	if (present)
		return;
	for (const char *at = promised; at && *at;) {
		const size_t word = strcspn(at, ",");

		if (word == length && strncmp(at, means, word) == 0) {
			(void)fprintf(stderr, "missing: %s, which REQUIRE=%s promises\n", means,
				promised);
			exit(1);
		}
		at += word + (at[word] == ',');
	}
	(void)fprintf(stderr, "skipped: needs %s\n", means);
	exit(77);
}
