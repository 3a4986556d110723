/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The drive's part of a record: what the caches were before the first change, set for a run, and
 * put back. Values are the words "on" and "off". In a drive they survive a restart, so here the
 * disk is found by its identity alone: a drive that was exchanged meanwhile is never written to.
 */
#ifndef DEVICES_SETTINGS_DRIVE_H
#define DEVICES_SETTINGS_DRIVE_H

#include "devices/write_cache.h"

/* What a run wants of a cache; zero leaves it, or has it as it was before the run. */
enum cache_wish { CACHE_WISH_NONE, CACHE_WISH_OFF, CACHE_WISH_ON };

bool settings_drive_is_used(const struct state_record *record);

/* Enters what is wanted, with the present state, before it is changed. -EOPNOTSUPP when a state
 * cannot be seen, so that there would be nothing to put back. */
int settings_drive_enter(struct write_cache *cache, const enum cache_wish *wishes,
	struct state_record *record, struct faults *faults);

/* Sets what is wanted, and what was wanted before and is no longer as it was; reads `during`. */
int settings_drive_set(struct write_cache *cache, const enum cache_wish *wishes,
	struct state_record *record, struct faults *notes, struct faults *faults);

/* Each cache that is not as it was applied becomes a note; their count. */
unsigned settings_drive_verify(
	struct write_cache *cache, const struct state_record *record, struct faults *notes);

/* Opens the disk of the record's identity: first is the name to look at first. -ENODEV. */
int settings_drive_find(const struct settings_place *place, const struct state_record *record,
	const char *first, struct write_cache **ret_cache, struct error *error);

/* The three steps of devices/put_back for the drive's entries. */
void settings_drive_decide(
	struct write_cache *cache, struct state_record *record, struct faults *notes);
void settings_drive_put_back(struct write_cache *cache, struct state_record *record,
	struct faults *notes, struct faults *faults);
void settings_drive_keep(struct write_cache *cache, struct state_record *record);

#endif
