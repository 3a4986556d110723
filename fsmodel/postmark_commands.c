/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PostMark's commands, in the order in which it compares a line with them: the first that the
 * line begins with is taken, ONE character after it is skipped whatever that is, and the rest is
 * the argument. Each handler works out what PostMark would read and takes the line only if that
 * is what it says.
 */
#include "fsmodel/postmark_session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANK ' '
#define BIAS_MAX 10

struct command_word;
typedef void (*command_fn)(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument);

struct command_word {
	const char *word;
	command_fn apply;
	size_t offset;            /* of a number's field in the configuration */
	int32_t minimum, maximum; /* of a number */
	bool no_effect;           /* without a file system */
	enum line_effect effect;
};

static void __attribute__((format(printf, 3, 0)))
add_sentence(struct faults *list, const struct origin *origin, const char *format, va_list args)
{
	char sentence[512];

	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	faults_add(list, "%s:%u: %s", origin->file, origin->line, sentence);
}

void session_fault(struct session *session, const struct origin *origin, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_sentence(session->faults, origin, format, args);
	va_end(args);
}

void session_note(struct session *session, const struct origin *origin, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_sentence(&session->runs.notes, origin, format, args);
	va_end(args);
}

struct quoted session_quote(const char *text)
{
	static const char more[] = "...";
	struct quoted quoted;
	const size_t room = sizeof(quoted.text) - sizeof(more);
	size_t length = strlen(text);
	const bool cut = length > room;

	if (cut)
		length = room;
	for (size_t i = 0; i < length; i++) {
		const unsigned char c = (unsigned char)text[i];

		quoted.text[i] = c == '\t' ? BLANK : c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	memcpy(quoted.text + length, cut ? more : "", cut ? sizeof(more) : 1);
	return quoted;
}

/* What PostMark makes of a text: strtol, cut to the low 32 bits. */
static int32_t postmark_number(const char *text)
{
	return (int32_t)(uint32_t)(uint64_t)strtoll(text, NULL, 10);
}

/* A word of the argument as a number, by the whole word; words are ended by blanks. */
static bool parse_number(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *text, size_t length, int32_t *ret_value)
{
	char word[POSTMARK_LINE_BYTES_MAX + 1];
	char *end;
	long long value;

	memcpy(word, text, length);
	word[length] = '\0';
	errno = 0;
	value = strtoll(word, &end, 10);
	if (end == word || *end) {
		session_fault(session, origin,
			"`%s`: '%s' is not a whole number; PostMark would read it as %d",
			command->word, session_quote(word).text, postmark_number(word));
		return false;
	}
	if (errno == ERANGE || value < INT32_MIN || value > INT32_MAX) {
		session_fault(session, origin,
			"`%s`: %s does not fit into 32 bits; PostMark would read it as %d",
			command->word, session_quote(word).text, postmark_number(word));
		return false;
	}
	if (value < command->minimum || value > command->maximum) {
		session_fault(session, origin,
			"`%s`: PostMark would refuse %lld and go on without it; the value must be "
			"%d %s",
			command->word, value, command->minimum,
			command->maximum == BIAS_MAX ? "to 10" : "or more");
		return false;
	}
	*ret_value = (int32_t)value;
	return true;
}

/* Cuts the argument into words at blanks. Returns how many there are, starts of the first two. */
static unsigned split(const char *argument, const char *starts[2], size_t lengths[2])
{
	unsigned count = 0;

	for (const char *next = argument; *next;) {
		const size_t blanks = strspn(next, " ");
		const size_t length = strcspn(next + blanks, " ");

		if (length && count < 2) {
			starts[count] = next + blanks;
			lengths[count] = length;
		}
		count += length != 0;
		next += blanks + length;
	}
	return count;
}

static void set_number(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	const char *starts[2];
	size_t lengths[2];
	const unsigned words = split(argument ? argument : "", starts, lengths);
	int32_t value;

	if (words != 1) {
		session_fault(session, origin,
			words ? "`%s` takes one number; PostMark would ignore what follows the "
				"first"
			      : "`%s` needs a number; PostMark would keep the old one",
			command->word);
		return;
	}
	if (!parse_number(session, origin, command, starts[0], lengths[0], &value))
		return;
	memcpy((char *)&session->config + command->offset, &value, sizeof(value));
}

static void remember(struct setting_origin *setting, const struct origin *origin)
{
	free(setting->file);
	setting->file = strdup(origin->file);
	if (!setting->file)
		abort();
	setting->line = origin->line;
	setting->reported = false;
}

static void set_files(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	const size_t faults_before = session->faults->count;

	set_number(session, origin, command, argument);
	if (session->faults->count == faults_before)
		remember(&session->files_origin, origin);
}

/* PostMark takes as high what follows the FIRST blank of the argument, and low if that is less. */
static int32_t postmark_size_high(const char *argument)
{
	const char *blank = strchr(argument, BLANK);
	const int32_t low = postmark_number(argument);
	const int32_t high = blank ? postmark_number(blank + 1) : 0;

	return high > 0 && high >= low ? high : low;
}

static void set_size(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	const char *starts[2];
	size_t lengths[2];
	const unsigned words = split(argument ? argument : "", starts, lengths);
	int32_t low = 0, high = 0;
	bool good;

	if (words < 1 || words > 2) {
		session_fault(session, origin, "`set size` needs one or two numbers, low and high");
		return;
	}
	good = parse_number(session, origin, command, starts[0], lengths[0], &low);
	if (words == 2)
		good &= parse_number(session, origin, command, starts[1], lengths[1], &high);
	else
		high = low;
	if (!good)
		return;
	if (high < low) {
		session_fault(session, origin,
			"`set size`: low %d is more than high %d; PostMark would make all files "
			"%d bytes",
			low, high, low);
		return;
	}
	if (postmark_size_high(argument) != high) {
		session_fault(session, origin,
			"`set size`: with the extra blank before %d PostMark would read high as %d",
			low, postmark_size_high(argument));
		return;
	}
	session->config.size_low_bytes = low;
	session->config.size_high_bytes = high;
	remember(&session->size_origin, origin);
}

static void set_buffering(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	(void)command;
	if (!argument || (strcmp(argument, "true") && strcmp(argument, "false")))
		session_fault(session, origin,
			"`set buffering` takes exactly true or false; PostMark would refuse '%s'",
			session_quote(argument ? argument : "").text);
	else
		session->config.buffered = !strcmp(argument, "true");
}

static void set_report(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	(void)command;
	if (!argument || (strcmp(argument, "verbose") && strcmp(argument, "terse")))
		session_fault(session, origin,
			"`set report` takes exactly verbose or terse; PostMark would refuse '%s'",
			session_quote(argument ? argument : "").text);
}

static void clear_locations(struct postmark_config *config)
{
	for (size_t i = 0; i < config->location_count; i++)
		free(config->locations[i].name);
	config->location_count = 0;
}

static void remove_location(struct session *session, const struct origin *origin, const char *name)
{
	struct postmark_config *config = &session->config;

	for (size_t i = 0; i < config->location_count; i++) {
		if (strcmp(config->locations[i].name, name))
			continue;
		free(config->locations[i].name);
		config->location_count--;
		memmove(&config->locations[i], &config->locations[i + 1],
			(config->location_count - i) * sizeof(config->locations[0]));
		return;
	}
	session_fault(session, origin,
		"`set location -`: there is no location '%s' (a weight must not follow it)",
		session_quote(name).text);
}

static void add_location(
	struct postmark_config *config, const char *name, size_t length, int32_t weight)
{
	struct postmark_location *grown = realloc(
		config->locations, (config->location_count + 1) * sizeof(*config->locations));
	char *copy = strndup(name, length);

	if (!grown || !copy)
		abort();
	config->locations = grown;
	config->locations[config->location_count++] = (struct postmark_location){
		.name = copy,
		.weight = weight,
	};
}

/* PostMark cuts the name at the LAST blank and takes what follows for the weight. */
static void set_location(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	const char *name = argument ? argument : "";
	const bool append = *name == '+';
	const char *blank;
	size_t length;
	int32_t weight = 1;

	if (*name == '-') {
		remove_location(session, origin, name + 1);
		return;
	}
	name += append;
	blank = strrchr(name, BLANK);
	length = blank ? (size_t)(blank - name) : strlen(name);
	if (!length || name[0] == BLANK || name[length - 1] == BLANK || strchr(name, '\t')) {
		session_fault(session, origin,
			"`set location` takes a path and, after one blank, a weight; PostMark "
			"would misread '%s'",
			session_quote(argument ? argument : "").text);
		return;
	}
	if (blank && !parse_number(session, origin, command, blank + 1, strlen(blank + 1), &weight))
		return;
	if (!append)
		clear_locations(&session->config);
	add_location(&session->config, name, length, weight);
}

/* Tells once what cannot run, at the line that set it. */
static void report_setting(struct session *session, const struct origin *run_line,
	struct setting_origin *setting, const char *what, int32_t value, int32_t maximum)
{
	const struct origin origin = {
		.file = setting->file ? setting->file : run_line->file,
		.line = setting->file ? setting->line : run_line->line,
	};

	if (!setting->reported)
		session_fault(session, &origin,
			"%s is %d: PostMark cannot run 2^30 or more (it would crash at line %u); "
			"use at most %d",
			what, value, run_line->line, maximum);
	setting->reported = true;
}

static void run(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	/* Shares the locations; only looked at. */
	struct postmark_config probe = session->config;
	struct faults found = { 0 };

	(void)command;
	session->run_seen = true;
	if (argument && !*argument)
		session_fault(session, origin,
			"`run` ends in a blank: PostMark would look for a report file without "
			"name");
	else if (argument)
		session_note(session, origin, "`run`: the report file '%s' is not written",
			session_quote(argument).text);
	if (probe.size_high_bytes > POSTMARK_SIZE_MAX) {
		report_setting(session, origin, &session->size_origin, "size high",
			probe.size_high_bytes, POSTMARK_SIZE_MAX);
		probe.size_low_bytes = probe.size_high_bytes = 1;
	}
	if (probe.files > POSTMARK_FILES_MAX) {
		report_setting(session, origin, &session->files_origin, "number of files",
			probe.files, POSTMARK_FILES_MAX);
		probe.files = 1;
	}
	postmark_config_check(&probe, &found);
	for (size_t i = 0; i < found.count; i++)
		session_fault(session, origin, "`run`: %s", found.text[i]);
	faults_done(&found);
	postmark_runs_add(&session->runs, &session->config);
}

static void load(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	(void)command;
	if (!argument || !*argument)
		session_fault(session, origin, "`load` needs the name of a command file");
}

static void show(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	(void)command;
	if (argument && !*argument)
		session_fault(session, origin,
			"`show` ends in a blank: PostMark would look for a file without a name");
}

static void nothing(struct session *session, const struct origin *origin,
	const struct command_word *command, const char *argument)
{
	if (command->effect == LINE_QUIT && argument && argument[strspn(argument, " ")])
		session_fault(session, origin, "`quit` takes nothing after it, got '%s'",
			session_quote(argument).text);
}

#define WORD(word_, apply_, ...)                                                                   \
	{                                                                                          \
		.word = (word_), .apply = (apply_), __VA_ARGS__                                    \
	}
#define NUMBER(word_, apply_, field, minimum_, maximum_, ...)                                      \
	WORD(word_, apply_, .offset = offsetof(struct postmark_config, field),                     \
		.minimum = (minimum_), .maximum = (maximum_), __VA_ARGS__)
#define COUNT(word_, field, ...) NUMBER(word_, set_number, field, 1, INT32_MAX, __VA_ARGS__)

/* clang-format off */
static const struct command_word command_words[] = {
	WORD("set size", set_size, .minimum = 1, .maximum = INT32_MAX),
	NUMBER("set number", set_files, files, 1, INT32_MAX),
	COUNT("set seed", seed),
	COUNT("set transactions", transactions),
	WORD("set location", set_location, .minimum = 1, .maximum = INT32_MAX, .no_effect = true),
	COUNT("set subdirectories", subdirectories),
	COUNT("set read", read_block_bytes, .no_effect = true),
	COUNT("set write", write_block_bytes, .no_effect = true),
	WORD("set buffering", set_buffering, .no_effect = true),
	NUMBER("set bias read", set_number, bias_read, -1, BIAS_MAX),
	NUMBER("set bias create", set_number, bias_create, -1, BIAS_MAX),
	WORD("set report", set_report, .no_effect = true),
	WORD("run", run),
	WORD("load", load, .effect = LINE_LOAD),
	WORD("show", show, .no_effect = true),
	WORD("help", nothing, .no_effect = true),
	WORD("quit", nothing, .effect = LINE_QUIT),
};
/* clang-format on */

static void fault_unknown(struct session *session, const struct origin *origin, const char *line)
{
	const char *why = "is not a command of PostMark";

	if (!*line)
		why = "is empty";
	else if (*line == BLANK || *line == '\t')
		why = "begins with a blank";
	else if (*line == '#')
		why = "is a comment, which PostMark does not have";
	else if (*line == '!')
		why = "starts a shell, which is not done here";
	else if (!strcmp(line, "?") || !strcmp(line, "exit"))
		why = "is known to PostMark at its prompt only";
	session_fault(session, origin, "the line '%s' %s%s", session_quote(line).text, why,
		*line == '!' ? "" : "; PostMark would skip it");
}

enum line_effect session_line(struct session *session, const struct origin *origin,
	const char *line, const char **ret_load)
{
	const struct command_word *command = NULL;
	const char *argument = NULL;
	size_t faults_before;
	size_t length = 0;

	for (size_t i = 0; i < ARRAY_SIZE(command_words) && !command; i++) {
		length = strlen(command_words[i].word);
		if (!strncmp(line, command_words[i].word, length))
			command = &command_words[i];
	}
	if (!command) {
		fault_unknown(session, origin, line);
		return LINE_DONE;
	}
	if (line[length] && line[length] != BLANK) {
		session_fault(session, origin,
			"'%s': one blank must follow `%s`; PostMark would skip the %s unseen",
			session_quote(line).text, command->word,
			line[length] == '\t' ? "tab"
					     : (char[]){ '\'', session_quote(line + length).text[0],
						       '\'', '\0' });
		session->run_seen |= command->apply == run;
		return LINE_DONE;
	}
	if (line[length])
		argument = line + length + 1;
	faults_before = session->faults->count;
	command->apply(session, origin, command, argument);
	if (session->faults->count > faults_before)
		return command->effect == LINE_QUIT ? LINE_QUIT : LINE_DONE;
	if (command->no_effect)
		session_note(session, origin, "`%s` has no effect without a file system%s",
			command->word,
			command->apply == set_location ? ", apart from the names and the draws"
						       : "");
	*ret_load = argument;
	return command->effect;
}
