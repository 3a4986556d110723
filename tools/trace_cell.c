/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace_cell.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/units.h"

#define CELL_WORD ",cell="

int trace_choice_parse(const char *text, struct trace_choice *ret_choice, struct error *error)
{
	const char *word = NULL;
	uint64_t cell = 0;

	for (const char *at = text; (at = strstr(at, CELL_WORD)); at++)
		word = at;
	if (word) {
		int r = units_parse_u64(word + strlen(CELL_WORD), &cell, error);

		if (r < 0)
			return r;
		if (cell < 1 || cell > UINT_MAX)
			return error_set(error, -ERANGE,
				"\"%s\": cells of a trace are counted from 1", text);
	}
	ret_choice->path = word ? strndup(text, (size_t)(word - text)) : strdup(text);
	if (!ret_choice->path)
		return error_set(error, -ENOMEM, "no memory for a path");
	ret_choice->cell = (unsigned)cell;
	return 0;
}

void trace_choice_done(struct trace_choice *choice)
{
	free(choice->path);
	*choice = (struct trace_choice){ 0 };
}

static int make_room(struct trace_cell *cell, size_t *room, struct error *error)
{
	size_t wanted = *room ? 2 * *room : 4096;
	struct trace_record *records;

	if (cell->count < *room)
		return 0;
	records = reallocarray(cell->records, wanted, sizeof(*records));
	if (!records)
		return error_set(error, -ENOMEM, "no memory for the trace: %zu records", wanted);
	cell->records = records;
	*room = wanted;
	return 0;
}

static int read_records(struct trace_reader *reader, struct trace_cell *cell, struct error *error)
{
	struct error why = { 0 };
	size_t room = 0;
	int r;

	while ((r = make_room(cell, &room, error)) == 0) {
		r = trace_reader_next(reader, &cell->records[cell->count], &why);
		if (r <= 0)
			break;
		cell->count++;
	}
	if (r == -EBADMSG) {
		(void)snprintf(cell->cut_off, sizeof(cell->cut_off), "%.255s", why.text);
		return 0;
	}
	return r < 0 ? error_set(error, r, "%s", why.text) : 0;
}

int trace_cell_next(struct trace_reader *reader, struct trace_cell *ret_cell, struct error *error)
{
	struct trace_cell cell = { 0 };
	const char *text = NULL;
	int r = trace_reader_cell(reader, &text, error);

	if (r <= 0)
		return r;
	cell.text = json_tokener_parse(text);
	if (!json_object_is_type(cell.text, json_type_object)) {
		(void)json_object_put(cell.text);
		cell.text = json_object_new_object();
	}
	r = read_records(reader, &cell, error);
	if (r < 0) {
		trace_cell_done(&cell);
		return r;
	}
	*ret_cell = cell;
	return 1;
}

void trace_cell_done(struct trace_cell *cell)
{
	(void)json_object_put(cell->text);
	free(cell->records);
	*cell = (struct trace_cell){ 0 };
}

/* Passes over cells that are not asked for without keeping their records. */
static int skip_to(
	struct trace_reader *reader, const struct trace_choice *choice, struct error *error)
{
	const char *text;

	for (unsigned number = 1; number < choice->cell; number++) {
		int r = trace_reader_cell(reader, &text, error);

		if (r < 0)
			return r;
		if (r == 0)
			return error_set(error, -ENOENT, "%s holds %u cells: there is no cell %u",
				choice->path, number - 1, choice->cell);
	}
	return 0;
}

static int read_chosen(struct trace_reader *reader, const struct trace_choice *choice,
	struct trace_cell *cell, struct error *error)
{
	const char *text;
	int r = skip_to(reader, choice, error);

	if (r < 0)
		return r;
	r = trace_cell_next(reader, cell, error);
	if (r < 0)
		return r;
	if (r == 0)
		return error_set(error, -ENOENT, "%s: there is no cell %u", choice->path,
			choice->cell ? choice->cell : 1);
	if (*cell->cut_off)
		return error_set(error, -EBADMSG, "%s", cell->cut_off);
	if (!choice->cell && trace_reader_cell(reader, &text, NULL) != 0)
		return error_set(error, -ENOTUNIQ,
			"%s holds several cells: name one as %s" CELL_WORD "N", choice->path,
			choice->path);
	return 0;
}

int trace_cell_read(
	const struct trace_choice *choice, struct trace_cell *ret_cell, struct error *error)
{
	struct trace_cell cell = { 0 };
	struct trace_reader *reader;
	int r = trace_reader_open(choice->path, &reader, error);

	if (r < 0)
		return r;
	r = read_chosen(reader, choice, &cell, error);
	trace_reader_close(reader);
	if (r < 0) {
		trace_cell_done(&cell);
		return r;
	}
	*ret_cell = cell;
	return 0;
}

unsigned trace_cell_depth(const struct trace_cell *cell)
{
	struct json_object *depth = NULL;
	int64_t value;

	(void)json_object_object_get_ex(cell->text, "depth", &depth);
	value = json_object_get_int64(depth);
	return value > 0 && value <= UINT_MAX ? (unsigned)value : 0;
}

const char *trace_cell_cache_commands(const struct trace_cell *cell)
{
	struct json_object *commands = NULL;

	(void)json_object_object_get_ex(cell->text, "cache_commands", &commands);
	return commands ? json_object_get_string(commands) : "";
}

static bool truth(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	(void)json_object_object_get_ex(object, key, &value);
	return json_object_get_boolean(value);
}

bool trace_cell_device(const struct trace_reader *reader, struct device *ret_device)
{
	struct json_object *run = json_tokener_parse(trace_reader_run(reader));
	struct json_object *object = NULL, *transport = NULL;
	struct device device = { 0 };
	bool known = json_object_object_get_ex(run, "device", &object) &&
		     json_object_is_type(object, json_type_object);

	if (known) {
		device.rotational = truth(object, "rotational");
		device.memory_backed = truth(object, "memory_backed");
		device.raid_volume = truth(object, "raid_volume");
		if (json_object_object_get_ex(object, "transport", &transport) && transport)
			(void)snprintf(device.transport, sizeof(device.transport), "%.23s",
				json_object_get_string(transport));
	}
	(void)json_object_put(run);
	*ret_device = device;
	return known;
}
