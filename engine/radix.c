/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/radix.h"

#include <string.h>

#define DIGITS 8
#define VALUES 256

static void count_digits(
	const struct radix_item *items, size_t count, size_t places[DIGITS][VALUES])
{
	memset(places, 0, sizeof(size_t) * DIGITS * VALUES);
	for (size_t i = 0; i < count; i++)
		for (unsigned digit = 0; digit < DIGITS; digit++)
			places[digit][(items[i].key >> (8 * digit)) % VALUES]++;
}

void radix_sort(struct radix_item *items, struct radix_item *scratch, size_t count)
{
	struct radix_item *from = items, *to = scratch;
	size_t places[DIGITS][VALUES];

	if (count < 2)
		return;
	count_digits(items, count, places);
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		size_t *place = places[digit];
		struct radix_item *swap = from;
		size_t next = 0;

		if (place[(from[0].key >> (8 * digit)) % VALUES] == count)
			continue;
		for (unsigned value = 0; value < VALUES; value++) {
			size_t here = place[value];

			place[value] = next;
			next += here;
		}
		for (size_t i = 0; i < count; i++)
			to[place[(from[i].key >> (8 * digit)) % VALUES]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
}
