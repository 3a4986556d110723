/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which disks carry the running system; see the header. */
#include "devices/system.h"

#include "devices/stack.h"
#include "devices/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file system hierarchy's own places, and where live systems mount what they started from
 * (live-boot, casper, dracut's dmsquash-live, archiso). */
static const char *const system_points[] = { "/", "/boot", "/boot/efi", "/boot/firmware", "/efi",
	"/usr", "/var", "/etc", "/nix/store", "/run/live/medium", "/lib/live/mount/medium",
	"/cdrom", "/run/initramfs/live", "/run/archiso/bootmnt" };

static bool is_system_point(const struct mount *mount)
{
	/* Another process's namespace may be a container: only init's counts beside ours. */
	if (mount->pid > 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(system_points); i++)
		if (strcmp(mount->point, system_points[i]) == 0)
			return true;
	return false;
}

static bool is_listed(const struct system_disks *disks, const char *name)
{
	for (size_t i = 0; i < disks->count; i++)
		if (strcmp(disks->disks[i].name, name) == 0)
			return true;
	return false;
}

static void add_below(const char *sysroot, struct system_disks *disks, unsigned major,
	unsigned minor, const char *what)
{
	_cleanup_stack_ struct stack stack = { 0 };
	char name[64];

	if (sysfs_name_of(sysroot, major, minor, name, sizeof(name)))
		return;
	stack_below(sysroot, name, &stack);
	for (size_t i = 0; i < stack.count; i++) {
		const struct stack_node *node = &stack.nodes[i];
		struct system_disk *grown;

		if (!node->bottom || is_listed(disks, node->name))
			continue;
		grown = realloc(disks->disks, (disks->count + 1) * sizeof(*grown));
		if (!grown)
			abort();
		disks->disks = grown;
		grown += disks->count++;
		sysfs_copy(grown->name, sizeof(grown->name), node->name);
		(void)snprintf(grown->carries, sizeof(grown->carries), "%.48s (%.100s)", what,
			node->chain);
	}
}

/* A live system's root can be a loop device over a file: the disk is below that file. */
static void add_mount(const char *sysroot, const struct mount_list *mounts,
	struct system_disks *disks, const struct mount *mount)
{
	char name[64], file[512];
	const struct mount *below;

	add_below(sysroot, disks, mount->major, mount->minor, mount->point);
	if (sysfs_name_of(sysroot, mount->major, mount->minor, name, sizeof(name)) ||
		sysfs_read(sysroot, file, sizeof(file), "sys/class/block/%s/loop/backing_file",
			name) <= 0)
		return;
	below = mounts_holding(mounts, file);
	if (below)
		add_below(sysroot, disks, below->major, below->minor, mount->point);
}

void system_disks_read(const char *sysroot, const struct mount_list *mounts,
	const struct swap_list *swaps, struct system_disks *ret_disks)
{
	struct system_disks disks = { 0 };

	for (size_t i = 0; i < mounts->count; i++)
		if (is_system_point(&mounts->mounts[i]))
			add_mount(sysroot, mounts, &disks, &mounts->mounts[i]);
	for (size_t i = 0; i < swaps->count; i++)
		add_below(sysroot, &disks, swaps->swaps[i].major, swaps->swaps[i].minor, "swap");
	*ret_disks = disks;
}

void system_disks_done(struct system_disks *disks)
{
	free(disks->disks);
	*disks = (struct system_disks){ 0 };
}

const struct system_disk *system_disks_below(
	const char *sysroot, const struct system_disks *disks, const char *name)
{
	_cleanup_stack_ struct stack stack = { 0 };

	stack_below(sysroot, name, &stack);
	for (size_t i = 0; i < stack.count; i++)
		for (size_t j = 0; j < disks->count; j++)
			if (strcmp(stack.nodes[i].name, disks->disks[j].name) == 0)
				return &disks->disks[j];
	return NULL;
}
