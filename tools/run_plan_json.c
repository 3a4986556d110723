/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_plan_json.h"

#include <json-c/json.h>

#include "tools/report.h"

static void add_extent(
	struct json_object *object, const char *key, const struct pool_extent *extent)
{
	struct json_object *of = json_object_new_object();

	json_object_object_add(of, "requests", json_object_new_uint64(extent->requests));
	json_object_object_add(of, "read_bytes", json_object_new_uint64(extent->read_bytes));
	json_object_object_add(of, "write_bytes", json_object_new_uint64(extent->written_bytes));
	json_object_object_add(object, key, of);
}

struct json_object *run_plan_json(const struct run_plan *plan)
{
	struct json_object *object = json_object_new_object();
	const struct pool_estimate *estimate = plan->estimates;

	json_object_object_add(
		object, "area_offset_bytes", json_object_new_uint64(plan->area_offset_bytes));
	json_object_object_add(object, "area_bytes", json_object_new_uint64(plan->area_bytes));
	json_object_object_add(object, "memory_bytes", json_object_new_uint64(plan->memory_bytes));
	json_object_object_add(object, "cell_seconds",
		plan->time_limit_ns ? report_json_double((double)plan->time_limit_ns / NSEC_PER_SEC)
				    : NULL);
	if (!estimate)
		return object;
	json_object_object_add(object, "pool", report_json_text(plan->pool_name));
	json_object_object_add(object, "shortened", json_object_new_boolean(plan->shortened));
	json_object_object_add(object, "files", json_object_new_int(plan->load.files));
	json_object_object_add(
		object, "size_low_bytes", json_object_new_int(plan->load.size_low_bytes));
	json_object_object_add(
		object, "size_high_bytes", json_object_new_int(plan->load.size_high_bytes));
	json_object_object_add(
		object, "transactions", json_object_new_int(plan->load.transactions));
	json_object_object_add(object, "seed", json_object_new_int(plan->load.seed));
	json_object_object_add(
		object, "worst_bytes", json_object_new_uint64(estimate->worst_bytes));
	json_object_object_add(object, "peak_bytes",
		json_object_new_uint64(estimate->peak_blocks * plan->block_bytes));
	json_object_object_add(object, "first_lba",
		json_object_new_uint64(
			estimate->first_byte / plan->claim->target.logical_block_bytes));
	json_object_object_add(object, "end_lba",
		json_object_new_uint64(
			estimate->end_byte / plan->claim->target.logical_block_bytes));
	json_object_object_add(object, "span_bytes", json_object_new_uint64(plan->span_bytes));
	json_object_object_add(object, "no_space",
		json_object_new_uint64(estimate->creation_no_space + estimate->counts.no_space));
	add_extent(object, "creation", &estimate->creation);
	add_extent(object, "cell", &estimate->transactions);
	return object;
}
