/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What stands on a block device and what it stands on: partitions, holders (dm, md, bcache) and
 * loop devices over a block device, up to the top; slaves and whole disks, down to the bottom.
 */
#ifndef DEVICES_STACK_H
#define DEVICES_STACK_H

#include "engine/base.h"

struct stack_node {
	char name[64];
	char chain[256]; /* how it is reached: "sda2 > md0 > dm-1 (vg-root)" */
	bool held;       /* above: a holder is between the start and this node, or is it */
	bool top;        /* nothing stands on it */
	bool bottom;     /* below: it stands on nothing */
};

struct stack {
	struct stack_node *nodes; /* the start first, then level by level */
	size_t count;
};

/* The device and everything above it; without_partitions leaves out those of the start. */
void stack_above(
	const char *sysroot, const char *name, bool without_partitions, struct stack *ret_stack);
/* The device and everything below it. */
void stack_below(const char *sysroot, const char *name, struct stack *ret_stack);
void stack_done(struct stack *stack);
#define _cleanup_stack_ __attribute__((cleanup(stack_done)))

#endif
