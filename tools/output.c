/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results on stdout or in a file, the latter by write, fsync and rename. */
#include "tools/output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_in_place(
	struct output *output, const char *path, const struct stat *status, struct error *error)
{
	int fd;

	if (S_ISBLK(status->st_mode))
		return error_set(error, -EINVAL,
			"%s is a block device: results are never written to one, name a file",
			path);
	if (S_ISDIR(status->st_mode))
		return error_set(error, -EISDIR, "%s is a directory: name a file", path);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return error_set(error, -errno, "%s cannot be opened for writing: %m", path);
	output->stream = fdopen(fd, "w");
	if (!output->stream)
		abort();
	return 0;
}

int output_open(struct output *output, const char *path, struct error *error)
{
	struct stat status;
	char *real;
	int fd;

	*output = (struct output){ 0 };
	if (!path || strcmp(path, "-") == 0) {
		output->stream = stdout;
		return 0;
	}
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return open_in_place(output, path, &status, error);
	real = realpath(path, NULL);
	output->path = real ? real : strdup(path);
	if (!output->path || asprintf(&output->temporary, "%s.tmp", output->path) < 0)
		abort();
	fd = open(output->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0) {
		int rc = error_set(
			error, -errno, "%s cannot be opened for writing: %m", output->temporary);

		free(output->temporary);
		free(output->path);
		*output = (struct output){ 0 };
		return rc;
	}
	output->stream = fdopen(fd, "w");
	if (!output->stream)
		abort();
	return 0;
}

int output_commit(struct output *output, struct error *error)
{
	const char *name = output->path ? output->path : "stdout";
	bool bad = ferror(output->stream) != 0;
	int rc = 0;

	errno = EIO;
	if (fflush(output->stream) != 0 || bad ||
		(output->path && fsync(fileno(output->stream)) < 0))
		rc = error_set(error, -errno, "%s: the result could not be written: %m", name);
	if (rc == 0 && output->path && rename(output->temporary, output->path) < 0)
		rc = error_set(error, -errno, "%s cannot be renamed to %s: %m", output->temporary,
			output->path);
	if (rc == 0) {
		free(output->temporary);
		output->temporary = NULL;
	}
	output_cancel(output);
	return rc;
}

void output_cancel(struct output *output)
{
	if (output->stream && output->stream != stdout)
		(void)fclose(output->stream);
	if (output->temporary)
		(void)unlink(output->temporary);
	free(output->temporary);
	free(output->path);
	*output = (struct output){ 0 };
}
