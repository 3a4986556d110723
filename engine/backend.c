/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of back ends, the choice of `auto`, and what all of them share.
 */
#include "engine/backend.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"

const struct backend_ops *const backends[] = {
	&backend_uring_ops,
	&backend_libaio_ops,
	&backend_sync_ops,
	&backend_null_ops,
	NULL,
};

const struct backend_ops *backend_find(const char *name)
{
	for (size_t i = 0; backends[i]; i++)
		if (strcmp(backends[i]->name, name) == 0)
			return backends[i];
	return NULL;
}

int backend_check(
	const struct backend_ops *ops, const struct backend_config *config, struct error *error)
{
	if (config->depth < 1 || config->depth > ops->depth_max)
		return error_set(error, -EINVAL,
			"depth %u: the %s engine takes 1 to %u; choose a depth within, or another "
			"--engine",
			config->depth, ops->name, ops->depth_max);
	if (ops != &backend_null_ops && config->target->fd < 0)
		return error_set(error, -EINVAL,
			"%s: not a device or file, so the %s engine has nothing to send to; only "
			"the null engine plays on it",
			config->target->name, ops->name);
	return 0;
}

nsec_t backend_remaining(nsec_t deadline_ns)
{
	nsec_t now_ns = clock_now(&clock_monotonic);

	return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

void backend_sleep(nsec_t deadline_ns)
{
	struct timespec duration;
	nsec_t remaining_ns;

	if (deadline_ns == NSEC_NEVER) {
		(void)ppoll(NULL, 0, NULL, NULL);
		return;
	}
	remaining_ns = backend_remaining(deadline_ns);
	duration.tv_sec = remaining_ns / NSEC_PER_SEC;
	duration.tv_nsec = remaining_ns % NSEC_PER_SEC;
	if (remaining_ns > 0)
		(void)ppoll(NULL, 0, &duration, NULL);
}

/* What is taken when io_uring is refused (uring_code) or would hand everything to workers (uring
 * is open then, and still better than nothing). */
static int open_instead(const struct backend_config *config, struct backend *uring,
	struct backend **ret_backend, struct error *why, struct error *error)
{
	struct error libaio_error = { 0 };

	if (backend_libaio_ops.open(config, ret_backend, &libaio_error) == 0) {
		if (uring)
			uring->ops->close(uring);
		return 0;
	}
	if (uring) {
		*ret_backend = uring;
		return 0;
	}
	if (config->depth == 1 && backend_sync_ops.open(config, ret_backend, NULL) == 0)
		return 0;
	return error_set(error, libaio_error.code,
		"no engine for depth %u: io_uring: %.180s; libaio: %.180s", config->depth,
		why->text, libaio_error.text);
}

int backend_open_auto(const struct backend_config *config, struct backend **ret_backend,
	struct error *ret_why, struct error *error)
{
	struct error why = { 0 };
	struct backend *uring = NULL;
	int ret;

	if (ret_why)
		*ret_why = (struct error){ 0 };
	if (config->target->kind == TARGET_NULL)
		return backend_null_ops.open(config, ret_backend, error);
	ret = backend_check(&backend_uring_ops, config, error);
	if (ret < 0)
		return ret;
	if (backend_uring_ops.open(config, &uring, &why) == 0) {
		if (!uring->punts) {
			*ret_backend = uring;
			return 0;
		}
		(void)error_set(&why, -EOPNOTSUPP,
			"%s has no RWF_NOWAIT, so io_uring would hand every request to a kernel "
			"worker",
			config->target->name);
	}
	ret = open_instead(config, uring, ret_backend, &why, error);
	if (ret == 0 && *ret_backend != uring && ret_why)
		*ret_why = why;
	return ret;
}
