/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a SCSI answer means; see the header. */
#include "devices/sense.h"

#include <scsi/sg_lib.h>
#include <scsi/sg_unaligned.h>
#include <string.h>

/* include/scsi/scsi_status.h of the kernel, which is not among its exported headers. */
enum { HOST_OK, HOST_NO_CONNECT, HOST_BUS_BUSY, HOST_TIME_OUT, HOST_RESET = 8 };
#define DRIVER_TIMEOUT 0x06 /* kernels before 5.14 */

/* SPC-5, annex F: additional sense codes. */
#define ASC_INVALID_COMMAND 0x20
#define ASCQ_ATA_INFORMATION 0x1d /* with ASC 0 */

#define DESCRIPTOR_ATA_RETURN 0x09 /* SAT-4, 12.2.2.6 */
#define ATA_STATUS_READY 0x40      /* DRDY, ACS-3 6.2; the bit that each good answer has */
#define ATA_STATUS_BUSY 0x80

static bool parse(const struct scsi_command *command, struct sg_scsi_sense_hdr *ret_sense)
{
	return command->sense_bytes &&
	       sg_scsi_normalize_sense(command->sense, (int)command->sense_bytes, ret_sense);
}

static int judge_sense(const struct scsi_command *command, const struct sg_scsi_sense_hdr *sense,
	struct error *error)
{
	char key[64], additional[128];

	if (sense->sense_key == SPC_SK_NO_SENSE || sense->sense_key == SPC_SK_RECOVERED_ERROR)
		return 0;
	(void)sg_get_sense_key_str(sense->sense_key, sizeof(key), key);
	(void)sg_get_asc_ascq_str(sense->asc, sense->ascq, sizeof(additional), additional);
	(void)error_set(error, -EIO, "%s: the drive answers %s (%s, %02x/%02x/%02x)", command->what,
		key, additional, sense->sense_key, sense->asc, sense->ascq);
	switch (sense->sense_key) {
	case SPC_SK_UNIT_ATTENTION:
		return -EAGAIN;
	case SPC_SK_ILLEGAL_REQUEST:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

static int judge_host(const struct scsi_command *command, struct error *error)
{
	switch (command->host_status) {
	case HOST_NO_CONNECT:
		return error_set(error, -ENODEV,
			"%s: the drive does not answer any more (host "
			"status 0x%02x)",
			command->what, command->host_status);
	case HOST_BUS_BUSY:
		return error_set(error, -EBUSY, "%s: the bus stays busy", command->what);
	case HOST_TIME_OUT:
		return error_set(error, -ETIMEDOUT, "%s: no answer within %u ms", command->what,
			command->timeout_msec);
	case HOST_RESET:
		return error_set(error, -EAGAIN, "%s: the bus is reset each time", command->what);
	default:
		return error_set(error, -EIO,
			"%s: the host adapter reports an error (host status "
			"0x%02x)",
			command->what, command->host_status);
	}
}

int sense_judge(const struct scsi_command *command, struct error *error)
{
	struct sg_scsi_sense_hdr sense;
	char text[64];
	/* The lowest bit was once a vendor's (SAM-2, 5.3.1). */
	const uint8_t status = command->status & 0x7e;

	if (command->host_status != HOST_OK)
		return judge_host(command, error);
	if ((command->driver_status & 0x0f) == DRIVER_TIMEOUT)
		return error_set(error, -ETIMEDOUT, "%s: no answer within %u ms", command->what,
			command->timeout_msec);
	switch (status) {
	case SAM_STAT_GOOD:
	case SAM_STAT_CHECK_CONDITION:
		/* Sense with GOOD: adapters that fetch it by themselves do so. */
		if (parse(command, &sense))
			return judge_sense(command, &sense, error);
		return status == SAM_STAT_GOOD
			       ? 0
			       : error_set(error, -EPROTO,
					 "%s: the drive reports a condition and no sense data that "
					 "can be understood",
					 command->what);
	case SAM_STAT_CONDITION_MET:
		return 0;
	case SAM_STAT_BUSY:
	case SAM_STAT_TASK_SET_FULL:
		return error_set(error, -EBUSY, "%s: the drive stays busy", command->what);
	default:
		sg_get_scsi_status_str(status, sizeof(text), text);
		return error_set(error, -EIO, "%s: the drive answers with status 0x%02x (%s)",
			command->what, status, text);
	}
}

bool sense_is_unknown_command(const struct scsi_command *command)
{
	struct sg_scsi_sense_hdr sense;

	return parse(command, &sense) && sense.sense_key == SPC_SK_ILLEGAL_REQUEST &&
	       sense.asc == ASC_INVALID_COMMAND;
}

static bool is_possible_status(uint8_t status)
{
	return (status & ATA_STATUS_READY) && !(status & ATA_STATUS_BUSY);
}

/* 70h or 71h: information is in bytes 3 to 6, the LBA in 9 to 11 (SAT-4, 12.2.2.7). */
static bool registers_of_fixed(const struct scsi_command *command,
	const struct sg_scsi_sense_hdr *sense, struct ata_registers *registers)
{
	const uint8_t *bytes = command->sense;

	if (command->sense_bytes < 14 || sense->asc != 0 || sense->ascq != ASCQ_ATA_INFORMATION ||
		!is_possible_status(bytes[4]))
		return false;
	*registers = (struct ata_registers){ .error = bytes[3],
		.status = bytes[4],
		.device = bytes[5],
		.count = bytes[6],
		.lba = bytes[9] | (uint64_t)bytes[10] << 8 | (uint64_t)bytes[11] << 16 };
	return true;
}

bool sense_ata_registers(const struct scsi_command *command, struct ata_registers *ret_registers)
{
	struct sg_scsi_sense_hdr sense;
	const uint8_t *bytes;

	if (!parse(command, &sense))
		return false;
	if (sense.response_code < 0x72)
		return registers_of_fixed(command, &sense, ret_registers);
	bytes = sg_scsi_sense_desc_find(
		command->sense, (int)command->sense_bytes, DESCRIPTOR_ATA_RETURN);
	if (!bytes || bytes[1] < 12 ||
		(size_t)(bytes - command->sense) + 14 > command->sense_bytes ||
		!is_possible_status(bytes[13]))
		return false;
	*ret_registers = (struct ata_registers){
		.error = bytes[3],
		.count = sg_get_unaligned_be16(bytes + 4),
		.lba = bytes[7] | (uint64_t)bytes[9] << 8 | (uint64_t)bytes[11] << 16 |
		       (uint64_t)bytes[6] << 24 | (uint64_t)bytes[8] << 32 |
		       (uint64_t)bytes[10] << 40,
		.device = bytes[12],
		.status = bytes[13],
	};
	return true;
}
