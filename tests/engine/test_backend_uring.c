/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goal: io_uring works at every level that a kernel may offer, says which one it reached, and
 * where it cannot be had says why.
 * Method: the system calls are replaced by ones that refuse flags and registrations or take less
 * than offered; refusals of the whole are made by a real seccomp filter in a child, and by facts
 * about machines that are not at hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/backend_libaio.h"
#include "engine/backend_uring.h"
#include "engine/buffers.h"

#define BLOCK_BYTES 4096u
#define DEPTH 16u

static char scratch[] = "/var/tmp/bareplatter-uring-XXXXXX";
static struct target target;
static struct buffers buffers;
static struct uring_calls real;
static unsigned enter_calls, waits;
static unsigned refused_flags;   /* setup answers EINVAL to them */
static unsigned refused_opcodes; /* registrations that fail, as bits */

static int set_up(void **state)
{
	int fd = mkstemp(scratch);
	unsigned char block[BLOCK_BYTES];

	(void)state;
	for (unsigned i = 0; i < DEPTH && fd >= 0; i++) {
		memset(block, (int)i + 1, sizeof(block));
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return -1;
	}
	(void)close(fd);
	target = (struct target){ .kind = TARGET_FILE,
		.name = scratch,
		.logical_block_bytes = 512,
		.size_bytes = DEPTH * BLOCK_BYTES,
		.fd = open(scratch, O_RDONLY | O_DIRECT) };
	real = backend_uring_calls;
	if (target.fd < 0)
		return -1;
	return buffers_open(&buffers, DEPTH, BLOCK_BYTES, true, false, 1, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	buffers_close(&buffers);
	(void)close(target.fd);
	(void)unlink(scratch);
	return 0;
}

static int restore(void **state)
{
	(void)state;
	backend_uring_calls = real;
	enter_calls = 0;
	waits = 0;
	refused_flags = 0;
	refused_opcodes = 0;
	return 0;
}

static struct backend_config make_config(enum backend_submit submit)
{
	return (struct backend_config){ .target = &target,
		.depth = DEPTH,
		.submit = submit,
		.buffers = buffers.memory,
		.buffers_bytes = buffers.bytes };
}

static struct backend *open_backend(enum backend_submit submit)
{
	struct backend_config config = make_config(submit);
	struct backend *backend;
	struct error error = { 0 };

	if (backend_uring_ops.open(&config, &backend, &error) < 0)
		fail_msg("%s", error.text);
	return backend;
}

/* Reads every block twice; every request comes back once, with its own content. */
static unsigned read_all(struct backend *backend)
{
	struct request requests[DEPTH], *batch[DEPTH], *done[DEPTH];
	unsigned wrong = 0;

	for (unsigned round = 0; round < 2; round++) {
		unsigned count = 0;

		for (unsigned i = 0; i < DEPTH; i++) {
			requests[i] = (struct request){ .op = REQUEST_READ,
				.slot = i,
				.offset_bytes = (uint64_t)i * BLOCK_BYTES,
				.length_bytes = BLOCK_BYTES,
				.buffer = buffers_area(&buffers, i, false) };
			memset(requests[i].buffer, 0, BLOCK_BYTES);
			batch[i] = &requests[i];
		}
		backend->ops->submit(backend, batch, DEPTH);
		while (count < DEPTH) {
			int ret = backend->ops->wait(backend, NSEC_NEVER, done, 5);

			if (ret < 0 || ret > 5)
				return UINT32_MAX;
			waits++;
			for (int i = 0; i < ret; i++, count++)
				wrong += done[i]->result != (int)BLOCK_BYTES ||
					 ((unsigned char *)done[i]->buffer)[BLOCK_BYTES - 1] !=
						 done[i]->slot + 1;
		}
	}
	return wrong;
}

static void play(enum backend_submit submit, const char *level)
{
	struct backend *backend = open_backend(submit);

	if (!strstr(backend->level, level))
		fail_msg("level \"%s\" does not say \"%s\"", backend->level, level);
	assert_int_equal(read_all(backend), 0);
	backend->ops->close(backend);
}

/* --- Levels --------------------------------------------------------------------------------- */

static int setup_refusing(unsigned entries, struct io_uring_params *params)
{
	assert_false(params->flags & (1u << 16)); /* IORING_SETUP_NO_SQARRAY */
	return params->flags & refused_flags ? -EINVAL : real.setup(entries, params);
}

static int enrol_refusing(unsigned fd, unsigned opcode, const void *argument, unsigned count)
{
	if (refused_opcodes & 1u << opcode)
		return opcode == IORING_REGISTER_BUFFERS ? -ENOMEM : -EINVAL;
	return real.enrol(fd, opcode, argument, count);
}

static void test_every_level_works_and_is_named(void **state)
{
	static const struct {
		unsigned flags;
		const char *level;
	} levels[] = {
		{ 0, "SINGLE_ISSUER DEFER_TASKRUN SUBMIT_ALL, " },
		{ IORING_SETUP_SINGLE_ISSUER, "COOP_TASKRUN SUBMIT_ALL, " },
		{ IORING_SETUP_DEFER_TASKRUN, "COOP_TASKRUN SUBMIT_ALL, " },
		{ IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN, "SUBMIT_ALL, " },
		{ ~0u, "no flags, " },
	};

	(void)state;
	backend_uring_calls.setup = setup_refusing;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		refused_flags = levels[i].flags;
		play(SUBMIT_BATCH, levels[i].level);
		play(SUBMIT_SINGLE, levels[i].level);
	}
}

static void test_every_registration_is_optional(void **state)
{
	static const struct {
		unsigned opcodes;
		const char *level;
	} levels[] = {
		{ 0, "registered file, registered buffers, registered ring" },
		{ 1u << IORING_REGISTER_FILES, "plain file, registered buffers, registered ring" },
		{ 1u << IORING_REGISTER_BUFFERS,
			"registered file, plain buffers, registered ring (RLIMIT_MEMLOCK)" },
		{ 1u << IORING_REGISTER_RING_FDS,
			"registered file, registered buffers, plain ring" },
		{ ~0u, "plain file, plain buffers, plain ring" },
	};

	(void)state;
	backend_uring_calls.enrol = enrol_refusing;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		refused_opcodes = levels[i].opcodes;
		play(SUBMIT_BATCH, levels[i].level);
	}
}

static int setup_without_timeouts(unsigned entries, struct io_uring_params *params)
{
	int fd = real.setup(entries, params);

	params->features &= ~IORING_FEAT_EXT_ARG;
	return fd;
}

static void test_kernel_without_timeouts_is_refused(void **state)
{
	struct backend_config config = make_config(SUBMIT_BATCH);
	struct backend *backend;
	struct error error = { 0 };

	(void)state;
	backend_uring_calls.setup = setup_without_timeouts;
	assert_int_equal(backend_uring_ops.open(&config, &backend, &error), -ENOSYS);
	assert_non_null(strstr(error.text, "5.11"));
}

/* --- Calls ---------------------------------------------------------------------------------- */

static int enter_counting(unsigned fd, unsigned to_submit, unsigned complete_min, unsigned flags,
	const void *argument, size_t argument_bytes)
{
	enter_calls++;
	assert_true(flags & IORING_ENTER_GETEVENTS);
	assert_false(flags & IORING_ENTER_EXT_ARG);
	return real.enter(fd, to_submit, complete_min, flags, argument, argument_bytes);
}

/* Never more than one call in a wait, and without a deadline no timeout in it. */
static void test_a_wait_is_one_call(void **state)
{
	(void)state;
	backend_uring_calls.enter = enter_counting;
	play(SUBMIT_BATCH, "SINGLE_ISSUER");
	assert_in_range(enter_calls, 2, waits);
	enter_calls = 0;
	play(SUBMIT_SINGLE, "SINGLE_ISSUER");
	assert_true(enter_calls >= 2 * DEPTH);
}

/* Takes fewer than offered (and then does not wait, as the kernel), or refuses for a while. */
static int enter_partly(unsigned fd, unsigned to_submit, unsigned complete_min, unsigned flags,
	const void *argument, size_t argument_bytes)
{
	static const int refusals[] = { -EAGAIN, -EBUSY, -EINTR };
	unsigned call = ++enter_calls;

	if (call % 2 == 0)
		return refusals[call / 2 % ARRAY_SIZE(refusals)];
	if (to_submit > 3)
		return real.enter(fd, to_submit - 3, 0, flags, argument, argument_bytes);
	return real.enter(fd, to_submit, complete_min, flags, argument, argument_bytes);
}

static void test_partial_submission_is_continued(void **state)
{
	(void)state;
	backend_uring_calls.enter = enter_partly;
	for (unsigned i = 0; i < 5; i++) {
		play(SUBMIT_BATCH, "SINGLE_ISSUER");
		play(SUBMIT_SINGLE, "SINGLE_ISSUER");
	}
}

static int enter_broken(unsigned fd, unsigned to_submit, unsigned complete_min, unsigned flags,
	const void *argument, size_t argument_bytes)
{
	(void)fd, (void)to_submit, (void)complete_min, (void)flags;
	(void)argument, (void)argument_bytes;
	return -EBADF;
}

static void test_a_broken_ring_is_reported(void **state)
{
	struct backend *backend = open_backend(SUBMIT_BATCH);
	struct request *done[1];

	(void)state;
	backend_uring_calls.enter = enter_broken;
	assert_int_equal(backend->ops->wait(backend, NSEC_NEVER, done, 1), -EBADF);
	backend->ops->close(backend);
}

/* The kernel takes at most 1 GiB in one registered buffer. Pretended registrations spare the
 * test from pinning that much; a request across two pieces cannot be a fixed one, and works. */
static unsigned pieces;

static int enrol_pretending(unsigned fd, unsigned opcode, const void *argument, unsigned count)
{
	if (opcode != IORING_REGISTER_BUFFERS)
		return real.enrol(fd, opcode, argument, count);
	pieces = count;
	return 0;
}

static void test_large_buffers_are_registered_in_pieces(void **state)
{
	size_t bytes = 2 * GIB + MIB;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct backend_config config = make_config(SUBMIT_BATCH);
	struct request request = { .op = REQUEST_READ, .length_bytes = BLOCK_BYTES * 2 };
	struct request *batch = &request, *done[1];
	struct backend *backend;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	backend_uring_calls.enrol = enrol_pretending;
	config.buffers = memory;
	config.buffers_bytes = bytes;
	assert_int_equal(backend_uring_ops.open(&config, &backend, NULL), 0);
	assert_int_equal(pieces, 3);
	request.buffer = memory + GIB - BLOCK_BYTES;
	backend->ops->submit(backend, &batch, 1);
	assert_int_equal(backend->ops->wait(backend, NSEC_NEVER, done, 1), 1);
	assert_int_equal(request.result, BLOCK_BYTES * 2);
	assert_int_equal(memory[GIB], 2);
	backend->ops->close(backend);
	(void)munmap(memory, bytes);
}

/* --- Refusals ------------------------------------------------------------------------------- */

static void test_refusals_are_told_apart(void **state)
{
	static const struct {
		int code;
		struct uring_facts facts;
		const char *says[2];
	} cases[] = {
		{ -EPERM, { 2, false, 0, "6.12.0" },
			{ "kernel.io_uring_disabled = 2", "set it to 0" } },
		{ -EPERM, { 1, false, 0, "6.12.0" },
			{ "kernel.io_uring_disabled = 1", "as root" } },
		{ -EPERM, { 2, true, 0, "6.12.0" },
			{ "kernel.io_uring_disabled = 2", "set it to 0" } },
		{ -EPERM, { 0, true, 0, "6.12.0" }, { "seccomp filter", "--security-opt" } },
		{ -EPERM, { -1, true, 0, "6.1.0" }, { "seccomp filter", "--engine libaio" } },
		{ -EACCES, { 0, false, 0, "6.12.0" }, { "security module", "--engine libaio" } },
		{ -ENOSYS, { -1, false, 0, "4.19.0" },
			{ "kernel 4.19.0 does not have it", "newer" } },
		{ -ENOSYS, { 0, true, 0, "6.12.0" }, { "seccomp filter", "--security-opt" } },
		{ -ENOSYS, { -1, true, 0, "6.1.0" }, { "seccomp filter", "6.1.0" } },
		{ -ENOMEM, { -1, false, 65536, "5.10.0" },
			{ "RLIMIT_MEMLOCK (now 64 KiB)", "ulimit" } },
		{ -EMFILE, { 0, false, 0, "6.12.0" }, { "Too many open files", "6.12.0" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { 0 };

		assert_int_equal(backend_uring_refused(cases[i].code, &cases[i].facts, &error),
			cases[i].code);
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].says); j++)
			if (!strstr(error.text, cases[i].says[j]))
				fail_msg(
					"\"%s\" does not say \"%s\"", error.text, cases[i].says[j]);
	}
}

/* From here on this process cannot make rings. */
static void forbid_uring(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(2);
}

/* In a child behind the filter: io_uring is refused with its reason; auto takes libaio, says the
 * same reason, and the work gets done. Exit 0 when all that holds. */
static int behind_filter(int code)
{
	struct backend_config config = make_config(SUBMIT_BATCH);
	struct error error = { 0 }, why = { 0 };
	struct backend *backend = NULL;
	unsigned wrong;

	forbid_uring(code);
	if (backend_uring_ops.open(&config, &backend, &error) != -code ||
		!strstr(error.text, "seccomp"))
		return 3;
	if (backend_open_auto(&config, &backend, &why, NULL) != 0 ||
		backend->ops != &backend_libaio_ops || strcmp(why.text, error.text) != 0)
		return 4;
	wrong = read_all(backend);
	backend->ops->close(backend);
	return wrong ? 5 : 0;
}

static void test_seccomp_is_named_and_auto_falls_back(void **state)
{
	static const int codes[] = { EPERM, ENOSYS };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0)
			_exit(behind_filter(codes[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

/* --- Auto ----------------------------------------------------------------------------------- */

static const struct backend_ops *taken_by_auto(
	const struct backend_config *config, struct error *why)
{
	struct backend *backend;
	const struct backend_ops *ops;
	struct error error = { 0 };

	if (backend_open_auto(config, &backend, why, &error) < 0)
		fail_msg("%s", error.text);
	ops = backend->ops;
	backend->ops->close(backend);
	return ops;
}

static void test_auto_takes_what_suits_the_target(void **state)
{
	struct target null = { .kind = TARGET_NULL, .fd = -1, .name = "null" };
	struct target memory = target;
	struct backend_config config = make_config(SUBMIT_BATCH);
	struct error why = { 0 };

	(void)state;
	assert_ptr_equal(taken_by_auto(&config, &why), &backend_uring_ops);
	assert_string_equal(why.text, "");
	config.target = &null;
	assert_ptr_equal(taken_by_auto(&config, &why), &backend_null_ops);
	/* Memory has no RWF_NOWAIT: on a file in /dev/shm io_uring would only hand over. */
	memory.fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_DIRECT, 0600);
	if (memory.fd < 0) {
		print_message("no O_DIRECT file in /dev/shm: that part is skipped\n");
		return;
	}
	config.target = &memory;
	assert_ptr_equal(taken_by_auto(&config, &why), &backend_libaio_ops);
	assert_non_null(strstr(why.text, "RWF_NOWAIT"));
	(void)close(memory.fd);
}

static int setup_refused(unsigned entries, struct io_uring_params *params)
{
	(void)entries, (void)params;
	return -EPERM;
}

static int libaio_setup_refused(int events, struct io_context **context)
{
	(void)events, (void)context;
	return -ENOSYS;
}

/* Without both queued engines depth 1 is still exact, and any other cannot be had. */
static void test_auto_without_queued_engines(void **state)
{
	struct libaio_calls real_libaio = backend_libaio_calls;
	struct backend_config config = make_config(SUBMIT_BATCH);
	struct error why = { 0 }, error = { 0 };
	struct backend *backend;

	(void)state;
	backend_libaio_calls.setup = libaio_setup_refused;
	assert_ptr_equal(taken_by_auto(&config, &why), &backend_uring_ops);
	backend_uring_calls.setup = setup_refused;
	assert_int_equal(backend_open_auto(&config, &backend, &why, &error), -ENOSYS);
	assert_non_null(strstr(error.text, "no engine for depth 16: io_uring: "));
	assert_non_null(strstr(error.text, "libaio: io_setup"));
	config.depth = 1;
	assert_ptr_equal(taken_by_auto(&config, &why), &backend_sync_ops);
	assert_non_null(strstr(why.text, "io_uring"));
	backend_libaio_calls = real_libaio;
}

static void test_backends_are_found_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(backend_find("io_uring"), &backend_uring_ops);
	assert_ptr_equal(backend_find("libaio"), &backend_libaio_ops);
	assert_ptr_equal(backend_find("sync"), &backend_sync_ops);
	assert_ptr_equal(backend_find("null"), &backend_null_ops);
	assert_null(backend_find("auto"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_every_level_works_and_is_named, restore),
		cmocka_unit_test_teardown(test_every_registration_is_optional, restore),
		cmocka_unit_test_teardown(test_kernel_without_timeouts_is_refused, restore),
		cmocka_unit_test_teardown(test_a_wait_is_one_call, restore),
		cmocka_unit_test_teardown(test_partial_submission_is_continued, restore),
		cmocka_unit_test_teardown(test_a_broken_ring_is_reported, restore),
		cmocka_unit_test_teardown(test_large_buffers_are_registered_in_pieces, restore),
		cmocka_unit_test_teardown(test_refusals_are_told_apart, restore),
		cmocka_unit_test_teardown(test_seccomp_is_named_and_auto_falls_back, restore),
		cmocka_unit_test_teardown(test_auto_takes_what_suits_the_target, restore),
		cmocka_unit_test_teardown(test_auto_without_queued_engines, restore),
		cmocka_unit_test_teardown(test_backends_are_found_by_name, restore),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
