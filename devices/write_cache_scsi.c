/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SCSI: the caching mode page (SBC-4, 6.5.6), read by MODE SENSE and written by MODE SELECT, in
 * the form of 10 bytes and, for targets that fail at it, of 6.
 *
 * Written are the current values alone (SP = 0): the page that the drive keeps over a loss of power
 * stays what its owner made it. The page goes back as it was read but for the one bit, whole, with
 * the fields zeroed that are reserved on the way to the drive (SPC-5, 7.5.5: PS, the mode data
 * length; the device-specific parameter, with which some USB bridges refuse it).
 *
 * libata answers for its drives; it changes WCE alone and ignores RCD (drivers/ata/libata-scsi.c,
 * ata_mselect_caching), which the reading afterwards shows.
 */
#include "devices/write_cache.h"

#include "devices/sense.h"

#include <scsi/sg_cmds_basic.h>
#include <scsi/sg_lib.h>
#include <scsi/sg_unaligned.h>
#include <stdio.h>
#include <string.h>

enum {
	MODE_SELECT_6 = 0x15,
	MODE_SENSE_6 = 0x1a,
	SYNCHRONIZE_CACHE_10 = 0x35,
	MODE_SELECT_10 = 0x55,
	MODE_SENSE_10 = 0x5a,
};

#define CACHING_PAGE 0x08
#define PAGE_SAVABLE 0x80   /* byte 0 */
#define PAGE_SUBPAGE 0x40   /* byte 0 */
#define WCE 0x04            /* byte 2 */
#define RCD 0x01            /* byte 2 */
#define NO_DESCRIPTORS 0x08 /* DBD */
#define PAGE_FORMAT 0x10    /* PF */
#define CHANGEABLE_VALUES 1 /* page control */
#define PAGE_BYTES_MIN 3    /* up to the byte of the two bits */

/* Header, one long block descriptor from a target that ignores DBD, and the page of 20 bytes; small
 * enough for bridges that cannot give much at a time. */
#define ANSWER_BYTES 64

struct page {
	bool six;
	uint8_t bytes[ANSWER_BYTES];
	size_t length;
};

static int rank(const struct write_cache *cache)
{
	if (!write_cache_is_scsi(cache))
		return 0;
	return write_cache_is_ata(cache) ? 2 : 1;
}

/* The caching page in an answer; targets are known that give another one first. */
static int take_page(const uint8_t *answer, size_t length, struct page *page, struct error *error)
{
	char reason[128] = "";
	int total = sg_msense_calc_length(answer, (int)length, page->six, NULL);
	int at = sg_mode_page_offset(answer, (int)length, page->six, reason, sizeof(reason));

	if (total < 0 || at < 0)
		return error_set(error, -EBADMSG,
			"MODE SENSE: %zu bytes came back, which are no "
			"mode page",
			length);
	length = min_u64(length, (uint64_t)total);
	while ((size_t)at + 2 <= length) {
		const uint8_t *bytes = answer + at;
		const size_t head = bytes[0] & PAGE_SUBPAGE ? 4 : 2;
		const size_t size = head == 4 ? (size_t)at + 4 <= length
							? head + sg_get_unaligned_be16(bytes + 2)
							: SIZE_MAX
					      : head + bytes[1];

		if ((bytes[0] & 0x7f) == CACHING_PAGE) {
			if (size < PAGE_BYTES_MIN || size > length - (size_t)at)
				return error_set(
					error, -EBADMSG, "MODE SENSE: the caching page is cut off");
			memcpy(page->bytes, bytes, size);
			page->length = size;
			return 0;
		}
		if (size > length - (size_t)at)
			break;
		at += (int)size;
	}
	return error_set(error, -EBADMSG, "MODE SENSE: the answer does not hold the caching page");
}

static int sense_page(struct write_cache *cache, bool six, unsigned control, struct page *page,
	struct error *error)
{
	uint8_t answer[ANSWER_BYTES] = { 0 };
	struct scsi_command command = {
		.what = six ? "MODE SENSE(6)" : "MODE SENSE(10)",
		.cdb = { six ? MODE_SENSE_6 : MODE_SENSE_10, NO_DESCRIPTORS,
			(uint8_t)(control << 6 | CACHING_PAGE) },
		.cdb_bytes = six ? 6 : 10,
		.direction = PASSTHROUGH_FROM_DRIVE,
		.data = answer,
		.data_bytes = sizeof(answer),
		.timeout_msec = PASSTHROUGH_TIMEOUT_MSEC,
	};
	int code;

	command.cdb[six ? 4 : 8] = ANSWER_BYTES;
	code = passthrough_scsi(cache->passthrough, &command, error);
	if (code)
		return code;
	*page = (struct page){ .six = six };
	return take_page(answer, command.transferred_bytes, page, error);
}

static int sense_any(struct write_cache *cache, struct page *page, struct error *error)
{
	struct error first = { 0 };
	int code;

	if (!cache->passthrough)
		return error_set(error, cache->open_error.code, "%s", cache->open_error.text);
	code = sense_page(cache, false, 0, page, &first);
	/* A drive that is gone or hangs is not asked a second time. */
	if (code && code != -ENODEV && code != -ETIMEDOUT && code != -EPERM &&
		sense_page(cache, true, 0, page, NULL) == 0)
		return 0;
	return code ? error_set(error, code, "%s", first.text) : 0;
}

static int get(struct write_cache *cache, struct cache_reading *ret_reading, struct error *error)
{
	struct page page, mask;
	int code = sense_any(cache, &page, error);

	if (code)
		return code;
	*ret_reading = (struct cache_reading){
		.state[DRIVE_WRITE_CACHE] = page.bytes[2] & WCE ? CACHE_ON : CACHE_OFF,
		.state[DRIVE_READ_CACHE] = page.bytes[2] & RCD ? CACHE_OFF : CACHE_ON,
		.savable = page.bytes[0] & PAGE_SAVABLE ? CACHE_YES : CACHE_NO,
	};
	if (sense_page(cache, page.six, CHANGEABLE_VALUES, &mask, NULL) == 0) {
		ret_reading->changeable[DRIVE_WRITE_CACHE] =
			mask.bytes[2] & WCE ? CACHE_YES : CACHE_NO;
		ret_reading->changeable[DRIVE_READ_CACHE] =
			mask.bytes[2] & RCD ? CACHE_YES : CACHE_NO;
	}
	return 0;
}

/* Before the cache is switched off: what it holds goes to the medium by the drive's own command,
 * also where the kernel does not believe that there is anything to flush. */
static int flush(struct write_cache *cache, struct error *error)
{
	struct error answer = { 0 };
	struct scsi_command command = {
		.what = "SYNCHRONIZE CACHE(10)",
		.cdb = { SYNCHRONIZE_CACHE_10 },
		.cdb_bytes = 10,
		.timeout_msec = PASSTHROUGH_FLUSH_MSEC,
	};
	const int code = passthrough_scsi(cache->passthrough, &command, &answer);

	/* Who does not know the command has been without it all the time. */
	return code && code != -EOPNOTSUPP ? error_set(error, code, "%s", answer.text) : 0;
}

static int set(struct write_cache *cache, enum drive_setting which, bool on, struct error *error)
{
	uint8_t list[8 + ANSWER_BYTES] = { 0 };
	struct page page;
	struct scsi_command command = { .direction = PASSTHROUGH_TO_DRIVE,
		.data = list,
		.timeout_msec = PASSTHROUGH_TIMEOUT_MSEC };
	const uint8_t bit = which == DRIVE_WRITE_CACHE ? WCE : RCD;
	size_t head;
	int code = sense_any(cache, &page, error);

	if (!code && which == DRIVE_WRITE_CACHE && !on)
		code = flush(cache, error);
	if (code)
		return code;
	head = page.six ? 4 : 8;
	page.bytes[0] &= (uint8_t)~PAGE_SAVABLE;
	/* RCD is "read cache disable". */
	if ((which == DRIVE_WRITE_CACHE) == on)
		page.bytes[2] |= bit;
	else
		page.bytes[2] &= (uint8_t)~bit;
	memcpy(list + head, page.bytes, page.length);
	command.what = page.six ? "MODE SELECT(6)" : "MODE SELECT(10)";
	command.cdb[0] = page.six ? MODE_SELECT_6 : MODE_SELECT_10;
	command.cdb[1] = PAGE_FORMAT;
	command.cdb[page.six ? 4 : 8] = (uint8_t)(head + page.length);
	command.cdb_bytes = page.six ? 6 : 10;
	command.data_bytes = head + page.length;
	return passthrough_scsi(cache->passthrough, &command, error);
}

const struct write_cache_method write_cache_scsi = {
	.name = "SCSI mode page",
	.rank = rank,
	.get = get,
	.set = set,
};
