/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The only maker of targets. Reading needs nothing; writing needs every check passed, the
 * device's identity as the user stated it, and O_EXCL held for the whole run. Identity and size
 * are read again on the open descriptor, so that a name that changed hands is caught.
 */
#ifndef DEVICES_CLAIM_H
#define DEVICES_CLAIM_H

#include "devices/check.h"
#include "engine/target.h"

struct claim_request {
	const char *text; /* TARGET as typed: node, file:PATH,size=BYTES, null */
	bool write;
	const char *identity; /* --write VALUE; NULL when not given */
	bool discard_contents;
};

struct claim {
	struct target target; /* target.claim points back here when writable */
	struct device device; /* zeroed for null; for a file only name, node, size, identity */
	bool file_created;    /* by this claim: it may be written without an identity */
	char name[512];       /* the target as the user gave it */
	uint64_t backing_inode, backing_device; /* of a loop device or a file; else 0 */
};

/* Parses the target's text without opening anything: kind, path and size in bytes (0 when it is
 * not stated). `null,size=BYTES` is taken, too; its default is 1 TiB. */
int claim_parse(const char *text, enum target_kind *ret_kind, char *ret_path, size_t path_size,
	uint64_t *ret_size_bytes, struct error *error);

/* 0 and *ret_claim, or -errno with *every* reason in faults and the class of refusal in the code.
 * A file that is not there is made for writing, its blocks allocated, and needs no identity.
 * -EPERM refused for safety (exit 3), -ENOENT / -EINVAL usage (exit 2), others not possible here
 * (exit 4). */
int claim_open(
	const struct claim_request *request, struct claim **ret_claim, struct faults *faults);

/* Still the same device behind the descriptor? 0, or -ENODEV with a sentence. */
int claim_verify(const struct claim *claim, struct error *error);
void claim_close(struct claim *claim);

/* Nothing was written: removes the file again if this claim made it. Before claim_close. */
void claim_discard(struct claim *claim);

#endif
