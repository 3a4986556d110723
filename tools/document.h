/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The JSON document: one, valid, whatever happens.
 *
 * It exists from the start of a verb and is filled as things become known; it says "failed" until
 * somebody says otherwise, so every path that ends a run early still writes the truth. Every key
 * of the frame is there from the beginning (device null, cells empty). Schema 1.x only ever adds
 * keys; a frozen reader of the first release is among the tests.
 */
#ifndef TOOLS_DOCUMENT_H
#define TOOLS_DOCUMENT_H

#include <stdio.h>

#include "devices/device.h"
#include "engine/base.h"
#include "tools/options.h"

#define DOCUMENT_SCHEMA "bareplatter"
#define DOCUMENT_VERSION "1.0"

struct json_object;
struct document;
struct output;

enum document_status { STATUS_COMPLETE, STATUS_INTERRUPTED, STATUS_FAILED, STATUS_REFUSED };

enum document_severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR };

/* argv as a verb gets it (argv[0] is the verb). Notes the time of the start and the host. */
struct document *document_new(int argc, char *const *argv);
void document_free(struct document *document);

void document_set_device(struct document *document, const struct device *device);
/* Sets a key of the frame or a further one; value is taken over, NULL is null. */
void document_set(struct document *document, const char *key, struct json_object *value);
void document_add_cell(struct document *document, struct json_object *cell);
void document_set_status(struct document *document, enum document_status status);
void document_message(struct document *document, enum document_severity severity,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Every fault as a message of severity error, and the status. */
void document_fail(
	struct document *document, enum document_status status, const struct faults *faults);

/* Notes the time of the end and writes the document as it is now. May be called again. */
void document_write(struct document *document, FILE *stream);

/* Ends a verb that could not do its work: every fault on stderr, and as a message of the document
 * when that is to be JSON, written to output (NULL: stdout), which is cancelled otherwise.
 * Returns code. */
int document_give_up(struct document *document, bool json, struct output *output,
	const struct command *command, const struct faults *faults, int code);

/* A device's facts by the names of schema 1.0; what is unknown is null. */
struct json_object *document_device_json(const struct device *device);

#endif
