/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of a device's requests at its driver; see the header.
 *
 * A process that is killed leaves its instance behind. Whether one is still in use tells the
 * kernel: it removes no instance of which a file is open (EBUSY), and a watch keeps one open.
 */
#include "devices/wire_order.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices/sysfs.h"

#define SECTOR_BYTES 512u
#define INSTANCE_PREFIX "bareplatter-"
#define EVENT "events/block/block_rq_issue"
/* Per processor; about 900 events. A new instance begins with 1.4 MiB for each. */
#define BUFFER_KIB "64"
#define LINE_MAX_BYTES 1024

struct wire_watch {
	char instance[128];
	int switch_fd; /* of tracing_on; open, it keeps others from removing the instance */
	struct wire_range range;
};

/* --- Reading the text ------------------------------------------------------------------------ */

/* "   comm-pid   [003] d..1.  284.190123" up to end, read from its end: a comm may hold anything,
 * and the number of flags differs between kernels. */
static bool parse_context(const char *line, const char *end, struct wire_event *event)
{
	const char *stamp = end, *bracket, *cpu;
	char *rest;

	while (stamp > line && (isdigit((unsigned char)stamp[-1]) || stamp[-1] == '.'))
		stamp--;
	event->stamp = strtoull(stamp, &rest, 10);
	if (rest == stamp || (rest != end && (*rest != '.' || end - rest != 7)))
		return false;
	if (rest != end)
		event->stamp = event->stamp * 1000000 + strtoull(rest + 1, &rest, 10);
	bracket = memrchr(line, ']', (size_t)(stamp - line));
	if (rest != end || !bracket)
		return false;
	cpu = bracket;
	while (cpu > line && isdigit((unsigned char)cpu[-1]))
		cpu--;
	if (cpu == bracket || cpu == line || cpu[-1] != '[')
		return false;
	event->cpu = (unsigned)strtoul(cpu, NULL, 10);
	return true;
}

/* As blk_fill_rwbs() of kernel/trace/blktrace.c composes it: F for a flush before, then the
 * operation, then its flags. */
static bool is_data(const char *rwbs)
{
	if (rwbs[0] == 'F')
		rwbs++;
	return rwbs[0] == 'R' || rwbs[0] == 'W';
}

/* "8,0 WS 4096 () 2048 + 8 [comm]"; newer kernels put the priority, "be,0,4", before the comm. */
static bool parse_request(const char *text, struct wire_event *event)
{
	char rwbs[16];
	int used = -1;
	const char *command;

	if (sscanf(text, "%u,%u %15s %*u (%n", &event->major, &event->minor, rwbs, &used) != 3 ||
		used < 0)
		return false;
	command = strchr(text + used, ')');
	if (!command ||
		sscanf(command, ") %" SCNu64 " + %" SCNu64, &event->sector, &event->sectors) != 2)
		return false;
	event->data = event->sectors > 0 && is_data(rwbs);
	return true;
}

int wire_order_parse(const char *line, struct wire_event *ret_event)
{
	/* Longer than a comm can be (15 characters), so it is nowhere else in the line. */
	static const char mark[] = ": block_rq_issue: ";
	const char *at = strstr(line, mark);
	struct wire_event event = { 0 };

	if (!at)
		return 0;
	if (!parse_context(line, at, &event) || !parse_request(at + strlen(mark), &event))
		return -EINVAL;
	*ret_event = event;
	return 1;
}

/* The header tells how many events there were and how many are left. */
static int check_complete(const char *text, struct error *error)
{
	static const char key[] = "# entries-in-buffer/entries-written:";
	const char *at = strstr(text, key);
	uint64_t kept, written;

	if (!at || sscanf(at + strlen(key), " %" SCNu64 "/%" SCNu64, &kept, &written) != 2)
		return error_set(error, -EBADMSG,
			"the kernel's trace does not say how many events it lost, so its order "
			"proves nothing");
	if (kept != written)
		return error_set(error, -EOVERFLOW,
			"%" PRIu64 " of %" PRIu64 " block_rq_issue events were lost: the device is "
			"busy with other requests; try again when it is not",
			written - kept, written);
	return 0;
}

static bool is_in_range(const struct wire_event *event, const struct wire_range *range)
{
	return event->data && event->major == range->major && event->minor == range->minor &&
	       event->sector >= range->first_sector && event->sectors <= range->sectors &&
	       event->sector - range->first_sector <= range->sectors - event->sectors;
}

int wire_order_collect(const char *text, const struct wire_range *range, uint64_t *ret_sectors,
	size_t max, size_t *ret_count, struct error *error)
{
	struct wire_event event, before = { 0 };
	char line[LINE_MAX_BYTES];
	size_t count = 0;
	int r = check_complete(text, error);

	if (r < 0)
		return r;
	for (size_t length; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		(void)snprintf(
			line, sizeof(line), "%.*s", (int)min_u64(length, sizeof(line) - 1), text);
		r = wire_order_parse(line, &event);
		if (r == 0)
			continue;
		if (r < 0)
			return error_set(error, -EBADMSG,
				"the kernel's trace has a line that is not understood: %.200s",
				line);
		/* The kernel merges its buffers, one per processor, by the stamp; within one they
		 * lie in order of their writing. */
		if (event.stamp < before.stamp ||
			(event.stamp == before.stamp && event.cpu != before.cpu))
			return error_set(error, -EBADMSG,
				"the kernel's trace has two events of different processors whose "
				"order cannot be told, at stamp %" PRIu64,
				event.stamp);
		before = event;
		if (!is_in_range(&event, range))
			continue;
		if (count == max)
			return error_set(error, -ENOBUFS,
				"more than %zu requests were issued: others use the device, too",
				max);
		ret_sectors[count++] = event.sector - range->first_sector;
	}
	*ret_count = count;
	return 0;
}

/* --- The instance ---------------------------------------------------------------------------- */

static int put(const struct wire_watch *watch, const char *file, const char *text)
{
	char path[192];
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", watch->instance, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Removes what killed processes left; one that is in use stays (see above). */
static void remove_left_over(const char *tracefs)
{
	_cleanup_names_ struct sysfs_names list = sysfs_list(tracefs, "instances");

	for (size_t i = 0; i < list.count; i++) {
		char path[192], *end;
		long process;

		if (strncmp(list.names[i], INSTANCE_PREFIX, strlen(INSTANCE_PREFIX)) != 0)
			continue;
		process = strtol(list.names[i] + strlen(INSTANCE_PREFIX), &end, 10);
		if (*end || process <= 0 || process > INT32_MAX ||
			(process != getpid() && (kill((pid_t)process, 0) == 0 || errno != ESRCH)))
			continue;
		(void)snprintf(path, sizeof(path), "%s/instances/%.64s", tracefs, list.names[i]);
		(void)rmdir(path);
	}
}

static int refuse_instance(const char *tracefs, int code, struct error *error)
{
	if (code == -ENOENT)
		return error_set(error, code,
			"the order of requests at the driver cannot be seen: there is no tracefs "
			"with instances at %s (mount -t tracefs tracefs /sys/kernel/tracing)",
			tracefs);
	if (code == -EACCES || code == -EPERM)
		return error_set(error, code,
			"the order of requests at the driver cannot be seen: %s is not for this "
			"user (%s); root may, unless the kernel is locked down",
			tracefs, strerror(-code));
	return error_set(error, code,
		"the order of requests at the driver cannot be seen: no trace instance can be made "
		"in %s: %s",
		tracefs, strerror(-code));
}

/* The number of the whole disk, under which its events are sent, and our part of it. */
static int find_range(
	const struct device *device, struct wire_range *ret_range, struct error *error)
{
	const char *disk = device->is_partition ? device->parent : device->name;
	struct wire_range range = {
		.first_sector = device->is_partition ? device->start_bytes / SECTOR_BYTES : 0,
		.sectors = device->size_sectors,
	};
	int r = sysfs_number_of(NULL, disk, &range.major, &range.minor);

	if (r < 0)
		return error_set(error, r, "%s: the kernel does not tell the number of the disk %s",
			device->name, disk);
	*ret_range = range;
	return 0;
}

/* How the text is written: an instance begins with the options of the global buffer. */
static void set_plain_text(const struct wire_watch *watch)
{
	static const char *const options[] = { "nobin", "nohex", "noraw", "nofields",
		"nolatency-format", "context-info" };

	/* A kernel without the option has nothing to be switched off. */
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		(void)put(watch, "trace_options", options[i]);
}

static int set_up(struct wire_watch *watch, struct error *error)
{
	char path[192], filter[64];
	const struct {
		const char *file, *text;
	} steps[] = {
		{ "buffer_size_kb", BUFFER_KIB },
		{ "trace_clock", "counter" },
		{ EVENT "/filter", filter },
		{ EVENT "/enable", "1" },
		{ "tracing_on", "1" },
	};

	/* The kernel's own form of a device number (MKDEV), not that of user space. */
	(void)snprintf(
		filter, sizeof(filter), "dev == %u", watch->range.major << 20 | watch->range.minor);
	(void)snprintf(path, sizeof(path), "%s/tracing_on", watch->instance);
	watch->switch_fd = open(path, O_WRONLY | O_CLOEXEC);
	if (watch->switch_fd < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	set_plain_text(watch);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const int r = put(watch, steps[i].file, steps[i].text);

		if (r < 0)
			return error_set(error, r,
				"the order of requests at the driver cannot be seen: %s/%s does "
				"not take \"%s\": %s",
				watch->instance, steps[i].file, steps[i].text, strerror(-r));
	}
	return 0;
}

/* 0, or -errno of the removal. */
static int end_watch(struct wire_watch *watch, struct error *error)
{
	int r = 0;

	if (watch->switch_fd >= 0)
		(void)close(watch->switch_fd);
	if (rmdir(watch->instance) < 0)
		r = error_set(error, -errno, "the trace instance %s cannot be removed: %s",
			watch->instance, strerror(errno));
	free(watch);
	return r;
}

int wire_order_start_below(const char *tracefs, const struct device *device,
	struct wire_watch **ret_watch, struct error *error)
{
	struct wire_watch *watch = calloc(1, sizeof(*watch));
	int r = watch ? find_range(device, &watch->range, error)
		      : error_set(error, -ENOMEM, "no memory to watch %s", device->name);

	if (r < 0) {
		free(watch);
		return r;
	}
	watch->switch_fd = -1;
	remove_left_over(tracefs);
	(void)snprintf(watch->instance, sizeof(watch->instance),
		"%s/instances/" INSTANCE_PREFIX "%d", tracefs, (int)getpid());
	if (mkdir(watch->instance, 0700) < 0) {
		r = -errno;
		free(watch);
		return refuse_instance(tracefs, r, error);
	}
	r = set_up(watch, error);
	if (r < 0) {
		(void)end_watch(watch, error);
		return r;
	}
	*ret_watch = watch;
	return 0;
}

int wire_order_start(
	const struct device *device, struct wire_watch **ret_watch, struct error *error)
{
	/* The second is where kernels mount it with debugfs; the first is where it belongs. */
	struct error first = { 0 };
	int r = wire_order_start_below("/sys/kernel/tracing", device, ret_watch, &first);

	if (r == -ENOENT)
		r = wire_order_start_below("/sys/kernel/debug/tracing", device, ret_watch, NULL);
	return r < 0 ? error_set(error, first.code, "%s", first.text) : 0;
}

int wire_order_stop(struct wire_watch *watch, uint64_t *ret_sectors, size_t max, size_t *ret_count,
	struct error *error)
{
	_cleanup_free_ char *text = NULL;
	int r = 0, ended;

	if (write(watch->switch_fd, "0", 1) < 0)
		r = error_set(error, -errno, "%s/tracing_on: %s", watch->instance, strerror(errno));
	/* `trace` and not `trace_pipe`: reading it never waits for events. */
	if (r == 0 && ret_count) {
		r = sysfs_read_whole(watch->instance, &text, "trace");
		if (r < 0)
			(void)error_set(error, r, "%s/trace: %s", watch->instance, strerror(-r));
		else
			r = wire_order_collect(
				text, &watch->range, ret_sectors, max, ret_count, error);
	}
	ended = end_watch(watch, error);
	return r < 0 ? r : ended;
}
