/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands on a block device and what it stands on; see the header. */
#include "devices/stack.h"

#include "devices/sysfs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A machine with thousands of volumes on one group stays below; a loop in a broken recording
 * cannot happen, because no name is entered twice. */
#define NODES_MAX 65536

static void enter(
	const char *sysroot, struct stack *stack, const char *name, size_t from, bool held)
{
	struct stack_node *grown, *node;
	char title[128];

	for (size_t i = 0; i < stack->count; i++)
		if (strcmp(stack->nodes[i].name, name) == 0)
			return;
	if (stack->count >= NODES_MAX)
		return;
	grown = realloc(stack->nodes, (stack->count + 1) * sizeof(*grown));
	if (!grown)
		abort();
	stack->nodes = grown;
	node = &grown[stack->count];
	*node = (struct stack_node){ .top = true, .bottom = true };
	sysfs_copy(node->name, sizeof(node->name), name);
	(void)sysfs_read(sysroot, title, sizeof(title), "sys/class/block/%s/dm/name", name);
	if (stack->count > 0)
		node->held = held || grown[from].held;
	(void)snprintf(node->chain, sizeof(node->chain), "%.140s%s%s%s%.40s%s",
		stack->count > 0 ? grown[from].chain : "", stack->count > 0 ? " > " : "",
		node->name, title[0] ? " (" : "", title, title[0] ? ")" : "");
	stack->count++;
}

static void enter_partitions(const char *sysroot, struct stack *stack, size_t from)
{
	_cleanup_names_ struct sysfs_names inside =
		sysfs_list(sysroot, "sys/class/block/%s", stack->nodes[from].name);

	for (size_t i = 0; i < inside.count; i++) {
		const char *name = stack->nodes[from].name;

		if (!sysfs_exists(
			    sysroot, "sys/class/block/%s/%s/partition", name, inside.names[i]))
			continue;
		stack->nodes[from].top = false;
		enter(sysroot, stack, inside.names[i], from, false);
	}
}

/* A loop device over a block device is no holder for the kernel, but writes to the same blocks. */
static void enter_loops(
	const char *sysroot, const struct sysfs_names *all, struct stack *stack, size_t from)
{
	unsigned want_major, want_minor;

	if (sysfs_number_of(sysroot, stack->nodes[from].name, &want_major, &want_minor))
		return;
	for (size_t i = 0; i < all->count; i++) {
		char file[PATH_MAX];
		unsigned file_major, file_minor;

		if (strncmp(all->names[i], "loop", 4) != 0 ||
			sysfs_read(sysroot, file, sizeof(file),
				"sys/class/block/%s/loop/backing_file", all->names[i]) <= 0 ||
			strncmp(file, "/dev/", 5) != 0 ||
			sysfs_number_of_path(sysroot, file, &file_major, &file_minor, NULL) ||
			file_major != want_major || file_minor != want_minor)
			continue;
		stack->nodes[from].top = false;
		enter(sysroot, stack, all->names[i], from, true);
	}
}

void stack_above(
	const char *sysroot, const char *name, bool without_partitions, struct stack *ret_stack)
{
	_cleanup_names_ struct sysfs_names all = sysfs_list(sysroot, "sys/class/block");
	struct stack stack = { 0 };

	enter(sysroot, &stack, name, 0, false);
	for (size_t at = 0; at < stack.count; at++) {
		_cleanup_names_ struct sysfs_names holders =
			sysfs_list(sysroot, "sys/class/block/%s/holders", stack.nodes[at].name);

		if (at > 0 || !without_partitions)
			enter_partitions(sysroot, &stack, at);
		for (size_t i = 0; i < holders.count; i++) {
			stack.nodes[at].top = false;
			enter(sysroot, &stack, holders.names[i], at, true);
		}
		enter_loops(sysroot, &all, &stack, at);
	}
	*ret_stack = stack;
}

/* The whole disk of a partition is the folder that its own folder is in. */
static void enter_disk(const char *sysroot, struct stack *stack, size_t from)
{
	char path[PATH_MAX];
	char *slash;

	if (!sysfs_exists(sysroot, "sys/class/block/%s/partition", stack->nodes[from].name) ||
		sysfs_real_path(
			sysroot, path, sizeof(path), "sys/class/block/%s", stack->nodes[from].name))
		return;
	slash = strrchr(path, '/');
	if (!slash)
		return;
	*slash = '\0';
	stack->nodes[from].bottom = false;
	enter(sysroot, stack, sysfs_base_name(path), from, false);
}

static void enter_backing_device(const char *sysroot, struct stack *stack, size_t from)
{
	char file[PATH_MAX], name[64];
	unsigned file_major, file_minor;

	if (sysfs_read(sysroot, file, sizeof(file), "sys/class/block/%s/loop/backing_file",
		    stack->nodes[from].name) <= 0 ||
		strncmp(file, "/dev/", 5) != 0 ||
		sysfs_number_of_path(sysroot, file, &file_major, &file_minor, NULL) ||
		sysfs_name_of(sysroot, file_major, file_minor, name, sizeof(name)))
		return;
	stack->nodes[from].bottom = false;
	enter(sysroot, stack, name, from, false);
}

void stack_below(const char *sysroot, const char *name, struct stack *ret_stack)
{
	struct stack stack = { 0 };

	enter(sysroot, &stack, name, 0, false);
	for (size_t at = 0; at < stack.count; at++) {
		_cleanup_names_ struct sysfs_names slaves =
			sysfs_list(sysroot, "sys/class/block/%s/slaves", stack.nodes[at].name);

		for (size_t i = 0; i < slaves.count; i++) {
			stack.nodes[at].bottom = false;
			enter(sysroot, &stack, slaves.names[i], at, false);
		}
		enter_disk(sysroot, &stack, at);
		enter_backing_device(sysroot, &stack, at);
	}
	*ret_stack = stack;
}

void stack_done(struct stack *stack)
{
	free(stack->nodes);
	*stack = (struct stack){ 0 };
}
