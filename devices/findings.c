/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list that every check adds to; declared in devices/check.h. */
#include "devices/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *check_reason_name(enum check_reason reason)
{
	static const char *const names[REASONS] = {
		[REASON_NOT_A_DEVICE] = "not_a_device",
		[REASON_MOUNTED] = "mounted",
		[REASON_SWAP] = "swap",
		[REASON_HELD] = "held",
		[REASON_SYSTEM_DISK] = "system_disk",
		[REASON_READ_ONLY] = "read_only",
		[REASON_NO_MEDIUM] = "no_medium",
		[REASON_ZONED] = "zoned",
		[REASON_SIZE_MISMATCH] = "size_mismatch",
		[REASON_CONTENTS] = "contents",
		[REASON_UNREADABLE] = "unreadable",
		[REASON_RAID_VOLUME] = "raid_volume",
		[REASON_IDENTITY] = "identity",
	};

	assert(reason < REASONS);
	return names[reason];
}

void check_add(struct check_result *result, enum check_reason reason, enum check_weight weight,
	const char *format, ...)
{
	struct check_finding **list = weight == CHECK_NOTE ? &result->notes : &result->findings;
	size_t *count = weight == CHECK_NOTE ? &result->note_count : &result->count;
	struct check_finding *grown = realloc(*list, (*count + 1) * sizeof(*grown));
	va_list args;

	if (!grown)
		abort();
	*list = grown;
	grown += (*count)++;
	*grown = (struct check_finding){ .reason = reason, .hard = weight == CHECK_HARD };
	va_start(args, format);
	(void)vsnprintf(grown->text, sizeof(grown->text), format, args);
	va_end(args);
}

void check_result_done(struct check_result *result)
{
	free(result->findings);
	free(result->notes);
	*result = (struct check_result){ 0 };
}

bool check_is_clean(const struct check_result *result)
{
	return result->count == 0;
}
