/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels made by hand; see the header. */
#include "tests/support/labels.h"

#include "engine/base.h"

#include <string.h>
#include <unistd.h>

static void write_at(int fd, const void *bytes, size_t size, off_t offset)
{
	assert(pwrite(fd, bytes, size, offset) == (ssize_t)size);
}

/* CRC-32 as GPT has it (UEFI 2.10, 5.3.2). */
static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~crc;
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* A protective MBR and a primary GPT with two partitions: 1-8 MiB and 8-24 MiB. */
void labels_write_gpt(int fd)
{
	static uint8_t image[34 * 512];
	uint8_t *header = image + 512, *entries = image + 1024;
	static const uint64_t bounds[2][2] = { { 2048, 16383 }, { 16384, 49151 } };

	memset(image, 0, sizeof(image));
	image[446 + 4] = 0xee;
	put(image + 446 + 8, 1, 4);
	put(image + 446 + 12, LABELS_GPT_DISK_BYTES / 512 - 1, 4);
	put(image + 510, 0xaa55, 2);
	for (unsigned i = 0; i < 2; i++) {
		memset(entries + i * 128, 0x11, 16);
		memset(entries + i * 128 + 16, (int)(0x20 + i), 16);
		put(entries + i * 128 + 32, bounds[i][0], 8);
		put(entries + i * 128 + 40, bounds[i][1], 8);
	}
	memcpy(header, "EFI PART\0\0\1\0\x5c\0\0\0", 16);
	put(header + 24, 1, 8);
	put(header + 32, LABELS_GPT_DISK_BYTES / 512 - 1, 8);
	put(header + 40, 34, 8);
	put(header + 48, LABELS_GPT_DISK_BYTES / 512 - 34, 8);
	memset(header + 56, 0x33, 16);
	put(header + 72, 2, 8);
	put(header + 80, 128, 4);
	put(header + 84, 128, 4);
	put(header + 88, crc32_of(entries, 128 * 128), 4);
	put(header + 16, crc32_of(header, 92), 4);
	write_at(fd, image, sizeof(image), 0);
	assert(fsync(fd) == 0);
}

/* Physical volume label in sector 1 (LVM2 lib/label/label.h): an inactive group has no holder and
 * O_EXCL lets it through. */
void labels_write_lvm(int fd)
{
	uint8_t label[512] = "LABELONE";

	put(label + 8, 1, 8);
	put(label + 20, 32, 4);
	memcpy(label + 24, "LVM2 001", 8);
	memset(label + 32, 'a', 32);
	write_at(fd, label, sizeof(label), 512);
}

/* md superblock of version 1 (include/uapi/linux/raid/md_p.h). */
static void write_md_at(int fd, off_t offset)
{
	uint8_t block[256] = { 0 };

	put(block, 0xa92b4efc, 4);
	put(block + 4, 1, 4);
	memset(block + 16, 0x42, 16);
	memcpy(block + 32, "host:demo", 9);
	put(block + 144, (uint64_t)offset / 512, 8);
	write_at(fd, block, sizeof(block), offset);
}

/* Version 1.2: 4 KiB from the start. */
void labels_write_md(int fd)
{
	write_md_at(fd, 4096);
}

/* Version 1.0: at least 8 KiB before the end, on a multiple of 4 KiB. */
void labels_write_md_at_end(int fd)
{
	write_md_at(fd, LABELS_GPT_DISK_BYTES - 8192);
}

/* Uberblocks of the first ZFS label (128 KiB into it, 1 KiB apart), as libblkid 2.38 wants them. */
void labels_write_zfs(int fd)
{
	uint8_t magic[8];

	put(magic, 0x00bab10c, 8);
	for (int i = 0; i < 32; i++)
		write_at(fd, magic, sizeof(magic), 128 * 1024 + i * 1024);
}

void labels_write_luks(int fd, uint64_t offset_bytes)
{
	write_at(fd, "LUKS\xba\xbe\0\1", 8, (off_t)offset_bytes);
}

void labels_write_dos(int fd)
{
	uint8_t sector[512] = { 0 };

	sector[446 + 4] = 0x83;
	put(sector + 446 + 8, 2048, 4);
	put(sector + 446 + 12, 4096, 4);
	put(sector + 510, 0xaa55, 2);
	write_at(fd, sector, sizeof(sector), 0);
}
