/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Partition tables and volume labels made by hand, byte by byte after their published formats, so
 * that tests need neither lvm2 nor mdadm nor cryptsetup nor zfs. Nothing behind the label is real.
 */
#ifndef TESTS_SUPPORT_LABELS_H
#define TESTS_SUPPORT_LABELS_H

#include <stdint.h>

/* The size that labels_write_gpt and labels_write_md_at_end are for. */
#define LABELS_GPT_DISK_BYTES (UINT64_C(32) << 20)

void labels_write_gpt(int fd);
void labels_write_dos(int fd);
void labels_write_lvm(int fd);
void labels_write_md(int fd);
void labels_write_md_at_end(int fd);
void labels_write_zfs(int fd);
void labels_write_luks(int fd, uint64_t offset_bytes);

#endif
