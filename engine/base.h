/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The vocabulary that every layer shares: time, errors, faults, cleanup.
 *
 * Functions return 0 or a positive value, or a negative errno. Where a person will read the
 * reason the last argument is a `struct error *` that receives one sentence which names the
 * thing, its value and what to do; it may be NULL. Where a user would otherwise mend one fault
 * after another, a `struct faults` collects them all. Nothing here prints.
 */
#ifndef ENGINE_BASE_H
#define ENGINE_BASE_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A duration or an instant of the run's clock, in nanoseconds. */
typedef int64_t nsec_t;

#define NSEC_PER_USEC INT64_C(1000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_SEC INT64_C(1000000000)
#define NSEC_NEVER INT64_MAX

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct error {
	int code;       /* negative errno, 0 while nothing is wrong */
	char text[512]; /* one sentence, no final newline */
};

/* Sets the sentence (when error is not NULL) and returns code, so that a caller can write
 * `return error_set(error, -EBUSY, "...")`. A first sentence is never overwritten. */
int error_set(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A growing list of sentences; zero-initialise before use. */
struct faults {
	char **text;
	size_t count;
};

/* Appends a sentence. Running out of memory is fatal here: there is nothing left to tell. */
void faults_add(struct faults *faults, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void faults_done(struct faults *faults);

/* Cleanup attributes for control code (not for the request path). */
void cleanup_free(void *pointer_to_pointer);
void cleanup_close(const int *fd);
#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_faults_ __attribute__((cleanup(faults_done)))

static inline uint64_t divide_up(uint64_t value, uint64_t unit)
{
	return value / unit + (value % unit != 0);
}

static inline uint64_t round_up(uint64_t value, uint64_t unit)
{
	return divide_up(value, unit) * unit;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
