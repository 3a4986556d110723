/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress line: what it says, how it shrinks, when it is printed. */
#include "tools/progress.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct progress_state whole(void)
{
	return (struct progress_state){
		.cell = 3,
		.cells = 14,
		.phase = "transactions",
		.done = 500,
		.total = 2000,
		.unit = "transactions",
		.rate_per_s = 12345,
		.depth = 31.96,
		.left_ns = 65 * NSEC_PER_SEC,
	};
}

static void the_line_names_all_that_is_known(void **state)
{
	struct progress_state progress = whole();
	char text[200];

	(void)state;
	progress_format(&progress, 0, text, sizeof(text));
	assert_string_equal(text, "cell 3 of 14, transactions 25 %, 12.3k transactions/s, "
				  "depth 32.0, 1 min 05 s left");
	progress.cells = 0;
	progress.total = 0;
	progress.rate_per_s = 0;
	progress.depth = -1;
	progress.left_ns = NSEC_NEVER;
	progress_format(&progress, 0, text, sizeof(text));
	assert_string_equal(text, "transactions");
}

static void no_line_is_wider_than_asked(void **state)
{
	struct progress_state progress = whole();
	char text[200];

	(void)state;
	for (size_t width = 1; width < 120; width++) {
		progress_format(&progress, width, text, sizeof(text));
		assert_true(strlen(text) <= width);
	}
	progress_format(&progress, 40, text, sizeof(text));
	assert_string_equal(text, "cell 3 of 14, transactions 25 %");
	progress.done = 3000;
	progress_format(&progress, 0, text, sizeof(text));
	assert_non_null(strstr(text, "100 %"));
}

/* What a pipe gets over 20 s when an update comes every 100 ms. */
static void plain_lines_come_every_five_seconds(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, lines = 0;
	struct progress progress = { .stream = open_memstream(&text, &size) };
	struct progress_state line = whole();

	(void)state;
	for (nsec_t now = 0; now < 20 * NSEC_PER_SEC; now += NSEC_PER_SEC / 10)
		progress_update(&progress, &line, now);
	progress_clear(&progress);
	assert_int_equal(fclose(progress.stream), 0);
	for (const char *at = text; *at; at++) {
		lines += *at == '\n';
		assert_true(*at != '\r');
	}
	assert_int_equal(lines, 4);
}

static void a_terminal_line_is_rewritten_and_cleared(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct progress progress = {
		.stream = open_memstream(&text, &size), .terminal = true, .width = 80
	};
	struct progress_state line = {
		.phase = "transactions", .depth = -1, .left_ns = NSEC_NEVER
	};

	(void)state;
	progress_update(&progress, &line, 0);
	progress_update(&progress, &line, 1);
	line.phase = "flush";
	progress_update(&progress, &line, NSEC_PER_SEC);
	progress_clear(&progress);
	assert_int_equal(fclose(progress.stream), 0);
	assert_string_equal(text, "\rtransactions\rflush       \r     \r");
}

static void a_signal_asks_for_one_line_even_when_quiet(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct progress progress = { .stream = open_memstream(&text, &size), .quiet = true };
	struct progress_state line = whole();

	(void)state;
	progress_listen();
	progress_update(&progress, &line, 0);
	assert_false(progress_due(&progress, 100 * NSEC_PER_SEC));
	assert_int_equal(raise(SIGUSR1), 0);
	assert_true(progress_due(&progress, 1));
	progress_update(&progress, &line, 1);
	progress_update(&progress, &line, 2);
	assert_int_equal(fclose(progress.stream), 0);
	assert_non_null(strchr(text, '\n'));
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_names_all_that_is_known),
		cmocka_unit_test(no_line_is_wider_than_asked),
		cmocka_unit_test(plain_lines_come_every_five_seconds),
		cmocka_unit_test(a_terminal_line_is_rewritten_and_cleared),
		cmocka_unit_test(a_signal_asks_for_one_line_even_when_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
