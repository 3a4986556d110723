/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scratch loop devices for tests; see the header. */
#include "tests/support/loop.h"

#include "engine/base.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LIVE_MAX 32

/* What must be undone at the end, in fixed room because a signal handler reads it. */
static struct {
	char file[256], node[32];
} live[LIVE_MAX];

static void undo(size_t slot)
{
	if (live[slot].node[0]) {
		const int fd = open(live[slot].node, O_RDONLY | O_CLOEXEC);

		if (fd >= 0) {
			(void)ioctl(fd, LOOP_CLR_FD, 0);
			(void)close(fd);
		}
		live[slot].node[0] = '\0';
	}
	if (live[slot].file[0]) {
		(void)unlink(live[slot].file);
		live[slot].file[0] = '\0';
	}
}

/* A forked child ends without taking its parent's devices away. */
static pid_t owner;

static void undo_all(void)
{
	if (owner != getpid())
		return;
	for (size_t i = 0; i < LIVE_MAX; i++)
		undo(i);
}

static void undo_on_signal(int number)
{
	undo_all();
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

static void install_once(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGABRT, SIGSEGV };

	if (owner == getpid())
		return;
	owner = getpid();
	(void)atexit(undo_all);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)signal(signals[i], undo_on_signal);
}

static size_t slot_of(const char *file)
{
	for (size_t i = 0; i < LIVE_MAX; i++)
		if (strcmp(live[i].file, file) == 0)
			return i;
	assert(!"too many loop devices at once");
	return 0;
}

bool loop_is_possible(void)
{
	const int control = geteuid() == 0 ? open("/dev/loop-control", O_RDWR | O_CLOEXEC) : -1;

	if (control < 0)
		return false;
	(void)close(control);
	return true;
}

void loop_make_file(struct loop *loop, uint64_t size_bytes)
{
	const char *folder = getenv("TMPDIR");
	const size_t slot = slot_of("");

	install_once();
	*loop = (struct loop){ 0 };
	(void)snprintf(loop->file, sizeof(loop->file), "%s/bareplatter-test-XXXXXX",
		folder && folder[0] ? folder : "/var/tmp");
	loop->fd = mkostemp(loop->file, O_CLOEXEC);
	assert(loop->fd >= 0);
	assert(posix_fallocate(loop->fd, 0, (off_t)size_bytes) == 0);
	memcpy(live[slot].file, loop->file, sizeof(loop->file));
}

void loop_attach(struct loop *loop, unsigned flags, unsigned block_bytes)
{
	const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = { .fd = (uint32_t)loop->fd, .block_size = block_bytes };
	int fd = -1;

	assert(control >= 0);
	if (flags & LOOP_READ_ONLY)
		config.info.lo_flags |= LO_FLAGS_READ_ONLY;
	if (flags & LOOP_PARTITIONS)
		config.info.lo_flags |= LO_FLAGS_PARTSCAN;
	(void)snprintf((char *)config.info.lo_file_name, sizeof(config.info.lo_file_name), "%.63s",
		loop->file);
	/* Another test may take the free number first: then the next one is asked for. */
	for (int attempt = 0; attempt < 64; attempt++) {
		const int number = ioctl(control, LOOP_CTL_GET_FREE);

		assert(number >= 0);
		(void)snprintf(loop->node, sizeof(loop->node), "/dev/loop%d", number);
		fd = open(loop->node, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0)
			break;
		if (fd >= 0)
			(void)close(fd);
		fd = -1;
	}
	assert(fd >= 0);
	(void)close(fd);
	(void)close(control);
	memcpy(live[slot_of(loop->file)].node, loop->node, sizeof(loop->node));
}

void loop_detach(struct loop *loop)
{
	const size_t slot = slot_of(loop->file);
	const int fd = open(loop->node, O_RDONLY | O_CLOEXEC);

	assert(fd >= 0);
	assert(ioctl(fd, LOOP_CLR_FD, 0) == 0);
	(void)close(fd);
	loop->node[0] = '\0';
	live[slot].node[0] = '\0';
}

void loop_new(struct loop *loop, uint64_t size_bytes)
{
	loop_make_file(loop, size_bytes);
	loop_attach(loop, 0, 0);
}

void loop_done(struct loop *loop)
{
	undo(slot_of(loop->file));
	(void)close(loop->fd);
}

uint64_t loop_checksum(const struct loop *loop)
{
	static uint8_t buffer[1 << 20];
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, draft-eastlake-fnv */
	ssize_t got;

	for (off_t at = 0; (got = pread(loop->fd, buffer, sizeof(buffer), at)) > 0; at += got)
		for (ssize_t i = 0; i < got; i++)
			hash = (hash ^ buffer[i]) * UINT64_C(0x100000001b3);
	return hash;
}
