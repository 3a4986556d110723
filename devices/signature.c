/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is on a device; see the header. The only file that speaks to libblkid. */
#include "devices/signature.h"

#include "devices/properties.h"
#include "devices/sysfs.h"

#include <blkid/blkid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel numbers at most 256 partitions (DISK_MAX_PARTS of include/linux/blkdev.h). */
#define RANGES_MAX 256

static void add(struct signature_list *list, const struct signature *signature)
{
	struct signature *grown;

	/* One label is found twice when the table and the kernel name the same partition, or when
	 * a prober knows several places of one magic. */
	for (size_t i = 0; i < list->count; i++) {
		const struct signature *known = &list->signatures[i];

		if (known->offset_bytes == signature->offset_bytes &&
			known->partition == signature->partition &&
			strcmp(known->type, signature->type) == 0)
			return;
	}
	grown = realloc(list->signatures, (list->count + 1) * sizeof(*grown));
	if (!grown)
		abort();
	list->signatures = grown;
	grown[list->count++] = *signature;
}

static const char *kind_of_usage(const char *usage)
{
	if (!usage)
		return "signature";
	if (strcmp(usage, "filesystem") == 0)
		return "file system";
	if (strcmp(usage, "raid") == 0)
		return "volume or RAID member";
	if (strcmp(usage, "crypto") == 0)
		return "encrypted volume";
	return "signature";
}

static const char *lookup(blkid_probe probe, const char *key)
{
	const char *value = NULL;

	return blkid_probe_lookup_value(probe, key, &value, NULL) == 0 ? value : NULL;
}

static void add_found(
	blkid_probe probe, uint64_t start_bytes, unsigned partition, struct signature_list *list)
{
	struct signature signature = { .partition = partition };
	const char *type = lookup(probe, "TYPE"), *table = lookup(probe, "PTTYPE");
	const char *label = lookup(probe, "LABEL");
	const char *offset = lookup(probe, type ? "SBMAGIC_OFFSET" : "PTMAGIC_OFFSET");

	if (!type && !table)
		return;
	sysfs_copy(signature.kind, sizeof(signature.kind),
		type ? kind_of_usage(lookup(probe, "USAGE")) : "partition table");
	sysfs_copy(signature.type, sizeof(signature.type), type ? type : table);
	sysfs_copy(signature.label, sizeof(signature.label), type && label ? label : "");
	signature.offset_bytes = start_bytes + (offset ? strtoull(offset, NULL, 10) : 0);
	add(list, &signature);
}

/* Adds the table's partitions to the ranges that are looked into next. */
static size_t add_partitions(blkid_probe probe, struct signature_range *ranges, size_t count)
{
	blkid_partlist partitions = blkid_probe_get_partitions(probe);
	const int total = partitions ? blkid_partlist_numof_partitions(partitions) : 0;

	for (int i = 0; i < total && count < RANGES_MAX; i++) {
		blkid_partition partition = blkid_partlist_get_partition(partitions, i);

		ranges[count++] = (struct signature_range){
			.partition = (unsigned)blkid_partition_get_partno(partition),
			.start_bytes = (uint64_t)blkid_partition_get_start(partition) * 512,
			.size_bytes = (uint64_t)blkid_partition_get_size(partition) * 512,
		};
	}
	return count;
}

static int probe_range(int fd, const struct signature_range *range, struct signature_range *inner,
	size_t *inner_count, struct signature_list *list)
{
	blkid_probe probe = blkid_new_probe();
	int found;

	if (!probe)
		return -ENOMEM;
	if (blkid_probe_set_device(probe, fd, (blkid_loff_t)range->start_bytes,
		    (blkid_loff_t)range->size_bytes) < 0) {
		blkid_free_probe(probe);
		return -EIO;
	}
	(void)blkid_probe_enable_superblocks(probe, 1);
	(void)blkid_probe_set_superblocks_flags(
		probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL | BLKID_SUBLKS_USAGE |
			       BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
	(void)blkid_probe_enable_partitions(probe, 1);
	(void)blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	while ((found = blkid_do_probe(probe)) == 0) {
		add_found(probe, range->start_bytes, range->partition, list);
		if (inner && lookup(probe, "PTTYPE"))
			*inner_count = add_partitions(probe, inner, *inner_count);
	}
	if (found < 0)
		list->complete = false;
	blkid_free_probe(probe);
	return 0;
}

int signature_probe(int fd, uint64_t size_bytes, const struct signature_range *ranges,
	size_t range_count, struct signature_list *ret_list)
{
	struct signature_list list = { .complete = true };
	const struct signature_range whole = { .size_bytes = size_bytes };
	struct signature_range inner[RANGES_MAX];
	size_t inner_count = 0;
	int result;

	for (; inner_count < range_count && inner_count < RANGES_MAX; inner_count++)
		inner[inner_count] = ranges[inner_count];
	result = probe_range(fd, &whole, inner, &inner_count, &list);
	for (size_t i = 0; !result && i < inner_count; i++) {
		struct signature_range range = inner[i];

		/* A table may promise more than the device has. */
		if (range.start_bytes >= size_bytes)
			continue;
		range.size_bytes = min_u64(range.size_bytes, size_bytes - range.start_bytes);
		if (range.size_bytes >= 512 && probe_range(fd, &range, NULL, NULL, &list))
			list.complete = false;
	}
	if (result)
		signature_list_done(&list);
	else
		*ret_list = list;
	return result;
}

void signature_recorded(const char *sysroot, unsigned major, unsigned minor, unsigned partition,
	struct signature_list *list)
{
	_cleanup_properties_ struct properties *properties = properties_new(sysroot, major, minor);
	const char *table = properties_get(properties, "ID_PART_TABLE_TYPE");
	const char *type = properties_get(properties, "ID_FS_TYPE");
	const char *label = properties_get(properties, "ID_FS_LABEL");
	struct signature signature = { .partition = partition };

	/* A partition's record carries its disk's table, too. */
	if (table && partition == 0) {
		sysfs_copy(signature.kind, sizeof(signature.kind), "partition table");
		sysfs_copy(signature.type, sizeof(signature.type), table);
		add(list, &signature);
	}
	if (!type)
		return;
	sysfs_copy(signature.kind, sizeof(signature.kind),
		kind_of_usage(properties_get(properties, "ID_FS_USAGE")));
	sysfs_copy(signature.type, sizeof(signature.type), type);
	sysfs_copy(signature.label, sizeof(signature.label), label ? label : "");
	add(list, &signature);
}

void signature_list_done(struct signature_list *list)
{
	free(list->signatures);
	*list = (struct signature_list){ 0 };
}
