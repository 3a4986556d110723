/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_wire.h"

#include <json-c/json.h>

#include "tools/play.h"
#include "tools/report.h"
#include "tools/wire_check.h"

/* Whether any cell sends in an order of its own to a device that could keep it. */
static bool is_worth_checking(const struct run_plan *plan)
{
	if (plan->claim->target.kind != TARGET_BLOCK || plan->claim->device.memory_backed ||
		plan->options->engine == ENGINE_NULL)
		return false;
	for (size_t i = 0; i < plan->elevators.count; i++)
		if (!plan->elevators.items[i].is_kernel)
			return true;
	return false;
}

static int check_once(struct run_session *session, struct wire_result *result, struct error *error)
{
	const struct run_plan *plan = session->plan;
	const struct wire_check_config config = {
		.claim = session->claim,
		.engine = backend_find(engine_choice_names[plan->options->engine]),
		.submit = play_submits_single(session) ? SUBMIT_SINGLE : SUBMIT_BATCH,
		.depth = plan->depth_max,
		.signals = session->signals,
	};
	int r = wire_check(&config, result, error);

	session->lasting_harm |= result->abandoned;
	return r;
}

int run_wire_check(struct run_session *session, struct document *document, struct faults *notes,
	struct error *error)
{
	struct json_object *object;
	struct wire_result result = { 0 };
	int r = 0;

	if (!is_worth_checking(session->plan))
		return 0;
	r = check_once(session, &result, error);
	if (r == 0 && result.order == WIRE_OTHER && !play_submits_single(session) &&
		session->plan->options->submit == SUBMIT_CHOICE_AUTO) {
		faults_add(notes, "%s; requests are sent one per system call", result.text);
		session->single = true;
		r = check_once(session, &result, error);
	}
	if (r < 0)
		return r;
	if (result.order == WIRE_OTHER)
		faults_add(notes, "%s", result.text);
	object = json_object_new_object();
	json_object_object_add(object, "order", report_json_text(wire_order_names[result.order]));
	json_object_object_add(object, "text", report_json_text(result.text));
	json_object_object_add(object, "batches", json_object_new_uint64(result.batches));
	json_object_object_add(
		object, "batches_other", json_object_new_uint64(result.batches_other));
	document_set(document, "wire_order", object);
	return 0;
}
