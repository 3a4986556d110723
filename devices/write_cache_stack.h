/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The caches below a target: of the drives that a partition, a device-mapper volume or an md array
 * stands on, and what the layers between believe.
 *
 * Every layer decides for itself whether a flush goes on. device-mapper copies its members' view
 * when its table is loaded and does not follow a later change (drivers/md/dm-table.c,
 * dm_table_supports_flush), so one that was made over caches that were off sends no flush when they
 * are switched on. md always lets flushes through, and each member drops them where the kernel
 * believes that it writes through. Hence a layer above a caching drive that says "write through"
 * is as dangerous as the drive's own queue saying so.
 */
#ifndef DEVICES_WRITE_CACHE_STACK_H
#define DEVICES_WRITE_CACHE_STACK_H

#include "devices/settings_drive.h"

struct cache_member {
	char name[64];
	struct write_cache *cache;
	struct cache_report report; /* of the last write_cache_stack_get */
	struct faults tried;
};

struct cache_layer {
	char name[64];
	char kernel[24]; /* its queue/write_cache */
	enum cache_verdict verdict;
};

struct write_cache_stack {
	struct cache_member *members;
	size_t member_count;
	struct cache_layer *layers; /* between the target and its drives, those with a queue */
	size_t layer_count;
};

/* The place must outlive it. Fails only where a device cannot be found or for want of memory. */
int write_cache_stack_open(const struct settings_place *place, const char *device,
	struct write_cache_stack *ret_stack, struct error *error);
void write_cache_stack_done(struct write_cache_stack *stack);

/* Asks every drive and every layer. */
void write_cache_stack_get(struct write_cache_stack *stack);

/* Every member that cannot be set as wished is named in faults, before anything is changed. 0, or
 * -EOPNOTSUPP. After write_cache_stack_get. */
int write_cache_stack_check(const struct write_cache_stack *stack, const enum cache_wish *wishes,
	struct faults *faults);

/* After a change: layers that became dangerous are raised to "write back". -EIO naming those that
 * cannot be. After write_cache_stack_get. */
int write_cache_stack_repair(
	struct write_cache_stack *stack, struct faults *notes, struct faults *faults);

#endif
