/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A drive's own command set, past the block layer: SCSI commands by SG_IO, NVMe admin commands by
 * NVME_IOCTL_ADMIN_CMD. ATA commands travel inside SCSI ones (devices/sat.h), since that is the
 * only way that Linux offers, so there is no third verb.
 *
 * A command is a small struct that holds what goes out and what came back; a transport is a
 * table of functions (the idea is libnvme's, whose tests replace the ioctl and check every byte).
 * Nothing here interprets an answer beyond what is the same for all commands: a target that
 * reports its own reset or changed parameters (UNIT ATTENTION), or that is busy, is asked again.
 *
 * Descriptors are opened read-only: no command sent here writes to the medium, and root may send
 * every command by such a descriptor (drivers/scsi/scsi_ioctl.c, scsi_cmd_allowed).
 */
#ifndef DEVICES_PASSTHROUGH_H
#define DEVICES_PASSTHROUGH_H

#include "engine/base.h"

#define PASSTHROUGH_SENSE_BYTES 64
#define PASSTHROUGH_TIMEOUT_MSEC 20000
/* A full cache of random sectors takes this long to reach the medium of a disk. */
#define PASSTHROUGH_FLUSH_MSEC 60000

enum passthrough_direction { PASSTHROUGH_NO_DATA, PASSTHROUGH_FROM_DRIVE, PASSTHROUGH_TO_DRIVE };

struct scsi_command {
	const char *what; /* for sentences: "MODE SENSE(10)" */
	uint8_t cdb[16];
	uint8_t cdb_bytes;
	enum passthrough_direction direction;
	void *data;
	size_t data_bytes;
	unsigned timeout_msec;

	/* The answer. */
	uint8_t status;
	unsigned host_status, driver_status;
	size_t transferred_bytes; /* data_bytes without the residual count */
	uint8_t sense[PASSTHROUGH_SENSE_BYTES];
	size_t sense_bytes;
};

struct nvme_command {
	const char *what; /* "Get Features" */
	uint8_t opcode;
	uint32_t nsid, cdw10, cdw11;
	void *data; /* from the drive; may be NULL */
	uint32_t data_bytes;
	unsigned timeout_msec;

	/* The answer. */
	uint16_t status;
	uint32_t result; /* dword 0 of the completion */
};

struct passthrough;

struct passthrough_ops {
	/* 0 when there is an answer, whatever it says; -errno when the command could not be sent:
	 * -ENOTTY this device speaks no such commands, -EPERM, -ENODEV. */
	int (*scsi)(struct passthrough *passthrough, struct scsi_command *command);
	int (*nvme)(struct passthrough *passthrough, struct nvme_command *command);
	void (*close)(struct passthrough *passthrough);
};

/* Implementations embed it first. */
struct passthrough {
	const struct passthrough_ops *ops;
};

/* Opens the node of a whole disk, and makes sure that it is the device of that number. */
int passthrough_open(const char *node, unsigned device_major, unsigned device_minor,
	struct passthrough **ret_passthrough, struct error *error);
/* NULL is fine. */
void passthrough_close(struct passthrough *passthrough);

/* Sends until there is an answer that is no mere notice. 0: the command did its work. Else a
 * sentence and -EOPNOTSUPP (the drive does not know the command or the field), -ETIMEDOUT,
 * -ENODEV, -EPROTO (an answer that cannot be understood), -EIO, or what the transport said. */
int passthrough_scsi(
	struct passthrough *passthrough, struct scsi_command *command, struct error *error);
int passthrough_nvme(
	struct passthrough *passthrough, struct nvme_command *command, struct error *error);

#endif
