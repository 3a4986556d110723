/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATA commands inside SCSI ones: ATA PASS-THROUGH (16) and (12) of SAT-4, which libata takes for
 * its own drives and SAS adapters and USB bridges for theirs.
 *
 * A bridge may do the command and give nothing back about it, so "done" here means only that
 * nobody said otherwise; who changes something has to read it back.
 */
#ifndef DEVICES_SAT_H
#define DEVICES_SAT_H

#include "devices/sense.h"

/* Of the commands that are used here: ACS-3, 7. */
enum ata_opcode {
	ATA_SMART = 0xb0,
	ATA_FLUSH_CACHE = 0xe7,
	ATA_IDENTIFY_DEVICE = 0xec,
	ATA_SET_FEATURES = 0xef,
};

#define SAT_SECTOR_BYTES 512

struct ata_command {
	const char *what; /* "IDENTIFY DEVICE" */
	uint8_t opcode, features, count;
	uint32_t lba; /* 24 bits */
	enum passthrough_direction direction;
	void *data;  /* one sector, or none */
	bool narrow; /* the 12-byte form, for bridges that know no other */
	unsigned timeout_msec;

	/* The answer. */
	bool has_registers;
	struct ata_registers registers;
};

/* 0: done, or nothing said otherwise. Errors as passthrough_scsi; -EIO also when the drive itself
 * reports an error in its registers, and -ENODATA when a sector came back short. */
int sat_command(struct passthrough *passthrough, struct ata_command *command, struct error *error);

/* IDENTIFY DEVICE, checked: signature, checksum, kind of device. ret_narrow: which form the
 * bridge took. -EBADMSG when what came back is no such data. */
int sat_identify(struct passthrough *passthrough, uint16_t ret_words[256], bool *ret_narrow,
	struct error *error);

#endif
