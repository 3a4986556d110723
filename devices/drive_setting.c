/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings that are kept in a drive; see the header. */
#include "devices/drive_setting.h"

#include <string.h>

static const struct {
	const char *name, *title;
} table[DRIVE_SETTING_COUNT] = {
	[DRIVE_WRITE_CACHE] = { "write_cache", "the write cache" },
	[DRIVE_READ_CACHE] = { "read_cache", "the read cache" },
};

const char *drive_setting_name(enum drive_setting setting)
{
	return table[setting].name;
}

const char *drive_setting_title(enum drive_setting setting)
{
	return table[setting].title;
}

int drive_setting_find(const char *name)
{
	for (int i = 0; i < DRIVE_SETTING_COUNT; i++)
		if (strcmp(table[i].name, name) == 0)
			return i;
	return -1;
}
