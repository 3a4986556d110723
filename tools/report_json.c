/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows as JSON objects. Dots in a key make nested objects; integers stay integers, doubles have a
 * point, and neither a locale nor a NaN can spoil the document.
 */
#include "tools/report.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 sequence at text (RFC 3629: shortest form, no surrogates), 0 if none. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80                      ? 1
			: text[0] >= 0xc2 && text[0] < 0xe0 ? 2
			: text[0] >= 0xe0 && text[0] < 0xf0 ? 3
			: text[0] >= 0xf0 && text[0] < 0xf5 ? 4
							    : 0;

	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) ||
		(text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90))
		return 0;
	return length;
}

struct json_object *report_json_text(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	_cleanup_free_ char *clean = malloc(strlen(text) * 3 + 1);
	size_t used = 0;

	if (!clean)
		abort();
	while (*text) {
		size_t length = utf8_length((const unsigned char *)text);
		const char *from = length ? text : replacement;
		size_t count = length ? length : sizeof(replacement) - 1;

		memcpy(clean + used, from, count);
		used += count;
		text += length ? length : 1;
	}
	return json_object_new_string_len(clean, (int)used);
}

struct json_object *report_json_double(double value)
{
	return isfinite(value) ? json_object_new_double_s(value, report_number_text(value).text)
			       : NULL;
}

static struct json_object *value_json(const struct report_value *value)
{
	switch (value->type) {
	case REPORT_BOOL:
		return json_object_new_boolean(value->truth);
	case REPORT_U64:
		return json_object_new_uint64(value->u64);
	case REPORT_I64:
		return json_object_new_int64(value->i64);
	case REPORT_DOUBLE:
		return report_json_double(value->real);
	case REPORT_TEXT:
		return report_json_text(value->text);
	case REPORT_JSON:
		return json_object_get(value->json);
	case REPORT_NULL:
		break;
	}
	return NULL;
}

/* Adds value at the dotted path, making the objects on the way. A key that is both a value and a
 * parent of others is a fault of the columns. */
static void add_at(struct json_object *object, const char *path, struct json_object *value)
{
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		_cleanup_free_ char *name = strndup(path, (size_t)(dot - path));
		struct json_object *inner = NULL;

		if (!name)
			abort();
		if (!json_object_object_get_ex(object, name, &inner)) {
			inner = json_object_new_object();
			(void)json_object_object_add(object, name, inner);
		}
		assert(json_object_is_type(inner, json_type_object));
		object = inner;
		path = dot + 1;
	}
	assert(!json_object_object_get_ex(object, path, NULL));
	(void)json_object_object_add(object, path, value);
}

struct json_object *report_json_row(const struct report *report, size_t row)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < report_column_count(report); i++)
		add_at(object, report_column_at(report, i)->key,
			value_json(report_value_at(report, row, i)));
	return object;
}

struct json_object *report_json(const struct report *report)
{
	struct json_object *array = json_object_new_array();

	for (size_t row = 0; row < report_row_count(report); row++)
		(void)json_object_array_add(array, report_json_row(report, row));
	return array;
}
