/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs have left changed; see the header. */
#include "devices/settings_left.h"

#include "devices/put_back.h"
#include "devices/sysfs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum settings_left_state state_of(struct settings_left *left)
{
	struct state_file file = { .fd = -1 };
	const int code =
		state_file_lock(left->folder, left->file, false, &file, &left->record, NULL);

	state_file_close(&file);
	switch (code) {
	case 0:
	case -ENOENT:
		return SETTINGS_LEFT_NOTHING;
	case 1:
		return SETTINGS_LEFT;
	case -EBUSY:
		return SETTINGS_LEFT_RUNNING;
	default:
		return SETTINGS_LEFT_DAMAGED;
	}
}

/* What is compared with records: the disk, or of a partition the disk around it. */
struct wanted_disk {
	struct device disk;
	char boot[sizeof(((struct state_record *)0)->boot)];
	uint64_t inode;
};

static bool means(const struct settings_left *left, const struct wanted_disk *wanted)
{
	const struct state_record *record = &left->record;
	char name[NAME_MAX + 1];

	state_file_name(wanted->disk.identity, name, sizeof(name));
	if (strcmp(left->file, name) == 0)
		return true;
	return wanted->inode && record->queue_inode == wanted->inode &&
	       strcmp(record->name, wanted->disk.name) == 0 &&
	       strcmp(record->boot, wanted->boot) == 0;
}

int settings_left_list(const struct settings_place *place, const struct device *device,
	struct settings_left_list *ret_list, struct error *error)
{
	const char *path = place->state_dir ? place->state_dir : SETTINGS_STATE_DIR;
	_cleanup_names_ struct sysfs_names names = { 0 };
	_cleanup_free_ char *real = realpath(path, NULL);
	struct settings_left_list list = { 0 };
	struct wanted_disk wanted = { 0 };

	if (!real && errno == ENOENT) {
		*ret_list = list;
		return 0;
	}
	if (!real || access(real, R_OK | X_OK) < 0 || strlen(real) >= sizeof(list.items->folder))
		return error_set(error, -EACCES, "the folder for records, %s, cannot be read: %s",
			path, strerror(errno));
	if (device && device_read(place->sysroot, device->parent[0] ? device->parent : device->name,
			      &wanted.disk, error))
		return -ENODEV;
	settings_step_boot(place, wanted.boot, sizeof(wanted.boot));
	(void)queue_setting_inode(place->sysroot, wanted.disk.name, &wanted.inode);
	names = state_folder_list(real);
	list.items = calloc(names.count + 1, sizeof(*list.items));
	if (!list.items)
		return error_set(error, -ENOMEM, "no memory for %zu records", names.count);
	for (size_t i = 0; i < names.count; i++) {
		struct settings_left *left = &list.items[list.count];

		*left = (struct settings_left){ 0 };
		sysfs_copy(left->folder, sizeof(left->folder), real);
		sysfs_copy(left->file, sizeof(left->file), names.names[i]);
		left->state = state_of(left);
		if (!device || means(left, &wanted))
			list.count++;
	}
	*ret_list = list;
	return 0;
}

void settings_left_done(struct settings_left_list *list)
{
	free(list->items);
	*list = (struct settings_left_list){ 0 };
}

/* 0 or 1 as state_file_lock; a fault is told. */
static int lock(const struct settings_left *left, struct state_file *ret_file,
	struct state_record *ret_record, struct faults *faults)
{
	struct error error = { 0 };
	const int code =
		state_file_lock(left->folder, left->file, false, ret_file, ret_record, &error);

	if (code == -EBUSY)
		faults_add(faults,
			"%s is in use by process %" PRIu64 " since %s, which puts its settings "
			"back by itself when it ends",
			ret_record->name[0] ? ret_record->name : left->file, ret_record->pid,
			ret_record->started);
	else if (error.code)
		faults_add(faults, "%s", error.text);
	return code;
}

static int remove_record(
	const struct settings_place *place, struct state_file *file, struct faults *faults)
{
	struct error error = { 0 };

	if (settings_step_remove(place, file, &error) == 0)
		return 0;
	faults_add(faults, "%s", error.text);
	return -EIO;
}

int settings_left_restore(const struct settings_place *place, const struct settings_left *left,
	struct faults *notes, struct faults *faults)
{
	struct state_file file = { .fd = -1 };
	struct state_record record;
	int code = lock(left, &file, &record, faults);

	/* Somebody else restored it between the list and now. */
	if (code == -ENOENT)
		return 0;
	if (code == 1)
		code = put_back(place, &file, &record, notes, faults);
	if (code == 0)
		code = remove_record(place, &file, faults);
	state_file_close(&file);
	return code == -EBADMSG ? -EIO : code;
}

int settings_left_forget(
	const struct settings_place *place, const struct settings_left *left, struct faults *faults)
{
	_cleanup_faults_ struct faults damage = { 0 };
	struct state_file file = { .fd = -1 };
	struct state_record record;
	int code = lock(left, &file, &record, &damage);

	if (code == -ENOENT)
		return 0;
	if (code >= 0 || code == -EBADMSG)
		code = remove_record(place, &file, faults);
	else
		faults_add(faults, "%s", damage.text[0]);
	state_file_close(&file);
	return code;
}
