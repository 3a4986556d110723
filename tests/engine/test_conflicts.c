/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index against a list that compares every pair. */
#include "tests/support/check.h"

#include <string.h>

#include "engine/conflicts.h"
#include "engine/rng.h"

#define PLANS 64

static struct request_pool pool;
static struct plan plans[PLANS];
static bool live[PLANS];
static struct request *order[PLANS * 4]; /* entered and not left, in order of entry */
static unsigned order_count;
static struct request *freed[PLANS * 4];
static unsigned freed_count;
static unsigned opened_count;

static void note_freed(void *user, struct request *request)
{
	(void)user;
	freed[freed_count++] = request;
}

static void note_opened(void *user, struct plan *plan)
{
	(void)user;
	assert_false(plan->waits_for_file);
	opened_count++;
}

static bool naive_conflict(const struct request *a, const struct request *b)
{
	uint64_t begin = max_u64(a->offset_bytes, b->offset_bytes);
	uint64_t end =
		min_u64(a->offset_bytes + a->length_bytes, b->offset_bytes + b->length_bytes);

	return begin < end && !(a->op == REQUEST_READ && b->op == REQUEST_READ);
}

static unsigned naive_blockers(unsigned position)
{
	unsigned blockers = 0;

	for (unsigned i = 0; i < position; i++)
		blockers += naive_conflict(order[i], order[position]);
	return blockers;
}

static bool naive_file_waits(unsigned which)
{
	for (unsigned i = 0; i < PLANS; i++)
		if (live[i] && i != which && plans[i].file == plans[which].file &&
			plans[i].id < plans[which].id && (plans[i].writes || plans[which].writes))
			return true;
	return false;
}

static void judge(void)
{
	for (unsigned i = 0; i < order_count; i++)
		assert_int_equal(order[i]->blockers, naive_blockers(i));
	for (unsigned i = 0; i < PLANS; i++)
		if (live[i] && plans[i].file)
			assert_int_equal(plans[i].waits_for_file, naive_file_waits(i));
}

static void enter(struct conflicts *conflicts, struct rng *rng, unsigned which, uint64_t id)
{
	static uint64_t sequence;
	unsigned count = 1 + (unsigned)rng_below(rng, 3);

	plan_clear(&plans[which], &pool);
	plans[which].id = id;
	plans[which].file = rng_below(rng, 6);
	for (unsigned i = 0; i < count; i++) {
		struct request *request = plan_add(&plans[which],
			rng_below(rng, 2) ? REQUEST_WRITE : REQUEST_READ, ROLE_DATA, 0,
			512 * rng_below(rng, 200), 512 * (1 + (uint32_t)rng_below(rng, 16)));

		request->sequence = sequence++;
	}
	live[which] = true;
	conflicts_enter(conflicts, &plans[which]);
	for (struct request *request = plans[which].first; request; request = request->next)
		order[order_count++] = request;
}

static void leave(struct conflicts *conflicts, unsigned which)
{
	for (struct request *request = plans[which].first; request; request = request->next) {
		unsigned at = 0, before[PLANS * 4];

		while (order[at] != request)
			at++;
		memmove(&order[at], &order[at + 1], (order_count - at - 1) * sizeof(order[0]));
		order_count--;
		for (unsigned i = 0; i < order_count; i++)
			before[i] = order[i]->blockers;
		freed_count = 0;
		conflicts_leave(conflicts, request, note_freed, NULL);
		for (unsigned i = 0; i < order_count; i++)
			if (before[i] && !order[i]->blockers)
				freed_count--;
		assert_int_equal(freed_count, 0);
	}
	live[which] = false;
	conflicts_leave_plan(conflicts, &plans[which], note_opened, NULL);
	plan_release(&plans[which]);
}

static void random_plans_agree_with_the_naive_list(void **state)
{
	struct conflicts *conflicts;
	struct rng rng;
	unsigned waited = 0;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	assert_int_equal(request_pool_init(&pool, PLANS * 4), 0);
	assert_int_equal(conflicts_new(&pool, 16 * 512, PLANS, &conflicts), 0);
	for (uint64_t step = 1; step <= 6000; step++) {
		unsigned which = (unsigned)rng_below(&rng, PLANS);

		if (live[which])
			leave(conflicts, which);
		else
			enter(conflicts, &rng, which, step);
		judge();
		waited += live[which] && plans[which].waits_for_file;
	}
	assert_true(waited > 100 && opened_count > 100);
	for (unsigned i = 0; i < PLANS; i++)
		if (live[i])
			leave(conflicts, i);
	assert_int_equal(order_count, 0);
	assert_int_equal(pool.free_count, pool.count);
	conflicts_free(conflicts);
	request_pool_done(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_plans_agree_with_the_naive_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
