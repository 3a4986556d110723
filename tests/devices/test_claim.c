/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims that need no device: the target's text, files, null, and what must never be made. */
#include "devices/claim.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[200];

static int make_folder(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	(void)snprintf(
		folder, sizeof(folder), "%s/claim-XXXXXX", base && base[0] ? base : "/var/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int claim(const char *text, bool write, const char *identity, struct claim **ret_claim,
	struct faults *faults)
{
	const struct claim_request request = { .text = text, .write = write, .identity = identity };

	return claim_open(&request, ret_claim, faults);
}

/* Claims what must be refused, with the code and a sentence that has the text in it. */
static void expect_refusal(
	const char *target, bool write, const char *identity, int code, const char *text)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim *made = NULL;
	bool found = false;

	assert_int_equal(claim(target, write, identity, &made, &faults), code);
	assert_null(made);
	for (size_t i = 0; i < faults.count; i++)
		found = found || strstr(faults.text[i], text);
	for (size_t i = 0; !found && i < faults.count; i++)
		print_message("  %s\n", faults.text[i]);
	assert_true(found);
}

static void test_texts(void **state)
{
	static const struct {
		const char *text;
		int code;
		enum target_kind kind;
		const char *path;
		uint64_t size_bytes;
	} cases[] = {
		{ "/dev/sda", 0, TARGET_BLOCK, "/dev/sda", 0 },
		{ "file:/a/b,size=1M", 0, TARGET_FILE, "/a/b", MIB },
		{ "file:/a,size=1,size=2K", 0, TARGET_FILE, "/a,size=1", 2048 },
		{ "file:/a", 0, TARGET_FILE, "/a", 0 },
		{ "null", 0, TARGET_NULL, "null", TIB },
		{ "null,size=4096", 0, TARGET_NULL, "null", 4096 },
		{ "nullable", 0, TARGET_BLOCK, "nullable", 0 },
		{ "", -EINVAL, 0, NULL, 0 },
		{ "file:", -EINVAL, 0, NULL, 0 },
		{ "file:,size=1M", -EINVAL, 0, NULL, 0 },
		{ "file:/a,size=0", -EINVAL, 0, NULL, 0 },
		{ "file:/a,size=", -EINVAL, 0, NULL, 0 },
		{ "file:/a,size=-1", -EINVAL, 0, NULL, 0 },
		{ "null,depth=3", -EINVAL, 0, NULL, 0 },
		{ "sim:disk", -EINVAL, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { 0 };
		enum target_kind kind;
		char path[256];
		uint64_t size_bytes;
		const int code =
			claim_parse(cases[i].text, &kind, path, sizeof(path), &size_bytes, &error);

		if (code != cases[i].code)
			fail_msg("\"%s\": %d %s", cases[i].text, code, error.text);
		assert_true(code == 0 || error.text[0]);
		if (code)
			continue;
		assert_int_equal(kind, cases[i].kind);
		assert_string_equal(path, cases[i].path);
		assert_true(size_bytes == cases[i].size_bytes);
	}
}

static void test_null(void **state)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim *made;

	(void)state;
	assert_int_equal(claim("null", true, NULL, &made, &faults), 0);
	assert_int_equal(made->target.kind, TARGET_NULL);
	assert_int_equal(made->target.fd, -1);
	assert_true(made->target.size_bytes == TIB);
	target_assert_writable(&made->target);
	assert_int_equal(claim_verify(made, NULL), 0);
	claim_close(made);
	claim_close(NULL);
}

static void test_file_is_made_whole(void **state)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim *made;
	struct stat status;
	char text[300], path[256], identity[256];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/pool", folder);
	(void)snprintf(text, sizeof(text), "file:%s,size=1M", path);
	expect_refusal(text, false, NULL, -ENOENT, "does not exist yet");
	assert_int_equal(claim(text, true, NULL, &made, &faults), 0);
	assert_true(made->file_created);
	assert_true(made->target.writable);
	assert_ptr_equal(made->target.claim, made);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, MIB);
	/* Not sparse. */
	assert_true((uint64_t)status.st_blocks * 512 >= MIB);
	assert_true(fcntl(made->target.fd, F_GETFL) & O_DIRECT);
	assert_int_equal(claim_verify(made, NULL), 0);
	(void)snprintf(identity, sizeof(identity), "file:%ju-%ju-%jd", (uintmax_t)status.st_ino,
		(uintmax_t)status.st_dev, (intmax_t)status.st_size);
	assert_string_equal(made->device.identity, identity);
	/* While one run has it no other gets it, whatever it states. */
	expect_refusal(text, true, identity, -EPERM, "locked by another program");
	claim_close(made);

	/* Once there, it is like a device: its identity is needed, and its size must be right. */
	expect_refusal(text, true, NULL, -EPERM, identity);
	expect_refusal(text, true, "file:1-2-3", -EPERM, "does not match");
	(void)snprintf(text, sizeof(text), "file:%s,size=2M", path);
	expect_refusal(text, true, identity, -EPERM, "exists with 1048576 bytes");
	(void)snprintf(text, sizeof(text), "file:%s", path);
	assert_int_equal(claim(text, true, identity, &made, &faults), 0);
	assert_false(made->file_created);
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(claim_verify(made, NULL), -ENODEV);
	claim_close(made);
	assert_int_equal(unlink(path), 0);
}

static void test_file_with_contents(void **state)
{
	_cleanup_faults_ struct faults faults = { 0 };
	struct claim_request request = { .write = true };
	struct claim *made;
	char text[300], path[256];
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/image", folder);
	(void)snprintf(text, sizeof(text), "file:%s,size=1M", path);
	assert_int_equal(claim(text, true, NULL, &made, &faults), 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "LUKS\xba\xbe\0\1", 8, 0), 8);
	(void)close(fd);
	request.text = text;
	request.identity = strdup(made->device.identity);
	claim_close(made);
	expect_refusal(text, true, request.identity, -EPERM, "crypto_LUKS");
	request.discard_contents = true;
	assert_int_equal(claim_open(&request, &made, &faults), 0);
	claim_close(made);
	free((void *)(uintptr_t)request.identity);
	assert_int_equal(unlink(path), 0);
}

static void test_nothing_is_left_behind(void **state)
{
	struct stat status;
	char text[300], path[256];

	(void)state;
	/* A misspelt node must not become a file in memory. */
	expect_refusal("/dev/nosuchdisk", true, "x", -ENOENT, "no such device");
	expect_refusal("/dev/nosuchdisk", false, NULL, -ENOENT, "no such device");
	assert_int_equal(stat("/dev/nosuchdisk", &status), -1);
	expect_refusal("file:/dev/nosuchdisk,size=1M", true, NULL, -EINVAL, "below /dev");
	assert_int_equal(stat("/dev/nosuchdisk", &status), -1);
	(void)snprintf(path, sizeof(path), "%s/huge", folder);
	(void)snprintf(text, sizeof(text), "file:%s", path);
	expect_refusal(text, true, NULL, -EINVAL, "its size is not stated");
	/* 4 EiB fit no disk: ENOSPC or, where files cannot be that long, EFBIG. */
	(void)snprintf(text, sizeof(text), "file:%s,size=4294967295G", path);
	{
		_cleanup_faults_ struct faults faults = { 0 };
		struct claim *made;

		assert_true(claim(text, true, NULL, &made, &faults) < 0);
		assert_int_equal(faults.count, 1);
		assert_non_null(strstr(faults.text[0], path));
	}
	assert_int_equal(stat(path, &status), -1);
}

static void test_wrong_kinds(void **state)
{
	char text[256];

	(void)state;
	expect_refusal(folder, true, "x", -EPERM, "a directory");
	expect_refusal(folder, false, NULL, -EINVAL, "a directory");
	expect_refusal("/dev/zero", true, "x", -EPERM, "a character device");
	(void)snprintf(text, sizeof(text), "file:%s", folder);
	expect_refusal(text, true, "x", -EPERM, "not a regular file");
	expect_refusal("sim:disk", true, NULL, -EINVAL, "not in this version");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_file_is_made_whole),
		cmocka_unit_test(test_file_with_contents),
		cmocka_unit_test(test_nothing_is_left_behind),
		cmocka_unit_test(test_wrong_kinds),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
