/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What goes over the wire to read and set a cache, byte by byte, and what is understood of the
 * answers: block descriptors that were not asked for, pages that are cut off, notices, fixed and
 * descriptor sense, sense that is malformed or missing, and short or empty data.
 */
#include "devices/sat.h"
#include "devices/write_cache_reordering.h"

#include <string.h>

#include "tests/support/cached_drive.h"
#include "tests/support/check.h"

#define BYTES(...) ((const uint8_t[]){ __VA_ARGS__ })
#define RETURNS(bytes) .returned = (bytes), .returned_bytes = sizeof(bytes)

/* A caching page of 20 bytes that can be saved: write cache on, read cache on, and odd values in
 * the other fields, which have to go back as they are. */
#define PAGE_REST 0x11, 0xff, 0xff, 0, 1, 0, 2, 0xff, 0xfe, 0x20, 0x14, 0, 0, 0, 0, 0, 3
static const uint8_t sense_10[] = { 0, 26, 0, 0x10, 0, 0, 0, 0, 0x88, 18, 0x04, PAGE_REST };
static const uint8_t sense_10_off[] = { 0, 26, 0, 0x10, 0, 0, 0, 0, 0x88, 18, 0x00, PAGE_REST };
static const uint8_t mask_10[] = { 0, 26, 0, 0x10, 0, 0, 0, 0, 0x88, 18, 0x04, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
static const uint8_t select_10_off[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 18, 0x00, PAGE_REST };

#define MODE_SENSE_10(control)                                                                     \
	.cdb = { 0x5a, 0x08, (control) << 6 | 0x08, 0, 0, 0, 0, 0, 64, 0 }, .cdb_bytes = 10,       \
	.direction = PASSTHROUGH_FROM_DRIVE, .data_bytes = 64
#define MODE_SENSE_6(control)                                                                      \
	.cdb = { 0x1a, 0x08, (control) << 6 | 0x08, 0, 64, 0 }, .cdb_bytes = 6,                    \
	.direction = PASSTHROUGH_FROM_DRIVE, .data_bytes = 64
#define IDENTIFY_16                                                                                \
	.cdb = { 0x85, 0x08, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0 }, .cdb_bytes = 16,    \
	.direction = PASSTHROUGH_FROM_DRIVE, .data_bytes = 512
#define IDENTIFY_12                                                                                \
	.cdb = { 0xa1, 0x08, 0x0e, 0, 1, 0, 0, 0, 0, 0xec, 0, 0 }, .cdb_bytes = 12,                \
	.direction = PASSTHROUGH_FROM_DRIVE, .data_bytes = 512
#define CHECK_CONDITION(...)                                                                       \
	.scsi_status = 2, .sense = { __VA_ARGS__ }, .sense_bytes = sizeof(BYTES(__VA_ARGS__))
#define NOT_KNOWN CHECK_CONDITION(0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0)

struct scene {
	struct loopback loopback;
	struct write_cache *cache;
	struct faults tried, notes, faults;
};

static void begin(
	struct scene *scene, enum cached_kind kind, const struct loopback_step *steps, size_t count)
{
	*scene = (struct scene){ 0 };
	cached_drive_new(kind);
	loopback_init(&scene->loopback, steps, count);
	assert_int_equal(write_cache_open(cached_place_with(&scene->loopback.base), cached_name,
				 &scene->cache, NULL),
		0);
}

static void end(struct scene *scene)
{
	loopback_done(&scene->loopback);
	write_cache_close(scene->cache);
	faults_done(&scene->tried);
	faults_done(&scene->notes);
	faults_done(&scene->faults);
	cached_drive_done();
}

static struct cache_report look(
	enum cached_kind kind, const struct loopback_step *steps, size_t count, const char *says)
{
	struct cache_report report;
	struct scene scene;

	begin(&scene, kind, steps, count);
	write_cache_get(scene.cache, &report, &scene.tried);
	if (says)
		assert_true(cached_says(&scene.tried, says));
	end(&scene);
	return report;
}

static void test_mode_page(void **state)
{
	const struct loopback_step steps[] = {
		{ MODE_SENSE_10(0), RETURNS(sense_10) },
		{ MODE_SENSE_10(1), RETURNS(mask_10) },
	};
	const struct cache_report report = look(CACHED_SCSI, steps, ARRAY_SIZE(steps), NULL);

	(void)state;
	assert_string_equal(report.method, "SCSI mode page");
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_ON);
	assert_int_equal(report.drive.state[DRIVE_READ_CACHE], CACHE_ON);
	assert_int_equal(report.drive.changeable[DRIVE_WRITE_CACHE], CACHE_YES);
	assert_int_equal(report.drive.changeable[DRIVE_READ_CACHE], CACHE_NO);
	assert_int_equal(report.drive.savable, CACHE_YES);
	assert_int_equal(report.verdict, CACHE_AGREES);
}

/* Asked not to, a target sends a block descriptor all the same; and the read cache is off. */
static void test_block_descriptor(void **state)
{
	static const uint8_t answer[] = { 23, 0, 0, 8, 0, 0, 0, 1, 0, 0, 2, 0, 0x08, 10, 0x01, 0, 0,
		0, 0, 0, 0, 0, 0, 0 };
	const struct loopback_step steps[] = {
		{ MODE_SENSE_10(0), .host_status = 7 },
		{ MODE_SENSE_6(0), RETURNS(answer) },
		{ MODE_SENSE_6(1), NOT_KNOWN },
	};
	const struct cache_report report = look(CACHED_SCSI, steps, ARRAY_SIZE(steps), NULL);

	(void)state;
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_OFF);
	assert_int_equal(report.drive.state[DRIVE_READ_CACHE], CACHE_OFF);
	assert_int_equal(report.drive.changeable[DRIVE_WRITE_CACHE], CACHE_NOT_TOLD);
	assert_int_equal(report.drive.savable, CACHE_NO);
	assert_int_equal(report.verdict, CACHE_HARMLESS);
}

/* Nothing of this is a cache that is off. */
static void test_no_page(void **state)
{
	static const uint8_t another[] = { 0, 18, 0, 0, 0, 0, 0, 0, 0x0a, 10, 0x04, 0, 0, 0, 0, 0,
		0, 0, 0, 0 };
	static const uint8_t cut[] = { 0, 26, 0, 0x10, 0, 0, 0, 0, 0x88, 18, 0x04, 0 };
	static const uint8_t tiny[] = { 0, 26 };
	const struct {
		struct loopback_step first;
		const char *says;
	} cases[] = {
		{ { MODE_SENSE_10(0), RETURNS(another) }, "does not hold the caching page" },
		{ { MODE_SENSE_10(0), RETURNS(cut) }, "is cut off" },
		{ { MODE_SENSE_10(0), RETURNS(tiny) }, "2 bytes came back" },
		{ { MODE_SENSE_10(0) }, "0 bytes came back" },
		{ { MODE_SENSE_10(0), CHECK_CONDITION(0) },
			"no sense data that can be understood" },
		{ { MODE_SENSE_10(0), .scsi_status = 0x18 }, "status 0x18" },
		{ { MODE_SENSE_10(0), .code = -ENOTTY }, "takes no such commands" },
		{ { MODE_SENSE_10(0),
			  CHECK_CONDITION(0xf0, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0) },
			"05/24/00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct loopback_step steps[] = { cases[i].first,
			{ MODE_SENSE_6(0), NOT_KNOWN } };
		const struct cache_report report =
			look(CACHED_SCSI, steps, ARRAY_SIZE(steps), cases[i].says);

		assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_UNKNOWN);
		assert_int_equal(report.verdict, CACHE_UNDECIDED);
		assert_null(report.method);
		assert_non_null(strstr(report.reason, cases[i].says));
	}
}

/* A drive that hangs, or is gone, is asked once. */
static void test_asked_once(void **state)
{
	const struct loopback_step hangs = { MODE_SENSE_10(0), .host_status = 3 };
	const struct loopback_step gone = { MODE_SENSE_10(0), .code = -ENODEV };

	(void)state;
	(void)look(CACHED_SCSI, &hangs, 1, "no answer within 20000 ms");
	(void)look(CACHED_SCSI, &gone, 1, "No such device");
}

static void test_attention(void **state)
{
#define ATTENTION(ascq) CHECK_CONDITION(0x72, 6, 0x2a, ascq, 0, 0, 0, 0)
	const struct loopback_step steps[] = {
		{ MODE_SENSE_10(0), ATTENTION(0) },
		{ MODE_SENSE_10(0), ATTENTION(1) },
		{ MODE_SENSE_10(0), RETURNS(sense_10) },
		{ MODE_SENSE_10(1), RETURNS(mask_10) },
	};
	const struct loopback_step for_ever[] = {
		{ MODE_SENSE_10(0), ATTENTION(1) },
		{ MODE_SENSE_10(0), ATTENTION(1) },
		{ MODE_SENSE_10(0), ATTENTION(1) },
		{ MODE_SENSE_10(0), ATTENTION(1) },
		{ MODE_SENSE_6(0), NOT_KNOWN },
	};

	(void)state;
	assert_int_equal(
		look(CACHED_SCSI, steps, ARRAY_SIZE(steps), NULL).drive.state[DRIVE_WRITE_CACHE],
		CACHE_ON);
	assert_int_equal(look(CACHED_SCSI, for_ever, ARRAY_SIZE(for_ever), "06/2a/01")
				 .drive.state[DRIVE_WRITE_CACHE],
		CACHE_UNKNOWN);
}

/* The whole page as it was but for the one bit, nothing saved, flushed before, scanned after. */
static void test_mode_select(void **state)
{
	const struct loopback_step steps[] = {
		{ MODE_SENSE_10(0), RETURNS(sense_10) },
		{ MODE_SENSE_10(1), RETURNS(mask_10) },
		{ MODE_SENSE_10(0), RETURNS(sense_10) },
		{ .cdb = { 0x35 }, .cdb_bytes = 10 },
		{ .cdb = { 0x55, 0x10, 0, 0, 0, 0, 0, 0, 28, 0 },
			.cdb_bytes = 10,
			.direction = PASSTHROUGH_TO_DRIVE,
			.data_bytes = 28,
			.sent = select_10_off },
		{ MODE_SENSE_10(0), RETURNS(sense_10_off) },
		{ MODE_SENSE_10(1), RETURNS(mask_10) },
	};
	const char *method = NULL;
	struct scene scene;

	(void)state;
	begin(&scene, CACHED_SCSI, steps, ARRAY_SIZE(steps));
	cached_drive->write_cache = false; /* what the kernel will read */
	assert_int_equal(write_cache_set(scene.cache, DRIVE_WRITE_CACHE, false, &method,
				 &scene.notes, &scene.faults),
		0);
	assert_string_equal(method, "SCSI mode page");
	assert_string_equal(cached_drive->log, "rescan 1\n");
	cached_expect_kernel("write through");
	assert_int_equal(scene.notes.count, 0);
	end(&scene);
}

static void test_mode_select_6(void **state)
{
	static const uint8_t on[] = { 15, 0, 0x90, 0, 0x08, 10, 0x05, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	static const uint8_t off[] = { 15, 0, 0x90, 0, 0x08, 10, 0x04, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	static const uint8_t sent[] = { 0, 0, 0, 0, 0x08, 10, 0x04, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
#define BY_SIX(page)                                                                               \
	{ MODE_SENSE_10(0), .host_status = 7 },                                                    \
	{                                                                                          \
		MODE_SENSE_6(0), RETURNS(page)                                                     \
	}
	const struct loopback_step steps[] = {
		BY_SIX(on),
		{ MODE_SENSE_6(1), NOT_KNOWN },
		BY_SIX(on),
		{ .cdb = { 0x15, 0x10, 0, 0, 16, 0 },
			.cdb_bytes = 6,
			.direction = PASSTHROUGH_TO_DRIVE,
			.data_bytes = 16,
			.sent = sent },
		BY_SIX(off),
		{ MODE_SENSE_6(1), NOT_KNOWN },
		BY_SIX(off),
		{ MODE_SENSE_6(1), NOT_KNOWN },
	};
	const char *method = NULL;
	struct scene scene;

	(void)state;
	begin(&scene, CACHED_SCSI, steps, ARRAY_SIZE(steps));
	/* RCD is a bit that disables: the read cache goes on. */
	assert_int_equal(write_cache_set(scene.cache, DRIVE_READ_CACHE, true, &method, &scene.notes,
				 &scene.faults),
		0);
	end(&scene);
}

static uint8_t identity_on[512], identity_off[512];

static void fill_identity(uint8_t *sector, uint8_t enabled)
{
	uint8_t sum = 0;

	memset(sector, 0, 512);
	sector[2 * 82] = 0x60;
	sector[2 * 83 + 1] = 0x40;
	sector[2 * 85] = enabled;
	sector[2 * 87 + 1] = 0x40;
	sector[510] = 0xa5;
	for (int i = 0; i < 511; i++)
		sum = (uint8_t)(sum + sector[i]);
	sector[511] = (uint8_t)-sum;
}

#define FAILS_AS_SCSI                                                                              \
	{ MODE_SENSE_10(0), NOT_KNOWN },                                                           \
	{                                                                                          \
		MODE_SENSE_6(0), NOT_KNOWN                                                         \
	}

static void test_identify(void **state)
{
	const struct loopback_step steps[] = { { IDENTIFY_16, RETURNS(identity_on) } };
	/* A bridge without the page, with the short form alone. */
	const struct loopback_step bridge[] = {
		FAILS_AS_SCSI,
		{ IDENTIFY_16, NOT_KNOWN },
		{ IDENTIFY_12, RETURNS(identity_off) },
	};
	struct cache_report report;

	(void)state;
	fill_identity(identity_on, 0x20);
	fill_identity(identity_off, 0x40);
	report = look(CACHED_SATA, steps, ARRAY_SIZE(steps), NULL);
	assert_string_equal(report.method, "ATA pass-through");
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_ON);
	assert_int_equal(report.drive.state[DRIVE_READ_CACHE], CACHE_OFF);
	report = look(CACHED_USB, bridge, ARRAY_SIZE(bridge), "SCSI mode page: MODE SENSE(10)");
	assert_string_equal(report.method, "ATA pass-through");
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_OFF);
	assert_int_equal(report.drive.state[DRIVE_READ_CACHE], CACHE_ON);
}

/* Data that is no identity, words that are not valid, a drive without a write cache. */
static void test_identify_odd(void **state)
{
	static uint8_t empty[512], broken[512], atapi[512], invalid[512];
	const struct {
		const uint8_t *sector;
		size_t bytes;
		const char *says;
	} cases[] = {
		{ empty, 512, "data is empty" },
		{ broken, 512, "checksum" },
		{ atapi, 512, "no ATA disk" },
		{ invalid, 512, "words about the write cache are valid" },
		{ identity_on, 36, "36 bytes came back instead of 512" },
	};

	(void)state;
	fill_identity(identity_on, 0x60);
	fill_identity(broken, 0x60);
	broken[2 * 85] = 0x40;
	memset(atapi, 0, sizeof(atapi));
	atapi[1] = 0x85;
	memset(invalid, 0, sizeof(invalid));
	invalid[0] = 0x40;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const bool valid = cases[i].sector == invalid;
		const struct loopback_step first = { IDENTIFY_16, .returned = cases[i].sector,
			.returned_bytes = cases[i].bytes };
		const struct loopback_step again[] = { first, { IDENTIFY_12, NOT_KNOWN },
			FAILS_AS_SCSI };
		const struct loopback_step once[] = { first, FAILS_AS_SCSI };
		const struct cache_report report = look(CACHED_SATA, valid ? once : again,
			valid ? ARRAY_SIZE(once) : ARRAY_SIZE(again), cases[i].says);

		assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_UNKNOWN);
	}
}

/* How answers to SET FEATURES may look: registers in a descriptor, in fixed format, none at all
 * with a good status, and sense that says that there are some and holds nothing. All of them leave
 * it to the next IDENTIFY; only an error in the registers is one. */
static void test_set_features(void **state)
{
#define SET_FEATURES(features)                                                                     \
	.cdb = { 0x85, 0x06, 0x20, 0, features, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xef, 0 },              \
	.cdb_bytes = 16
	const struct {
		struct loopback_step answer;
		bool refused;
	} cases[] = {
		{ .answer = { SET_FEATURES(0x82),
			  CHECK_CONDITION(0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 0, 0, 0, 0, 0, 0, 0,
				  0, 0, 0, 0x40, 0x50) } },
		{ .answer = { SET_FEATURES(0x82), CHECK_CONDITION(0xf0, 0, 1, 0, 0x50, 0x40, 0, 10,
							  0, 0, 0, 0, 0, 0x1d, 0, 0, 0, 0) } },
		{ .answer = { SET_FEATURES(0x82) } },
		{ .answer = { SET_FEATURES(0x82), CHECK_CONDITION(0xf0, 0, 1, 0, 0, 0, 0, 10, 0, 0,
							  0, 0, 0, 0x1d, 0, 0, 0, 0) } },
		{ .answer = { SET_FEATURES(0x82),
			  CHECK_CONDITION(0x72, 0x0b, 0, 0, 0, 0, 0, 14, 9, 12, 0, 4, 0, 0, 0, 0, 0,
				  0, 0, 0, 0x40, 0x51) },
			.refused = true },
	};

	(void)state;
	fill_identity(identity_on, 0x60);
	fill_identity(identity_off, 0x40);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct loopback_step steps[] = {
			{ IDENTIFY_16, RETURNS(identity_on) },
			{ IDENTIFY_16, RETURNS(identity_on) },
			{ .cdb = { 0x85, 0x06, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe7 },
				.cdb_bytes = 16 },
			cases[i].answer,
			{ IDENTIFY_16, RETURNS(identity_off) },
		};
		/* Then the page is tried, which this drive does not know either. */
		const struct loopback_step refused[] = { steps[0], steps[1], steps[2], steps[3],
			FAILS_AS_SCSI, { IDENTIFY_16, RETURNS(identity_on) } };
		const char *method = NULL;
		struct scene scene;
		int code;

		begin(&scene, CACHED_SATA, cases[i].refused ? refused : steps,
			cases[i].refused ? ARRAY_SIZE(refused) : ARRAY_SIZE(steps));
		code = write_cache_set(scene.cache, DRIVE_WRITE_CACHE, false, &method, &scene.notes,
			&scene.faults);
		if (cases[i].refused) {
			/* The kernel's way was the last one, and nothing changed either. */
			assert_int_equal(code, -EIO);
			assert_true(cached_says(&scene.faults, "status 0x51, error 0x04"));
			assert_true(
				cached_says(&scene.faults, "kernel cache_type: the drive took"));
		} else {
			assert_int_equal(code, 0);
			assert_string_equal(method, "ATA pass-through");
		}
		end(&scene);
	}
}

static void test_look_ahead(void **state)
{
	static uint8_t off[512];
	const struct loopback_step steps[] = {
		{ IDENTIFY_16, RETURNS(identity_on) },
		{ IDENTIFY_16, RETURNS(identity_on) },
		{ SET_FEATURES(0x55) },
		{ IDENTIFY_16, RETURNS(off) },
		{ IDENTIFY_16, RETURNS(off) },
	};
	const char *method = NULL;
	struct scene scene;

	(void)state;
	fill_identity(identity_on, 0x60);
	fill_identity(off, 0x20);
	begin(&scene, CACHED_SATA, steps, ARRAY_SIZE(steps));
	assert_int_equal(write_cache_set(scene.cache, DRIVE_READ_CACHE, false, &method,
				 &scene.notes, &scene.faults),
		0);
	end(&scene);
}

#define NVME_IDENTIFY .is_nvme = true, .opcode = 0x06, .cdw10 = 1, .data_bytes = 4096
#define NVME_GET(select) .is_nvme = true, .opcode = 0x0a, .cdw10 = (select) << 8 | 6

static void test_nvme(void **state)
{
	static uint8_t with[4096], without[4096];
	const struct loopback_step steps[] = {
		{ NVME_IDENTIFY, RETURNS(with) },
		{ NVME_GET(0), .result = 1 },
		{ NVME_GET(3), .result = 4 },
		{ .is_nvme = true, .opcode = 0x09, .cdw10 = 6, .cdw11 = 0 },
		{ NVME_IDENTIFY, RETURNS(with) },
		{ NVME_GET(0), .result = 0 },
		{ NVME_GET(3), .result = 4 },
	};
	const struct loopback_step none[] = { { NVME_IDENTIFY, RETURNS(without) } };
	const struct loopback_step refused[] = { { NVME_IDENTIFY, .nvme_status = 0x4002 } };
	struct cache_report report;
	const char *method = NULL;
	struct scene scene;

	(void)state;
	with[525] = 1;
	with[520] = 0x10;
	with[516] = 2;
	without[525] = 6;
	begin(&scene, CACHED_NVME, steps, ARRAY_SIZE(steps));
	assert_int_equal(write_cache_set(scene.cache, DRIVE_WRITE_CACHE, false, &method,
				 &scene.notes, &scene.faults),
		0);
	/* The kernel does not follow, and is not made to. */
	assert_true(cached_says(&scene.notes, "the kernel still sends flushes"));
	cached_expect_kernel("write back");
	end(&scene);
	report = look(CACHED_NVME, none, ARRAY_SIZE(none), NULL);
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_NONE);
	assert_int_equal(report.drive.state[DRIVE_READ_CACHE], CACHE_NONE);
	assert_int_equal(report.verdict, CACHE_HARMLESS);
	assert_non_null(strstr(report.drive.note, "nothing to toggle"));
	report = look(CACHED_NVME, refused, ARRAY_SIZE(refused), "status 0x002");
	assert_int_equal(report.drive.state[DRIVE_WRITE_CACHE], CACHE_UNKNOWN);
}

/* The control of reordering in all its answers; none of them is a fault. */
static void test_reordering(void **state)
{
	static uint8_t identity[512], status[512], busy[512];
	static const uint8_t question[512] = { 4, 0, 2, 0, 2, 0 };
#define SMART_LOG(features, direction_bits, way)                                                   \
	.cdb = { 0x85, direction_bits, 0, features, 0, 1, 0, 0xe0, 0, 0x4f, 0, 0xc2, 0, 0xb0 },    \
	.cdb_bytes = 16, .direction = (way), .data_bytes = 512
#define READ_STATUS(sector)                                                                        \
	{                                                                                          \
		SMART_LOG(0xd5, 0x08 COMMA 0x0e, PASSTHROUGH_FROM_DRIVE), RETURNS(sector)          \
	}
#define ASK(count)                                                                                 \
	{                                                                                          \
		SMART_LOG(0xd6, 0x0a COMMA 0x26, PASSTHROUGH_TO_DRIVE),                            \
			.sent = question,                                                          \
			CHECK_CONDITION(0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 0, 0, 0, count, 0,   \
				0, 0, 0x4f, 0, 0xc2, 0x40, 0x50)                                   \
	}
#define COMMA ,
	const struct loopback_step answers[][3] = {
		{ { IDENTIFY_16, RETURNS(identity) }, READ_STATUS(status), ASK(1) },
		{ { IDENTIFY_16, RETURNS(identity) }, READ_STATUS(status), ASK(2) },
		{ { IDENTIFY_16, RETURNS(identity) }, READ_STATUS(status), ASK(0) },
		/* Refused, another one under way, no such control. */
		{ { IDENTIFY_16, RETURNS(identity) }, READ_STATUS(status),
			{ SMART_LOG(0xd6, 0x0a COMMA 0x26, PASSTHROUGH_TO_DRIVE), .sent = question,
				NOT_KNOWN } },
		{ { IDENTIFY_16, RETURNS(identity) }, READ_STATUS(busy) },
		{ { IDENTIFY_16, RETURNS(identity_on) } },
	};
	static const struct {
		size_t count;
		const char *name;
	} expected[] = { { 3, "enabled" }, { 3, "disabled" }, { 3, "unknown" }, { 3, "unknown" },
		{ 2, "unknown" }, { 1, "unavailable" } };
	struct scene scene;

	(void)state;
	fill_identity(identity_on, 0x60);
	fill_identity(identity, 0x60);
	identity[2 * 206] = 0x11;
	identity[511] = (uint8_t)(identity[511] - 0x11);
	busy[14] = busy[15] = 0xff;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		begin(&scene, CACHED_SATA, answers[i], expected[i].count);
		assert_string_equal(
			write_cache_reordering_name(write_cache_reordering(scene.cache)),
			expected[i].name);
		end(&scene);
	}
	/* No ATA drive is not asked at all. */
	begin(&scene, CACHED_NVME, NULL, 0);
	assert_int_equal(write_cache_reordering(scene.cache), REORDERING_UNAVAILABLE);
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode_page),
		cmocka_unit_test(test_block_descriptor),
		cmocka_unit_test(test_no_page),
		cmocka_unit_test(test_asked_once),
		cmocka_unit_test(test_attention),
		cmocka_unit_test(test_mode_select),
		cmocka_unit_test(test_mode_select_6),
		cmocka_unit_test(test_identify),
		cmocka_unit_test(test_identify_odd),
		cmocka_unit_test(test_set_features),
		cmocka_unit_test(test_look_ahead),
		cmocka_unit_test(test_nvme),
		cmocka_unit_test(test_reordering),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
