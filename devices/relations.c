/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reasons that lie outside the device; see the header. */
#include "devices/relations.h"

#include "devices/mounts.h"
#include "devices/stack.h"
#include "devices/swap.h"
#include "devices/sysfs.h"
#include "devices/system.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A container host mounts one device hundreds of times: the first few tell enough. */
#define MOUNTS_TOLD 8

struct machine {
	const char *sysroot;
	struct mount_list mounts;
	struct swap_list swaps;
	struct system_disks system;
};

static int machine_read(const char *sysroot, struct machine *ret_machine, struct error *error)
{
	struct machine machine = { .sysroot = sysroot };
	const int result = mounts_read(sysroot, &machine.mounts, error);

	if (result)
		return result;
	swap_read(sysroot, &machine.mounts, &machine.swaps);
	system_disks_read(sysroot, &machine.mounts, &machine.swaps, &machine.system);
	*ret_machine = machine;
	return 0;
}

static void machine_done(struct machine *machine)
{
	mounts_done(&machine->mounts);
	swap_done(&machine->swaps);
	system_disks_done(&machine->system);
}

static void check_mounts(const struct machine *machine, const struct stack_node *node,
	unsigned major, unsigned minor, struct check_result *result)
{
	size_t told = 0, more = 0;

	for (size_t i = 0; i < machine->mounts.count; i++) {
		const struct mount *mount = &machine->mounts.mounts[i];
		char where[96] = "";

		if (mount->major != major || mount->minor != minor)
			continue;
		if (told == MOUNTS_TOLD) {
			more++;
			continue;
		}
		told++;
		if (mount->pid)
			(void)snprintf(where, sizeof(where),
				" in the mount namespace of process %u (%s)", mount->pid,
				mount->process);
		check_add(result, REASON_MOUNTED, CHECK_HARD,
			"%s is in use: %s is mounted on %.200s (%.32s)%s; unmount it first",
			result->subject, node->chain, mount->point, mount->type, where);
	}
	if (more)
		check_add(result, REASON_MOUNTED, CHECK_HARD,
			"%s is in use: %s is mounted in %zu more places", result->subject,
			node->chain, more);
}

static void check_swaps(const struct machine *machine, const struct stack_node *node,
	unsigned major, unsigned minor, struct check_result *result)
{
	for (size_t i = 0; i < machine->swaps.count; i++) {
		const struct swap *swap = &machine->swaps.swaps[i];

		if (swap->major != major || swap->minor != minor)
			continue;
		check_add(result, REASON_SWAP, CHECK_HARD,
			"%s is in use: %s %s active swap%s%.200s; `swapoff` it first",
			result->subject, node->chain, swap->is_file ? "carries" : "is",
			swap->is_file ? " in the file " : ", named ", swap->path);
	}
}

/* Members of a mounted btrfs: only one of them is named in mountinfo, sysfs names them all. */
static bool find_btrfs(const char *sysroot, const char *name, char *ret_uuid, size_t size)
{
	_cleanup_names_ struct sysfs_names volumes = sysfs_list(sysroot, "sys/fs/btrfs");

	for (size_t i = 0; i < volumes.count; i++) {
		if (!sysfs_exists(sysroot, "sys/fs/btrfs/%s/devices/%s", volumes.names[i], name))
			continue;
		sysfs_copy(ret_uuid, size, volumes.names[i]);
		return true;
	}
	return false;
}

static void check_node(
	const struct machine *machine, const struct stack_node *node, struct check_result *result)
{
	unsigned major, minor;
	char uuid[64];

	if (node->held && node->top)
		check_add(result, REASON_HELD, CHECK_HARD,
			"%s is held by what stands on it: %s; take that apart first",
			result->subject, node->chain);
	if (find_btrfs(machine->sysroot, node->name, uuid, sizeof(uuid)))
		check_add(result, REASON_HELD, CHECK_HARD,
			"%s is in use: %s belongs to the mounted btrfs %s", result->subject,
			node->chain, uuid);
	if (sysfs_number_of(machine->sysroot, node->name, &major, &minor))
		return;
	check_mounts(machine, node, major, minor, result);
	check_swaps(machine, node, major, minor, result);
}

/* Two loop devices over one file, or one over a block device, reach the same blocks by two ways
 * that know nothing of each other. */
static void check_loop(const char *sysroot, struct check_result *result)
{
	const struct device *device = &result->device;
	const char *own = device->is_partition ? device->parent : device->name;
	_cleanup_names_ struct sysfs_names all = sysfs_list(sysroot, "sys/class/block");
	unsigned major, minor;

	if (!device->backing_file[0])
		return;
	if (strncmp(device->backing_file, "/dev/", 5) == 0 &&
		sysfs_number_of_path(sysroot, device->backing_file, &major, &minor, NULL) == 0)
		check_add(result, REASON_HELD, CHECK_HARD,
			"%s only stands before the block device %s; name that one", result->subject,
			device->backing_file);
	for (size_t i = 0; i < all.count; i++) {
		char file[sizeof(device->backing_file)];

		if (strcmp(all.names[i], own) == 0 ||
			sysfs_read(sysroot, file, sizeof(file),
				"sys/class/block/%s/loop/backing_file", all.names[i]) <= 0 ||
			strcmp(file, device->backing_file) != 0)
			continue;
		check_add(result, REASON_HELD, CHECK_HARD,
			"%s shares its file %s with /dev/%s; detach one of them first",
			result->subject, file, all.names[i]);
	}
}

int relations_check(const char *sysroot, struct check_result *result, struct error *error)
{
	const struct device *device = &result->device;
	_cleanup_stack_ struct stack above = { 0 }, whole = { 0 };
	const struct system_disk *system;
	struct machine machine;
	const int code = machine_read(sysroot, &machine, error);

	if (code)
		return code;
	system = system_disks_below(sysroot, &machine.system, device->name);
	if (system)
		check_add(result, REASON_SYSTEM_DISK, CHECK_HARD,
			"%s %s the system's disk %s, which carries %s; there is no way to write "
			"to it",
			result->subject, strcmp(system->name, device->name) == 0 ? "is" : "lies on",
			system->name, system->carries);
	stack_above(sysroot, device->name, false, &above);
	for (size_t i = 0; i < above.count; i++)
		check_node(&machine, &above.nodes[i], result);
	/* A disk that is used as a whole takes its partitions with it. */
	if (device->parent[0])
		stack_above(sysroot, device->parent, true, &whole);
	for (size_t i = 0; i < whole.count; i++)
		check_node(&machine, &whole.nodes[i], result);
	check_loop(sysroot, result);
	machine_done(&machine);
	return 0;
}

size_t relations_partition_ranges(const char *disk, struct signature_range *ret_ranges, size_t room)
{
	_cleanup_names_ struct sysfs_names inside = sysfs_list(NULL, "sys/class/block/%s", disk);
	size_t count = 0;

	for (size_t i = 0; i < inside.count && count < room; i++) {
		uint64_t partition, start, size;

		if (sysfs_read_u64(NULL, &partition, "sys/class/block/%s/%s/partition", disk,
			    inside.names[i]) ||
			sysfs_read_u64(NULL, &start, "sys/class/block/%s/%s/start", disk,
				inside.names[i]) ||
			sysfs_read_u64(
				NULL, &size, "sys/class/block/%s/%s/size", disk, inside.names[i]))
			continue;
		ret_ranges[count++] = (struct signature_range){ .partition = (unsigned)partition,
			.start_bytes = start * 512,
			.size_bytes = size * 512 };
	}
	return count;
}

static void add_word(struct relations_use *use, const char *word)
{
	const size_t used = strlen(use->text);

	(void)snprintf(use->text + used, sizeof(use->text) - used, "%s%s", used ? "," : "", word);
}

static void read_use(
	const struct machine *machine, const struct device *device, struct relations_use *use)
{
	struct check_result result = { .device = *device };
	bool seen[REASONS] = { false };
	_cleanup_stack_ struct stack above = { 0 };
	static const struct {
		enum check_reason reason;
		const char *word;
	} words[] = { { REASON_MOUNTED, "mounted" }, { REASON_SWAP, "swap" },
		{ REASON_HELD, "held" } };

	stack_above(machine->sysroot, device->name, false, &above);
	for (size_t i = 0; i < above.count; i++)
		check_node(machine, &above.nodes[i], &result);
	for (size_t i = 0; i < result.count; i++)
		seen[result.findings[i].reason] = true;
	if (system_disks_below(machine->sysroot, &machine->system, device->name))
		add_word(use, "system");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (seen[words[i].reason])
			add_word(use, words[i].word);
	if (device->read_only)
		add_word(use, "read-only");
	if (device->size_bytes == 0)
		add_word(use, "no-medium");
	if (strcmp(device->zoned, "host-managed") == 0)
		add_word(use, "zoned");
	check_result_done(&result);
}

int relations_use_read(const char *sysroot, const struct device_list *list,
	struct relations_use **ret_uses, struct error *error)
{
	struct machine machine;
	struct relations_use *uses = calloc(list->count + 1, sizeof(*uses));
	int code;

	if (!uses)
		return error_set(error, -ENOMEM, "no memory for %zu devices", list->count);
	code = machine_read(sysroot, &machine, error);
	if (code) {
		free(uses);
		return code;
	}
	for (size_t i = 0; i < list->count; i++)
		read_use(&machine, &list->devices[i], &uses[i]);
	machine_done(&machine);
	*ret_uses = uses;
	return 0;
}
