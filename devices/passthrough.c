/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A drive's own command set, past the block layer; see the header. */
#include "devices/passthrough.h"

#include "devices/sense.h"

#include <fcntl.h>
#include <libnvme.h>
#include <scsi/sg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A power-on and a changed parameter may be reported one after the other, each once. */
#define ATTEMPTS 4
#define BUSY_PAUSE_USEC 100000

struct node {
	struct passthrough base;
	int fd;
};

static int send_scsi(struct passthrough *passthrough, struct scsi_command *command)
{
	const struct node *node = container_of(passthrough, struct node, base);
	static const int directions[] = {
		[PASSTHROUGH_NO_DATA] = SG_DXFER_NONE,
		[PASSTHROUGH_FROM_DRIVE] = SG_DXFER_FROM_DEV,
		[PASSTHROUGH_TO_DRIVE] = SG_DXFER_TO_DEV,
	};
	struct sg_io_hdr header = {
		.interface_id = 'S',
		.dxfer_direction = directions[command->direction],
		.cmd_len = command->cdb_bytes,
		.cmdp = command->cdb,
		.mx_sb_len = sizeof(command->sense),
		.sbp = command->sense,
		.dxfer_len = (unsigned)command->data_bytes,
		.dxferp = command->data,
		.timeout = command->timeout_msec,
	};

	if (ioctl(node->fd, SG_IO, &header) < 0)
		return -errno;
	command->status = header.status;
	command->host_status = header.host_status;
	command->driver_status = header.driver_status;
	command->sense_bytes = min_u64(header.sb_len_wr, sizeof(command->sense));
	/* Bridges have been seen to give a residual that is larger than the transfer. */
	command->transferred_bytes = command->data_bytes;
	if (header.resid > 0)
		command->transferred_bytes -= min_u64((uint64_t)header.resid, command->data_bytes);
	return 0;
}

static int send_nvme(struct passthrough *passthrough, struct nvme_command *command)
{
	const struct node *node = container_of(passthrough, struct node, base);
	struct nvme_passthru_cmd raw = {
		.opcode = command->opcode,
		.nsid = command->nsid,
		.addr = (uint64_t)(uintptr_t)command->data,
		.data_len = command->data_bytes,
		.cdw10 = command->cdw10,
		.cdw11 = command->cdw11,
		.timeout_ms = command->timeout_msec,
	};
	const int code = ioctl(node->fd, NVME_IOCTL_ADMIN_CMD, &raw);

	if (code < 0)
		return -errno;
	command->status = (uint16_t)code;
	command->result = raw.result;
	return 0;
}

static void close_node(struct passthrough *passthrough)
{
	struct node *node = container_of(passthrough, struct node, base);

	(void)close(node->fd);
	free(node);
}

static const struct passthrough_ops node_ops = {
	.scsi = send_scsi,
	.nvme = send_nvme,
	.close = close_node,
};

int passthrough_open(const char *path, unsigned device_major, unsigned device_minor,
	struct passthrough **ret_passthrough, struct error *error)
{
	/* O_NONBLOCK: a drive without a medium is no reason to wait. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct node *node;
	struct stat status;

	if (fd < 0)
		return error_set(error, -errno, "%s cannot be opened to ask the drive: %s%s", path,
			strerror(errno), errno == EACCES ? "; run as root" : "");
	if (fstat(fd, &status) < 0 || !S_ISBLK(status.st_mode) ||
		status.st_rdev != makedev(device_major, device_minor))
		return error_set(error, -ENODEV, "%s is not the node of device %u:%u", path,
			device_major, device_minor);
	node = calloc(1, sizeof(*node));
	if (!node)
		return error_set(error, -ENOMEM, "no memory to ask %s", path);
	node->base.ops = &node_ops;
	node->fd = fd;
	fd = -1;
	*ret_passthrough = &node->base;
	return 0;
}

void passthrough_close(struct passthrough *passthrough)
{
	if (passthrough)
		passthrough->ops->close(passthrough);
}

static int explain_unsent(const char *what, int code, struct error *error)
{
	switch (code) {
	case -ENOTTY:
	case -EINVAL:
	case -EOPNOTSUPP:
		return error_set(error, -EOPNOTSUPP,
			"%s cannot be sent: the driver takes no such "
			"commands",
			what);
	case -EPERM:
	case -EACCES:
		return error_set(
			error, code, "%s cannot be sent: %s; run as root", what, strerror(-code));
	default:
		return error_set(error, code, "%s could not be sent: %s", what, strerror(-code));
	}
}

int passthrough_scsi(
	struct passthrough *passthrough, struct scsi_command *command, struct error *error)
{
	struct error last = { 0 };
	int code = 0;

	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		last = (struct error){ 0 };
		command->status = 0;
		command->host_status = command->driver_status = 0;
		command->transferred_bytes = command->sense_bytes = 0;
		memset(command->sense, 0, sizeof(command->sense));
		code = passthrough->ops->scsi(passthrough, command);
		if (code)
			return explain_unsent(command->what, code, error);
		code = sense_judge(command, &last);
		if (code == -EBUSY)
			(void)usleep(BUSY_PAUSE_USEC);
		else if (code != -EAGAIN)
			break;
	}
	return code ? error_set(error, code == -EAGAIN || code == -EBUSY ? -EIO : code, "%s",
			      last.text)
		    : 0;
}

int passthrough_nvme(
	struct passthrough *passthrough, struct nvme_command *command, struct error *error)
{
	int code = passthrough->ops->nvme(passthrough, command);

	if (code)
		return explain_unsent(command->what, code, error);
	/* Without the bits for "more" and "do not retry". */
	code = command->status & 0x7ff;
	if (!code)
		return 0;
	return error_set(error,
		code == NVME_SC_INVALID_FIELD || code == NVME_SC_INVALID_OPCODE ||
				code == NVME_SC_FEATURE_NOT_CHANGEABLE
			? -EOPNOTSUPP
			: -EIO,
		"%s: the drive answers status 0x%03x: %s", command->what, (unsigned)code,
		nvme_status_to_string(code, false));
}
