/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/check.h"

#include <stdlib.h>
#include <unistd.h>

uint64_t check_seed(void)
{
	const char *text = getenv("SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)getpid();

	print_message("seed %llu (SEED=%llu runs it again)\n", (unsigned long long)seed,
		(unsigned long long)seed);
	return seed;
}
