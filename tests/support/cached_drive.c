/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A disk with caches; see the header. */
#include "tests/support/cached_drive.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "devices/sysfs.h"
#include "tests/support/check.h"

struct cached_drive *cached_drive;
struct sysroot cached_root;
char cached_name[16];

static char records[300], folder[128];
static enum cached_kind kind_now;
static struct passthrough *replaced;

static void sense(struct scsi_command *command, uint8_t key, uint8_t asc, uint8_t ascq)
{
	const uint8_t bytes[18] = { 0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, asc, ascq };

	command->status = 2;
	command->sense_bytes = sizeof(bytes);
	memcpy(command->sense, bytes, sizeof(bytes));
}

static void mode_sense(struct scsi_command *command, bool six)
{
	uint8_t *data = command->data;
	const size_t head = six ? 4 : 8;
	const bool mask = command->cdb[2] >> 6 == 1;

	memset(data, 0, head + 20);
	data[six ? 0 : 1] = (uint8_t)(head + 20 - (six ? 1 : 2));
	data[head] = cached_drive->savable ? 0x88 : 0x08;
	data[head + 1] = 18;
	if (mask)
		data[head + 2] = cached_drive->unchangeable ? 0 : 0x05;
	else
		data[head + 2] = (uint8_t)((cached_drive->write_cache ? 4 : 0) |
					   (cached_drive->read_cache ? 0 : 1));
	command->transferred_bytes = head + 20;
}

static void mode_select(struct scsi_command *command, bool six)
{
	const uint8_t *data = command->data;
	const size_t head = six ? 4 : 8;

	cached_drive->saved += command->cdb[1] & 1;
	if (command->data_bytes != head + 20 || (data[head] & 0xc0)) {
		sense(command, 5, 0x26, 0);
		return;
	}
	if (cached_drive->stubborn)
		return;
	cached_drive->write_cache = data[head + 2] & 4;
	/* libata changes the one bit alone. */
	if (kind_now != CACHED_SATA)
		cached_drive->read_cache = !(data[head + 2] & 1);
}

static void identify(struct scsi_command *command)
{
	uint8_t *data = command->data;

	memset(data, 0, 512);
	data[2 * 82] = 0x60;
	data[2 * 83 + 1] = 0x40;
	data[2 * 85] = (uint8_t)((cached_drive->write_cache ? 0x20 : 0) |
				 (cached_drive->read_cache ? 0x40 : 0));
	data[2 * 87 + 1] = 0x40;
	command->transferred_bytes = 512;
}

static void set_features(struct scsi_command *command)
{
	const uint8_t features = command->cdb[0] == 0x85 ? command->cdb[4] : command->cdb[3];
	static const uint8_t done[22] = { 0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0x40, 0x50 };

	command->status = 2;
	command->sense_bytes = sizeof(done);
	memcpy(command->sense, done, sizeof(done));
	if (cached_drive->stubborn)
		return;
	if (features == 0x02 || features == 0x82)
		cached_drive->write_cache = features == 0x02;
	else
		cached_drive->read_cache = features == 0xaa;
}

static void pass_through(struct scsi_command *command)
{
	switch (command->cdb[0] == 0x85 ? command->cdb[14] : command->cdb[9]) {
	case 0xec:
		identify(command);
		break;
	case 0xef:
		set_features(command);
		break;
	case 0xe7:
		cached_drive->flushes++;
		break;
	default:
		sense(command, 5, 0x24, 0);
	}
}

static int scsi(struct passthrough *passthrough, struct scsi_command *command)
{
	const uint8_t opcode = command->cdb[0];
	const bool mode = opcode == 0x1a || opcode == 0x15 || opcode == 0x5a || opcode == 0x55;

	(void)passthrough;
	cached_drive->commands++;
	if (cached_drive->gone)
		return -ENODEV;
	if (cached_drive->attentions) {
		cached_drive->attentions--;
		sense(command, 6, 0x2a, 0x01);
	} else if (mode && cached_drive->only_six && opcode > 0x50) {
		command->host_status = 7;
	} else if (mode && cached_drive->no_page) {
		sense(command, 5, 0x24, 0);
	} else if (opcode == 0x1a || opcode == 0x5a) {
		mode_sense(command, opcode == 0x1a);
	} else if (opcode == 0x15 || opcode == 0x55) {
		mode_select(command, opcode == 0x15);
	} else if (opcode == 0x35) {
		cached_drive->flushes++;
	} else if ((opcode == 0x85 || opcode == 0xa1) && !cached_drive->no_ata) {
		pass_through(command);
	} else {
		sense(command, 5, 0x20, 0);
	}
	return 0;
}

static int nvme(struct passthrough *passthrough, struct nvme_command *command)
{
	(void)passthrough;
	cached_drive->commands++;
	if (cached_drive->gone)
		return -ENODEV;
	command->status = 0;
	if (command->opcode == 0x06) {
		memset(command->data, 0, command->data_bytes);
		((uint8_t *)command->data)[525] = !cached_drive->no_page;
	} else if (command->opcode == 0x0a) {
		command->result = cached_drive->write_cache;
	} else if (command->opcode == 0x09) {
		cached_drive->saved += command->cdw10 >> 31;
		if (!cached_drive->stubborn)
			cached_drive->write_cache = command->cdw11 & 1;
	}
	return 0;
}

static void close_nothing(struct passthrough *passthrough)
{
	(void)passthrough;
}

static int open_drive(void *context, const struct device *disk,
	struct passthrough **ret_passthrough, struct error *error)
{
	static const struct passthrough_ops ops = {
		.scsi = scsi, .nvme = nvme, .close = close_nothing
	};
	static struct passthrough model = { .ops = &ops };

	(void)context;
	(void)disk;
	(void)error;
	*ret_passthrough = replaced ? replaced : &model;
	return 0;
}

static void put(const char *attribute, const char *value)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/block/%s/%s", folder, cached_name, attribute);
	sysroot_write(&cached_root, path, value, strlen(value));
}

void cached_put_kernel(const char *value)
{
	put("queue/write_cache", value);
}

/* The kernel reads the drive: it has no view of a drive that does not tell. */
static void look_at_drive(void)
{
	if (!cached_drive->deaf && !cached_drive->no_page)
		cached_put_kernel(cached_drive->write_cache ? "write back" : "write through");
}

static int before_step(void *context, const char *step, const char *value)
{
	(void)context;
	cached_drive->step++;
	if (cached_drive->kill_at && cached_drive->step == cached_drive->kill_at)
		_exit(9);
	if (cached_drive->fail_at && cached_drive->step == cached_drive->fail_at)
		return -EROFS;
	(void)snprintf(cached_drive->log + strlen(cached_drive->log),
		sizeof(cached_drive->log) - strlen(cached_drive->log), "%s %s\n", step,
		strcmp(step, "remove") == 0 ? "" : value);
	if (strcmp(step, "queue/write_cache") == 0 && cached_drive->will_not_raise)
		return -EINVAL;
	if (strcmp(step, "cache_type") == 0 && !cached_drive->stubborn)
		cached_drive->write_cache = strstr(value, "back") != NULL;
	if (strcmp(step, "cache_type") == 0 || strcmp(step, "rescan") == 0)
		look_at_drive();
	return 0;
}

const struct settings_place *cached_place(void)
{
	static struct settings_place here;

	here = (struct settings_place){ .state_dir = records,
		.sysroot = cached_root.path,
		.before_step = before_step,
		.open_drive = open_drive };
	return &here;
}

const struct settings_place *cached_place_with(struct passthrough *passthrough)
{
	replaced = passthrough;
	return cached_place();
}

void cached_drive_new(enum cached_kind kind)
{
	static const struct {
		const char *name, *folder, *vendor;
	} kinds[] = {
		[CACHED_SCSI] = { "sdb", "sys/devices/pci0/host2/target2:0:0/2:0:0:0", "DEMO" },
		[CACHED_SATA] = { "sdb", "sys/devices/pci0/ata1/host2/target2:0:0/2:0:0:0", "ATA" },
		[CACHED_USB] = { "sdb", "sys/devices/pci0/usb1/host2/target2:0:0/2:0:0:0", "DEMO" },
		[CACHED_NVME] = { "nvme0n1", "sys/devices/pci0/nvme/nvme0", "" },
		[CACHED_VIRTIO] = { "vdb", "sys/devices/pci0/virtio3", "" },
	};
	const char *name = kinds[kind].name, *base = kinds[kind].folder;
	char tree[4096];
	size_t used = (size_t)snprintf(tree, sizeof(tree),
		"%1$s/block/%2$s/dev\t8:16\n%1$s/block/%2$s/size\t2097152\n"
		"%1$s/block/%2$s/queue/write_cache\twrite back\n%1$s/block/%2$s/queue/scheduler\t"
		"[none]\n%1$s/block/%2$s/device -> ../..\n"
		"proc/sys/kernel/random/boot_id\tfirst-boot\n",
		base, name);

	if (kind <= CACHED_USB)
		used += (size_t)snprintf(tree + used, sizeof(tree) - used,
			"%1$s/scsi_level\t7\n%1$s/rescan\t\n%1$s/vendor\t%2$s\n"
			"%1$s/wwid\tnaa.5000c500a1b2c3d5\n"
			"%1$s/scsi_disk/2:0:0:0/cache_type\twrite back\n",
			base, kinds[kind].vendor);
	else if (kind == CACHED_VIRTIO)
		used += (size_t)snprintf(tree + used, sizeof(tree) - used,
			"%s/block/%s/cache_type\twrite back\n%s/block/%s/serial\tDEMO-0001\n", base,
			name, base, name);
	else
		used += (size_t)snprintf(tree + used, sizeof(tree) - used,
			"%s/block/%s/wwid\teui.0025385b71b01234\n", base, name);
	assert(used < sizeof(tree));
	sysroot_new(&cached_root, tree);
	(void)snprintf(records, sizeof(records), "%s/records", cached_root.path);
	(void)snprintf(folder, sizeof(folder), "%s", base);
	(void)snprintf(cached_name, sizeof(cached_name), "%s", name);
	cached_drive = mmap(NULL, sizeof(*cached_drive), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert(cached_drive != MAP_FAILED);
	cached_drive->write_cache = cached_drive->read_cache = true;
	kind_now = kind;
	replaced = NULL;
}

void cached_drive_done(void)
{
	(void)munmap(cached_drive, sizeof(*cached_drive));
	sysroot_done(&cached_root);
}

void cached_expect_kernel(const char *value)
{
	char text[64];

	assert_true(sysfs_read(cached_root.path, text, sizeof(text),
			    "sys/class/block/%s/queue/write_cache", cached_name) > 0);
	assert_string_equal(text, value);
}

bool cached_says(const struct faults *faults, const char *text)
{
	for (size_t i = 0; i < faults->count; i++)
		if (strstr(faults->text[i], text))
			return true;
	print_message("nothing says: %s\n", text);
	for (size_t i = 0; i < faults->count; i++)
		print_message("  %s\n", faults->text[i]);
	return false;
}
