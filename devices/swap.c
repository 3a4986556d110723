/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Active swap; see the header. */
#include "devices/swap.h"

#include "devices/sysfs.h"

#include <stdlib.h>
#include <string.h>

/* `/dev/sda2   partition   1048572   0   -2`; blanks in a name are written as \040. */
static bool parse_line(char *line, struct swap *ret_swap)
{
	char *rest = NULL;
	char *path = strtok_r(line, " \t", &rest);
	const char *type = path ? strtok_r(NULL, " \t", &rest) : NULL;
	const char *size = type ? strtok_r(NULL, " \t", &rest) : NULL;

	if (!size || path[0] != '/')
		return false;
	mounts_unescape(path);
	ret_swap->is_file = strcmp(type, "file") == 0;
	ret_swap->path = strdup(path);
	if (!ret_swap->path)
		abort();
	return true;
}

void swap_parse(struct swap_list *swaps, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line;

	if (!copy)
		abort();
	while ((line = strsep(&rest, "\n"))) {
		struct swap swap = { 0 };
		struct swap *grown;

		if (!parse_line(line, &swap))
			continue;
		grown = realloc(swaps->swaps, (swaps->count + 1) * sizeof(*grown));
		if (!grown)
			abort();
		swaps->swaps = grown;
		grown[swaps->count++] = swap;
	}
}

void swap_read(const char *sysroot, const struct mount_list *mounts, struct swap_list *ret_swaps)
{
	struct swap_list swaps = { 0 };
	_cleanup_free_ char *text = NULL;

	if (sysfs_read_whole(sysroot, &text, "proc/swaps") == 0)
		swap_parse(&swaps, text);
	for (size_t i = 0; i < swaps.count; i++) {
		struct swap *swap = &swaps.swaps[i];
		const struct mount *mount =
			swap->is_file ? mounts_holding(mounts, swap->path) : NULL;

		if (mount) {
			swap->major = mount->major;
			swap->minor = mount->minor;
		} else if (!swap->is_file) {
			(void)sysfs_number_of_path(
				sysroot, swap->path, &swap->major, &swap->minor, NULL);
		}
	}
	*ret_swaps = swaps;
}

void swap_done(struct swap_list *swaps)
{
	for (size_t i = 0; i < swaps->count; i++)
		free(swaps->swaps[i].path);
	free(swaps->swaps);
	*swaps = (struct swap_list){ 0 };
}
