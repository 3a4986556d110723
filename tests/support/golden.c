/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static FILE *open_golden(const char *source_dir, const char *path, const char *mode)
{
	char name[4096];

	(void)snprintf(name, sizeof(name), "%s/tests/golden/%s", source_dir, path);
	return fopen(name, mode);
}

char *golden_read(const char *source_dir, const char *path)
{
	FILE *stream = open_golden(source_dir, path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!stream)
		return NULL;
	if (getdelim(&text, &size, '\0', stream) < 0) {
		free(text);
		text = strdup("");
	}
	(void)fclose(stream);
	return text;
}

void golden_check(const char *source_dir, const char *path, const char *text)
{
	const char *renew = getenv("RENEW");
	char *golden;
	FILE *stream;

	if (renew && strcmp(renew, "1") == 0) {
		stream = open_golden(source_dir, path, "w");
		assert_non_null(stream);
		assert_true(fputs(text, stream) >= 0);
		assert_int_equal(fclose(stream), 0);
		return;
	}
	golden = golden_read(source_dir, path);
	if (!golden)
		fail_msg("tests/golden/%s is not there; RENEW=1 writes it", path);
	if (strcmp(golden, text) != 0)
		print_message(
			"differs from tests/golden/%s (RENEW=1 renews it):\n%s\n", path, text);
	assert_string_equal(text, golden);
	free(golden);
}
