/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reading half of traces: front to back, and every byte is doubted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "engine/trace_format.h"

#define BUFFER_BYTES (256 * KIB)

struct trace_reader {
	char *path;
	FILE *stream;
	char *run;
	char *cell;
	uint32_t cell_number; /* from 1; 0 before the first */
	bool in_cell;
	uint64_t position;   /* bytes read */
	uint64_t records;    /* of the cell, so far */
	uint32_t block_left; /* records of the block that are not read */
	XXH3_state_t *hash;
	struct error error; /* the first one */
};

/* What is told to whoever calls again. */
static int fail(const struct trace_reader *reader, struct error *error)
{
	return error_set(error, reader->error.code, "%s", reader->error.text);
}

#define REFUSE(reader, error, code, ...)                                                           \
	(error_set(&(reader)->error, code, __VA_ARGS__), fail(reader, error))

static int refuse_end(struct trace_reader *reader, struct error *error)
{
	if (ferror(reader->stream))
		return REFUSE(reader, error, errno ? -errno : -EIO,
			"%s cannot be read at byte %" PRIu64 ": %s", reader->path, reader->position,
			strerror(errno ? errno : EIO));
	if (!reader->run)
		return REFUSE(reader, error, -EBADMSG,
			"%s is cut off at byte %" PRIu64 ", within its header: it holds no cell",
			reader->path, reader->position);
	if (!reader->in_cell)
		return REFUSE(reader, error, -EBADMSG,
			"%s is cut off at byte %" PRIu64 ", where cell %" PRIu32
			" begins: what comes before is good",
			reader->path, reader->position, reader->cell_number + 1);
	return REFUSE(reader, error, -EBADMSG,
		"%s is cut off at byte %" PRIu64 ", in cell %" PRIu32 " after %" PRIu64
		" records: what comes before is good",
		reader->path, reader->position, reader->cell_number, reader->records);
}

/* How many of the bytes there were. */
static size_t get_some(struct trace_reader *reader, void *bytes, size_t length)
{
	size_t count;

	errno = 0;
	count = fread_unlocked(bytes, 1, length, reader->stream);
	reader->position += count;
	return count;
}

static int get(struct trace_reader *reader, void *bytes, size_t length, struct error *error)
{
	return get_some(reader, bytes, length) == length ? 0 : refuse_end(reader, error);
}

/* A text of that length, NUL-ended. */
static int get_text(
	struct trace_reader *reader, uint64_t length, char **ret_text, struct error *error)
{
	_cleanup_free_ char *text = NULL;
	uint64_t begin = reader->position;
	int r;

	if (length > TRACE_TEXT_BYTES_MAX)
		return REFUSE(reader, error, -EBADMSG,
			"%s is damaged before byte %" PRIu64 ": a text of %" PRIu64
			" bytes is announced, more than %llu",
			reader->path, begin, length, (unsigned long long)TRACE_TEXT_BYTES_MAX);
	text = malloc(length + 1);
	if (!text)
		return REFUSE(reader, error, -ENOMEM, "no memory for a text of %s", reader->path);
	r = get(reader, text, length, error);
	if (r < 0)
		return r;
	text[length] = '\0';
	if (strlen(text) != length)
		return REFUSE(reader, error, -EBADMSG,
			"%s is damaged at byte %" PRIu64 ": a zero byte stands in a text",
			reader->path, begin + strlen(text));
	*ret_text = text;
	text = NULL;
	return 0;
}

/* What people hand over instead of a trace. */
static const char *other_kind(const uint8_t *bytes, size_t count)
{
	static const struct {
		const char *magic;
		const char *what;
	} kinds[] = {
		{ "\x1f\x8b", "compressed by gzip: give the output of zcat" },
		{ "\x28\xb5\x2f\xfd", "compressed by zstd: give the output of zstdcat" },
		{ "\xfd"
		  "7zXZ",
			"compressed by xz: give the output of xzcat" },
		{ "fio version", "an iolog of fio: traces are exported to one, not read from it" },
		{ "{", "JSON, perhaps the result of a run: name the file of --trace" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t length = strlen(kinds[i].magic);

		if (length > count)
			length = count;
		if (memcmp(bytes, kinds[i].magic, length) == 0)
			return kinds[i].what;
	}
	return "something else";
}

static int check_magic(
	struct trace_reader *reader, const uint8_t *bytes, size_t count, struct error *error)
{
	size_t at = 0;

	if (ferror(reader->stream))
		return refuse_end(reader, error);
	if (count == 0)
		return REFUSE(reader, error, -EINVAL, "%s is empty: no trace was written to it",
			reader->path);
	while (at < count && bytes[at] == (uint8_t)TRACE_MAGIC[at])
		at++;
	if (at == TRACE_MAGIC_BYTES)
		return 0;
	if (at == count)
		return refuse_end(reader, error);
	return REFUSE(reader, error, -EINVAL, "%s is no trace from byte %zu on: it is %s",
		reader->path, at, other_kind(bytes, count));
}

static int get_header(struct trace_reader *reader, struct error *error)
{
	uint8_t bytes[TRACE_HEADER_BYTES];
	size_t count = get_some(reader, bytes, TRACE_MAGIC_BYTES);
	int r = check_magic(reader, bytes, count, error);

	if (r == 0)
		r = get(reader, bytes + TRACE_MAGIC_BYTES, sizeof(bytes) - TRACE_MAGIC_BYTES,
			error);
	if (r < 0)
		return r;
	if (trace_get_u32(bytes + 8) != TRACE_VERSION)
		return REFUSE(reader, error, -ENOTSUP,
			"%s is a trace of version %" PRIu32 " (byte 8): version %d is known here",
			reader->path, trace_get_u32(bytes + 8), TRACE_VERSION);
	if (trace_get_u32(bytes + 12) != TRACE_RECORD_BYTES)
		return REFUSE(reader, error, -EBADMSG,
			"%s is damaged at byte 12: records of %" PRIu32 " bytes instead of %d",
			reader->path, trace_get_u32(bytes + 12), TRACE_RECORD_BYTES);
	return get_text(reader, trace_get_u64(bytes + 16), &reader->run, error);
}

int trace_reader_open(const char *path, struct trace_reader **ret_reader, struct error *error)
{
	struct trace_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (reader) {
		reader->path = strdup(path);
		reader->hash = XXH3_createState();
	}
	if (!reader || !reader->path || !reader->hash) {
		trace_reader_close(reader);
		return error_set(error, -ENOMEM, "no memory to read %s", path);
	}
	reader->stream = fopen(path, "re");
	if (!reader->stream) {
		r = error_set(error, -errno, "%s cannot be opened: %s", path, strerror(errno));
	} else {
		(void)setvbuf(reader->stream, NULL, _IOFBF, BUFFER_BYTES);
		r = get_header(reader, error);
	}
	if (r < 0) {
		trace_reader_close(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

const char *trace_reader_run(const struct trace_reader *reader)
{
	return reader->run;
}

/* The header of a block of that tag; both numbers in it. */
static int refuse_block(struct trace_reader *reader, const uint8_t *head, struct error *error)
{
	return REFUSE(reader, error, -EBADMSG,
		"%s is damaged at byte %" PRIu64 ": no block of a trace begins with "
		"%02x %02x %02x %02x here, or it has another length",
		reader->path, reader->position - TRACE_BLOCK_BYTES, head[0], head[1], head[2],
		head[3]);
}

static bool is_block(const uint8_t *head, const char *tag)
{
	return memcmp(head, tag, TRACE_TAG_BYTES) == 0;
}

/* Holds the trailer against what was read. */
static int get_end(struct trace_reader *reader, const uint8_t *head, struct error *error)
{
	uint8_t bytes[TRACE_END_BYTES];
	int r;

	if (trace_get_u32(head + 4) != reader->cell_number ||
		trace_get_u64(head + 8) != sizeof(bytes))
		return refuse_block(reader, head, error);
	r = get(reader, bytes, sizeof(bytes), error);
	if (r < 0)
		return r;
	if (trace_get_u64(bytes) != reader->records)
		return REFUSE(reader, error, -EBADMSG,
			"%s is damaged before byte %" PRIu64 ": cell %" PRIu32 " has %" PRIu64
			" records, its end says %" PRIu64,
			reader->path, reader->position, reader->cell_number, reader->records,
			trace_get_u64(bytes));
	if (trace_get_u64(bytes + 8) != XXH3_64bits_digest(reader->hash))
		return REFUSE(reader, error, -EBADMSG,
			"%s is damaged before byte %" PRIu64 ": the records of cell %" PRIu32
			" are not those that were written (their hash differs)",
			reader->path, reader->position, reader->cell_number);
	reader->in_cell = false;
	return 0;
}

/* Goes on to the next block of records: 1, 0 at the end of the cell. */
static int next_block(struct trace_reader *reader, struct error *error)
{
	while (reader->in_cell && !reader->block_left) {
		uint8_t head[TRACE_BLOCK_BYTES];
		int r = get(reader, head, sizeof(head), error);

		if (r < 0)
			return r;
		if (is_block(head, "ENDC")) {
			r = get_end(reader, head, error);
			if (r < 0)
				return r;
			continue;
		}
		reader->block_left = trace_get_u32(head + 4);
		if (!is_block(head, "RECS") ||
			trace_get_u64(head + 8) !=
				(uint64_t)reader->block_left * TRACE_RECORD_BYTES)
			return refuse_block(reader, head, error);
	}
	return reader->in_cell;
}

static int check_record(struct trace_reader *reader, const uint8_t *bytes, struct error *error)
{
	static const char *const names[] = { "operation", "role" };
	const unsigned limits[] = { REQUEST_OPS, REQUEST_ROLES };

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (bytes[60 + i] >= limits[i])
			return REFUSE(reader, error, -EBADMSG,
				"%s is damaged at byte %" PRIu64 ": there is no %s %u",
				reader->path, reader->position - TRACE_RECORD_BYTES + 60 + i,
				names[i], bytes[60 + i]);
	if (bytes[63] & ~TRACE_FLAGS_ALL)
		return REFUSE(reader, error, -EBADMSG,
			"%s is damaged at byte %" PRIu64 ": there are no flags 0x%02x",
			reader->path, reader->position - 1, bytes[63]);
	return 0;
}

int trace_reader_next(
	struct trace_reader *reader, struct trace_record *ret_record, struct error *error)
{
	uint8_t bytes[TRACE_RECORD_BYTES];
	int r;

	if (reader->error.code)
		return fail(reader, error);
	r = next_block(reader, error);
	if (r <= 0)
		return r;
	r = get(reader, bytes, sizeof(bytes), error);
	if (r == 0)
		r = check_record(reader, bytes, error);
	if (r < 0)
		return r;
	(void)XXH3_64bits_update(reader->hash, bytes, sizeof(bytes));
	reader->block_left--;
	reader->records++;
	*ret_record = (struct trace_record){
		.offset_bytes = trace_get_u64(bytes),
		.queued_ns = (nsec_t)trace_get_u64(bytes + 8),
		.dispatched_ns = (nsec_t)trace_get_u64(bytes + 16),
		.completed_ns = (nsec_t)trace_get_u64(bytes + 24),
		.plan = trace_get_u64(bytes + 32),
		.sequence = trace_get_u32(bytes + 40),
		.dispatch = trace_get_u32(bytes + 44),
		.file = trace_get_u32(bytes + 48),
		.length_bytes = trace_get_u32(bytes + 52),
		.result = (int32_t)trace_get_u32(bytes + 56),
		.op = bytes[60],
		.role = bytes[61],
		.stage = bytes[62],
		.flags = bytes[63],
	};
	return 1;
}

int trace_reader_cell(struct trace_reader *reader, const char **ret_cell_json, struct error *error)
{
	uint8_t head[TRACE_BLOCK_BYTES];
	struct trace_record skipped;
	size_t count;
	char *text;
	int r;

	do {
		r = trace_reader_next(reader, &skipped, error);
	} while (r > 0);
	if (r < 0)
		return r;
	count = get_some(reader, head, sizeof(head));
	if (count == 0 && !ferror(reader->stream))
		return 0;
	if (count < sizeof(head))
		return refuse_end(reader, error);
	if (!is_block(head, "CELL") || trace_get_u32(head + 4) != reader->cell_number + 1)
		return refuse_block(reader, head, error);
	r = get_text(reader, trace_get_u64(head + 8), &text, error);
	if (r < 0)
		return r;
	free(reader->cell);
	reader->cell = text;
	reader->cell_number++;
	reader->in_cell = true;
	reader->records = 0;
	(void)XXH3_64bits_reset(reader->hash);
	*ret_cell_json = text;
	return 1;
}

void trace_reader_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	if (reader->stream)
		(void)fclose(reader->stream);
	XXH3_freeState(reader->hash);
	free(reader->run);
	free(reader->cell);
	free(reader->path);
	free(reader);
}
