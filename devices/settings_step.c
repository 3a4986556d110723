/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The single steps that settings are made of; see the header. */
#include "devices/settings_step.h"

#include "devices/sysfs.h"

#include <string.h>

static int before(const struct settings_place *place, const char *step, const char *value)
{
	return place->before_step ? place->before_step(place->context, step, value) : 0;
}

void settings_step_boot(const struct settings_place *place, char *ret_boot, size_t size)
{
	(void)sysfs_read(place->sysroot, ret_boot, size, "proc/sys/kernel/random/boot_id");
}

int settings_step_explain(const char *disk, enum queue_setting setting, const char *value, int code,
	struct error *error)
{
	const char *name = queue_setting_name(setting);

	if (code == -EROFS || code == -EACCES || code == -EPERM)
		return error_set(error, code,
			"%s of %s cannot be set to %s: %s; /sys must be "
			"writable and the user root",
			name, disk, value, strerror(-code));
	if (code == -EINVAL)
		return error_set(error, code,
			"%s of %s cannot be set to %s: the kernel refuses "
			"this value",
			name, disk, value);
	return error_set(error, code, "%s of %s cannot be set to %s: %s", name, disk, value,
		strerror(-code));
}

int settings_step_set(const struct settings_place *place, const char *disk,
	enum queue_setting setting, const char *value, char *ret_now, struct error *error)
{
	int code = queue_setting_read(place->sysroot, disk, setting, ret_now);

	if (!code && strcmp(ret_now, value) == 0)
		return 0;
	code = before(place, queue_setting_name(setting), value);
	if (!code)
		code = queue_setting_write(place->sysroot, disk, setting, value);
	if (code)
		return settings_step_explain(disk, setting, value, code, error);
	code = queue_setting_read(place->sysroot, disk, setting, ret_now);
	if (code)
		return error_set(error, code, "%s of %s was set to %s and cannot be read back: %s",
			queue_setting_name(setting), disk, value, strerror(-code));
	if (strcmp(ret_now, value) != 0)
		return error_set(error, -EIO,
			"%s of %s was set to %s and did not take it: it is "
			"%s",
			queue_setting_name(setting), disk, value, ret_now);
	return 0;
}

int settings_step_save(const struct settings_place *place, struct state_file *file,
	const struct state_record *record, struct error *error)
{
	static const char *const phases[] = {
		[STATE_APPLYING] = "applying",
		[STATE_APPLIED] = "applied",
		[STATE_RESTORING] = "restoring",
	};
	const int code = before(place, "save", phases[record->phase]);

	if (code)
		return error_set(error, code, "the record of %s cannot be written: %s",
			record->name, strerror(-code));
	return state_file_save(file, record, error);
}

int settings_step_remove(
	const struct settings_place *place, struct state_file *file, struct error *error)
{
	const int code = before(place, "remove", file->name);

	if (code)
		return error_set(error, code, "the record %s cannot be removed: %s", file->name,
			strerror(-code));
	return state_file_remove(file, error);
}
