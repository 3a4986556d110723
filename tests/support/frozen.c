/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/frozen.h"

#include <json-c/json.h>
#include <stdio.h>

#include "tests/support/check.h"

void frozen_check(struct json_object *first, struct json_object *now, const char *path)
{
	if (!first || !now)
		return;
	if (json_object_get_type(first) != json_object_get_type(now))
		fail_msg("%s has another type than in the first release", path);
	if (json_object_is_type(first, json_type_object)) {
		json_object_object_foreach(first, key, value)
		{
			struct json_object *other = NULL;
			char inner[512];

			(void)snprintf(inner, sizeof(inner), "%s.%s", path, key);
			if (!json_object_object_get_ex(now, key, &other))
				fail_msg("%s was in the first release and is gone", inner);
			frozen_check(value, other, inner);
		}
	} else if (json_object_is_type(first, json_type_array) &&
		   json_object_array_length(first) > 0 && json_object_array_length(now) > 0) {
		frozen_check(json_object_array_get_idx(first, 0), json_object_array_get_idx(now, 0),
			path);
	}
}
