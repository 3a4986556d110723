/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Active swap (/proc/swaps): partitions by device number, files by the device that holds them. */
#ifndef DEVICES_SWAP_H
#define DEVICES_SWAP_H

#include "devices/mounts.h"

struct swap {
	char *path;
	bool is_file;
	unsigned major, minor; /* of the swap device or of the device below the file; 0:0 unknown */
};

struct swap_list {
	struct swap *swaps;
	size_t count;
};

/* No /proc/swaps (a kernel without swap) is an empty list. */
void swap_read(const char *sysroot, const struct mount_list *mounts, struct swap_list *ret_swaps);
void swap_done(struct swap_list *swaps);
#define _cleanup_swaps_ __attribute__((cleanup(swap_done)))

/* Appends the lines of a /proc/swaps text, numbers still unknown. */
void swap_parse(struct swap_list *swaps, const char *text);

#endif
