/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_PREFIX "kernel:"

/* noop, deadline, ... for a sentence. */
static void name_all(char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; elevators[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s, ", elevators[i]->name);
	if (used < size)
		(void)snprintf(text + used, size - used, KERNEL_PREFIX "NAME");
}

static void add_elevator(struct run_elevators *list, const char *name, struct faults *faults)
{
	struct run_elevator *elevator = &list->items[list->count];
	bool kernel = strncmp(name, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0;
	char known[256];

	if (list->count == RUN_ELEVATORS_MAX) {
		faults_add(faults, "--elevator: more than %d elevators", RUN_ELEVATORS_MAX);
		return;
	}
	*elevator = (struct run_elevator){
		.ops = kernel ? &elevator_noop_ops : elevator_find(name),
	};
	if (!elevator->ops || strlen(name) >= sizeof(elevator->name) ||
		(kernel && !name[strlen(KERNEL_PREFIX)])) {
		name_all(known, sizeof(known));
		faults_add(faults, "--elevator: there is no '%s'; there are %s", name, known);
		return;
	}
	(void)snprintf(elevator->name, sizeof(elevator->name), "%s", name);
	elevator->is_kernel = kernel;
	elevator_options_default(elevator->ops, &elevator->options);
	list->count++;
}

static bool knows(const struct elevator_ops *ops, const char *text)
{
	size_t length = strcspn(text, "=");

	for (const struct elevator_option *option = ops->options; option && option->name; option++)
		if (strlen(option->name) == length && strncmp(option->name, text, length) == 0)
			return true;
	return false;
}

static void set_tunable(struct run_elevators *list, const char *text, struct faults *faults)
{
	bool known = false;

	for (size_t i = 0; i < list->count; i++) {
		struct run_elevator *elevator = &list->items[i];
		struct error error = { 0 };

		if (!knows(elevator->ops, text))
			continue;
		known = true;
		if (elevator_options_set(elevator->ops, &elevator->options, text, &error) < 0)
			faults_add(faults, "--elevator-option: %s", error.text);
	}
	if (!known)
		faults_add(faults, "--elevator-option %s: no elevator of the list knows it", text);
}

void run_queue_parse(const char *elevators_text, const char *tunables, struct run_elevators *ret,
	struct faults *faults)
{
	_cleanup_free_ char *names = strdup(elevators_text ? elevators_text : "noop");
	_cleanup_free_ char *values = strdup(tunables ? tunables : "");
	char *save = NULL;

	*ret = (struct run_elevators){ 0 };
	if (!names || !values)
		abort();
	for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save))
		add_elevator(ret, name, faults);
	for (char *text = strtok_r(values, ",", &save); text; text = strtok_r(NULL, ",", &save))
		set_tunable(ret, text, faults);
}

const char *run_queue_kernel(const struct run_elevator *elevator)
{
	return elevator->is_kernel ? elevator->name + strlen(KERNEL_PREFIX) : NULL;
}

struct settings_wanted run_queue_wanted(const struct run_elevator *elevator, bool merge,
	unsigned depth, unsigned window, unsigned drive_depth)
{
	/* A kernel's elevator is measured with its own merging and its own room for choice. */
	if (elevator->is_kernel)
		return (struct settings_wanted){
			.scheduler = run_queue_kernel(elevator),
			.nomerges = merge ? 0 : 2,
			.nr_requests = window,
			.drive_depth = drive_depth,
			.lenient = true,
		};
	return (struct settings_wanted){
		.scheduler = "none",
		.nomerges = 2,
		.wbt_off = true,
		.nr_requests = depth,
		.drive_depth = drive_depth,
		.lenient = true,
	};
}
