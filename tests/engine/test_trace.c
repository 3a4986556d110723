/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: what was added is read back byte for byte, and nothing else is ever taken for it. Method:
 * one file by hand, byte by byte; random cells against the generator that made them; a small file
 * cut at every length and changed in every byte; signals meanwhile.
 */
#include "engine/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "engine/rng.h"
#include "tests/support/check.h"

#define CHUNK_RECORDS 16383u /* of engine/trace.c: the places where counts go wrong */
#define RING_CHUNKS 32u
#define HEADER 24u
#define BLOCK 16u
#define TRAILER 32u
#define RECORD 64u

static char folder[64];
static char file[96];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/bareplatter-trace-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/trace", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(file);
	return rmdir(folder);
}

static struct trace_writer *open_writer(const char *run)
{
	struct trace_writer *writer = NULL;
	struct error error = { 0 };

	if (trace_writer_open(file, run, &writer, &error) < 0)
		fail_msg("%s", error.text);
	return writer;
}

static void close_writer(struct trace_writer *writer)
{
	struct error error = { 0 };

	if (trace_writer_close(writer, &error) < 0)
		fail_msg("%s", error.text);
}

static struct trace_reader *open_reader(void)
{
	struct trace_reader *reader = NULL;
	struct error error = { 0 };

	if (trace_reader_open(file, &reader, &error) < 0)
		fail_msg("%s", error.text);
	return reader;
}

static struct trace_record random_record(struct rng *rng)
{
	return (struct trace_record){
		.offset_bytes = rng_next(rng),
		.queued_ns = (nsec_t)rng_next(rng),
		.dispatched_ns = (nsec_t)rng_next(rng),
		.completed_ns = rng_below(rng, 9) ? (nsec_t)rng_next(rng) : TRACE_NEVER,
		.plan = rng_next(rng),
		.sequence = (uint32_t)rng_next(rng),
		.dispatch = (uint32_t)rng_next(rng),
		.file = (uint32_t)rng_next(rng),
		.length_bytes = (uint32_t)rng_next(rng),
		.result = (int32_t)(uint32_t)rng_next(rng),
		.op = (uint8_t)rng_below(rng, REQUEST_OPS),
		.role = (uint8_t)rng_below(rng, REQUEST_ROLES),
		.stage = (uint8_t)rng_below(rng, 256),
		.flags = (uint8_t)rng_below(rng, TRACE_FLAGS_ALL + 1),
	};
}

static void assert_same(const struct trace_record *a, const struct trace_record *b)
{
	/* 64 bytes of members without a gap. */
	_Static_assert(sizeof(*a) == RECORD, "padding");
	assert_memory_equal(a, b, sizeof(*a));
}

static size_t read_file(uint8_t *bytes, size_t size)
{
	FILE *stream = fopen(file, "re");
	size_t count;

	assert_non_null(stream);
	count = fread(bytes, 1, size, stream);
	(void)fclose(stream);
	return count;
}

static void write_file(const void *bytes, size_t count)
{
	FILE *stream = fopen(file, "we");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, count, stream), count);
	assert_int_equal(fclose(stream), 0);
}

/* The format is a promise to files that exist. The hash is XXH3's of the 64 bytes. */
/* clang-format off */
static const uint8_t published[] = {
	0x89, 'B', 'P', 'T', '\r', '\n', 0x1a, '\n', 1, 0, 0, 0, 64, 0, 0, 0, /* header */
	4, 0, 0, 0, 0, 0, 0, 0, '"', 'r', 'u', '"',
	'C', 'E', 'L', 'L', 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, '{', '}',
	'R', 'E', 'C', 'S', 1, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* offset */
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* queued */
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* dispatched */
	0, 0, 0, 0, 0, 0, 0, 0x80,                      /* never completed */
	0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* plan */
	0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51, /* sequence, dispatch */
	0x64, 0x63, 0x62, 0x61, 0x74, 0x73, 0x72, 0x71, /* file, length */
	0xfb, 0xff, 0xff, 0xff, 1, 5, 3, 6,             /* result, operation to flags */
	'E', 'N', 'D', 'C', 1, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x3c, 0x13, 0xfa, 0x61, 0x71, 0x4e, 0xdd,
};
/* clang-format on */

static void a_file_is_as_published(void **state)
{
	const struct trace_record record = {
		.offset_bytes = UINT64_C(0x0102030405060708),
		.queued_ns = INT64_C(0x1112131415161718),
		.dispatched_ns = INT64_C(0x2122232425262728),
		.completed_ns = TRACE_NEVER,
		.plan = UINT64_C(0x3132333435363738),
		.sequence = 0x41424344,
		.dispatch = 0x51525354,
		.file = 0x61626364,
		.length_bytes = 0x71727374,
		.result = -5,
		.op = REQUEST_WRITE,
		.role = ROLE_JOURNAL,
		.stage = 3,
		.flags = TRACE_MERGED | TRACE_HELD,
	};
	struct trace_writer *writer = open_writer("\"ru\"");
	uint8_t bytes[sizeof(published) + 1];

	(void)state;
	assert_int_equal(trace_writer_cell(writer, "{}"), 0);
	trace_writer_add(writer, &record);
	assert_int_equal(trace_writer_cell_end(writer), 0);
	close_writer(writer);
	assert_int_equal(read_file(bytes, sizeof(bytes)), sizeof(published));
	assert_memory_equal(bytes, published, sizeof(published));
}

static void a_record_tells_the_request(void **state)
{
	struct plan plan = { .id = 7, .file = 9 };
	const struct request request = {
		.offset_bytes = 1 << 20,
		.length_bytes = 4096,
		.op = REQUEST_WRITE,
		.role = ROLE_INODE,
		.stage = 2,
		.fua = true,
		.result = -EIO,
		.queued_ns = 1100,
		.dispatched_ns = 1200,
		.completed_ns = 1300,
		.sequence = 17,
		.plan = &plan,
	};
	const struct trace_record record = trace_record_of(&request, 1000, 5, TRACE_HELD);
	const struct trace_record expected = { 1 << 20, 100, 200, 300, 7, 17, 5, 9, 4096, -EIO,
		REQUEST_WRITE, ROLE_INODE, 2, TRACE_HELD | TRACE_FUA };

	(void)state;
	assert_same(&record, &expected);
}

static void check_cells(const unsigned *counts, size_t cells, uint64_t seed)
{
	struct trace_reader *reader = open_reader();
	struct trace_record record, expected;
	const char *text;
	struct rng rng;

	rng_seed(&rng, seed, RNG_LOAD);
	assert_string_equal(trace_reader_run(reader), "{\"of\": \"a run\"}");
	for (size_t i = 0; i < cells; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "{\"cell\": %zu}", i);
		assert_int_equal(trace_reader_cell(reader, &text, NULL), 1);
		assert_string_equal(text, name);
		for (unsigned k = 0; k < counts[i]; k++) {
			expected = random_record(&rng);
			assert_int_equal(trace_reader_next(reader, &record, NULL), 1);
			assert_same(&record, &expected);
		}
		assert_int_equal(trace_reader_next(reader, &record, NULL), 0);
		assert_int_equal(trace_reader_next(reader, &record, NULL), 0);
	}
	assert_int_equal(trace_reader_cell(reader, &text, NULL), 0);
	assert_int_equal(trace_reader_cell(reader, &text, NULL), 0);
	trace_reader_close(reader);
}

static void write_cells(const unsigned *counts, size_t cells, uint64_t seed)
{
	struct trace_writer *writer = open_writer("{\"of\": \"a run\"}");
	struct rng rng;

	rng_seed(&rng, seed, RNG_LOAD);
	for (size_t i = 0; i < cells; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "{\"cell\": %zu}", i);
		assert_int_equal(trace_writer_cell(writer, name), 0);
		for (unsigned k = 0; k < counts[i]; k++) {
			const struct trace_record record = random_record(&rng);

			trace_writer_add(writer, &record);
		}
		assert_int_equal(trace_writer_cell_end(writer), 0);
	}
	assert_true(trace_writer_waited_ns(writer) >= 0);
	close_writer(writer);
}

/* Around the ends of chunks, and once around the ring and further. */
static void cells_come_back(void **state)
{
	const uint64_t seed = check_seed();
	const unsigned counts[] = { 0, 1, CHUNK_RECORDS - 1, CHUNK_RECORDS, CHUNK_RECORDS + 1, 0,
		3 * CHUNK_RECORDS, (RING_CHUNKS + 3) * CHUNK_RECORDS + 5, 2 };

	(void)state;
	write_cells(counts, ARRAY_SIZE(counts), seed);
	check_cells(counts, ARRAY_SIZE(counts), seed);
}

/* Whoever wants the third cell need not read the first two. */
static void cells_can_be_skipped(void **state)
{
	const unsigned counts[] = { CHUNK_RECORDS + 9, 4, 1 };
	struct trace_reader *reader;
	struct trace_record record;
	const char *text;

	(void)state;
	write_cells(counts, ARRAY_SIZE(counts), 1);
	reader = open_reader();
	assert_int_equal(trace_reader_next(reader, &record, NULL), 0);
	assert_int_equal(trace_reader_cell(reader, &text, NULL), 1);
	assert_int_equal(trace_reader_next(reader, &record, NULL), 1);
	assert_int_equal(trace_reader_cell(reader, &text, NULL), 1);
	assert_int_equal(trace_reader_cell(reader, &text, NULL), 1);
	assert_string_equal(text, "{\"cell\": 2}");
	assert_int_equal(trace_reader_next(reader, &record, NULL), 1);
	assert_int_equal(trace_reader_cell(reader, &text, NULL), 0);
	trace_reader_close(reader);
}

/* Reads what can be read; returns 0 or the error, which names the file. */
static int read_all(unsigned *ret_cells, unsigned *ret_records, struct error *error)
{
	struct trace_reader *reader;
	struct trace_record record;
	struct error again = { 0 };
	const char *text;
	int r;

	*ret_cells = 0;
	*ret_records = 0;
	r = trace_reader_open(file, &reader, error);
	if (r < 0)
		return r;
	while ((r = trace_reader_cell(reader, &text, error)) > 0) {
		++*ret_cells;
		while ((r = trace_reader_next(reader, &record, error)) > 0)
			++*ret_records;
		if (r < 0)
			break;
	}
	/* An error stays. */
	if (r < 0) {
		assert_int_equal(trace_reader_next(reader, &record, &again), r);
		assert_int_equal(trace_reader_cell(reader, &text, NULL), r);
		assert_string_equal(again.text, error->text);
	}
	trace_reader_close(reader);
	return r;
}

/* Two cells of three and two records; where each part of the file begins. */
static size_t write_small(uint8_t *bytes, size_t size)
{
	const unsigned counts[] = { 3, 2 };

	(void)unlink(file);
	write_cells(counts, ARRAY_SIZE(counts), 5);
	return read_file(bytes, size);
}

#define SMALL_RUN (HEADER + 15)
#define SMALL_CELL (BLOCK + 11)
#define SMALL_FIRST (SMALL_RUN + SMALL_CELL + BLOCK + 3 * RECORD + TRAILER)
#define SMALL_ALL (SMALL_FIRST + SMALL_CELL + BLOCK + 2 * RECORD + TRAILER)

static unsigned whole_records(size_t length)
{
	size_t begin = SMALL_RUN + SMALL_CELL + BLOCK;
	unsigned count = 0;

	for (unsigned i = 0; i < 3; i++)
		count += length >= begin + (i + 1) * RECORD;
	begin = SMALL_FIRST + SMALL_CELL + BLOCK;
	for (unsigned i = 0; i < 2; i++)
		count += length >= begin + (i + 1) * RECORD;
	return count;
}

static void a_cut_is_seen_wherever_it_is(void **state)
{
	uint8_t bytes[SMALL_ALL + 1];

	(void)state;
	assert_int_equal(write_small(bytes, sizeof(bytes)), SMALL_ALL);
	for (size_t length = 0; length <= SMALL_ALL; length++) {
		struct error error = { 0 };
		unsigned cells, records;
		char place[40];
		int r;

		write_file(bytes, length);
		r = read_all(&cells, &records, &error);
		assert_int_equal(records, whole_records(length));
		assert_int_equal(cells,
			(length >= SMALL_RUN + SMALL_CELL) + (length >= SMALL_FIRST + SMALL_CELL));
		if (length == SMALL_RUN || length == SMALL_FIRST || length == SMALL_ALL) {
			assert_int_equal(r, 0);
			continue;
		}
		assert_int_equal(r, length ? -EBADMSG : -EINVAL);
		(void)snprintf(place, sizeof(place), "cut off at byte %zu,", length);
		if (!strstr(error.text, length ? place : "is empty"))
			fail_msg("%zu bytes: %s", length, error.text);
		assert_non_null(strstr(error.text, file));
	}
}

static bool is_text(size_t at)
{
	return (at >= HEADER && at < SMALL_RUN) ||
	       (at >= SMALL_RUN + BLOCK && at < SMALL_RUN + SMALL_CELL) ||
	       (at >= SMALL_FIRST + BLOCK && at < SMALL_FIRST + SMALL_CELL);
}

/* Texts are for people and carry no hash; every other byte counts. */
static void a_change_is_seen_wherever_it_is(void **state)
{
	uint8_t bytes[SMALL_ALL + 1];

	(void)state;
	assert_int_equal(write_small(bytes, sizeof(bytes)), SMALL_ALL);
	for (size_t at = 0; at < SMALL_ALL; at++) {
		for (unsigned bit = 1; bit < 256; bit <<= 1) {
			struct error error = { 0 };
			unsigned cells, records;
			int r;

			bytes[at] ^= (uint8_t)bit;
			write_file(bytes, SMALL_ALL);
			bytes[at] ^= (uint8_t)bit;
			r = read_all(&cells, &records, &error);
			if (is_text(at))
				assert_true(r == 0 || r == -EBADMSG);
			else if (r >= 0)
				fail_msg("bit %u of byte %zu is changed and not seen", bit, at);
			assert_true(records <= 5);
		}
	}
}

static void says(const void *bytes, size_t count, int code, const char *sentence)
{
	struct error error = { 0 };
	unsigned cells, records;

	write_file(bytes, count);
	assert_int_equal(read_all(&cells, &records, &error), code);
	if (!strstr(error.text, sentence))
		fail_msg("\"%s\" does not say: %s", error.text, sentence);
}

static void other_files_are_named(void **state)
{
	uint8_t bytes[SMALL_ALL + 1];
	struct error error = { 0 };
	struct trace_reader *reader;

	(void)state;
	says("\x1f\x8b\x08\x00 and more", 14, -EINVAL, "from byte 0 on: it is compressed by gzip");
	says("\x28\xb5\x2f\xfd and more", 14, -EINVAL, "zstdcat");
	says("fio version 3 iolog\n", 20, -EINVAL, "iolog of fio");
	says("{ \"schema\": 1 }\n", 16, -EINVAL, "JSON");
	says("\x89PNG\r\n\x1a\n and more", 17, -EINVAL, "from byte 1 on");
	assert_int_equal(write_small(bytes, sizeof(bytes)), SMALL_ALL);
	bytes[8] = 2;
	says(bytes, SMALL_ALL, -ENOTSUP, "version 2 (byte 8): version 1 is known");
	bytes[8] = 1;
	bytes[12] = 65;
	says(bytes, SMALL_ALL, -EBADMSG, "damaged at byte 12");
	bytes[12] = 64;
	bytes[22] = 1;
	says(bytes, SMALL_ALL, -EBADMSG, "a text of 281474976710671 bytes");
	bytes[22] = 0;
	bytes[HEADER + 1] = 0;
	says(bytes, SMALL_ALL, -EBADMSG, "byte 25: a zero byte");
	bytes[HEADER + 1] = '"';
	bytes[SMALL_RUN + SMALL_CELL + BLOCK + RECORD + 60] = REQUEST_OPS;
	says(bytes, SMALL_ALL, -EBADMSG, "byte 206: there is no operation 3");
	assert_int_equal(trace_reader_open(folder, &reader, &error), -EISDIR);
	assert_non_null(strstr(error.text, "cannot be read at byte 0"));
	assert_int_equal(trace_reader_open("/nonexistent/trace", &reader, NULL), -ENOENT);
}

/* A cell that nobody ended is ended when the writer is closed: what was added is kept. */
static void an_open_cell_is_closed(void **state)
{
	struct trace_writer *writer = open_writer("{}");
	struct trace_record record = { .plan = 1 };
	struct error error = { 0 };
	unsigned cells, records;

	(void)state;
	assert_int_equal(trace_writer_cell(writer, "{}"), 0);
	trace_writer_add(writer, &record);
	close_writer(writer);
	assert_int_equal(read_all(&cells, &records, &error), 0);
	assert_int_equal(records, 1);
}

static volatile sig_atomic_t alarms, foreign_alarms;
static pid_t adder;

static void count_alarm(int number)
{
	(void)number;
	if (gettid() == adder)
		alarms++;
	else
		foreign_alarms++;
}

/* Signals reach the loop, never the writer's thread, and cut no record short. */
static void signals_do_no_harm(void **state)
{
	const struct sigaction action = { .sa_handler = count_alarm };
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
	const unsigned counts[] = { 2 * CHUNK_RECORDS, 6 * CHUNK_RECORDS + 1 };
	const uint64_t seed = check_seed();

	(void)state;
	adder = gettid();
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	write_cells(counts, ARRAY_SIZE(counts), seed);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(foreign_alarms, 0);
	check_cells(counts, ARRAY_SIZE(counts), seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_as_published),
		cmocka_unit_test(a_record_tells_the_request),
		cmocka_unit_test(cells_come_back),
		cmocka_unit_test(cells_can_be_skipped),
		cmocka_unit_test(a_cut_is_seen_wherever_it_is),
		cmocka_unit_test(a_change_is_seen_wherever_it_is),
		cmocka_unit_test(other_files_are_named),
		cmocka_unit_test(an_open_cell_is_closed),
		cmocka_unit_test(signals_do_no_harm),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
