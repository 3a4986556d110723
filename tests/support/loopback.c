/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transport that expects every command; see the header. */
#include "tests/support/loopback.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/check.h"

static void show(const char *title, const void *bytes, size_t count)
{
	char text[3 * 80 + 1] = "";

	for (size_t i = 0; i < count && i < 80; i++)
		(void)snprintf(text + 3 * i, 4, " %02x", ((const uint8_t *)bytes)[i]);
	print_message("%s:%s\n", title, text);
}

static void same_bytes(
	size_t step, const char *what, const void *expected, const void *sent, size_t count)
{
	if (memcmp(expected, sent, count) == 0)
		return;
	show("expected", expected, count);
	show("sent    ", sent, count);
	fail_msg("command %zu: another %s than expected", step, what);
}

static void same(size_t step, const char *what, uint64_t expected, uint64_t sent)
{
	if (expected != sent)
		fail_msg("command %zu: %s is 0x%llx instead of 0x%llx", step, what,
			(unsigned long long)sent, (unsigned long long)expected);
}

static const struct loopback_step *next(struct loopback *loopback, bool is_nvme, const char *what)
{
	if (loopback->at == loopback->count || loopback->steps[loopback->at].is_nvme != is_nvme)
		fail_msg("command %zu, %s, was not expected", loopback->at, what);
	return &loopback->steps[loopback->at++];
}

static int scsi(struct passthrough *passthrough, struct scsi_command *command)
{
	struct loopback *loopback = container_of(passthrough, struct loopback, base);
	const size_t at = loopback->at;
	const struct loopback_step *step = next(loopback, false, command->what);

	same(at, "length of the command", step->cdb_bytes, command->cdb_bytes);
	same_bytes(at, "command", step->cdb, command->cdb, sizeof(step->cdb));
	same(at, "direction", step->direction, command->direction);
	same(at, "length of the data", step->data_bytes, command->data_bytes);
	if (step->direction == PASSTHROUGH_TO_DRIVE)
		same_bytes(at, "data", step->sent, command->data, step->data_bytes);
	if (!command->timeout_msec)
		fail_msg("command %zu may take for ever", at);
	if (step->returned_bytes)
		memcpy(command->data, step->returned, step->returned_bytes);
	command->status = step->scsi_status;
	command->host_status = step->host_status;
	command->driver_status = step->driver_status;
	command->transferred_bytes =
		step->direction == PASSTHROUGH_FROM_DRIVE ? step->returned_bytes : step->data_bytes;
	command->sense_bytes = step->sense_bytes;
	memcpy(command->sense, step->sense, step->sense_bytes);
	return step->code;
}

static int nvme(struct passthrough *passthrough, struct nvme_command *command)
{
	struct loopback *loopback = container_of(passthrough, struct loopback, base);
	const size_t at = loopback->at;
	const struct loopback_step *step = next(loopback, true, command->what);

	same(at, "opcode", step->opcode, command->opcode);
	same(at, "namespace", step->nsid, command->nsid);
	same(at, "dword 10", step->cdw10, command->cdw10);
	same(at, "dword 11", step->cdw11, command->cdw11);
	same(at, "length of the data", step->data_bytes, command->data_bytes);
	if (!command->timeout_msec)
		fail_msg("command %zu may take for ever", at);
	if (step->returned_bytes)
		memcpy(command->data, step->returned, step->returned_bytes);
	command->status = step->nvme_status;
	command->result = step->result;
	return step->code;
}

static void close_nothing(struct passthrough *passthrough)
{
	(void)passthrough;
}

void loopback_init(struct loopback *loopback, const struct loopback_step *steps, size_t count)
{
	static const struct passthrough_ops ops = {
		.scsi = scsi, .nvme = nvme, .close = close_nothing
	};

	*loopback = (struct loopback){ .base.ops = &ops, .steps = steps, .count = count };
}

void loopback_done(const struct loopback *loopback)
{
	if (loopback->at != loopback->count)
		fail_msg("only %zu of %zu commands were sent", loopback->at, loopback->count);
}
