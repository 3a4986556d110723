/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the command says about itself is held by golden files, so that a change is seen and meant;
 * no line is wider than 80 columns. */
#include "tools/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/golden.h"
#include "tools/command.h"

static void check(const char *name, const struct command *command)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, column = 0;
	FILE *stream = open_memstream(&text, &size);
	char path[64];

	if (command)
		help_command(stream, command);
	else
		help_overview(stream, commands);
	assert_int_equal(fclose(stream), 0);
	for (const char *c = text; *c; c++) {
		column = *c == '\n' ? 0 : column + 1;
		if (column > 80)
			fail_msg("%s: a line is wider than 80 columns", name);
	}
	(void)snprintf(path, sizeof(path), "help/%s.txt", name);
	golden_check(SOURCE_DIR, path, text);
}

static void help_is_as_agreed(void **state)
{
	(void)state;
	check("overview", NULL);
	for (const struct command *const *command = commands; *command; command++)
		check((*command)->name, *command);
}

/* One letter, one meaning within a verb; every option says something. */
static void tables_are_sound(void **state)
{
	(void)state;
	for (const struct command *const *command = commands; *command; command++) {
		for (const struct option_spec *spec = (*command)->specs; spec->name; spec++) {
			assert_true(spec->help && *spec->help);
			assert_int_equal(spec->argument == NULL, spec->type == OPTION_FLAG);
			assert_int_equal(spec->choices != NULL,
				spec->type == OPTION_CHOICE || spec->type == OPTION_CHOICES);
			for (const struct option_spec *other = (*command)->specs; other < spec;
				other++) {
				assert_string_not_equal(other->name, spec->name);
				assert_true(!spec->letter || other->letter != spec->letter);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_is_as_agreed),
		cmocka_unit_test(tables_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
