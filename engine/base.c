/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int error_set(struct error *error, int code, const char *format, ...)
{
	assert(code < 0);
	if (error && !error->code) {
		va_list args;

		error->code = code;
		va_start(args, format);
		(void)vsnprintf(error->text, sizeof(error->text), format, args);
		va_end(args);
	}
	return code;
}

void faults_add(struct faults *faults, const char *format, ...)
{
	va_list args;
	char *sentence = NULL;
	char **grown = realloc(faults->text, (faults->count + 1) * sizeof(*grown));

	va_start(args, format);
	if (!grown || vasprintf(&sentence, format, args) < 0)
		abort();
	va_end(args);
	grown[faults->count++] = sentence;
	faults->text = grown;
}

void faults_done(struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		free(faults->text[i]);
	free(faults->text);
	*faults = (struct faults){ 0 };
}

void cleanup_free(void *pointer_to_pointer)
{
	void *pointer;

	memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
	free(pointer);
}

void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}
