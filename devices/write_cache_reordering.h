/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a drive may write its cache in another order than it was filled: feature 2 of SCT feature
 * control, which is apart from the cache itself (ACS-3, 8.3.4). Beside a measurement of reordering
 * it is worth knowing; that it is not told never is a fault.
 *
 * It is asked by a log that is written: the sector holds the question "return the state", and no
 * other one is ever sent. Where the drive does not say that it knows SCT feature control, or is
 * busy with another SCT command, nothing is sent.
 */
#ifndef DEVICES_WRITE_CACHE_REORDERING_H
#define DEVICES_WRITE_CACHE_REORDERING_H

#include "devices/write_cache.h"

enum cache_reordering {
	REORDERING_UNAVAILABLE, /* no ATA drive, or one without SCT feature control */
	REORDERING_UNKNOWN,     /* asked, and not told */
	REORDERING_ENABLED,
	REORDERING_DISABLED,
};

enum cache_reordering write_cache_reordering(struct write_cache *cache);
/* "unavailable", "unknown", "enabled", "disabled". */
const char *write_cache_reordering_name(enum cache_reordering reordering);

#endif
