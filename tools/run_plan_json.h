/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan for machines: the same object in the documents of `plan` and `run`. */
#ifndef TOOLS_RUN_PLAN_JSON_H
#define TOOLS_RUN_PLAN_JSON_H

#include "tools/run_plan.h"

struct json_object;

/* Area, load, extent of what is read and written, memory. To be taken over by a document. */
struct json_object *run_plan_json(const struct run_plan *plan);

#endif
