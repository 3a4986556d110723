/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a SCSI answer means. libsgutils2 takes fixed and descriptor sense data apart and has the
 * texts; here is what it does not do: one verdict from status, host status, driver status and
 * sense together, and the ATA registers that a pass-through leaves in the sense data, in both
 * formats (SAT-4, 12.2.2.6 and 12.2.2.7).
 */
#ifndef DEVICES_SENSE_H
#define DEVICES_SENSE_H

#include "devices/passthrough.h"

/* 0: done. -EAGAIN: only a notice (UNIT ATTENTION), send it again. -EBUSY: later. Others as
 * passthrough_scsi. */
int sense_judge(const struct scsi_command *command, struct error *error);

/* True when the drive said that it does not know the command at all. */
bool sense_is_unknown_command(const struct scsi_command *command);

struct ata_registers {
	uint8_t error, status, device;
	uint16_t count;
	uint64_t lba; /* only its low 24 bits in fixed format */
};

/* The registers in an answer to a pass-through; false when there are none. A fixed format counts
 * only if its sense says that it holds them, and if the status is one that a drive can have: some
 * bridges and older kernels fill in other bytes. */
bool sense_ata_registers(const struct scsi_command *command, struct ata_registers *ret_registers);

#endif
