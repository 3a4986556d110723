/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/model_backend.h"

static bool may_meet(const struct request *a, const struct request *b)
{
	return (a->op == REQUEST_READ && b->op == REQUEST_READ) ||
	       a->offset_bytes + a->length_bytes <= b->offset_bytes ||
	       b->offset_bytes + b->length_bytes <= a->offset_bytes;
}

static void model_submit(struct backend *backend, struct request *const requests[], unsigned count)
{
	struct model_backend *model = container_of(backend, struct model_backend, backend);

	for (unsigned i = 0; i < count; i++) {
		struct request *request = requests[i];

		for (unsigned k = 0; k < model->count; k++) {
			const struct request *other = model->at_drive[k];

			assert(other->slot != request->slot && may_meet(other, request));
			assert(other->plan != request->plan || other->stage == request->stage);
		}
		model->at_drive[model->count++] = request;
		model->flushes += request->op == REQUEST_FLUSH;
		model->submitted++;
		model->order_hash = model->order_hash * 31 + request->offset_bytes;
		assert(model->count - model->flushes <= model->depth);
	}
}

static int model_wait(
	struct backend *backend, nsec_t deadline_ns, struct request *done[], unsigned done_max)
{
	struct model_backend *model = container_of(backend, struct model_backend, backend);
	unsigned count;

	if (model->waiting)
		model->waiting(model->user, model);
	if (!model->count) {
		/* An elevator that idles: time goes on until it wants to be asked again. */
		assert(deadline_ns != NSEC_NEVER);
		if (model->clock->time_ns < deadline_ns)
			model->clock->time_ns = deadline_ns;
		return 0;
	}
	model->waits++;
	model->full_waits += model->count - model->flushes == model->depth;
	model->clock->time_ns += 1000 + (nsec_t)rng_below(&model->rng, 100000);
	count = 1 + (unsigned)rng_below(&model->rng, 3);
	for (unsigned i = 0; i < count; i++) {
		unsigned which;

		if (!model->count || i == done_max)
			return (int)i;
		which = model->in_order ? 0 : (unsigned)rng_below(&model->rng, model->count);
		done[i] = model->at_drive[which];
		for (unsigned k = which; k + 1 < model->count; k++)
			model->at_drive[k] = model->at_drive[k + 1];
		model->count--;
		model->flushes -= done[i]->op == REQUEST_FLUSH;
		done[i]->result = model->result ? model->result(model->user, done[i])
						: (int32_t)done[i]->length_bytes;
	}
	return (int)count;
}

static const struct backend_ops model_ops = {
	.name = "model",
	.summary = "virtual time, for tests",
	.depth_max = MODEL_DEPTH_MAX,
	.submit = model_submit,
	.wait = model_wait,
};

void model_backend_init(
	struct model_backend *model, struct clock_manual *clock, unsigned depth, uint64_t seed)
{
	*model = (struct model_backend){ .clock = clock, .depth = depth };
	model->backend.ops = &model_ops;
	rng_seed(&model->rng, seed, RNG_FAULTS);
}
