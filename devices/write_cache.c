/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caches in a drive; see the header. */
#include "devices/write_cache.h"

#include "devices/sysfs.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_ATTRIBUTE "sys/class/block/%s/queue/write_cache"
#define WRITE_BACK "write back"

/* libata looks at its drive anew in a thread of its own after SET FEATURES, and has the disk
 * scanned after that; a second look is asked for every now and then. */
#define SETTLE_ATTEMPTS 150
#define SETTLE_PAUSE_USEC 20000
#define SETTLE_RESCAN_EVERY 50

static const struct write_cache_method *const write_cache_methods[] = {
	&write_cache_scsi,
	&write_cache_ata,
	&write_cache_nvme,
	&write_cache_virtio,
	&write_cache_kernel,
};

#define RANKS 2

/* The method at a place of the order of trying: by rank, then by table. NULL behind the last. */
static const struct write_cache_method *method_at(const struct write_cache *cache, size_t place)
{
	for (int rank = 1; rank <= RANKS; rank++)
		for (size_t i = 0; i < ARRAY_SIZE(write_cache_methods); i++)
			if (write_cache_methods[i]->rank(cache) == rank && place-- == 0)
				return write_cache_methods[i];
	return NULL;
}

const char *write_cache_state_name(enum cache_state state)
{
	static const char *const names[] = { [CACHE_UNKNOWN] = "unknown",
		[CACHE_OFF] = "off",
		[CACHE_ON] = "on",
		[CACHE_NONE] = "none" };

	return names[state];
}

const char *write_cache_verdict_name(enum cache_verdict verdict)
{
	static const char *const names[] = { [CACHE_UNDECIDED] = "unknown",
		[CACHE_AGREES] = "agrees",
		[CACHE_HARMLESS] = "harmless",
		[CACHE_DANGEROUS] = "dangerous" };

	return names[verdict];
}

enum cache_verdict write_cache_judge(enum cache_state drive, const char *kernel)
{
	if (drive == CACHE_UNKNOWN || !kernel[0])
		return CACHE_UNDECIDED;
	if (strcmp(kernel, WRITE_BACK) == 0)
		return drive == CACHE_ON ? CACHE_AGREES : CACHE_HARMLESS;
	return drive == CACHE_ON ? CACHE_DANGEROUS : CACHE_AGREES;
}

bool write_cache_is_scsi(const struct write_cache *cache)
{
	return sysfs_exists(
		cache->place->sysroot, "sys/class/block/%s/device/scsi_level", cache->device.name);
}

/* Who translates for an ATA drive calls its maker so (SAT-4, 8.1.1); libata does, as do adapters.
 */
bool write_cache_is_ata(const struct write_cache *cache)
{
	return strcmp(cache->device.transport, "sata") == 0 ||
	       strcmp(cache->device.vendor, "ATA") == 0;
}

int write_cache_find_type(const struct write_cache *cache, char *ret_path, size_t size)
{
	_cleanup_names_ struct sysfs_names names = sysfs_list(
		cache->place->sysroot, "sys/class/block/%s/device/scsi_disk", cache->device.name);

	if (!names.count)
		return -ENOENT;
	(void)snprintf(ret_path, size, "sys/class/block/%s/device/scsi_disk/%s/cache_type",
		cache->device.name, names.names[0]);
	return sysfs_exists(cache->place->sysroot, "%s", ret_path) ? 0 : -ENOENT;
}

int write_cache_write(
	struct write_cache *cache, const char *step, const char *value, const char *format, ...)
{
	const struct settings_place *place = cache->place;
	_cleanup_close_ int fd = -1;
	char below[PATH_MAX], path[PATH_MAX];
	va_list args;
	ssize_t written;
	int code;

	va_start(args, format);
	(void)vsnprintf(below, sizeof(below), format, args);
	va_end(args);
	code = snprintf(path, sizeof(path), "%s/%s", place->sysroot ? place->sysroot : "", below);
	if (code < 0 || (size_t)code >= sizeof(path))
		return -ENAMETOOLONG;
	code = place->before_step ? place->before_step(place->context, step, value) : 0;
	if (code)
		return code;
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	written = write(fd, value, strlen(value));
	if (written < 0)
		return -errno;
	return (size_t)written == strlen(value) ? 0 : -EIO;
}

int write_cache_open(const struct settings_place *place, const char *disk,
	struct write_cache **ret_cache, struct error *error)
{
	_cleanup_free_ struct write_cache *cache = calloc(1, sizeof(*cache));
	int code;

	if (!cache)
		return error_set(error, -ENOMEM, "no memory to ask %s about its cache", disk);
	cache->place = place;
	code = device_read(place->sysroot, disk, &cache->device, error);
	if (code)
		return code;
	if (place->open_drive)
		(void)place->open_drive(
			place->context, &cache->device, &cache->passthrough, &cache->open_error);
	else if (sysfs_is_recorded(place->sysroot))
		(void)error_set(&cache->open_error, -EOPNOTSUPP,
			"%s is part of a recorded machine, which has no drive to ask", disk);
	/* Only these have a language of their own; others are not even opened. */
	else if (write_cache_is_scsi(cache) || strcmp(cache->device.transport, "nvme") == 0)
		(void)passthrough_open(cache->device.node, cache->device.major, cache->device.minor,
			&cache->passthrough, &cache->open_error);
	*ret_cache = cache;
	cache = NULL;
	return 0;
}

void write_cache_close(struct write_cache *cache)
{
	if (!cache)
		return;
	passthrough_close(cache->passthrough);
	free(cache);
}

static void read_driver(const struct write_cache *cache, char *ret_driver, size_t size)
{
	char path[PATH_MAX];
	const char *host;

	ret_driver[0] = '\0';
	if (sysfs_real_path(cache->place->sysroot, path, sizeof(path), "sys/class/block/%s/device",
		    cache->device.name))
		return;
	host = strstr(path, "/host");
	if (host)
		(void)sysfs_read(cache->place->sysroot, ret_driver, size,
			"sys/class/scsi_host/%.*s/proc_name", (int)strcspn(host + 1, "/"),
			host + 1);
}

static void read_kernel(const struct write_cache *cache, struct cache_report *report)
{
	const char *sysroot = cache->place->sysroot, *disk = cache->device.name;
	char path[PATH_MAX];

	(void)sysfs_read(sysroot, report->kernel, sizeof(report->kernel), QUEUE_ATTRIBUTE, disk);
	(void)sysfs_read(sysroot, report->cache_type, sizeof(report->cache_type),
		"sys/class/block/%s/cache_type", disk);
	if (write_cache_find_type(cache, path, sizeof(path)) == 0)
		(void)sysfs_read(
			sysroot, report->cache_type, sizeof(report->cache_type), "%s", path);
}

static void explain_verdict(struct cache_report *report)
{
	static const char *const texts[] = {
		[CACHE_UNDECIDED] = "whether the kernel's view is right cannot be told",
		[CACHE_AGREES] = "the kernel's view is what the drive does",
		[CACHE_HARMLESS] = "the kernel sends flushes that the drive does not need; they "
				   "only cost time",
		[CACHE_DANGEROUS] = "the drive caches writes and the kernel sends no flush: what "
				    "programs believe to be on the medium may not be there",
	};

	report->verdict = write_cache_judge(report->drive.state[DRIVE_WRITE_CACHE], report->kernel);
	sysfs_copy(report->verdict_text, sizeof(report->verdict_text), texts[report->verdict]);
}

static void explain_unknown(
	const struct write_cache *cache, const char *first, struct cache_report *report)
{
	const struct device *device = &cache->device;

	if (first[0])
		(void)snprintf(report->reason, sizeof(report->reason), "%s", first);
	else if (device->memory_backed)
		(void)snprintf(report->reason, sizeof(report->reason),
			"%s is in memory and has no drive to ask; no effect is expected",
			device->name);
	else
		(void)snprintf(report->reason, sizeof(report->reason),
			"%s (%s) is no drive that could be asked about a cache", device->name,
			device->transport[0] ? device->transport : "no known kind");
}

void write_cache_get(
	struct write_cache *cache, struct cache_report *ret_report, struct faults *tried)
{
	const struct write_cache_method *method;
	struct cache_report report = { 0 };
	char first[sizeof(report.reason)] = "";

	read_kernel(cache, &report);
	read_driver(cache, report.driver, sizeof(report.driver));
	if (cache->device.raid_volume)
		(void)snprintf(first, sizeof(first),
			"%s is a RAID controller's volume; neither cache nor depth of the drives "
			"can be seen from here",
			cache->device.name);
	for (size_t i = 0; !cache->device.raid_volume && (method = method_at(cache, i)); i++) {
		struct cache_reading reading = { 0 };
		struct error error = { 0 };

		if (method->get(cache, &reading, &error) == 0) {
			report.drive = reading;
			report.method = method->name;
			break;
		}
		faults_add(tried, "%s: %s", method->name, error.text);
		if (!first[0])
			sysfs_copy(first, sizeof(first), error.text);
	}
	if (!report.method)
		explain_unknown(cache, first, &report);
	if (!report.drive.note[0] && strcmp(report.driver, "megaraid_sas") == 0)
		sysfs_copy(report.drive.note, sizeof(report.drive.note),
			"the driver megaraid_sas answers flushes itself for some of its adapters, "
			"so none may reach the drive");
	explain_verdict(&report);
	*ret_report = report;
}

static enum cache_state state_now(struct write_cache *cache, enum drive_setting which)
{
	_cleanup_faults_ struct faults tried = { 0 };
	struct cache_report report;

	write_cache_get(cache, &report, &tried);
	return report.drive.state[which];
}

/* On a recorded machine everything has happened when the hook returns. */
static unsigned settle_attempts(const struct write_cache *cache)
{
	return sysfs_is_recorded(cache->place->sysroot) ? 1 : SETTLE_ATTEMPTS;
}

static bool settles_to(struct write_cache *cache, enum drive_setting which, enum cache_state wanted)
{
	const unsigned attempts = settle_attempts(cache);

	for (unsigned i = 0; i < attempts; i++) {
		if (i)
			(void)usleep(SETTLE_PAUSE_USEC);
		if (state_now(cache, which) == wanted)
			return true;
	}
	return false;
}

/* Each way in turn until the drive says that it is so. NULL when none served. */
static const struct write_cache_method *change(struct write_cache *cache, enum drive_setting which,
	bool on, bool *ret_sent, struct faults *failures)
{
	const enum cache_state wanted = on ? CACHE_ON : CACHE_OFF;
	const struct write_cache_method *method;

	for (size_t i = 0; (method = method_at(cache, i)); i++) {
		struct error error = { 0 };

		if (method->set(cache, which, on, &error)) {
			faults_add(failures, "%s: %s", method->name, error.text);
			continue;
		}
		*ret_sent = true;
		if (settles_to(cache, which, wanted))
			return method;
		faults_add(failures, "%s: the drive took the command, and %s is not %s after it",
			method->name, drive_setting_title(which), write_cache_state_name(wanted));
	}
	return NULL;
}

static enum cache_verdict verdict_now(struct write_cache *cache, enum cache_state state)
{
	char kernel[24];

	(void)sysfs_read(
		cache->place->sysroot, kernel, sizeof(kernel), QUEUE_ATTRIBUTE, cache->device.name);
	return write_cache_judge(state, kernel);
}

/* Has the kernel look at the drive, and waits until its view fits or no longer changes. */
static enum cache_verdict follow(
	struct write_cache *cache, enum cache_state state, struct faults *notes)
{
	const unsigned attempts = settle_attempts(cache);
	enum cache_verdict verdict = verdict_now(cache, state);

	/* Other kinds follow at once, or never. */
	if (!write_cache_is_scsi(cache))
		return verdict;
	for (unsigned i = 0; i < attempts; i++) {
		const int code =
			i % SETTLE_RESCAN_EVERY == 0
				? write_cache_write(cache, "rescan", "1",
					  "sys/class/block/%s/device/rescan", cache->device.name)
				: 0;

		if (code && i == 0)
			faults_add(notes, "%s could not be scanned anew: %s", cache->device.name,
				strerror(-code));
		verdict = verdict_now(cache, state);
		if (verdict == CACHE_AGREES || verdict == CACHE_UNDECIDED)
			break;
		if (i + 1 < attempts)
			(void)usleep(SETTLE_PAUSE_USEC);
	}
	return verdict;
}

/* More flushes than needed are safe; that is the only direction in which this is written. */
static enum cache_verdict raise_view(struct write_cache *cache, struct faults *notes)
{
	const char *disk = cache->device.name;
	const int code =
		write_cache_write(cache, "queue/write_cache", WRITE_BACK, QUEUE_ATTRIBUTE, disk);

	if (!code && verdict_now(cache, CACHE_ON) != CACHE_DANGEROUS) {
		faults_add(notes,
			"the kernel believed %s to write through although its cache is on; "
			"queue/write_cache was raised to \"" WRITE_BACK "\", so that flushes are "
			"sent",
			disk);
		return CACHE_AGREES;
	}
	faults_add(notes, "queue/write_cache of %s cannot be raised to \"" WRITE_BACK "\": %s",
		disk, code ? strerror(-code) : "the kernel does not take it");
	return CACHE_DANGEROUS;
}

static void undo(struct write_cache *cache, const struct write_cache_method *method,
	enum drive_setting which, bool on, struct faults *notes, struct faults *faults)
{
	const enum cache_state former = on ? CACHE_OFF : CACHE_ON;
	struct error error = { 0 };

	if (method->set(cache, which, !on, &error) == 0 && settles_to(cache, which, former)) {
		(void)follow(cache, former, notes);
		return;
	}
	faults_add(faults, "%s of %s could not be set back to %s%s%s", drive_setting_title(which),
		cache->device.name, write_cache_state_name(former), error.text[0] ? ": " : "",
		error.text);
}

/* The drive is as wanted; now the kernel. */
static int settle(struct write_cache *cache, const struct write_cache_method *method,
	enum drive_setting which, bool on, struct faults *notes, struct faults *faults)
{
	enum cache_verdict verdict;

	if (which != DRIVE_WRITE_CACHE) {
		if (method)
			(void)follow(cache, state_now(cache, DRIVE_WRITE_CACHE), notes);
		return 0;
	}
	verdict = follow(cache, on ? CACHE_ON : CACHE_OFF, notes);
	if (verdict == CACHE_DANGEROUS)
		verdict = raise_view(cache, notes);
	if (verdict == CACHE_HARMLESS)
		faults_add(notes,
			"the write cache of %s is off and the kernel still sends flushes; they "
			"only cost time",
			cache->device.name);
	if (verdict != CACHE_DANGEROUS)
		return 0;
	faults_add(faults,
		"the write cache of %s would be on while the kernel sends no flush, which could "
		"lose data; %s",
		cache->device.name, method ? "it is set back" : "it was so before");
	if (method)
		undo(cache, method, which, on, notes, faults);
	return -EIO;
}

static void add_all(struct faults *faults, const struct faults *more)
{
	for (size_t i = 0; i < more->count; i++)
		faults_add(faults, "%s", more->text[i]);
}

int write_cache_may_set(const struct write_cache *cache, const struct cache_report *report,
	enum drive_setting which, bool on, struct faults *notes, struct faults *faults)
{
	const char *disk = cache->device.name, *title = drive_setting_title(which);

	switch (report->drive.state[which]) {
	case CACHE_UNKNOWN:
		faults_add(faults, "%s of %s cannot be set, because it cannot be seen: %s", title,
			disk,
			report->reason[0] ? report->reason : "the drive does not tell its state");
		return -EOPNOTSUPP;
	case CACHE_NONE:
		if (on) {
			faults_add(faults, "%s of %s cannot be switched on: the drive has none",
				title, disk);
			return -EOPNOTSUPP;
		}
		if (notes)
			faults_add(notes, "%s has no %s: there is nothing to toggle", disk,
				which == DRIVE_WRITE_CACHE ? "volatile write cache" : "read cache");
		return 1;
	default:
		break;
	}
	if ((report->drive.state[which] == CACHE_ON) == on)
		return 1;
	if (report->drive.changeable[which] != CACHE_NO)
		return 0;
	faults_add(faults, "%s of %s is %s, and the drive says that it cannot be changed", title,
		disk, write_cache_state_name(report->drive.state[which]));
	return -EOPNOTSUPP;
}

int write_cache_set(struct write_cache *cache, enum drive_setting which, bool on,
	const char **ret_method, struct faults *notes, struct faults *faults)
{
	_cleanup_faults_ struct faults tried = { 0 }, failures = { 0 };
	const struct write_cache_method *method = NULL;
	struct cache_report report;
	bool sent = false;
	int code;

	write_cache_get(cache, &report, &tried);
	code = write_cache_may_set(cache, &report, which, on, notes, faults);
	if (code < 0) {
		add_all(faults, &tried);
		return code;
	}
	if (report.drive.state[which] == CACHE_NONE) {
		*ret_method = NULL;
		return 0;
	}
	if (code == 0) {
		method = change(cache, which, on, &sent, &failures);
		if (!method) {
			faults_add(faults, "%s of %s could not be switched %s",
				drive_setting_title(which), cache->device.name, on ? "on" : "off");
			add_all(faults, &failures);
			return sent ? -EIO : -EOPNOTSUPP;
		}
		add_all(notes, &failures);
		if (method == &write_cache_kernel && report.drive.savable == CACHE_YES)
			faults_add(notes,
				"the kernel may have saved this in the drive for good, since "
				"%s can keep it over a loss of power",
				cache->device.name);
	}
	code = settle(cache, method, which, on, notes, faults);
	if (!code)
		*ret_method = method ? method->name : NULL;
	return code;
}
