/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATA: IDENTIFY DEVICE tells the caches (words 82 and 85), SET FEATURES sets them: 02h and 82h the
 * write cache, AAh and 55h look-ahead (ACS-3, 7.12.7 and 7.45). Both travel inside SCSI commands,
 * so this serves the drives of libata, of SAS adapters, and behind USB bridges that have no caching
 * mode page or a wrong one.
 */
#include "devices/write_cache.h"

#include "devices/sat.h"

#include <string.h>

#define WRITE_CACHE_BIT 0x0020 /* words 82 and 85 */
#define LOOK_AHEAD_BIT 0x0040

static int rank(const struct write_cache *cache)
{
	if (!write_cache_is_scsi(cache))
		return 0;
	if (write_cache_is_ata(cache))
		return 1;
	/* A bridge may have an ATA drive behind it; other targets have none. */
	return strcmp(cache->device.transport, "usb") == 0 ? 2 : 0;
}

/* Pure: words that hold 01b in their two highest bits are valid (ACS-3, 7.12.7.39 and .42). */
static enum cache_state state_of(const uint16_t *words, uint16_t bit)
{
	if ((words[83] & 0xc000) != 0x4000)
		return CACHE_UNKNOWN;
	if (!(words[82] & bit))
		return CACHE_NONE;
	if ((words[87] & 0xc000) != 0x4000)
		return CACHE_UNKNOWN;
	return words[85] & bit ? CACHE_ON : CACHE_OFF;
}

static int identify(
	struct write_cache *cache, uint16_t words[256], bool *ret_narrow, struct error *error)
{
	if (!cache->passthrough)
		return error_set(error, cache->open_error.code, "%s", cache->open_error.text);
	return sat_identify(cache->passthrough, words, ret_narrow, error);
}

static int get(struct write_cache *cache, struct cache_reading *ret_reading, struct error *error)
{
	uint16_t words[256];
	bool narrow;
	const int code = identify(cache, words, &narrow, error);
	struct cache_reading reading = { .savable = CACHE_NO };

	if (code)
		return code;
	reading.state[DRIVE_WRITE_CACHE] = state_of(words, WRITE_CACHE_BIT);
	reading.state[DRIVE_READ_CACHE] = state_of(words, LOOK_AHEAD_BIT);
	if (reading.state[DRIVE_WRITE_CACHE] == CACHE_UNKNOWN)
		return error_set(error, -EBADMSG,
			"ATA IDENTIFY DEVICE: the drive does not say whether its words about the "
			"write cache are valid");
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		reading.changeable[i] =
			reading.state[i] == CACHE_ON || reading.state[i] == CACHE_OFF ? CACHE_YES
										      : CACHE_NO;
	*ret_reading = reading;
	return 0;
}

/* As for SCSI: before the cache goes off it is emptied by the drive's own command. */
static int flush(struct write_cache *cache, bool narrow, struct error *error)
{
	struct ata_command command = {
		.what = "ATA FLUSH CACHE",
		.opcode = ATA_FLUSH_CACHE,
		.narrow = narrow,
		.timeout_msec = PASSTHROUGH_FLUSH_MSEC,
	};
	struct error answer = { 0 };
	const int code = sat_command(cache->passthrough, &command, &answer);

	return code && code != -EOPNOTSUPP ? error_set(error, code, "%s", answer.text) : 0;
}

static int set(struct write_cache *cache, enum drive_setting which, bool on, struct error *error)
{
	static const uint8_t features[DRIVE_SETTING_COUNT][2] = {
		[DRIVE_WRITE_CACHE] = { 0x82, 0x02 },
		[DRIVE_READ_CACHE] = { 0x55, 0xaa },
	};
	struct ata_command command = { .what = "ATA SET FEATURES",
		.opcode = ATA_SET_FEATURES,
		.features = features[which][on] };
	uint16_t words[256];
	int code = identify(cache, words, &command.narrow, error);

	if (!code && which == DRIVE_WRITE_CACHE && !on)
		code = flush(cache, command.narrow, error);
	return code ? code : sat_command(cache->passthrough, &command, error);
}

const struct write_cache_method write_cache_ata = {
	.name = "ATA pass-through",
	.rank = rank,
	.get = get,
	.set = set,
};
