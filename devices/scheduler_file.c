/* SPDX-License-Identifier: GPL-3.0-or-later */
/* queue/scheduler, as kernels write it; see the header. */
#include "devices/scheduler_file.h"

#include <stdio.h>
#include <string.h>

#define BLANKS " \t\n"

/* Since Linux 5.0 these are all there are; Debian builds two of them as modules. */
static const char *const loadable[] = { "mq-deadline", "kyber", "bfq" };

static int add_word(struct scheduler_file *file, const char *word, size_t length)
{
	const bool opened = word[0] == '[', closed = word[length - 1] == ']';

	if (opened != closed || (opened && (file->active >= 0 || length < 3)))
		return -EBADMSG;
	if (opened) {
		file->active = (int)file->count;
		word++;
		length -= 2;
	}
	if (file->count == SCHEDULER_COUNT_MAX || length >= SCHEDULER_NAME ||
		strcspn(word, "[]") < length)
		return -EBADMSG;
	memcpy(file->names[file->count], word, length);
	file->names[file->count++][length] = '\0';
	return 0;
}

int scheduler_file_parse(const char *text, struct scheduler_file *ret_file)
{
	struct scheduler_file file = { .active = -1 };

	for (text += strspn(text, BLANKS); *text; text += strspn(text, BLANKS)) {
		const size_t length = strcspn(text, BLANKS);
		const int code = add_word(&file, text, length);

		if (code)
			return code;
		text += length;
	}
	/* The bare `none` of a queue that has nothing to choose from. */
	if (file.active < 0 && file.count == 1)
		file.active = 0;
	*ret_file = file;
	return 0;
}

const char *scheduler_file_active(const struct scheduler_file *file)
{
	return file->active < 0 ? "" : file->names[file->active];
}

bool scheduler_file_offers(const struct scheduler_file *file, const char *name)
{
	for (size_t i = 0; i < file->count; i++)
		if (strcmp(file->names[i], name) == 0)
			return true;
	/* A queue with a single name has no choice, whatever modules there are. */
	for (size_t i = 0; file->count > 1 && i < ARRAY_SIZE(loadable); i++)
		if (strcmp(loadable[i], name) == 0)
			return true;
	return false;
}

struct scheduler_names scheduler_file_names(const struct scheduler_file *file)
{
	struct scheduler_names names = { "nothing" };
	size_t used = 0;

	for (size_t i = 0; i < file->count; i++)
		used += (size_t)snprintf(names.text + used, sizeof(names.text) - used, "%s%s",
			i ? ", " : "", file->names[i]);
	return names;
}
