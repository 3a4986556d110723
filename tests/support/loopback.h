/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A transport that expects every command byte by byte and answers as it was told; anything else
 * fails the test. After the example of libnvme's tests, which put such a loopback in the place of
 * the ioctl.
 */
#ifndef TESTS_SUPPORT_LOOPBACK_H
#define TESTS_SUPPORT_LOOPBACK_H

#include "devices/passthrough.h"

struct loopback_step {
	bool is_nvme;

	/* Expected. */
	uint8_t cdb[16];
	uint8_t cdb_bytes;
	enum passthrough_direction direction;
	size_t data_bytes;
	const void *sent; /* of data to the drive */
	uint8_t opcode;   /* NVMe from here */
	uint32_t nsid, cdw10, cdw11;

	/* The answer. */
	int code;
	const void *returned;
	size_t returned_bytes; /* the rest is the residual */
	uint8_t scsi_status;
	unsigned host_status, driver_status;
	uint8_t sense[32];
	uint8_t sense_bytes;
	uint16_t nvme_status;
	uint32_t result;
};

struct loopback {
	struct passthrough base;
	const struct loopback_step *steps;
	size_t count, at;
};

void loopback_init(struct loopback *loopback, const struct loopback_step *steps, size_t count);
/* Fails the test when commands are missing. */
void loopback_done(const struct loopback *loopback);

#endif
