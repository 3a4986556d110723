/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A verb's table becomes an argp parser, and every fault of the line is told at once.
 *
 * argp stops at the first word that it cannot read. It reports that with ARGP_KEY_ERROR and the
 * index behind the word, so the parse is taken up again from there; ARGP_IN_ORDER keeps argv as
 * it was given, which makes that index mean something.
 */
#include "tools/options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/help.h"

/* Keys of options without a letter start above every character. */
#define KEY_BASE 0x1000
#define KEY_HELP 'h'
#define KEY_USAGE 0x0fff

struct parse {
	const struct command *command;
	void *config;
	const char **operands;
	unsigned operand_count;
	struct faults *faults;
	bool help, usage;
	int next; /* argp's index after the last word or letter that it could read */
	int word; /* set on an error: the index of the word that it could not read */
};

/* Why a word is wrong is told with the option it belongs to. */
static void fault_value(
	struct parse *parse, const struct option_spec *spec, const struct error *error)
{
	faults_add(parse->faults, "--%s: %s", spec->name, error->text);
}

/* Bounds are written the way the value is: sizes as sizes, times as times. */
static struct units_text bound_text(enum option_type type, uint64_t bound)
{
	struct units_text text;

	if (type == OPTION_SIZE)
		return units_format_size(bound);
	if (type == OPTION_DURATION)
		return units_format_duration((nsec_t)bound);
	(void)snprintf(text.text, sizeof(text.text), "%llu", (unsigned long long)bound);
	return text;
}

static bool within_bounds(
	struct parse *parse, const struct option_spec *spec, const char *text, uint64_t value)
{
	struct units_text low = bound_text(spec->type, spec->minimum);
	struct units_text high = bound_text(spec->type, spec->maximum);

	if (value >= spec->minimum && (spec->maximum == 0 || value <= spec->maximum))
		return true;
	if (spec->maximum == 0)
		faults_add(parse->faults, "--%s: \"%.64s\" is out of range: at least %s",
			spec->name, text, low.text);
	else
		faults_add(parse->faults, "--%s: \"%.64s\" is out of range: %s to %s", spec->name,
			text, low.text, high.text);
	return false;
}

static void set_number(
	struct parse *parse, const struct option_spec *spec, const char *text, void *field)
{
	struct error error = { 0 };
	uint64_t value = 0;
	int rc = spec->type == OPTION_SIZE ? units_parse_size(text, &value, &error)
					   : units_parse_u64(text, &value, &error);

	if (rc < 0)
		fault_value(parse, spec, &error);
	else if (within_bounds(parse, spec, text, value))
		*(uint64_t *)field = value;
}

static void set_duration(
	struct parse *parse, const struct option_spec *spec, const char *text, void *field)
{
	struct error error = { 0 };
	nsec_t value = 0;

	if (units_parse_duration(text, &value, &error) < 0)
		fault_value(parse, spec, &error);
	else if (within_bounds(parse, spec, text, (uint64_t)value))
		*(nsec_t *)field = value;
}

static void set_fraction(
	struct parse *parse, const struct option_spec *spec, const char *text, void *field)
{
	struct error error = { 0 };
	double value = 0;

	if (units_parse_fraction(text, &value, &error) < 0)
		fault_value(parse, spec, &error);
	else
		*(double *)field = value;
}

static void set_list(
	struct parse *parse, const struct option_spec *spec, const char *text, void *field)
{
	struct error error = { 0 };
	struct units_list list = { 0 };
	bool good = true;

	if (units_parse_list(text, &list, &error) < 0) {
		fault_value(parse, spec, &error);
		return;
	}
	for (size_t i = 0; i < list.count && good; i++)
		good = within_bounds(parse, spec, text, list.values[i]);
	if (good) {
		units_list_done(field);
		*(struct units_list *)field = list;
	} else {
		units_list_done(&list);
	}
}

/* The index of a word among the choices; a fault that lists them all when it is none. */
static bool choice_find(struct parse *parse, const struct option_spec *spec, const char *word,
	size_t length, unsigned *ret_index)
{
	char valid[512] = "";
	size_t used = 0;

	for (unsigned i = 0; spec->choices[i]; i++) {
		if (strlen(spec->choices[i]) == length && !memcmp(spec->choices[i], word, length)) {
			*ret_index = i;
			return true;
		}
		if (used < sizeof(valid))
			used += (size_t)snprintf(valid + used, sizeof(valid) - used, "%s%s",
				i ? ", " : "", spec->choices[i]);
	}
	faults_add(parse->faults, "--%s: \"%.*s\" is none of: %s", spec->name,
		(int)(length < 64 ? length : 64), word, valid);
	return false;
}

static void set_choices(
	struct parse *parse, const struct option_spec *spec, const char *text, void *field)
{
	struct option_choices choices = { .count = 0 };
	bool good = true;

	for (const char *word = text;; word++) {
		size_t length = strcspn(word, ",");
		unsigned index = 0;
		bool twice = false;

		if (!choice_find(parse, spec, word, length, &index)) {
			good = false;
		} else {
			for (size_t i = 0; i < choices.count; i++)
				twice |= choices.index[i] == index;
			assert(index < OPTION_CHOICES_MAX);
			if (!twice)
				choices.index[choices.count++] = index;
		}
		word += length;
		if (!*word)
			break;
	}
	if (good)
		*(struct option_choices *)field = choices;
}

static void set_field(struct parse *parse, const struct option_spec *spec, const char *text)
{
	void *field = (char *)parse->config + spec->offset;
	unsigned index;

	switch (spec->type) {
	case OPTION_FLAG:
		*(bool *)field = true;
		break;
	case OPTION_TEXT:
		if (*text)
			*(const char **)field = text;
		else
			faults_add(parse->faults, "--%s: the value is empty: give a %s", spec->name,
				spec->argument);
		break;
	case OPTION_U64:
	case OPTION_SIZE:
		set_number(parse, spec, text, field);
		break;
	case OPTION_DURATION:
		set_duration(parse, spec, text, field);
		break;
	case OPTION_FRACTION:
		set_fraction(parse, spec, text, field);
		break;
	case OPTION_LIST:
		set_list(parse, spec, text, field);
		break;
	case OPTION_CHOICE:
		if (choice_find(parse, spec, text, strlen(text), &index))
			*(unsigned *)field = index;
		break;
	case OPTION_CHOICES:
		set_choices(parse, spec, text, field);
		break;
	}
}

/* True when the option was written in full. A letter inside a cluster leaves argp's index where
 * it was, so there is no word of its own to look at. */
static bool written_in_full(
	struct parse *parse, const char *name, const char *text, const struct argp_state *state)
{
	const char *word = state->argv[state->next - 1];

	if (state->next == parse->next)
		return true;
	if (text == word && state->next >= 2)
		word = state->argv[state->next - 2];
	if (strncmp(word, "--", 2) != 0 || strcspn(word + 2, "=") == strlen(name))
		return true;
	faults_add(parse->faults, "option \"%.64s\" is shortened: write --%s in full", word, name);
	return false;
}

static void take_operand(struct parse *parse, const char *text)
{
	if (parse->operand_count < parse->command->operands_max)
		parse->operands[parse->operand_count++] = text;
	else
		faults_add(parse->faults, "\"%.64s\" is one operand too many: %s takes %s", text,
			parse->command->name,
			*parse->command->arguments ? parse->command->arguments : "none");
}

/* Of a key as argp_options gave it out, or of a letter. */
static const struct option_spec *spec_of_key(const struct command *command, int key)
{
	for (const struct option_spec *spec = command->specs; spec->name; spec++)
		if (key == (spec->letter ? spec->letter : KEY_BASE + (int)(spec - command->specs)))
			return spec;
	return NULL;
}

static error_t parse_key(int key, char *text, struct argp_state *state)
{
	struct parse *parse = state->input;
	const struct option_spec *spec;

	switch (key) {
	case ARGP_KEY_ARG:
		take_operand(parse, text);
		break;
	case ARGP_KEY_ERROR:
		/* No headway means a letter inside a cluster; else the word is behind us. */
		parse->word = state->next == parse->next ? state->next : state->next - 1;
		return 0;
	case KEY_HELP:
		parse->help |= written_in_full(parse, "help", text, state);
		break;
	case KEY_USAGE:
		parse->usage |= written_in_full(parse, "usage", text, state);
		break;
	default:
		spec = spec_of_key(parse->command, key);
		if (!spec)
			return ARGP_ERR_UNKNOWN;
		if (written_in_full(parse, spec->name, text, state))
			set_field(parse, spec, text);
		break;
	}
	parse->next = state->next;
	return 0;
}

/* A word of letters: one is unknown, or the last one lacks its value. */
static void fault_letters(struct parse *parse, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		const struct option_spec *spec = spec_of_key(parse->command, *letter);

		if (!spec && *letter != KEY_HELP) {
			faults_add(parse->faults, "unknown option \"-%c\" in \"%.64s\"", *letter,
				word);
			return;
		}
		if (spec && spec->argument) {
			faults_add(parse->faults, "option \"-%c\" needs a value: -%c %s", *letter,
				*letter, spec->argument);
			return;
		}
	}
}

/* Says what is wrong with a word that argp could not read. */
static void fault_word(struct parse *parse, const char *word)
{
	size_t length = strcspn(word, "=");

	if (word[1] != '-') {
		fault_letters(parse, word);
		return;
	}
	for (const struct option_spec *spec = parse->command->specs; spec->name; spec++) {
		if (strlen(spec->name) != length - 2 ||
			memcmp(spec->name, word + 2, length - 2) != 0)
			continue;
		if (spec->argument)
			faults_add(parse->faults, "option \"--%s\" needs a value: --%s=%s",
				spec->name, spec->name, spec->argument);
		else
			faults_add(parse->faults, "option \"--%s\" takes no value", spec->name);
		return;
	}
	faults_add(parse->faults, "unknown option \"%.64s\"", word);
}

/* argp's own table: one row per spec, then help and usage, ended by zeros. */
static struct argp_option *argp_options(const struct command *command)
{
	size_t count = 0;
	struct argp_option *options;

	while (command->specs[count].name)
		count++;
	options = calloc(count + 3, sizeof(*options));
	if (!options)
		abort();
	for (size_t i = 0; i < count; i++) {
		const struct option_spec *spec = &command->specs[i];

		assert(spec->letter != KEY_HELP && !spec->argument == (spec->type == OPTION_FLAG));
		options[i].name = spec->name;
		options[i].key = spec->letter ? spec->letter : KEY_BASE + (int)i;
		options[i].arg = spec->argument;
	}
	options[count] = (struct argp_option){ .name = "help", .key = KEY_HELP };
	options[count + 1] = (struct argp_option){ .name = "usage", .key = KEY_USAGE };
	return options;
}

int options_parse(const struct command *command, int argc, char **argv, void *config,
	const char **ret_operands, unsigned *ret_operand_count, struct faults *faults)
{
	struct parse parse = {
		.command = command, .config = config, .operands = ret_operands, .faults = faults
	};
	_cleanup_free_ struct argp_option *options = argp_options(command);
	const struct argp argp = { .options = options, .parser = parse_key };
	size_t faults_before = faults->count;

	for (int start = 0; start < argc; start += parse.word) {
		/* argp takes the word before the first one as the program's name. */
		parse.next = 1;
		parse.word = 0;
		if (argp_parse(&argp, argc - start, argv + start,
			    ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_IN_ORDER, NULL,
			    &parse) == 0 ||
			parse.word == 0)
			break;
		fault_word(&parse, argv[start + parse.word]);
	}
	*ret_operand_count = parse.operand_count;
	if (parse.help || parse.usage) {
		if (parse.help)
			help_command(stdout, command);
		else
			help_usage(stdout, command);
		return 1;
	}
	if (parse.operand_count < command->operands_min)
		faults_add(faults, "%s needs %s", command->name, command->arguments);
	return faults->count > faults_before ? -EINVAL : 0;
}

void options_done(const struct command *command, void *config)
{
	for (const struct option_spec *spec = command->specs; spec->name; spec++)
		if (spec->type == OPTION_LIST)
			units_list_done((struct units_list *)((char *)config + spec->offset));
}
