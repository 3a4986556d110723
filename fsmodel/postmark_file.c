/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fsmodel/postmark_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsmodel/postmark_session.h"

/* Bounds against endless input: far above any command file, far below what would hurt. */
#define FILE_BYTES_MAX (4 * MIB)
#define LOAD_DEPTH_MAX 16
#define SESSION_LINES_MAX 100000

/* The files being read, outermost first. */
struct file_stack {
	struct stat identity[LOAD_DEPTH_MAX];
	unsigned depth;
	bool load_files;
	size_t lines;
};

void postmark_runs_add(struct postmark_runs *runs, const struct postmark_config *config)
{
	struct postmark_config *grown =
		realloc(runs->configs, (runs->count + 1) * sizeof(*runs->configs));

	if (!grown)
		abort();
	runs->configs = grown;
	if (postmark_config_copy(config, &runs->configs[runs->count]) < 0)
		abort();
	runs->count++;
}

void postmark_runs_done(struct postmark_runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		postmark_config_done(&runs->configs[i]);
	free(runs->configs);
	faults_done(&runs->notes);
	*runs = (struct postmark_runs){ 0 };
}

/* Reads all of a file. Returns 0, or -errno with a sentence. */
static int slurp(int fd, char **ret_text, size_t *ret_length, struct error *error)
{
	_cleanup_free_ char *text = malloc(FILE_BYTES_MAX + 1);
	size_t length = 0;
	ssize_t got;

	if (!text)
		return error_set(error, -ENOMEM, "no memory to read it");
	do {
		got = read(fd, text + length, FILE_BYTES_MAX + 1 - length);
		if (got < 0 && errno != EINTR)
			return error_set(error, -errno, "cannot be read: %s", strerror(errno));
		if (got > 0)
			length += (size_t)got;
	} while (got && length <= FILE_BYTES_MAX);
	if (length > FILE_BYTES_MAX)
		return error_set(error, -EFBIG, "is larger than %llu MiB: not a command file",
			(unsigned long long)(FILE_BYTES_MAX / MIB));
	*ret_text = text;
	*ret_length = length;
	text = NULL;
	return 0;
}

/* Opens a file that is not being read already and reads all of it. */
static int open_file(struct file_stack *stack, const char *path, char **ret_text,
	size_t *ret_length, struct error *error)
{
	struct stat *identity = &stack->identity[stack->depth];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, identity) < 0)
		return error_set(error, -errno, "cannot be opened: %s", strerror(errno));
	for (unsigned i = 0; i < stack->depth; i++) {
		if (stack->identity[i].st_dev == identity->st_dev &&
			stack->identity[i].st_ino == identity->st_ino)
			return error_set(error, -ELOOP, "loads itself");
	}
	return slurp(fd, ret_text, ret_length, error);
}

static void read_text(struct session *session, struct file_stack *stack, const char *name,
	const char *text, size_t length);

static void load_file(struct session *session, struct file_stack *stack,
	const struct origin *origin, const char *path)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct error error = { 0 };

	if (!stack->load_files) {
		session_fault(session, origin, "`load` is not possible here");
		return;
	}
	if (stack->depth == LOAD_DEPTH_MAX) {
		session_fault(session, origin, "`load`: files are nested more than %d deep",
			LOAD_DEPTH_MAX);
		return;
	}
	if (open_file(stack, path, &text, &length, &error) < 0) {
		session_fault(session, origin,
			"`load`: '%s' %s (paths start from the current directory, as in PostMark)",
			session_quote(path).text, error.text);
		return;
	}
	stack->depth++;
	read_text(session, stack, path, text, length);
	stack->depth--;
}

/* Takes one line as PostMark's reader would deliver it; tells when it would deliver another. */
static enum line_effect take_line(struct session *session, const struct origin *origin,
	const char *text, size_t length, bool newline, char *ret_line, const char **ret_load)
{
	if (!newline)
		session_fault(session, origin,
			"the last line has no newline; PostMark would drop its last character");
	if (length > 0 && text[length - 1] == '\r') {
		session_fault(session, origin,
			"the line ends in CR (a Windows line end), which PostMark takes as part "
			"of it; convert the file, for example by dos2unix");
		length--;
	}
	if (length > POSTMARK_LINE_BYTES_MAX) {
		session_fault(session, origin,
			"the line has %zu characters; beyond %d PostMark would take it as "
			"several",
			length, POSTMARK_LINE_BYTES_MAX);
		return LINE_DONE;
	}
	if (memchr(text, '\0', length)) {
		session_fault(
			session, origin, "the line holds a NUL byte; PostMark would cut it there");
		return LINE_DONE;
	}
	memcpy(ret_line, text, length);
	ret_line[length] = '\0';
	return session_line(session, origin, ret_line, ret_load);
}

static void read_text(struct session *session, struct file_stack *stack, const char *name,
	const char *text, size_t length)
{
	struct origin origin = { .file = name };
	enum line_effect effect = LINE_DONE;

	for (size_t at = 0; at < length && effect != LINE_QUIT;) {
		const char *newline = memchr(text + at, '\n', length - at);
		const size_t line_length = newline ? (size_t)(newline - text) - at : length - at;
		char line[POSTMARK_LINE_BYTES_MAX + 1];
		const char *path;

		origin.line++;
		if (stack->lines++ == SESSION_LINES_MAX) {
			session_fault(
				session, &origin, "more than %d lines in all", SESSION_LINES_MAX);
			return;
		}
		if (stack->lines > SESSION_LINES_MAX)
			return;
		effect = take_line(
			session, &origin, text + at, line_length, newline != NULL, line, &path);
		if (effect == LINE_LOAD)
			load_file(session, stack, &origin, path);
		at += line_length + (newline != NULL);
		if (effect == LINE_QUIT && at < length)
			session_note(session, &origin, "what follows `quit` is never read");
	}
}

/* Runs the session over the outermost file and hands over the runs if nothing is wrong. */
static int run_session(struct file_stack *stack, const char *name, const char *text, size_t length,
	struct postmark_runs *ret_runs, struct faults *faults)
{
	const size_t faults_before = faults->count;
	struct session session = { .faults = faults };

	postmark_config_default(&session.config);
	read_text(&session, stack, name, text, length);
	if (!session.run_seen)
		faults_add(faults, "%s: there is no `run` line; PostMark would do nothing", name);
	postmark_config_done(&session.config);
	free(session.size_origin.file);
	free(session.files_origin.file);
	if (faults->count > faults_before) {
		postmark_runs_done(&session.runs);
		return -EINVAL;
	}
	*ret_runs = session.runs;
	return 0;
}

int postmark_file_parse(const char *name, const char *text, size_t length, bool load_files,
	struct postmark_runs *ret_runs, struct faults *faults)
{
	struct file_stack stack = { .load_files = load_files };

	return run_session(&stack, name, text, length, ret_runs, faults);
}

int postmark_file_read(const char *path, struct postmark_runs *ret_runs, struct faults *faults)
{
	struct file_stack stack = { .load_files = true };
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct error error = { 0 };

	if (open_file(&stack, path, &text, &length, &error) < 0) {
		faults_add(faults, "%s: the command file %s", path, error.text);
		return -EINVAL;
	}
	stack.depth = 1;
	return run_session(&stack, path, text, length, ret_runs, faults);
}
