/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One valid document whatever happens, and one that a reader of the first release still reads:
 * tests/golden/document/first.json is what that release wrote, and is never renewed.
 */
#include "tools/document.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/frozen.h"
#include "tests/support/golden.h"
#include "tools/output.h"
#include "tools/report.h"

static const char *const verb[] = { "run", "/dev/sdx", "--depth", "1-4" };

static struct document *fresh(void)
{
	return document_new(4, (char *const *)verb);
}

static char *written(struct document *document)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	document_write(document, stream);
	assert_int_equal(fclose(stream), 0);
	return text;
}

/* Strict: one value, nothing behind it but the last newline. */
static struct json_object *parsed(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *root;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	root = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	assert_non_null(root);
	json_tokener_free(tokener);
	return root;
}

static const char *text_at(struct json_object *root, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(root, key, &value));
	return json_object_get_string(value);
}

static void a_document_says_failed_until_told_otherwise(void **state)
{
	static const struct {
		enum document_status status;
		const char *name;
	} all[] = {
		{ STATUS_COMPLETE, "complete" },
		{ STATUS_INTERRUPTED, "interrupted" },
		{ STATUS_FAILED, "failed" },
		{ STATUS_REFUSED, "refused" },
	};
	struct document *document = fresh();

	(void)state;
	for (size_t i = 0; i <= ARRAY_SIZE(all); i++) {
		_cleanup_free_ char *text = written(document);
		struct json_object *root = parsed(text);

		assert_string_equal(text_at(root, "status"), i ? all[i - 1].name : "failed");
		if (i < ARRAY_SIZE(all))
			document_set_status(document, all[i].status);
		(void)json_object_put(root);
	}
	document_free(document);
}

static void errors_and_odd_bytes_leave_it_valid(void **state)
{
	const char *const argv[] = { "run", "/dev/\xff\"\n\x01" };
	struct document *document = document_new(2, (char *const *)argv);
	struct faults faults = { 0 };
	struct device device = { .name = "sdx", .serial = "\x80\x81", .size_bytes = UINT64_MAX };
	_cleanup_free_ char *text = NULL;
	struct json_object *root, *messages = NULL;

	(void)state;
	faults_add(&faults, "request at %s failed", "0x10\xfe");
	faults_add(&faults, "and \"another\"");
	document_message(document, SEVERITY_WARNING, "merges > %d", 0);
	document_set_device(document, &device);
	document_fail(document, STATUS_REFUSED, &faults);
	text = written(document);
	root = parsed(text);
	assert_string_equal(text_at(root, "status"), "refused");
	assert_true(json_object_object_get_ex(root, "messages", &messages));
	assert_int_equal(json_object_array_length(messages), 3);
	assert_string_equal(text_at(json_object_array_get_idx(messages, 0), "severity"), "warning");
	assert_string_equal(text_at(json_object_array_get_idx(messages, 2), "severity"), "error");
	(void)json_object_put(root);
	faults_done(&faults);
	document_free(document);
}

static void the_first_releases_reader_reads_todays_document(void **state)
{
	_cleanup_free_ char *golden = golden_read(SOURCE_DIR, "document/first.json");
	const struct device device = {
		.name = "sdx",
		.node = "/dev/sdx",
		.major = 8,
		.minor = 16,
		.size_bytes = 500107862016,
		.diskseq = 9,
		.logical_block_bytes = 512,
		.physical_block_bytes = 4096,
		.parent = "sdw",
		.rotational = true,
		.transport = "sata",
		.vendor = "EXAMPLE",
		.model = "Demo 500",
		.serial = "S0123",
		.wwn = "0x5000c500a1b2c3d4",
		.identity = "0x5000c500a1b2c3d4",
		.zoned = "none",
		.queue_depth = 32,
		.nr_requests = 64,
		.scheduler = "none",
		.write_cache = "write back",
		.backing_file = "/var/tmp/image",
	};
	struct document *document = fresh();
	struct json_object *cell = json_object_new_object();
	_cleanup_free_ char *text = NULL;
	struct json_object *first, *now;

	(void)state;
	(void)json_object_object_add(cell, "depth", json_object_new_int(4));
	document_set_device(document, &device);
	document_add_cell(document, cell);
	document_message(document, SEVERITY_INFO, "an example");
	document_set_status(document, STATUS_COMPLETE);
	text = written(document);
	assert_non_null(golden);
	first = parsed(golden);
	now = parsed(text);
	frozen_check(first, now, "document");
	(void)json_object_put(first);
	(void)json_object_put(now);
	document_free(document);
}

static void times_are_rfc_3339_and_numbers_are_numbers(void **state)
{
	struct document *document = fresh();
	_cleanup_free_ char *text = written(document);
	struct json_object *root = parsed(text), *host = NULL, *memory = NULL;
	int year, month, day, hour, minute, second, zone_hour, zone_minute;

	(void)state;
	assert_int_equal(sscanf(text_at(root, "finished"), "%d-%d-%dT%d:%d:%d+%d:%d", &year, &month,
				 &day, &hour, &minute, &second, &zone_hour, &zone_minute),
		8);
	assert_true(json_object_object_get_ex(root, "host", &host));
	assert_true(json_object_object_get_ex(host, "memory_bytes", &memory));
	assert_true(json_object_is_type(memory, json_type_int));
	(void)json_object_put(root);
	document_free(document);
}

struct place {
	char folder[32], file[64], temporary[64];
};

static struct place make_place(void)
{
	struct place place = { .folder = "/tmp/output-XXXXXX" };

	assert_non_null(mkdtemp(place.folder));
	(void)snprintf(place.file, sizeof(place.file), "%s/result", place.folder);
	(void)snprintf(place.temporary, sizeof(place.temporary), "%s/result.tmp", place.folder);
	return place;
}

static void file_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t count = read(fd, text, size - 1);

	assert_true(fd >= 0 && count >= 0);
	text[count] = '\0';
	(void)close(fd);
}

static void a_file_is_there_whole_or_not_at_all(void **state)
{
	struct place place = make_place();
	struct output output;
	struct error error = { 0 };
	char text[64];

	(void)state;
	assert_int_equal(output_open(&output, place.file, &error), 0);
	(void)fputs("first\n", output.stream);
	assert_int_equal(access(place.file, F_OK), -1);
	assert_int_equal(output_commit(&output, &error), 0);
	file_text(place.file, text, sizeof(text));
	assert_string_equal(text, "first\n");
	assert_int_equal(access(place.temporary, F_OK), -1);

	assert_int_equal(output_open(&output, place.file, &error), 0);
	(void)fputs("second\n", output.stream);
	output_cancel(&output);
	file_text(place.file, text, sizeof(text));
	assert_string_equal(text, "first\n");
	assert_int_equal(access(place.temporary, F_OK), -1);
	(void)unlink(place.file);
	(void)rmdir(place.folder);
}

static void a_full_disk_is_an_error(void **state)
{
	struct output output;
	struct error error = { 0 };

	(void)state;
	assert_int_equal(output_open(&output, "/dev/full", &error), 0);
	(void)fputs("text\n", output.stream);
	assert_int_equal(output_commit(&output, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "No space left"));
}

static void wrong_places_are_told_before_the_run(void **state)
{
	struct place place = make_place();
	struct output output;
	struct error error = { 0 };
	char inside[96];

	(void)state;
	(void)snprintf(inside, sizeof(inside), "%s/no/such", place.folder);
	assert_int_equal(output_open(&output, inside, &error), -ENOENT);
	assert_non_null(strstr(error.text, inside));
	assert_int_equal(output_open(&output, place.folder, NULL), -EISDIR);
	/* The temporary name must not be a link that leads elsewhere. */
	assert_int_equal(symlink("/dev/null", place.temporary), 0);
	assert_int_equal(output_open(&output, place.file, NULL), -ELOOP);
	(void)unlink(place.temporary);
	(void)rmdir(place.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_says_failed_until_told_otherwise),
		cmocka_unit_test(errors_and_odd_bytes_leave_it_valid),
		cmocka_unit_test(the_first_releases_reader_reads_todays_document),
		cmocka_unit_test(times_are_rfc_3339_and_numbers_are_numbers),
		cmocka_unit_test(a_file_is_there_whole_or_not_at_all),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(wrong_places_are_told_before_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
