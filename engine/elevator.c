/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists below every elevator, and the table of elevators and their options. */
#include "engine/elevator.h"

#include <stdlib.h>
#include <string.h>

#include "engine/units.h"

const struct elevator_ops *const elevators[] = {
	&elevator_noop_ops,
	&elevator_deadline_ops,
	&elevator_anticipatory_ops,
	&elevator_cfq_ops,
	&elevator_clook_ops,
	&elevator_sstf_ops,
	NULL,
};

const struct elevator_ops *elevator_find(const char *name)
{
	for (size_t i = 0; elevators[i]; i++)
		if (strcmp(elevators[i]->name, name) == 0)
			return elevators[i];
	return NULL;
}

static void set_field(
	struct elevator_options *options, const struct elevator_option *option, uint64_t value)
{
	memcpy((char *)options + option->field, &value, sizeof(value));
}

uint64_t elevator_options_get(
	const struct elevator_options *options, const struct elevator_option *option)
{
	uint64_t value;

	memcpy(&value, (const char *)options + option->field, sizeof(value));
	return value;
}

void elevator_options_default(const struct elevator_ops *ops, struct elevator_options *options)
{
	*options = (struct elevator_options){ 0 };
	for (const struct elevator_option *option = ops->options; option && option->name; option++)
		set_field(options, option, option->standard);
}

static const struct elevator_option *find_option(
	const struct elevator_ops *ops, const char *name, size_t length)
{
	for (const struct elevator_option *option = ops->options; option && option->name; option++)
		if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
			return option;
	return NULL;
}

/* Refuses a name that the elevator does not have, with those that it has. */
static int refuse_name(
	const struct elevator_ops *ops, const char *text, size_t length, struct error *error)
{
	char known[256] = "";

	for (const struct elevator_option *option = ops->options; option && option->name;
		option++) {
		assert(strlen(known) + strlen(option->name) + 3 < sizeof(known));
		strcat(known, *known ? ", " : "");
		strcat(known, option->name);
	}
	if (!*known)
		return error_set(error, -EINVAL, "the elevator %s has no options: leave out `%s`",
			ops->name, text);
	return error_set(error, -EINVAL, "the elevator %s has no option `%.*s`: it has %s",
		ops->name, (int)length, text, known);
}

int elevator_options_set(const struct elevator_ops *ops, struct elevator_options *options,
	const char *text, struct error *error)
{
	const size_t length = strcspn(text, "=");
	const struct elevator_option *option = find_option(ops, text, length);
	uint64_t value = 0;
	nsec_t duration_ns = 0;
	int r;

	if (!option)
		return refuse_name(ops, text, length, error);
	if (text[length] != '=')
		return error_set(error, -EINVAL, "`%s` has no value: write %s=VALUE", text, text);
	if (option->unit == ELEVATOR_DURATION) {
		r = units_parse_duration(text + length + 1, &duration_ns, error);
		value = (uint64_t)duration_ns;
	} else if (option->unit == ELEVATOR_SIZE) {
		r = units_parse_size(text + length + 1, &value, error);
	} else {
		r = units_parse_u64(text + length + 1, &value, error);
	}
	if (r < 0)
		return r;
	if (value < option->minimum || value > option->maximum)
		return error_set(error, -ERANGE, "`%s` is outside %llu to %llu%s", text,
			(unsigned long long)option->minimum, (unsigned long long)option->maximum,
			option->unit == ELEVATOR_DURATION ? " ns"
			: option->unit == ELEVATOR_SIZE   ? " bytes"
							  : "");
	set_field(options, option, value);
	return 0;
}

static uint32_t list_count(const struct elevator_ops *ops, uint32_t streams)
{
	return ops->lists ? ops->lists(streams) : 1;
}

size_t elevator_memory_bytes(const struct elevator_ops *ops, size_t capacity, uint32_t streams)
{
	return ops->bytes + list_count(ops, streams) * sizeof(struct elevator_list) +
	       ((size_t)streams + 2) * ops->stream_bytes +
	       (ops->sorted ? lba_index_memory_bytes(capacity) : 0);
}

int elevator_new(const struct elevator_ops *ops, const struct elevator_options *options,
	size_t capacity, uint32_t streams, struct elevator **ret_elevator)
{
	struct elevator *elevator = calloc(1, ops->bytes);

	if (!elevator)
		return -ENOMEM;
	assert(streams >= 1);
	elevator->ops = ops;
	elevator->options = *options;
	elevator->streams = streams;
	elevator->front_merges = true;
	elevator->lists = calloc(list_count(ops, streams), sizeof(*elevator->lists));
	elevator->per_stream = calloc((size_t)streams + 2, max_u64(ops->stream_bytes, 1));
	if (!elevator->lists || !elevator->per_stream ||
		(ops->sorted && lba_index_new(capacity, &elevator->index))) {
		elevator_free(elevator);
		return -ENOMEM;
	}
	if (ops->init)
		ops->init(elevator);
	*ret_elevator = elevator;
	return 0;
}

void elevator_free(struct elevator *elevator)
{
	if (!elevator)
		return;
	lba_index_free(elevator->index);
	free(elevator->lists);
	free(elevator->per_stream);
	free(elevator);
}

/* Puts the request behind `older` (NULL: first). */
static void link_behind(struct elevator_list *list, struct request *older, struct request *request)
{
	struct request *newer = older ? older->queue_next : list->oldest;

	request->queue_prev = older;
	request->queue_next = newer;
	*(older ? &older->queue_next : &list->oldest) = request;
	*(newer ? &newer->queue_prev : &list->newest) = request;
}

static void unlink_request(struct elevator_list *list, struct request *request)
{
	struct request *older = request->queue_prev, *newer = request->queue_next;

	*(older ? &older->queue_next : &list->oldest) = newer;
	*(newer ? &newer->queue_prev : &list->newest) = older;
	request->queue_next = NULL;
}

void elevator_insert(struct elevator *elevator, struct request *request, nsec_t now_ns)
{
	const struct elevator_ops *ops = elevator->ops;
	struct elevator_list *list;

	request->list = ops->list ? ops->list(elevator, request) : 0;
	request->entered_ns = now_ns;
	list = &elevator->lists[request->list];
	link_behind(list, list->newest, request);
	list->count++;
	elevator->count++;
	if (elevator->index)
		lba_index_insert(elevator->index, request);
	if (ops->inserted)
		ops->inserted(elevator, request, now_ns);
}

/* The request leaves its list. */
static void drop(struct elevator *elevator, struct request *request)
{
	struct elevator_list *list = &elevator->lists[request->list];

	unlink_request(list, request);
	list->count--;
	elevator->count--;
	if (elevator->index)
		lba_index_remove(elevator->index, request);
}

struct request *elevator_next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns)
{
	struct request *request;

	*ret_wake_ns = NSEC_NEVER;
	if (!elevator->count)
		return NULL;
	request = elevator->ops->next(elevator, now_ns, ret_wake_ns);
	if (!request) {
		assert(*ret_wake_ns == NSEC_NEVER ? elevator->at_drive : *ret_wake_ns > now_ns);
		return NULL;
	}
	drop(elevator, request);
	elevator->at_drive++;
	return request;
}

void elevator_completed(struct elevator *elevator, const struct request *request, nsec_t now_ns)
{
	assert(elevator->at_drive);
	if (elevator->ops->completed)
		elevator->ops->completed(elevator, request, now_ns);
	elevator->at_drive--;
}

void elevator_replace(
	struct elevator *elevator, struct request *request, struct request *replacement)
{
	struct elevator_list *list = &elevator->lists[request->list];

	replacement->list = request->list;
	replacement->entered_ns = request->entered_ns;
	link_behind(list, request, replacement);
	unlink_request(list, request);
	if (elevator->index)
		lba_index_replace(elevator->index, request, replacement);
}

void elevator_move(struct elevator *elevator, struct request *request, uint64_t offset_bytes)
{
	if (elevator->index)
		lba_index_remove(elevator->index, request);
	request->offset_bytes = offset_bytes;
	if (elevator->index)
		lba_index_insert(elevator->index, request);
}

void elevator_absorb(struct elevator *elevator, struct request *request, struct request *gone)
{
	/* Both are in one list only if the elevator counts them to one stream. */
	if (gone->entered_ns < request->entered_ns) {
		request->entered_ns = gone->entered_ns;
		if (gone->list == request->list) {
			struct elevator_list *list = &elevator->lists[request->list];

			unlink_request(list, request);
			link_behind(list, gone, request);
		}
	}
	drop(elevator, gone);
	if (elevator->ops->absorbed)
		elevator->ops->absorbed(elevator, gone);
}

struct request *elevator_one_way(const struct elevator *elevator, uint32_t list, uint64_t position,
	uint64_t back_bytes, uint64_t penalty)
{
	struct request *before, *after;

	lba_index_around(elevator->index, list, position, &before, &after);
	if (before && position - before->offset_bytes > back_bytes)
		before = NULL;
	if (after && (!before || (position - before->offset_bytes) * penalty >=
					 after->offset_bytes - position))
		return after;
	/* Of several that start at one offset the oldest. */
	return lba_index_after(elevator->index, list, before ? before->offset_bytes : 0);
}
