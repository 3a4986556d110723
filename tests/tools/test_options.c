/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One table makes parser and help: every type, all faults of a line at once, 80 columns. */
#include "tools/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/rng.h"
#include "tools/help.h"

struct config {
	bool flag, quiet;
	const char *text;
	uint64_t number, size;
	nsec_t time_ns;
	double share;
	struct units_list depths;
	unsigned mode;
	struct option_choices caches;
};

static const char *const modes[] = { "async", "blocking", NULL };
static const char *const caches[] = { "wb", "wt", "as-is", NULL };

static const struct option_spec specs[] = {
	{ .name = "flag",
		.letter = 'f',
		.type = OPTION_FLAG,
		.offset = offsetof(struct config, flag),
		.help = "a flag",
		.group = "First" },
	{ .name = "quiet",
		.letter = 'q',
		.type = OPTION_FLAG,
		.offset = offsetof(struct config, quiet),
		.help = "less talk" },
	{ .name = "output",
		.letter = 'o',
		.type = OPTION_TEXT,
		.offset = offsetof(struct config, text),
		.argument = "FILE",
		.help = "where to" },
	{ .name = "number",
		.type = OPTION_U64,
		.offset = offsetof(struct config, number),
		.argument = "N",
		.help = "how many",
		.minimum = 1,
		.maximum = 100 },
	{ .name = "size",
		.type = OPTION_SIZE,
		.offset = offsetof(struct config, size),
		.argument = "SIZE",
		.help = "how large",
		.minimum = 512,
		.maximum = MIB },
	{ .name = "time",
		.type = OPTION_DURATION,
		.offset = offsetof(struct config, time_ns),
		.argument = "TIME",
		.help = "how long",
		.group = "Second",
		.minimum = 1000000 },
	{ .name = "share",
		.type = OPTION_FRACTION,
		.offset = offsetof(struct config, share),
		.argument = "FRACTION",
		.help = "what part" },
	{ .name = "depth",
		.letter = 'd',
		.type = OPTION_LIST,
		.offset = offsetof(struct config, depths),
		.argument = "LIST",
		.help = "how deep, told at such a length that the line has to break",
		.minimum = 1,
		.maximum = 4096 },
	{ .name = "mode",
		.type = OPTION_CHOICE,
		.offset = offsetof(struct config, mode),
		.argument = "async|blocking",
		.help = "which",
		.choices = modes },
	{ .name = "cache",
		.type = OPTION_CHOICES,
		.offset = offsetof(struct config, caches),
		.argument = "MODES",
		.help = "which caches",
		.choices = caches },
	{ 0 },
};

static const struct command command = {
	.name = "exercise",
	.arguments = "TARGET",
	.summary = "Exercises.",
	.description = "A paragraph.\n\n  an example line",
	.specs = specs,
	.operands_min = 1,
	.operands_max = 1,
};

#define PARSE(config, faults, ...)                                                                 \
	parse((const char *const[]){ "exercise", __VA_ARGS__, NULL }, config, faults)

static const char *operand;
static unsigned operand_count;

static int parse(const char *const *words, struct config *config, struct faults *faults)
{
	char *argv[32];
	int argc = 0;

	for (; words[argc]; argc++)
		argv[argc] = (char *)words[argc];
	argv[argc] = NULL;
	operand = NULL;
	return options_parse(&command, argc, argv, config, &operand, &operand_count, faults);
}

static void every_type_is_set(void **state)
{
	struct config config = { .number = 7 };
	struct faults faults = { 0 };

	(void)state;
	assert_int_equal(PARSE(&config, &faults, "-fq", "/dev/x", "--output=out", "--number", "42",
				 "--size=4KiB", "--time", "1.5ms", "--share=25%", "-d1-8",
				 "--depth=16", "--mode=blocking", "--cache=wt,wb,wt"),
		0);
	assert_int_equal(faults.count, 0);
	assert_true(config.flag && config.quiet);
	assert_string_equal(config.text, "out");
	assert_true(config.number == 42 && config.size == 4096);
	assert_true(config.time_ns == 1500000 && config.share == 0.25);
	assert_int_equal(config.depths.count, 1);
	assert_int_equal(config.depths.values[0], 16);
	assert_int_equal(config.mode, 1);
	assert_int_equal(config.caches.count, 2);
	assert_int_equal(config.caches.index[0], 1);
	assert_int_equal(config.caches.index[1], 0);
	assert_int_equal(operand_count, 1);
	assert_string_equal(operand, "/dev/x");
	options_done(&command, &config);
}

static void defaults_stay(void **state)
{
	struct config config = { .number = 7, .mode = 1 };
	struct faults faults = { 0 };

	(void)state;
	assert_int_equal(PARSE(&config, &faults, "--", "-f"), 0);
	assert_true(config.number == 7 && config.mode == 1 && !config.flag);
	assert_string_equal(operand, "-f");
}

static bool told(const struct faults *faults, const char *part)
{
	for (size_t i = 0; i < faults->count; i++)
		if (strstr(faults->text[i], part))
			return true;
	print_message("no fault says: %s\n", part);
	for (size_t i = 0; i < faults->count; i++)
		print_message("  %s\n", faults->text[i]);
	return false;
}

static void all_faults_are_told_at_once(void **state)
{
	static const char *const parts[] = {
		"unknown option \"--bogus=1\"",
		"--size: \"9k15\" ends in",
		"--number: \"101\" is out of range: 1 to 100",
		"unknown option \"-Z\" in \"-qZf\"",
		"--mode: \"asink\" is none of: async, blocking",
		"--time: \"5us\" is out of range: at least 1.00 ms",
		"--share: \"1.5\" is out of range",
		"--depth: \"1,8192\" is out of range: 1 to 4096",
		"--cache: \"w\" is none of: wb, wt, as-is",
		"--cache: \"\" is none of",
		"option \"--flag\" takes no value",
		"option \"--quie\" is shortened: write --quiet in full",
		"option \"--numb=5\" is shortened: write --number in full",
		"--output: the value is empty",
		"\"two\" is one operand too many",
		"\"--x\" is one operand too many",
	};
	struct config config = { 0 };
	struct faults faults = { 0 };

	(void)state;
	assert_int_equal(
		PARSE(&config, &faults, "one", "--bogus=1", "--size", "9k15", "two", "--number=101",
			"-qZf", "--mode", "asink", "--time=5us", "--share=1.5", "--depth=1,8192",
			"--cache=wb,w,", "--flag=yes", "--quie", "--numb=5", "-o", "", "--", "--x"),
		-EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		assert_true(told(&faults, parts[i]));
	assert_int_equal(faults.count, ARRAY_SIZE(parts));
	assert_string_equal(operand, "one");
	assert_true(config.number == 0 && config.quiet);
	options_done(&command, &config);
	faults_done(&faults);
}

static void a_missing_value_is_told_after_the_rest(void **state)
{
	static const char *const last[] = { "--output", "-o", "-qo" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		struct config config = { 0 };
		struct faults faults = { 0 };

		assert_int_equal(PARSE(&config, &faults, "--nope", "-Q", last[i]), -EINVAL);
		assert_true(told(&faults, "unknown option \"--nope\""));
		assert_true(told(&faults, "unknown option \"-Q\""));
		assert_true(told(&faults, "needs a value"));
		assert_true(told(&faults, "exercise needs TARGET"));
		assert_int_equal(faults.count, 4);
		faults_done(&faults);
	}
}

static void a_negative_number_is_a_value_and_no_option(void **state)
{
	struct config config = { 0 };
	struct faults faults = { 0 };

	(void)state;
	assert_int_equal(PARSE(&config, &faults, "t", "--number", "-1", "--size", "-4K"), -EINVAL);
	assert_true(told(&faults, "--number: \"-1\""));
	assert_true(told(&faults, "--size: \"-4K\""));
	assert_int_equal(faults.count, 2);
	faults_done(&faults);
}

/* Whatever words come in whatever order: the parse ends, and it fails exactly when it has a
 * reason. */
static void any_line_ends_with_its_reasons(void **state)
{
	static const char *const words[] = { "-f", "-q", "-fZ", "-Zf", "-o", "--output", "--outp=x",
		"--bogus", "--flag=1", "--", "-", "x", "--number=3", "--number", "--depth=1-4",
		"-d", "-dx", "---", "--=", "-Z", "--cache=", "" };
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : 42;
	struct rng rng;

	(void)state;
	print_message("SEED=%llu\n", (unsigned long long)seed);
	rng_seed(&rng, seed, RNG_LOAD);
	for (int round = 0; round < 3000; round++) {
		const char *line[12] = { "exercise" };
		struct config config = { 0 };
		struct faults faults = { 0 };
		size_t count = rng_below(&rng, 10);
		int rc;

		for (size_t i = 0; i < count; i++)
			line[i + 1] = words[rng_below(&rng, ARRAY_SIZE(words))];
		line[count + 1] = NULL;
		rc = parse(line, &config, &faults);
		assert_int_equal(rc<0, faults.count> 0);
		assert_true(faults.count <= count + 1);
		options_done(&command, &config);
		faults_done(&faults);
	}
}

static void help_fits_eighty_columns_and_names_all(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	size_t column = 0;

	(void)state;
	help_command(stream, &command);
	assert_int_equal(fclose(stream), 0);
	for (const char *at = text; *at; at++) {
		column = *at == '\n' ? 0 : column + 1;
		assert_true(column <= 80);
	}
	for (const struct option_spec *spec = specs; spec->name; spec++)
		assert_non_null(strstr(text, spec->name));
	assert_non_null(strstr(text, "Usage: bareplatter exercise TARGET [OPTION...]\n"));
	assert_non_null(strstr(text, "\nSecond:\n"));
	assert_non_null(strstr(text, "one of: wb, wt, as-is"));
	assert_non_null(strstr(text, "how many; 1 to 100"));
	assert_non_null(strstr(text, "how large; 512 B to 1 MiB"));
	assert_non_null(strstr(text, "\n  an example line\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_set),
		cmocka_unit_test(defaults_stay),
		cmocka_unit_test(all_faults_are_told_at_once),
		cmocka_unit_test(a_missing_value_is_told_after_the_rest),
		cmocka_unit_test(a_negative_number_is_a_value_and_no_option),
		cmocka_unit_test(any_line_ends_with_its_reasons),
		cmocka_unit_test(help_fits_eighty_columns_and_names_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
