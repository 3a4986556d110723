/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reader of the first release, frozen: every key that it knew must be in today's documents with
 * its type. Null fits any type, on either side; only the first element of an array is compared.
 */
#ifndef TESTS_SUPPORT_FROZEN_H
#define TESTS_SUPPORT_FROZEN_H

struct json_object;

void frozen_check(struct json_object *first, struct json_object *now, const char *path);

#endif
