/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a drive may reorder what it has cached; see the header. */
#include "devices/write_cache_reordering.h"

#include "devices/sat.h"

#include <scsi/sg_unaligned.h>

#define SCT_WORD 206 /* of IDENTIFY DEVICE */
#define SCT_SUPPORTED 0x01
#define SCT_FEATURE_CONTROL 0x10

#define SMART_READ_LOG 0xd5
#define SMART_WRITE_LOG 0xd6
#define SCT_LOG_LBA 0xc24fe0 /* log E0h behind the signature of SMART commands */

#define STATUS_EXTENDED 14 /* where the extended status code is in the SCT status */
#define STATUS_EXECUTING 0xffff

#define ACTION_FEATURE_CONTROL 4
#define FUNCTION_RETURN_STATE 2
#define FEATURE_REORDERING 2

static int log_command(struct write_cache *cache, uint8_t features, bool narrow, uint8_t *sector,
	struct ata_registers *ret_registers)
{
	struct ata_command command = {
		.what = "ATA SMART",
		.opcode = ATA_SMART,
		.features = features,
		.count = 1,
		.lba = SCT_LOG_LBA,
		.direction =
			features == SMART_READ_LOG ? PASSTHROUGH_FROM_DRIVE : PASSTHROUGH_TO_DRIVE,
		.data = sector,
		.narrow = narrow,
	};
	const int code = sat_command(cache->passthrough, &command, NULL);

	if (code || !ret_registers)
		return code;
	*ret_registers = command.registers;
	return command.has_registers ? 0 : -ENODATA;
}

enum cache_reordering write_cache_reordering(struct write_cache *cache)
{
	const uint16_t needed = SCT_SUPPORTED | SCT_FEATURE_CONTROL;
	uint8_t status[SAT_SECTOR_BYTES] = { 0 }, question[SAT_SECTOR_BYTES] = { 0 };
	struct ata_registers registers;
	uint16_t words[256];
	bool narrow;

	if (!cache->passthrough || cache->device.raid_volume || !write_cache_ata.rank(cache) ||
		sat_identify(cache->passthrough, words, &narrow, NULL) ||
		(words[SCT_WORD] & needed) != needed)
		return REORDERING_UNAVAILABLE;
	if (log_command(cache, SMART_READ_LOG, narrow, status, NULL) ||
		sg_get_unaligned_le16(status + STATUS_EXTENDED) == STATUS_EXECUTING)
		return REORDERING_UNKNOWN;
	sg_put_unaligned_le16(ACTION_FEATURE_CONTROL, question);
	sg_put_unaligned_le16(FUNCTION_RETURN_STATE, question + 2);
	sg_put_unaligned_le16(FEATURE_REORDERING, question + 4);
	if (log_command(cache, SMART_WRITE_LOG, narrow, question, &registers))
		return REORDERING_UNKNOWN;
	/* The state comes back in the count and the lowest byte of the LBA. */
	switch ((registers.count & 0xff) | (registers.lba & 0xff) << 8) {
	case 1:
		return REORDERING_ENABLED;
	case 2:
		return REORDERING_DISABLED;
	default:
		return REORDERING_UNKNOWN;
	}
}

const char *write_cache_reordering_name(enum cache_reordering reordering)
{
	static const char *const names[] = { [REORDERING_UNAVAILABLE] = "unavailable",
		[REORDERING_UNKNOWN] = "unknown",
		[REORDERING_ENABLED] = "enabled",
		[REORDERING_DISABLED] = "disabled" };

	return names[reordering];
}
