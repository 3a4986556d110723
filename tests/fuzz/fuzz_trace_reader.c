/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of traces must take any bytes: it hands over records that can be used, and ends with
 * a sentence about what is wrong, or with none because nothing is. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct trace_reader *reader)
{
	struct trace_record record;
	struct error error = { 0 };
	const char *text;
	int r;

	assert(trace_reader_run(reader));
	while ((r = trace_reader_cell(reader, &text, &error)) > 0) {
		assert(strlen(text) <= TRACE_TEXT_BYTES_MAX);
		/* Some cells are left early. */
		for (unsigned i = 0; strlen(text) % 7 || i < 2; i++) {
			r = trace_reader_next(reader, &record, &error);
			if (r <= 0)
				break;
			assert(record.op < REQUEST_OPS && record.role < REQUEST_ROLES);
		}
		if (r < 0)
			break;
	}
	assert((r < 0) == (error.code < 0) && (r < 0) == (error.text[0] != '\0'));
	assert(trace_reader_next(reader, &record, NULL) == r);
	assert(trace_reader_cell(reader, &text, NULL) == r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_reader *reader;
	struct error error = { 0 };
	char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (trace_reader_open(path, &reader, &error) == 0) {
		read_all(reader);
		trace_reader_close(reader);
	} else {
		assert(error.code < 0 && error.text[0]);
	}
	(void)close(fd);
	return 0;
}
