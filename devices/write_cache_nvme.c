/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NVMe: feature 06h, the volatile write cache (NVM Express base 2.0, 5.27.1.4), which belongs to
 * the controller and so to all its namespaces. Whether there is one says bit 0 of VWC in the
 * identify data; without one there is nothing to toggle. There is no command for a read cache.
 *
 * The kernel looks at VWC alone (drivers/nvme/host/core.c): it never follows the feature, so with
 * the cache off it still sends flushes, which then only cost time.
 */
#include "devices/write_cache.h"

#include <endian.h>
#include <libnvme.h>
#include <stdio.h>
#include <string.h>

#define ONCS_SAVE_AND_SELECT 0x10 /* Get Features may be asked for capabilities */
#define SELECT_CAPABILITIES 3
#define CAPABLE_SAVABLE 0x1
#define CAPABLE_CHANGEABLE 0x4

static int rank(const struct write_cache *cache)
{
	return strcmp(cache->device.transport, "nvme") == 0;
}

static int identify(struct write_cache *cache, struct nvme_id_ctrl *ret_data, struct error *error)
{
	struct nvme_command command = {
		.what = "NVMe Identify Controller",
		.opcode = nvme_admin_identify,
		.cdw10 = NVME_IDENTIFY_CNS_CTRL,
		.data = ret_data,
		.data_bytes = sizeof(*ret_data),
		.timeout_msec = PASSTHROUGH_TIMEOUT_MSEC,
	};

	if (!cache->passthrough)
		return error_set(error, cache->open_error.code, "%s", cache->open_error.text);
	memset(ret_data, 0, sizeof(*ret_data));
	return passthrough_nvme(cache->passthrough, &command, error);
}

static int get_feature(
	struct write_cache *cache, unsigned select, uint32_t *ret_value, struct error *error)
{
	struct nvme_command command = {
		.what = "NVMe Get Features",
		.opcode = nvme_admin_get_features,
		.cdw10 = select << 8 | NVME_FEAT_FID_VOLATILE_WC,
		.timeout_msec = PASSTHROUGH_TIMEOUT_MSEC,
	};
	const int code = passthrough_nvme(cache->passthrough, &command, error);

	if (!code)
		*ret_value = command.result;
	return code;
}

static int get(struct write_cache *cache, struct cache_reading *ret_reading, struct error *error)
{
	struct nvme_id_ctrl data;
	struct cache_reading reading = { .state[DRIVE_READ_CACHE] = CACHE_NONE,
		.changeable[DRIVE_READ_CACHE] = CACHE_NO };
	uint32_t value;
	int code = identify(cache, &data, error);

	if (code)
		return code;
	if (!(data.vwc & 1)) {
		reading.state[DRIVE_WRITE_CACHE] = CACHE_NONE;
		reading.changeable[DRIVE_WRITE_CACHE] = CACHE_NO;
		(void)snprintf(reading.note, sizeof(reading.note),
			"the controller has no volatile write cache: there is nothing to toggle, "
			"and write-through and write-back are the same");
		*ret_reading = reading;
		return 0;
	}
	code = get_feature(cache, 0, &value, error);
	if (code)
		return code;
	reading.state[DRIVE_WRITE_CACHE] = value & 1 ? CACHE_ON : CACHE_OFF;
	if ((le16toh(data.oncs) & ONCS_SAVE_AND_SELECT) &&
		get_feature(cache, SELECT_CAPABILITIES, &value, NULL) == 0) {
		reading.changeable[DRIVE_WRITE_CACHE] =
			value & CAPABLE_CHANGEABLE ? CACHE_YES : CACHE_NO;
		reading.savable = value & CAPABLE_SAVABLE ? CACHE_YES : CACHE_NO;
	}
	if (le32toh(data.nn) > 1)
		(void)snprintf(reading.note, sizeof(reading.note),
			"the cache is the controller's: what is set holds for all its namespaces");
	*ret_reading = reading;
	return 0;
}

static int set(struct write_cache *cache, enum drive_setting which, bool on, struct error *error)
{
	struct nvme_command command = {
		.what = "NVMe Set Features",
		.opcode = nvme_admin_set_features,
		.cdw10 = NVME_FEAT_FID_VOLATILE_WC, /* SV, the highest bit, is 0: not saved */
		.cdw11 = on,
		.timeout_msec = PASSTHROUGH_TIMEOUT_MSEC,
	};

	if (which != DRIVE_WRITE_CACHE)
		return error_set(error, -EOPNOTSUPP, "NVMe has no command for a read cache");
	if (!cache->passthrough)
		return error_set(error, cache->open_error.code, "%s", cache->open_error.text);
	return passthrough_nvme(cache->passthrough, &command, error);
}

const struct write_cache_method write_cache_nvme = {
	.name = "NVMe feature 06h",
	.rank = rank,
	.get = get,
	.set = set,
};
