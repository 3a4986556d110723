/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Help as text and as man(7) troff, from the same tables.
 *
 * argp could print help as well, but not a man page, and its layout changes with ARGP_HELP_FMT;
 * the text here is the same everywhere, so that golden files can hold it.
 */
#include "tools/help.h"

#include <ctype.h>
#include <string.h>

#define WIDTH 80
#define OPTION_COLUMN 30

/* A section of the man page. Paragraphs are parted by empty lines; `TAG<tab>text` is a tagged
 * one, and one that starts with two blanks is printed as it stands. */
struct section {
	const char *title;
	const char *text;
};

static const char *const about =
	"bareplatter exercises a raw disk with direct I/O. It maps PostMark's pool of small files "
	"onto the bare block device by layouts of its own and plays it with O_DIRECT requests at "
	"an exact queue depth, so that what file systems, host queue, drive queue and write cache "
	"each do to small-file loads can be told apart.\n\n"
	"Looking is free: list, check, plan and operations open nothing for writing. run writes "
	"only when it is given the identity of the device (see IDENTITY), and never to a disk in "
	"use.";

static const struct section exits = {
	"EXIT STATUS",
	"0\tDone: everything that was asked for. check: the device may be written.\n\n"
	"1\tThe run failed: an I/O error, a data error, or the result could not be written.\n\n"
	"2\tUsage, including a device node that is not there.\n\n"
	"3\tRefused for safety. check: reasons against writing exist.\n\n"
	"4\tNot possible here: no permission, no io_uring, too little memory.\n\n"
	"5\tA setting of the device could not be restored.\n\n"
	"130\tInterrupted (SIGINT).\n\n"
	"143\tTerminated (SIGTERM).",
};

static const struct section sections[] = {
	{ "TARGET",
		"/dev/NODE\tA block device, by any link to it such as those in /dev/disk/by-id.\n\n"
		"file:PATH,size=BYTES\tA regular file of that size.\n\n"
		"null\tNo device at all: requests complete at once. Shows what the tool itself "
		"costs." },
	{ "SIZES AND LISTS",
		"Sizes: K M G T and KiB MiB GiB TiB count in 1024, kB MB GB TB in 1000; a fraction "
		"is taken when it gives whole bytes (1.5G). 1e9, 0x1000, signs, blanks and stray "
		"letters are refused.\n\n"
		"Times: ns us ms s min h; a bare number is seconds.\n\n"
		"Lists: 1,2,4 as written; 1-64 doubles (1 2 4 8 16 32 64; the last value is always "
		"there); 8-32/4 steps by 4.\n\n"
		"Names of options are never abbreviated." },
	{ "IDENTITY",
		"check prints a line \"identity: VALUE\": the device's WWN, else its serial "
		"number, else, for a loop device, loop:INODE-DEV-SIZE of the backing file, else "
		"KIND:BYTES:DISKSEQ. run writes only with --write VALUE, so a command line that is "
		"copied to another machine, or used after the names of disks have changed, cannot "
		"hit another disk. The identity is read again on the open device.\n\n"
		"Contents that are found (partition table, file system, volume label) need "
		"--discard-contents besides. A disk that is mounted, used as swap, held by another "
		"program or by LVM, md or device-mapper, or that the system runs on, is refused "
		"without an override. Nothing is ever asked at a prompt." },
	{ "FILES", "/sys/block, /run/udev/data\tWhat is known of each device.\n\n"
		   "/proc/self/mountinfo, /proc/swaps\tWhat is in use.\n\n"
		   "/var/lib/bareplatter\tWhat runs changed on devices, to be put back by them, by "
		   "the next run or by restore (--state-dir moves it).\n\n"
		   "FILE.tmp\tThe result while it is written; renamed to FILE (-o FILE) when it is "
		   "whole." },
	{ "EXAMPLES",
		"Which disks are there, and what is each used for:\n\n"
		"  bareplatter list\n\n"
		"May this one be written, and under which identity:\n\n"
		"  bareplatter check /dev/sdb\n\n"
		"The small pool with few files over the depths 1 to 64, write cache on and off:\n\n"
		"  bareplatter run /dev/sdb --write 0x5000c500a1b2c3d4 \\\n"
		"      --pool SS --depth 1-64 --cache wb,wt\n\n"
		"What elevators and merging make of the same stream, with every request kept:\n\n"
		"  bareplatter run /dev/sdb --write 0x5000c500a1b2c3d4 --request-size 4KiB \\\n"
		"      --elevator noop,deadline,c-look --merge off,on --depth 4 \\\n"
		"      --trace all.trace\n\n"
		"  bareplatter reorder all.trace" },
	{ "SEE ALSO", "lsblk(8), fio(1), postmark(1), io_uring(7), hdparm(8), smartctl(8)" },
};

/* Prints words from *column on, breaking before WIDTH; later lines start at indent. */
static void wrap(FILE *stream, const char *text, size_t length, int indent, int column)
{
	const char *end = text + length;

	for (;;) {
		size_t word;

		while (text < end && isspace((unsigned char)*text))
			text++;
		if (text == end)
			break;
		for (word = 0; text + word < end && !isspace((unsigned char)text[word]);)
			word++;
		if (column > indent && column + 1 + (int)word > WIDTH) {
			(void)fprintf(stream, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			(void)fputc(' ', stream);
			column++;
		} else {
			(void)fprintf(stream, "%*s", indent - column, "");
			column = indent;
		}
		(void)fwrite(text, 1, word, stream);
		column += (int)word;
		text += word;
	}
	(void)fputc('\n', stream);
}

/* The paragraph at *text; moves *text behind it. NULL at the end. */
static const char *next_paragraph(const char **text, size_t *ret_length)
{
	const char *first = *text;
	const char *end = strstr(first, "\n\n");

	if (!*first)
		return NULL;
	*ret_length = end ? (size_t)(end - first) : strlen(first);
	*text = end ? end + 2 : first + *ret_length;
	return first;
}

static void text_paragraphs(FILE *stream, const char *text)
{
	const char *paragraph;
	size_t length = 0;

	while ((paragraph = next_paragraph(&text, &length))) {
		const char *tab = memchr(paragraph, '\t', length);

		if (tab) {
			int column = fprintf(stream, "  %.*s", (int)(tab - paragraph), paragraph);

			wrap(stream, tab + 1, length - (size_t)(tab + 1 - paragraph), 6, column);
			continue;
		}
		(void)fputc('\n', stream);
		if (strncmp(paragraph, "  ", 2) == 0)
			(void)fprintf(stream, "%.*s\n", (int)length, paragraph);
		else
			wrap(stream, paragraph, length, 0, 0);
	}
}

/* The help of an option with what its table row says besides: the words or the bounds. */
static void option_text(const struct option_spec *spec, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "%s", spec->help);

	assert(spec->argument || !spec->choices);
	if (spec->choices && !strchr(spec->argument, '|')) {
		for (size_t i = 0; spec->choices[i] && used < size; i++)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
				i ? ", " : "; one of: ", spec->choices[i]);
	} else if (spec->maximum && (spec->type == OPTION_U64 || spec->type == OPTION_LIST)) {
		used += (size_t)snprintf(text + used, size - used, "; %llu to %llu",
			(unsigned long long)spec->minimum, (unsigned long long)spec->maximum);
	} else if (spec->maximum && spec->type == OPTION_SIZE) {
		used += (size_t)snprintf(text + used, size - used, "; %s to %s",
			units_format_size(spec->minimum).text,
			units_format_size(spec->maximum).text);
	} else if (spec->maximum && spec->type == OPTION_DURATION) {
		used += (size_t)snprintf(text + used, size - used, "; %s to %s",
			units_format_duration((nsec_t)spec->minimum).text,
			units_format_duration((nsec_t)spec->maximum).text);
	}
	assert(used < size);
}

static void text_option(
	FILE *stream, char letter, const char *name, const char *argument, const char *help)
{
	char left[96];
	int length = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", letter ? '-' : ' ',
		letter ? letter : ' ', letter ? ',' : ' ', name, argument ? "=" : "",
		argument ? argument : "");

	assert((size_t)length < sizeof(left));
	if (length < OPTION_COLUMN) {
		(void)fputs(left, stream);
	} else {
		(void)fprintf(stream, "%s\n", left);
		length = 0;
	}
	wrap(stream, help, strlen(help), OPTION_COLUMN, length);
}

void help_usage(FILE *stream, const struct command *command)
{
	(void)fprintf(stream, "Usage: bareplatter %s%s%s%s\n", command->name,
		*command->arguments ? " " : "", command->arguments,
		command->specs[0].name ? " [OPTION...]" : "");
}

void help_command(FILE *stream, const struct command *command)
{
	help_usage(stream, command);
	wrap(stream, command->summary, strlen(command->summary), 0, 0);
	text_paragraphs(stream, command->description);
	for (const struct option_spec *spec = command->specs; spec->name; spec++) {
		char text[1024];

		if (spec->group || spec == command->specs)
			(void)fprintf(stream, "\n%s:\n", spec->group ? spec->group : "Options");
		option_text(spec, text, sizeof(text));
		text_option(stream, spec->letter, spec->name, spec->argument, text);
	}
	(void)fputs("\nHelp:\n", stream);
	text_option(stream, 'h', "help", NULL, "print this text");
	text_option(stream, 0, "usage", NULL, "print the first line of it");
}

void help_overview(FILE *stream, const struct command *const *verbs)
{
	(void)fputs("Usage: bareplatter VERB [TARGET] [OPTION...]\n", stream);
	text_paragraphs(stream, about);
	(void)fputs("\nVerbs:\n", stream);
	for (; *verbs; verbs++) {
		int column = fprintf(stream, "  %s", (*verbs)->name);

		wrap(stream, (*verbs)->summary, strlen((*verbs)->summary), 16, column);
	}
	(void)fputs("\nExit status:\n", stream);
	text_paragraphs(stream, exits.text);
	(void)fputs("\n\"bareplatter help VERB\" tells the options of a verb,\n"
		    "\"bareplatter help --man\" prints the whole as a man page.\n",
		stream);
}

/* Escapes text for troff: a hyphen is a minus that can be copied, a backslash is itself, and no
 * line starts with a control character. */
static void man_text(FILE *stream, const char *text, size_t length)
{
	bool line_start = true;

	for (size_t i = 0; i < length; i++) {
		if (line_start && (text[i] == '.' || text[i] == '\''))
			(void)fputs("\\&", stream);
		line_start = text[i] == '\n';
		if (text[i] == '-')
			(void)fputs("\\-", stream);
		else if (text[i] == '\\')
			(void)fputs("\\e", stream);
		else if (text[i] == '\'')
			(void)fputs("\\(aq", stream);
		else if (text[i] == '"')
			(void)fputs("\\(dq", stream);
		else if (text[i] == '^')
			(void)fputs("\\(ha", stream);
		else if (text[i] == '~')
			(void)fputs("\\(ti", stream);
		else
			(void)fputc(text[i], stream);
	}
}

static void man_string(FILE *stream, const char *text)
{
	man_text(stream, text, strlen(text));
}

static void man_paragraphs(FILE *stream, const char *text)
{
	const char *paragraph;
	size_t length = 0;

	while ((paragraph = next_paragraph(&text, &length))) {
		const char *tab = memchr(paragraph, '\t', length);

		if (tab) {
			(void)fputs(".TP\n.B ", stream);
			man_text(stream, paragraph, (size_t)(tab - paragraph));
			(void)fputc('\n', stream);
			man_text(stream, tab + 1, length - (size_t)(tab + 1 - paragraph));
			(void)fputc('\n', stream);
		} else if (strncmp(paragraph, "  ", 2) == 0) {
			(void)fputs(".PP\n.EX\n", stream);
			man_text(stream, paragraph, length);
			(void)fputs("\n.EE\n", stream);
		} else {
			(void)fputs(".PP\n", stream);
			man_text(stream, paragraph, length);
			(void)fputc('\n', stream);
		}
	}
}

static void man_command(FILE *stream, const struct command *command)
{
	(void)fputs(".SS ", stream);
	man_string(stream, command->name);
	if (*command->arguments) {
		(void)fputc(' ', stream);
		man_string(stream, command->arguments);
	}
	(void)fputc('\n', stream);
	man_string(stream, command->summary);
	(void)fputc('\n', stream);
	man_paragraphs(stream, command->description);
	for (const struct option_spec *spec = command->specs; spec->name; spec++) {
		char text[1024];

		if (spec->group) {
			(void)fputs(".PP\n.I ", stream);
			man_string(stream, spec->group);
			(void)fputs(":\n", stream);
		}
		(void)fputs(".TP\n", stream);
		if (spec->letter)
			(void)fprintf(stream, "\\fB\\-%c\\fR, ", spec->letter);
		(void)fputs("\\fB\\-\\-", stream);
		man_string(stream, spec->name);
		(void)fputs("\\fR", stream);
		if (spec->argument) {
			(void)fputs("=\\fI", stream);
			man_string(stream, spec->argument);
			(void)fputs("\\fR", stream);
		}
		(void)fputc('\n', stream);
		option_text(spec, text, sizeof(text));
		man_string(stream, text);
		(void)fputc('\n', stream);
	}
}

static void man_section(FILE *stream, const struct section *section)
{
	(void)fprintf(stream, ".SH %s\n", section->title);
	man_paragraphs(stream, section->text);
}

void help_man(FILE *stream, const struct command *const *verbs, const char *version)
{
	(void)fprintf(stream,
		".\\\" SPDX-License-Identifier: GPL-3.0-or-later\n"
		".\\\" Printed by \"bareplatter help --man\" from the tables of the command.\n"
		".TH BAREPLATTER 8 \"\" \"bareplatter %s\" \"System Administration\"\n"
		".nh\n"
		".ad l\n"
		".SH NAME\n"
		"bareplatter \\- raw-device direct-I/O disk exerciser\n"
		".SH SYNOPSIS\n",
		version);
	for (const struct command *const *verb = verbs; *verb; verb++) {
		(void)fputs(verb == verbs ? ".B bareplatter " : ".br\n.B bareplatter ", stream);
		man_string(stream, (*verb)->name);
		if (*(*verb)->arguments) {
			(void)fputs("\n.I ", stream);
			man_string(stream, (*verb)->arguments);
		}
		(void)fputs("\n.RI [ OPTION... ]\n", stream);
	}
	(void)fputs(".SH DESCRIPTION\n", stream);
	man_paragraphs(stream, about);
	(void)fputs(".SH VERBS\n", stream);
	for (; *verbs; verbs++)
		man_command(stream, *verbs);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		/* Exit codes come before the files, as man-pages(7) orders sections. */
		if (strcmp(sections[i].title, "FILES") == 0)
			man_section(stream, &exits);
		man_section(stream, &sections[i]);
	}
}
