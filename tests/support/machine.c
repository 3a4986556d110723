/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine made of files with one disk; see the header. */
#include "tests/support/machine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices/sysfs.h"
#include "tests/support/check.h"

static const char tree[] =
	SDA "/dev\t8:0\n" SDA "/size\t2097152\n" SDA
	    "/queue/scheduler\tnone [mq-deadline] kyber\n" SDA "/queue/nr_requests\t60\n" SDA
	    "/queue/nomerges\t0\n" SDA "/queue/wbt_lat_usec\t75000\n" SDA "/mq/0/nr_tags\t32\n" SDA
	    "/device -> ../..\n" SDA "/sda2/dev\t8:2\n" SDA "/sda2/partition\t2\n" SDA
	    "/sda2/size\t2048\n" DISK "/queue_depth\t31\n" DISK "/wwid\tnaa.5000c500a1b2c3d4\n"
	    "proc/sys/kernel/random/boot_id\tfirst-boot\n";

struct sysroot machine_root;
char machine_records[300];

struct machine_hook machine_hook;

void machine_put(const char *path, const char *value)
{
	char full[256];

	(void)snprintf(full, sizeof(full), SDA "/%s", path);
	sysroot_write(&machine_root, full, value, strlen(value));
}

/* The tool writes a bare name; a kernel then shows it in its list. */
static void settle(void)
{
	static const char *const names[] = { "none", "mq-deadline", "kyber" };
	char now[64], list[128] = "";

	if (machine_hook.no_list ||
		sysfs_read(machine_root.path, now, sizeof(now), SDA "/queue/scheduler") <= 0 ||
		strchr(now, '['))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const bool active = strcmp(names[i], now) == 0;

		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s%s ",
			active ? "[" : "", names[i], active ? "]" : "");
	}
	machine_put("queue/scheduler", list);
}

static int before_step(void *context, const char *step, const char *value)
{
	(void)context;
	machine_hook.step++;
	settle();
	if (machine_hook.kill_at && machine_hook.step == machine_hook.kill_at)
		_exit(9);
	if (machine_hook.fail_at && machine_hook.step == machine_hook.fail_at)
		return -EROFS;
	if (strcmp(step, "remove") == 0)
		value = "";
	(void)snprintf(machine_hook.log + strlen(machine_hook.log),
		sizeof(machine_hook.log) - strlen(machine_hook.log), "%s %s\n", step, value);
	if (strcmp(step, "scheduler") == 0)
		machine_put("queue/nr_requests", strcmp(value, "none") == 0 ? "32" : "64");
	return 0;
}

const struct settings_place *machine_place(void)
{
	static struct settings_place here;

	here = (struct settings_place){ .state_dir = machine_records,
		.sysroot = machine_root.path,
		.before_step = before_step };
	return &here;
}

const struct settings_wanted machine_usual = {
	.scheduler = "none", .nomerges = 2, .wbt_off = true, .nr_requests = 8
};

int machine_new(void **state)
{
	(void)state;
	memset(&machine_hook, 0, sizeof(machine_hook));
	sysroot_new(&machine_root, tree);
	(void)snprintf(machine_records, sizeof(machine_records), "%s/records", machine_root.path);
	return 0;
}

int machine_done(void **state)
{
	(void)state;
	sysroot_done(&machine_root);
	return 0;
}

struct device machine_device(const char *name)
{
	struct device device;

	assert_int_equal(device_read(machine_root.path, name, &device, NULL), 0);
	return device;
}

static void show(const struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		print_message("  %s\n", faults->text[i]);
}

bool machine_says(const struct faults *faults, const char *text)
{
	for (size_t i = 0; i < faults->count; i++)
		if (strstr(faults->text[i], text))
			return true;
	print_message("nothing says: %s\n", text);
	show(faults);
	return false;
}

void machine_expect(const char *attribute, const char *value)
{
	char text[256];

	assert_true(sysfs_read(machine_root.path, text, sizeof(text), SDA "/%s", attribute) >= 0);
	/* The scheduler file as it was recorded, or as the tool wrote it. */
	if (strchr(text, '['))
		(void)sscanf(strchr(text, '['), "[%31[^]]", text);
	if (strcmp(text, value) != 0)
		fail_msg("%s is %s and should be %s", attribute, text, value);
}

void machine_expect_former(void)
{
	machine_expect("queue/scheduler", "mq-deadline");
	machine_expect("queue/nr_requests", "60");
	machine_expect("queue/nomerges", "0");
	machine_expect("queue/wbt_lat_usec", "75000");
	machine_expect("device/queue_depth", "31");
}

unsigned machine_count_records(void)
{
	struct settings_left_list list;
	unsigned count;

	assert_int_equal(settings_left_list(machine_place(), NULL, &list, NULL), 0);
	count = (unsigned)list.count;
	settings_left_done(&list);
	return count;
}

int machine_restore(struct faults *notes, struct faults *faults)
{
	struct settings_left_list list;
	int worst = 0;

	assert_int_equal(settings_left_list(machine_place(), NULL, &list, NULL), 0);
	for (size_t i = 0; i < list.count; i++) {
		const int code =
			settings_left_restore(machine_place(), &list.items[i], notes, faults);

		worst = code ? code : worst;
	}
	settings_left_done(&list);
	return worst;
}

struct settings *machine_apply(
	const struct settings_wanted *wanted, struct faults *notes, struct faults *faults)
{
	const struct device device = machine_device("sda");
	struct settings *settings = NULL;

	if (settings_open(machine_place(), &device, &settings, notes, faults) ||
		settings_apply(settings, wanted, notes, faults)) {
		show(faults);
		fail_msg("the settings were not applied");
	}
	return settings;
}

bool machine_killed_at(unsigned step, void (*function)(void))
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		machine_hook.step = 0;
		machine_hook.kill_at = step;
		function();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 9;
}

void machine_apply_and_die(void)
{
	_cleanup_faults_ struct faults notes = { 0 }, faults = { 0 };

	(void)machine_apply(&machine_usual, &notes, &faults);
	_exit(9);
}
