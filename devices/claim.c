/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The only maker of targets; see the header.
 *
 * A name is resolved once. What it meant is compared with what was opened by asking the
 * descriptor itself (device number, sizes, disk sequence number, file behind a loop device), and
 * from then on only the descriptor counts: nothing is ever opened again by its name.
 */
#include "devices/claim.h"

#include "devices/file_target.h"
#include "devices/identity.h"
#include "devices/sysfs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int claim_parse(const char *text, enum target_kind *ret_kind, char *ret_path, size_t path_size,
	uint64_t *ret_size_bytes, struct error *error)
{
	if (file_target_is(text))
		return file_target_parse(
			text, ret_kind, ret_path, path_size, ret_size_bytes, error);
	if (!text[0] || strlen(text) >= path_size)
		return error_set(error, -EINVAL,
			text[0] ? "the target's name is longer than %zu bytes"
				: "the target is empty: name a block device, file:PATH,size=BYTES "
				  "or null (at most %zu bytes)",
			path_size - 1);
	*ret_kind = TARGET_BLOCK;
	*ret_size_bytes = 0;
	sysfs_copy(ret_path, path_size, text);
	return 0;
}

static void describe(const struct device *device, char *ret_text, size_t size)
{
	(void)snprintf(ret_text, size, "%s%s%s%s%s%s%" PRIu64 " bytes", device->vendor,
		device->vendor[0] ? " " : "", device->model, device->model[0] ? ", " : "",
		device->serial[0] ? device->serial : "", device->serial[0] ? ", " : "",
		device->size_bytes);
}

static void refuse_identity(const struct claim_request *request, const struct check_result *result,
	struct faults *faults)
{
	const struct device *device = &result->device;
	char what[3 * DEVICE_TEXT + 32];

	if (!device->identity[0] ||
		(request->identity && strcmp(request->identity, device->identity) == 0))
		return;
	describe(device, what, sizeof(what));
	if (request->identity)
		faults_add(faults,
			"--write %s does not match: %s is another device (%s; identity %s); look "
			"which one is meant before changing the command",
			request->identity, result->subject, what, device->identity);
	else
		faults_add(faults,
			"writing to %s (%s) needs --write and its identity, which is %s; look "
			"whether that is the one meant",
			result->subject, what, device->identity);
}

/* 0, or -EPERM with every reason against writing. */
static int refuse(const struct claim_request *request, const struct check_result *result,
	struct faults *faults)
{
	const size_t before = faults->count;

	for (size_t i = 0; i < result->count; i++) {
		const struct check_finding *finding = &result->findings[i];

		if (finding->hard)
			faults_add(faults, "%s", finding->text);
		else if (!request->discard_contents)
			faults_add(faults, "%s; --discard-contents gives it up", finding->text);
	}
	refuse_identity(request, result, faults);
	return faults->count > before ? -EPERM : 0;
}

/* Only a loop device is asked: to another driver the number might mean something. */
static void read_backing(const struct claim *claim, uint64_t *ret_inode, uint64_t *ret_device)
{
	struct loop_info64 info;

	*ret_inode = 0;
	*ret_device = 0;
	if (strcmp(claim->device.transport, "loop") == 0 &&
		ioctl(claim->target.fd, LOOP_GET_STATUS64, &info) == 0) {
		*ret_inode = info.lo_inode;
		*ret_device = info.lo_device;
	}
}

static int differs(
	const struct claim *claim, const char *what, uint64_t was, uint64_t is, struct error *error)
{
	return error_set(error, -ENODEV,
		"%s is not the device any more that was claimed: its %s was %" PRIu64 " and is "
		"%" PRIu64,
		claim->name, what, was, is);
}

static int verify_block(const struct claim *claim, const struct stat *status, struct error *error)
{
	const struct device *device = &claim->device;
	const int fd = claim->target.fd;
	const dev_t number = makedev(device->major, device->minor);
	uint64_t size = 0, sequence = 0, inode, backing;
	unsigned physical = 0;
	int logical = 0, read_only = 0;

	if (!S_ISBLK(status->st_mode) || status->st_rdev != number)
		return differs(claim, "device number", number, status->st_rdev, error);
	if (ioctl(fd, BLKGETSIZE64, &size) < 0 || ioctl(fd, BLKSSZGET, &logical) < 0 ||
		ioctl(fd, BLKPBSZGET, &physical) < 0 || ioctl(fd, BLKROGET, &read_only) < 0)
		return error_set(error, -ENODEV, "%s does not answer any more: %s", claim->name,
			strerror(errno));
	if (size != device->size_bytes)
		return differs(claim, "size in bytes", device->size_bytes, size, error);
	if ((uint32_t)logical != device->logical_block_bytes)
		return differs(claim, "logical block size", device->logical_block_bytes,
			(uint64_t)logical, error);
	if (physical != device->physical_block_bytes)
		return differs(claim, "physical block size", device->physical_block_bytes, physical,
			error);
	if (claim->target.writable && read_only)
		return differs(claim, "read-only flag", 0, 1, error);
	/* Linux 5.15 and later count every change of what is behind a name. */
	if (device->diskseq && ioctl(fd, BLKGETDISKSEQ, &sequence) == 0 &&
		sequence != device->diskseq)
		return differs(claim, "disk sequence number", device->diskseq, sequence, error);
	read_backing(claim, &inode, &backing);
	if (inode != claim->backing_inode || backing != claim->backing_device)
		return differs(claim, "backing file's inode", claim->backing_inode, inode, error);
	return 0;
}

static int verify_file(const struct claim *claim, const struct stat *status, struct error *error)
{
	if (!S_ISREG(status->st_mode) || status->st_ino != claim->backing_inode ||
		status->st_dev != claim->backing_device)
		return differs(claim, "inode", claim->backing_inode, status->st_ino, error);
	if ((uint64_t)status->st_size != claim->target.size_bytes)
		return differs(claim, "size in bytes", claim->target.size_bytes,
			(uint64_t)status->st_size, error);
	return 0;
}

int claim_verify(const struct claim *claim, struct error *error)
{
	struct stat status;

	if (claim->target.kind == TARGET_NULL)
		return 0;
	if (fstat(claim->target.fd, &status) < 0)
		return error_set(error, -ENODEV, "%s does not answer any more: %s", claim->name,
			strerror(errno));
	return claim->target.kind == TARGET_BLOCK ? verify_block(claim, &status, error)
						  : verify_file(claim, &status, error);
}

static void fill_target(struct claim *claim, bool write)
{
	claim->target.writable = write;
	claim->target.claim = write ? claim : NULL;
	claim->target.size_bytes = claim->device.size_bytes;
	claim->target.logical_block_bytes = claim->device.logical_block_bytes;
	claim->target.physical_block_bytes = claim->device.physical_block_bytes;
	claim->target.rotational = claim->device.rotational;
	claim->target.name = claim->name;
}

static int explain_open(const struct claim *claim, int code, bool write, struct error *error)
{
	if (code == -EBUSY)
		return error_set(error, -EPERM,
			"%s was taken by another program between the checks and the claim",
			claim->name);
	if (code == -EROFS)
		return error_set(error, -EPERM, "%s is read-only", claim->name);
	if (code == -EACCES || code == -EPERM)
		return error_set(error, -EACCES, "%s cannot be opened for %s; run as root",
			claim->name, write ? "writing" : "reading");
	return error_set(error, code == -ENOENT ? -ENXIO : code, "%s cannot be opened: %s",
		claim->name, strerror(-code));
}

/* The checks were made on a name; the descriptor must be what they saw. */
static int confirm_identity(
	const struct claim_request *request, const struct claim *claim, struct error *error)
{
	struct device again;
	const int code = device_read(NULL, claim->device.name, &again, error);

	if (code)
		return code;
	identity_refine(claim->target.fd, &again);
	if (strcmp(again.identity, request->identity) != 0)
		return error_set(error, -EPERM,
			"%s changed hands while it was opened: it is %s now", claim->name,
			again.identity);
	return 0;
}

static int open_block(const struct claim_request *request, struct claim *claim,
	struct faults *faults, struct error *error)
{
	int flags = O_DIRECT | O_CLOEXEC, code;

	if (request->write) {
		struct check_result result;

		code = check_device(NULL, request->text, &result, error);
		if (code)
			return code;
		claim->device = result.device;
		code = refuse(request, &result, faults);
		check_result_done(&result);
		flags |= O_RDWR | O_EXCL;
	} else {
		code = device_find(NULL, request->text, &claim->device, error);
		flags |= O_RDONLY;
		if (code == -ENOTBLK)
			code = -EINVAL;
		else if (!code && claim->device.size_bytes == 0)
			code = error_set(error, -ENOMEDIUM,
				"%s has a size of 0 bytes: no medium or unsupported sector size",
				request->text);
	}
	if (code)
		return code;
	claim->target.fd = open(request->text, flags);
	if (claim->target.fd < 0)
		return explain_open(claim, -errno, request->write, error);
	read_backing(claim, &claim->backing_inode, &claim->backing_device);
	identity_refine(claim->target.fd, &claim->device);
	fill_target(claim, request->write);
	code = claim_verify(claim, error);
	if (!code && request->write)
		code = confirm_identity(request, claim, error);
	return code;
}

static int check_existing_file(const struct claim_request *request, const char *path,
	uint64_t size_bytes, struct claim *claim, struct faults *faults, struct error *error)
{
	struct check_result result;
	int code = file_target_check(request->text, &result, error);

	if (code)
		return code;
	claim->device = result.device;
	if (request->write)
		code = refuse(request, &result, faults);
	if (result.device.node[0] && size_bytes && result.device.size_bytes != size_bytes) {
		faults_add(faults,
			"%s exists with %" PRIu64 " bytes, and size=%" PRIu64 " was asked; state "
			"its size or remove it",
			path, result.device.size_bytes, size_bytes);
		code = code ? code : -EPERM;
	}
	check_result_done(&result);
	return code;
}

static int open_file(const struct claim_request *request, const char *path, uint64_t size_bytes,
	struct claim *claim, struct faults *faults, struct error *error)
{
	struct stat status;
	int code = 0;

	if (request->write && lstat(path, &status) < 0 && errno == ENOENT) {
		claim->file_created = true;
		claim->target.fd = file_target_create(path, size_bytes, error);
	} else {
		code = check_existing_file(request, path, size_bytes, claim, faults, error);
		if (code)
			return code;
		claim->target.fd = file_target_open(path, request->write, error);
	}
	if (claim->target.fd < 0)
		return claim->target.fd;
	if (fstat(claim->target.fd, &status) < 0)
		return error_set(error, -errno, "%s does not answer: %s", path, strerror(errno));
	sysfs_copy(claim->device.name, sizeof(claim->device.name), sysfs_base_name(path));
	sysfs_copy(claim->device.node, sizeof(claim->device.node), path);
	sysfs_copy(claim->device.transport, sizeof(claim->device.transport), "file");
	claim->device.size_bytes = (uint64_t)status.st_size;
	claim->backing_inode = status.st_ino;
	claim->backing_device = status.st_dev;
	identity_of_file(&status, claim->device.identity, sizeof(claim->device.identity));
	code = file_target_geometry(claim->target.fd, path, &claim->device.logical_block_bytes,
		&claim->device.physical_block_bytes, error);
	fill_target(claim, request->write);
	if (!code && claim->target.size_bytes % claim->target.logical_block_bytes)
		code = error_set(error, -EINVAL,
			"%s has %" PRIu64 " bytes, which is no multiple of its block size of %u",
			path, claim->target.size_bytes, claim->target.logical_block_bytes);
	if (!code && request->write && !claim->file_created &&
		strcmp(claim->device.identity, request->identity) != 0)
		code = error_set(error, -EPERM,
			"%s changed hands while it was opened: it is %s now", path,
			claim->device.identity);
	if (code && claim->file_created)
		(void)unlink(path);
	return code;
}

static int open_null(const struct claim_request *request, uint64_t size_bytes, struct claim *claim)
{
	claim->device.size_bytes = size_bytes;
	claim->device.logical_block_bytes = 512;
	claim->device.physical_block_bytes = 4096;
	fill_target(claim, request->write);
	claim->device = (struct device){ 0 };
	return 0;
}

int claim_open(const struct claim_request *request, struct claim **ret_claim, struct faults *faults)
{
	struct claim *claim = calloc(1, sizeof(*claim));
	struct error error = { 0 };
	char path[PATH_MAX];
	uint64_t size_bytes;
	int code;

	if (!claim) {
		faults_add(faults, "no memory for the claim of %s", request->text);
		return -ENOMEM;
	}
	claim->target.fd = -1;
	sysfs_copy(claim->name, sizeof(claim->name), request->text);
	code = claim_parse(
		request->text, &claim->target.kind, path, sizeof(path), &size_bytes, &error);
	if (!code && claim->target.kind == TARGET_BLOCK)
		code = open_block(request, claim, faults, &error);
	else if (!code && claim->target.kind == TARGET_FILE)
		code = open_file(request, path, size_bytes, claim, faults, &error);
	else if (!code)
		code = open_null(request, size_bytes, claim);
	if (error.code)
		faults_add(faults, "%s", error.text);
	if (code) {
		claim_close(claim);
		return code;
	}
	*ret_claim = claim;
	return 0;
}

void claim_close(struct claim *claim)
{
	if (!claim)
		return;
	cleanup_close(&claim->target.fd);
	free(claim);
}

void claim_discard(struct claim *claim)
{
	if (claim->file_created)
		(void)unlink(claim->device.node);
}
