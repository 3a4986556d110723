/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frame of the JSON document, by json-c; the model is smartctl's: schema, program, argv,
 * status and messages around the results. */
#include "tools/document.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/clock.h"
#include "tools/output.h"
#include "tools/report.h"
#include "version.h"

struct document {
	struct json_object *root;
};

static const char *const status_names[] = {
	[STATUS_COMPLETE] = "complete",
	[STATUS_INTERRUPTED] = "interrupted",
	[STATUS_FAILED] = "failed",
	[STATUS_REFUSED] = "refused",
};

static const char *const severity_names[] = {
	[SEVERITY_INFO] = "info",
	[SEVERITY_WARNING] = "warning",
	[SEVERITY_ERROR] = "error",
};

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value) != 0)
		abort();
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	add(object, key, report_json_text(text));
}

/* "" stands for unknown in struct device. */
static void add_known_text(struct json_object *object, const char *key, const char *text)
{
	add(object, key, *text ? report_json_text(text) : NULL);
}

static void add_u64(struct json_object *object, const char *key, uint64_t value)
{
	add(object, key, json_object_new_uint64(value));
}

static void add_known_u64(struct json_object *object, const char *key, uint64_t value)
{
	add(object, key, value ? json_object_new_uint64(value) : NULL);
}

static void add_bool(struct json_object *object, const char *key, bool value)
{
	add(object, key, json_object_new_boolean(value));
}

static struct json_object *host_json(void)
{
	struct json_object *host = json_object_new_object();
	struct utsname names;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES);

	(void)uname(&names);
	add_text(host, "hostname", names.nodename);
	add_text(host, "kernel", names.release);
	add_text(host, "machine", names.machine);
	add_u64(host, "cpus", cpus > 0 ? (uint64_t)cpus : 1);
	add_u64(host, "memory_bytes",
		pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0);
	return host;
}

struct document *document_new(int argc, char *const *argv)
{
	struct document *document = calloc(1, sizeof(*document));
	struct json_object *root = json_object_new_object();
	struct json_object *schema = json_object_new_object();
	struct json_object *program = json_object_new_object();
	struct json_object *words = json_object_new_array();

	if (!document || !root || !schema || !program || !words)
		abort();
	add_text(schema, "name", DOCUMENT_SCHEMA);
	add_text(schema, "version", DOCUMENT_VERSION);
	add_text(program, "name", "bareplatter");
	add_text(program, "version", BAREPLATTER_VERSION);
	(void)json_object_array_add(words, json_object_new_string("bareplatter"));
	for (int i = 0; i < argc; i++)
		(void)json_object_array_add(words, report_json_text(argv[i]));
	/* Readers by eye get the frame in this order. */
	add(root, "schema", schema);
	add(root, "program", program);
	add(root, "argv", words);
	add_text(root, "started", clock_wall_text().text);
	add(root, "finished", NULL);
	add(root, "host", host_json());
	add(root, "device", NULL);
	add(root, "cells", json_object_new_array());
	add_text(root, "status", status_names[STATUS_FAILED]);
	add(root, "messages", json_object_new_array());
	document->root = root;
	return document;
}

void document_free(struct document *document)
{
	if (!document)
		return;
	(void)json_object_put(document->root);
	free(document);
}

void document_set_device(struct document *document, const struct device *device)
{
	document_set(document, "device", document_device_json(device));
}

void document_set(struct document *document, const char *key, struct json_object *value)
{
	add(document->root, key, value);
}

static struct json_object *part(const struct document *document, const char *key)
{
	struct json_object *value = NULL;
	bool there = json_object_object_get_ex(document->root, key, &value);

	assert(there);
	return value;
}

void document_add_cell(struct document *document, struct json_object *cell)
{
	(void)json_object_array_add(part(document, "cells"), cell);
}

void document_set_status(struct document *document, enum document_status status)
{
	add_text(document->root, "status", status_names[status]);
}

void document_message(
	struct document *document, enum document_severity severity, const char *format, ...)
{
	struct json_object *message = json_object_new_object();
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	add_text(message, "severity", severity_names[severity]);
	add_text(message, "text", text);
	(void)json_object_array_add(part(document, "messages"), message);
}

void document_fail(
	struct document *document, enum document_status status, const struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		document_message(document, SEVERITY_ERROR, "%s", faults->text[i]);
	document_set_status(document, status);
}

void document_write(struct document *document, FILE *stream)
{
	add_text(document->root, "finished", clock_wall_text().text);
	(void)fputs(json_object_to_json_string_ext(
			    document->root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
						    JSON_C_TO_STRING_NOSLASHESCAPE),
		stream);
	(void)fputc('\n', stream);
}

int document_give_up(struct document *document, bool json, struct output *output,
	const struct command *command, const struct faults *faults, int code)
{
	bool elsewhere = output && output->stream;

	if (json) {
		document_fail(
			document, code == EXIT_REFUSED ? STATUS_REFUSED : STATUS_FAILED, faults);
		document_write(document, elsewhere ? output->stream : stdout);
	}
	if (json && elsewhere)
		(void)output_commit(output, NULL);
	else if (elsewhere)
		output_cancel(output);
	return command_fail(command, faults, code);
}

struct json_object *document_device_json(const struct device *device)
{
	struct json_object *object = json_object_new_object();

	add_known_text(object, "name", device->name);
	add_known_text(object, "node", device->node);
	add_known_text(object, "identity", device->identity);
	/* Beyond what an offset can say there is no size to state. */
	add(object, "size_bytes",
		device->size_bytes <= INT64_MAX ? json_object_new_uint64(device->size_bytes)
						: NULL);
	add_known_u64(object, "logical_block_bytes", device->logical_block_bytes);
	add_known_u64(object, "physical_block_bytes", device->physical_block_bytes);
	add_u64(object, "major", device->major);
	add_u64(object, "minor", device->minor);
	add_known_u64(object, "diskseq", device->diskseq);
	add_bool(object, "partition", device->is_partition);
	add_known_text(object, "parent", device->parent);
	add_bool(object, "read_only", device->read_only);
	add_bool(object, "removable", device->removable);
	add_bool(object, "rotational", device->rotational);
	add_known_text(object, "transport", device->transport);
	add_known_text(object, "vendor", device->vendor);
	add_known_text(object, "model", device->model);
	add_known_text(object, "serial", device->serial);
	add_known_text(object, "wwn", device->wwn);
	add_known_text(object, "zoned", device->zoned);
	add_known_u64(object, "queue_depth", device->queue_depth);
	add_known_u64(object, "nr_requests", device->nr_requests);
	add_known_text(object, "scheduler", device->scheduler);
	add_known_text(object, "write_cache_kernel", device->write_cache);
	add_bool(object, "native_fua", device->native_fua);
	add_bool(object, "memory_backed", device->memory_backed);
	add_bool(object, "raid_volume", device->raid_volume);
	add_known_text(object, "backing_file", device->backing_file);
	return object;
}
