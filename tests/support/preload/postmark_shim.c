/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into the unmodified PostMark, writes down what it does with its files, in the form of
 * `bareplatter operations`, to the file that POSTMARK_SHIM_LOG names. A pool file is one whose
 * last name is a number. PostMark has one file open at a time: opening begins an operation,
 * closing ends it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *log_stream;

static struct {
	char letter; /* 0 while no pool file is open */
	char name[512];
	unsigned long long bytes;
	FILE *stream;
	int fd;
} current;

/* The function behind the one of the same name here. */
static void *behind(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

#define CALL(name, type) ((type)behind(name))

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("POSTMARK_SHIM_LOG");

	if (path)
		log_stream = CALL("fopen", FILE * (*)(const char *, const char *))(path, "w");
}

__attribute__((destructor)) static void end(void)
{
	if (log_stream)
		CALL("fclose", int (*)(FILE *))(log_stream);
}

static bool is_pool_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return log_stream && *name && name[strspn(name, "0123456789")] == '\0';
}

static void begin(char letter, const char *path, FILE *stream, int fd)
{
	current.letter = letter;
	(void)snprintf(current.name, sizeof(current.name), "%s", path);
	current.bytes = 0;
	current.stream = stream;
	current.fd = fd;
}

static void finish(void)
{
	fprintf(log_stream, "%c %s %llu\n", current.letter, current.name, current.bytes);
	current.letter = 0;
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *stream = CALL("fopen", FILE * (*)(const char *, const char *))(path, mode);

	if (stream && is_pool_file(path))
		begin(*mode == 'w' ? 'C' : *mode == 'a' ? 'A' : 'R', path, stream, -1);
	return stream;
}

int fclose(FILE *stream)
{
	if (current.letter && current.stream == stream)
		finish();
	return CALL("fclose", int (*)(FILE *))(stream);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream)
{
	if (current.letter && current.stream == stream)
		current.bytes += size * count;
	return CALL("fwrite", size_t(*)(const void *, size_t, size_t, FILE *))(
		data, size, count, stream);
}

size_t fread(void *data, size_t size, size_t count, FILE *stream)
{
	if (current.letter && current.stream == stream)
		current.bytes += size * count;
	return CALL("fread", size_t(*)(void *, size_t, size_t, FILE *))(data, size, count, stream);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;
	int fd;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	fd = CALL("open", int (*)(const char *, int, ...))(path, flags, mode);
	if (fd >= 0 && is_pool_file(path))
		begin(flags & O_CREAT ? 'C' : flags & O_APPEND ? 'A' : 'R', path, NULL, fd);
	return fd;
}

int close(int fd)
{
	if (current.letter && !current.stream && current.fd == fd)
		finish();
	return CALL("close", int (*)(int))(fd);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	if (current.letter && !current.stream && current.fd == fd)
		current.bytes += bytes;
	return CALL("write", ssize_t(*)(int, const void *, size_t))(fd, data, bytes);
}

ssize_t read(int fd, void *data, size_t bytes)
{
	if (current.letter && !current.stream && current.fd == fd)
		current.bytes += bytes;
	return CALL("read", ssize_t(*)(int, void *, size_t))(fd, data, bytes);
}

int remove(const char *path)
{
	if (is_pool_file(path))
		fprintf(log_stream, "D %s\n", path);
	return CALL("remove", int (*)(const char *))(path);
}
