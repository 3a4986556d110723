/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ATA commands inside SCSI ones; see the header. */
#include "devices/sat.h"

#include <scsi/sg_lib.h>
#include <scsi/sg_unaligned.h>
#include <string.h>

#define ATA_PASS_THROUGH_12 0xa1 /* SAT-4, 12.2.3 */
#define ATA_PASS_THROUGH_16 0x85 /* SAT-4, 12.2.4 */

/* Byte 1, the protocol. */
#define PROTOCOL_NON_DATA (3 << 1)
#define PROTOCOL_PIO_IN (4 << 1)
#define PROTOCOL_PIO_OUT (5 << 1)
/* Byte 2. */
#define CHECK_CONDITION (1 << 5) /* give the registers back in any case */
#define FROM_DRIVE (1 << 3)
#define LENGTH_IN_BLOCKS (1 << 2)
#define LENGTH_IN_COUNT 2

#define STATUS_ERROR 0x01        /* ACS-3, 6.2.9 */
#define STATUS_DEVICE_FAULT 0x20 /* ACS-3, 6.2.7 */

static void fill(const struct ata_command *command, struct scsi_command *scsi)
{
	uint8_t *cdb = scsi->cdb;

	switch (command->direction) {
	case PASSTHROUGH_NO_DATA:
		cdb[1] = PROTOCOL_NON_DATA;
		cdb[2] = CHECK_CONDITION;
		break;
	case PASSTHROUGH_FROM_DRIVE:
		/* The data is the proof; some bridges answer CHECK_CONDITION by an error. */
		cdb[1] = PROTOCOL_PIO_IN;
		cdb[2] = FROM_DRIVE | LENGTH_IN_BLOCKS | LENGTH_IN_COUNT;
		break;
	case PASSTHROUGH_TO_DRIVE:
		cdb[1] = PROTOCOL_PIO_OUT;
		cdb[2] = CHECK_CONDITION | LENGTH_IN_BLOCKS | LENGTH_IN_COUNT;
		break;
	}
	if (command->narrow) {
		scsi->cdb_bytes = 12;
		cdb[0] = ATA_PASS_THROUGH_12;
		cdb[3] = command->features;
		cdb[4] = command->count;
		cdb[5] = (uint8_t)command->lba;
		cdb[6] = (uint8_t)(command->lba >> 8);
		cdb[7] = (uint8_t)(command->lba >> 16);
		cdb[9] = command->opcode;
	} else {
		scsi->cdb_bytes = 16;
		cdb[0] = ATA_PASS_THROUGH_16;
		cdb[4] = command->features;
		cdb[6] = command->count;
		cdb[8] = (uint8_t)command->lba;
		cdb[10] = (uint8_t)(command->lba >> 8);
		cdb[12] = (uint8_t)(command->lba >> 16);
		cdb[14] = command->opcode;
	}
}

int sat_command(struct passthrough *passthrough, struct ata_command *command, struct error *error)
{
	struct error answer = { 0 };
	struct scsi_command scsi = {
		.what = command->what,
		.direction = command->direction,
		.data = command->data,
		.data_bytes = command->direction == PASSTHROUGH_NO_DATA ? 0 : SAT_SECTOR_BYTES,
		.timeout_msec =
			command->timeout_msec ? command->timeout_msec : PASSTHROUGH_TIMEOUT_MSEC,
	};
	int code;

	fill(command, &scsi);
	code = passthrough_scsi(passthrough, &scsi, &answer);
	command->has_registers = sense_ata_registers(&scsi, &command->registers);
	if (command->has_registers &&
		(command->registers.status & (STATUS_ERROR | STATUS_DEVICE_FAULT)))
		return error_set(error, -EIO,
			"%s: the drive refuses it (status 0x%02x, error 0x%02x)", command->what,
			command->registers.status, command->registers.error);
	if (code)
		return error_set(error, code, "%s", answer.text);
	if (command->direction == PASSTHROUGH_FROM_DRIVE &&
		scsi.transferred_bytes != SAT_SECTOR_BYTES)
		return error_set(error, -ENODATA, "%s: %zu bytes came back instead of %d",
			command->what, scsi.transferred_bytes, SAT_SECTOR_BYTES);
	return 0;
}

/* What ACS-3, 7.12.7 fixes of the data. */
static int check_identity(const uint8_t *sector, const uint16_t *words, struct error *error)
{
	uint8_t sum = 0;

	if (sg_all_zeros(sector, SAT_SECTOR_BYTES) || sg_all_ffs(sector, SAT_SECTOR_BYTES))
		return error_set(error, -EBADMSG,
			"IDENTIFY DEVICE: the drive's data is empty, as if the bridge had not "
			"asked the drive");
	for (size_t i = 0; i < SAT_SECTOR_BYTES; i++)
		sum = (uint8_t)(sum + sector[i]);
	if ((words[255] & 0xff) == 0xa5 && sum != 0)
		return error_set(error, -EBADMSG,
			"IDENTIFY DEVICE: the checksum of the drive's data is wrong");
	if (words[0] & 0x8000)
		return error_set(error, -EBADMSG, "IDENTIFY DEVICE: this is no ATA disk");
	return 0;
}

int sat_identify(struct passthrough *passthrough, uint16_t ret_words[256], bool *ret_narrow,
	struct error *error)
{
	struct error first = { 0 };
	uint8_t sector[SAT_SECTOR_BYTES];
	int code = 0;

	for (int narrow = 0; narrow < 2; narrow++) {
		struct error again = { 0 };
		struct ata_command command = {
			.what = narrow ? "ATA IDENTIFY DEVICE in 12 bytes" : "ATA IDENTIFY DEVICE",
			.opcode = ATA_IDENTIFY_DEVICE,
			.count = 1,
			.direction = PASSTHROUGH_FROM_DRIVE,
			.data = sector,
			.narrow = narrow,
		};

		memset(sector, 0, sizeof(sector));
		code = sat_command(passthrough, &command, narrow ? &again : &first);
		for (size_t i = 0; !code && i < 256; i++)
			ret_words[i] = sg_get_unaligned_le16(sector + 2 * i);
		if (!code)
			code = check_identity(sector, ret_words, narrow ? &again : &first);
		if (!code) {
			*ret_narrow = narrow;
			return 0;
		}
		/* A drive that is gone or hangs is not asked a second time. */
		if (code == -ENODEV || code == -ETIMEDOUT || code == -EPERM || code == -EACCES)
			break;
	}
	return error_set(error, first.code, "%s", first.text);
}
