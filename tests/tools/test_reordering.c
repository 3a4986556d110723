/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures of order on traces whose answers are known, and on random ones against a checker that
 * compares every pair with every other and shares no code with what it checks.
 */
#include "tests/support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rng.h"
#include "tests/support/golden.h"
#include "tools/overtakes.h"
#include "tools/reorder_report.h"

#define NEAR(value, expected) assert_true(fabs((value) - (expected)) < 1e-9)

/* A write of 4 KiB, the number-th to be queued and sent, all queued and sent at once. */
static struct trace_record record(uint32_t number, uint64_t lba, nsec_t completed_ns)
{
	return (struct trace_record){
		.offset_bytes = lba * 512,
		.completed_ns = completed_ns,
		.sequence = number,
		.dispatch = number,
		.length_bytes = 4096,
		.result = 4096,
		.op = REQUEST_WRITE,
	};
}

static struct reordering measure_as(
	const struct trace_record *records, size_t count, struct reordering_config config)
{
	struct reordering reordering;

	assert_int_equal(reordering_measure(records, count, &config, &reordering, NULL), 0);
	return reordering;
}

static struct reordering measure(const struct trace_record *records, size_t count, unsigned depth)
{
	return measure_as(
		records, count, (struct reordering_config){ REORDERING_ALL, depth, 0, 10 });
}

static void in_order_nobody_is_overtaken(void **state)
{
	struct trace_record records[16];
	struct reordering got;

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		records[i] = record(i, i * 8, 1000 * (i + 1));
	got = measure(records, 16, 4);
	assert_true(got.order_kept);
	assert_true(got.overtaken_share == 0 && got.overtakes_mean == 0);
	assert_true(got.overtakes_p99 == 0 && got.overtakes_max == 0 && got.kendall == 0);
	assert_int_equal(got.kendall_windows, 4);
	assert_true(got.tied_share == 0 && got.merge_ratio == 1);
	for (int i = 0; i < REORDERING_ORDERS; i++) {
		assert_true(got.distance[i].known);
		assert_int_equal(got.distance[i].total_sectors, 0);
	}
	assert_int_equal(got.elapsed_ns, 16000);
	assert_int_equal(got.write_bytes, 16 * 4096);
	reordering_done(&got);
}

static void reversed_in_windows_is_distance_one(void **state)
{
	enum { DEPTH = 5, COUNT = 4 * DEPTH + 3 };
	struct trace_record records[COUNT];
	struct reordering got;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++)
		records[i] = record(i, 0, 1000 * (i - i % DEPTH) + 100 * (DEPTH - i % DEPTH));
	got = measure(records, COUNT - 3, DEPTH);
	assert_false(got.order_kept);
	NEAR(got.kendall, 1);
	NEAR(got.overtaken_share, 0.8);
	NEAR(got.overtakes_mean, 2);
	NEAR(got.overtakes_max, 4);
	NEAR(got.overtakes_p99, 4);
	reordering_done(&got);
	/* A last short window is left out of the distance, not of the rest. */
	got = measure(records, COUNT, DEPTH);
	assert_int_equal(got.kendall_windows, 4);
	NEAR(got.overtakes_mean, (4 * 10 + 3) / 23.0);
	reordering_done(&got);
}

/* Sent to and fro, served in one pass by LBA, as it was queued. */
static void sorted_by_lba_shortens_the_way(void **state)
{
	static const uint64_t lbas[] = { 0, 700, 100, 600, 200, 500, 300, 400 };
	struct trace_record records[8];
	struct reordering got;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		records[i] = record(i, lbas[i], (nsec_t)lbas[i] + 1);
		records[i].sequence = (uint32_t)lbas[i]; /* queued as they lie */
	}
	got = measure(records, 8, 8);
	/* From end to start: up is 8 sectors less than the LBAs are apart, down 8 more. */
	assert_int_equal(got.distance[REORDERING_DISPATCHED].total_sectors,
		692 + 608 + 492 + 408 + 292 + 208 + 92);
	NEAR(got.distance[REORDERING_DISPATCHED].mean_sectors, 2792 / 7.0);
	assert_int_equal(got.distance[REORDERING_DISPATCHED].median_sectors, 408);
	for (int i = REORDERING_QUEUED; i <= REORDERING_COMPLETED; i += 2) {
		assert_int_equal(got.distance[i].median_sectors, 92);
		NEAR(got.distance[i].mean_sectors, 92);
		NEAR(got.distance[i].mean_log2, log2(93));
	}
	reordering_done(&got);
}

static void a_tie_counts_half(void **state)
{
	/* Sent 0 1 2 3; 3 completes alone, then 0 and 1 in one reap, then 2. */
	const struct trace_record records[] = { record(3, 0, 10), record(0, 0, 20),
		record(1, 0, 20), record(2, 0, 30) };
	struct reordering got = measure(records, 4, 4);

	(void)state;
	/* 0: by 3 and half by 1; 1 and 2: by 3. */
	NEAR(got.overtakes_mean, 3.5 / 4);
	NEAR(got.overtakes_max, 1.5);
	NEAR(got.overtaken_share, 0.75);
	NEAR(got.tied_share, 0.5);
	NEAR(got.kendall, 3.5 / 6);
	reordering_done(&got);
	/* Only tied: half overtaken, and order is kept. */
	got = measure(records + 1, 2, 2);
	NEAR(got.overtaken_share, 0.25);
	assert_true(got.order_kept);
	reordering_done(&got);
}

static void merged_requests_are_one(void **state)
{
	struct trace_record records[] = { record(2, 8, 50), record(1, 100, 40), record(0, 16, 50),
		record(3, 24, 50) };
	struct reordering got;

	(void)state;
	for (int i = 0; i < 4; i++) {
		records[i].queued_ns = records[i].sequence;
		records[i].dispatched_ns = 10;
		records[i].dispatch = i == 1;
	}
	got = measure(records, 4, 2);
	assert_int_equal(got.requests_queued, 4);
	assert_int_equal(got.requests_dispatched, 2);
	NEAR(got.merge_ratio, 2);
	assert_int_equal(got.counted, 2);
	NEAR(got.overtaken_share, 0.5);
	NEAR(got.overtakes_max, 1);
	/* 8..32 and 100..108. */
	assert_int_equal(got.distance[REORDERING_QUEUED].total_sectors, 68);
	assert_int_equal(got.distance[REORDERING_COMPLETED].total_sectors, 100);
	assert_int_equal(got.drive.count, 2);
	assert_int_equal(got.host.count, 4);
	assert_int_equal(got.host.min_ns, 7);
	reordering_done(&got);
}

static void damaged_merges_are_told(void **state)
{
	struct trace_record records[] = { record(0, 0, 50), record(1, 24, 50) };
	const struct reordering_config config = { REORDERING_ALL, 1, 0, 0 };
	struct reordering got;
	struct error gap = { 0 }, instants = { 0 };

	(void)state;
	records[1].dispatch = 0;
	assert_int_equal(reordering_measure(records, 2, &config, &got, &gap), -EBADMSG);
	assert_non_null(strstr(gap.text, "contiguous"));
	records[1].offset_bytes = 4096;
	records[1].completed_ns++;
	assert_int_equal(reordering_measure(records, 2, &config, &got, &instants), -EBADMSG);
	assert_non_null(strstr(instants.text, "instants"));
}

static void who_waits_too_long_is_listed(void **state)
{
	enum { COUNT = 200 };
	struct trace_record records[COUNT];
	struct reordering got;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		records[i] = record(i, i * 80, 1000 * (nsec_t)(i + 1));
		records[i].queued_ns = 1000 * (nsec_t)i;
		records[i].dispatched_ns = records[i].queued_ns + 100;
	}
	records[20].completed_ns = 150500; /* while 21 to 149 were served */
	records[30].completed_ns = 90500;  /* 60 medians, by 31 to 89 */
	records[60].completed_ns = 109000; /* 49 medians: not yet */
	got = measure_as(records, COUNT, (struct reordering_config){ REORDERING_ALL, 4, 0, 1 });
	assert_int_equal(got.wait_median_ns, 1000);
	assert_int_equal(got.starved_above_ns, 50000);
	assert_int_equal(got.starved_count, 2);
	assert_int_equal(got.starved_listed, 1);
	assert_int_equal(got.starved[0].lba, 1600);
	assert_int_equal(got.starved[0].sequence, 20);
	assert_int_equal(got.starved[0].wait_ns, 130500);
	assert_int_equal(got.starved[0].host_ns, 100);
	assert_int_equal(got.starved[0].drive_ns, 130400);
	NEAR(got.starved[0].overtaken_by, 129);
	reordering_done(&got);
	/* A second is long whatever the median; with a median of 0 nothing else is. */
	for (uint32_t i = 0; i < COUNT; i++)
		records[i].completed_ns = records[i].dispatched_ns = records[i].queued_ns;
	records[7].completed_ns += NSEC_PER_SEC + 1;
	got = measure(records, COUNT, 4);
	assert_int_equal(got.starved_above_ns, NSEC_PER_SEC);
	assert_int_equal(got.starved_count, 1);
	reordering_done(&got);
}

static void under_write_back_order_is_blank(void **state)
{
	struct trace_record records[] = { record(0, 0, 9000), record(1, 80, 200),
		record(2, 160, 300) };
	struct reordering got;

	(void)state;
	assert_int_equal(reordering_scope_of("plain", 0), REORDERING_BLANK);
	assert_int_equal(reordering_scope_of("write+flush", 0), REORDERING_BLANK);
	assert_int_equal(reordering_scope_of("", 0), REORDERING_BLANK);
	assert_int_equal(reordering_scope_of("plain", 1), REORDERING_READS);
	assert_int_equal(reordering_scope_of("wce0", 0), REORDERING_ALL);
	assert_int_equal(reordering_scope_of("fua", 0), REORDERING_ALL);
	assert_int_equal(reordering_scope_of("none", 0), REORDERING_ALL);
	got = measure_as(records, 3, (struct reordering_config){ REORDERING_BLANK, 2, 0, 10 });
	assert_true(isnan(got.overtaken_share) && isnan(got.tied_share));
	assert_true(isnan(got.overtakes_mean) && isnan(got.overtakes_p99));
	assert_true(isnan(got.overtakes_max) && isnan(got.kendall));
	assert_false(got.order_kept);
	assert_false(got.distance[REORDERING_COMPLETED].known);
	/* What the host did is known. */
	assert_int_equal(got.distance[REORDERING_DISPATCHED].total_sectors, 144);
	assert_int_equal(got.drive.count, 3);
	assert_int_equal(got.starved_count, 0);
	reordering_done(&got);
}

/* A tenth of a revolution at 7200 rpm parts hits from misses; what was left out overtakes nobody.
 */
static void only_reads_that_missed_count_under_write_back(void **state)
{
	enum { MS = NSEC_PER_MSEC };
	struct trace_record records[] = { record(0, 0, 30 * MS), record(1, 80, 20 * MS),
		record(2, 160, MS / 2), record(3, 240, MS), record(4, 320, 25 * MS) };
	struct reordering got;

	(void)state;
	records[0].op = records[1].op = records[2].op = REQUEST_READ;
	records[3].op = REQUEST_WRITE;
	records[4].op = REQUEST_FLUSH;
	assert_int_equal(reordering_hit_below(7200), 833333);
	assert_int_equal(reordering_hit_below(0), 0);
	got = measure_as(records, 5,
		(struct reordering_config){ REORDERING_READS, 2, reordering_hit_below(7200), 10 });
	assert_int_equal(got.cache_hits, 1);
	assert_int_equal(got.counted, 2);
	assert_int_equal(got.flushes, 1);
	assert_int_equal(got.requests_dispatched, 4);
	NEAR(got.overtaken_share, 0.5);
	NEAR(got.kendall, 1);
	assert_false(got.distance[REORDERING_COMPLETED].known);
	assert_int_equal(got.starved_count, 0);
	reordering_done(&got);
}

/* Any of the d at the drive with equal chance: (d - 1) / 2 overtakes a request, and the distance
 * that the header states. */
static void a_drive_that_takes_any_gives_what_theory_says(void **state)
{
	enum { DEPTH = 4, COUNT = 100000 };
	struct trace_record *records = malloc(COUNT * sizeof(*records));
	uint32_t at_drive[DEPTH];
	struct reordering got;
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	for (uint32_t i = 0; i < DEPTH; i++)
		at_drive[i] = i;
	for (uint32_t i = 0, next = DEPTH; i < COUNT; i++, next++) {
		uint32_t slot = (uint32_t)rng_below(&rng, DEPTH);

		/* The last ones stay: they are sent and never come back. */
		records[at_drive[slot]] = record(at_drive[slot], 0, i + 1);
		at_drive[slot] = next;
		if (next < COUNT)
			records[next] = record(next, 0, TRACE_NEVER);
		else
			break;
		records[next].dispatched_ns = i + 1;
	}
	for (uint32_t i = 0; i < DEPTH; i++)
		if (at_drive[i] < COUNT)
			records[at_drive[i]].completed_ns = TRACE_NEVER;
	got = measure(records, COUNT, DEPTH);
	assert_true(fabs(got.overtakes_mean - 1.5) < 0.05);
	assert_true(fabs(got.kendall - 0.31640625) < 0.01);
	reordering_done(&got);
	free(records);
}

/* The naive checker: plain definitions over every pair. */
struct naive {
	double share, mean, max, kendall;
	size_t count, windows;
};

static double half_overtake(const struct trace_record *by, const struct trace_record *of)
{
	if (by->dispatch <= of->dispatch)
		return 0;
	return by->completed_ns < of->completed_ns    ? 1
	       : by->completed_ns == of->completed_ns ? 0.5
						      : 0;
}

/* records: one a dispatch number, 0 .. count - 1 in this order. */
static struct naive check_naively(const struct trace_record *records, size_t count, size_t window)
{
	struct naive naive = { .count = count };
	double discordant = 0;

	for (size_t i = 0; i < count; i++) {
		double own = 0;
		bool overtaken = false;

		for (size_t k = 0; k < count; k++) {
			double by = half_overtake(&records[k], &records[i]);

			own += by;
			overtaken |= by == 1;
			if (i / window == k / window && i / window < count / window)
				discordant += by;
		}
		naive.mean += own / (double)count;
		naive.max = fmax(naive.max, own);
		naive.share += (overtaken ? 1 : own > 0 ? 0.5 : 0) / (double)count;
	}
	naive.windows = count / window;
	naive.kendall = discordant / (double)naive.windows / ((double)(window * (window - 1)) / 2);
	return naive;
}

static void shuffle(struct trace_record *records, size_t count, struct rng *rng)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = rng_below(rng, i);
		struct trace_record swap = records[i - 1];

		records[i - 1] = records[other];
		records[other] = swap;
	}
}

/* Writes into records what merged ones fall apart into, flushes and unfinished ones among them. */
static size_t fall_apart(const struct trace_record *merged, size_t count,
	struct trace_record *records, struct rng *rng)
{
	uint32_t sequence = 0;
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned children = 1 + (unsigned)rng_below(rng, 3);

		for (unsigned child = 0; child < children; child++) {
			records[made] = merged[i];
			records[made].dispatch = 2 * merged[i].dispatch;
			records[made].sequence = sequence++;
			records[made++].offset_bytes += (uint64_t)child * 4096;
		}
		if (rng_below(rng, 4) == 0) {
			records[made] = record(sequence++, 0, 77);
			records[made].dispatch = 2 * merged[i].dispatch + 1;
			records[made].length_bytes = 0;
			records[made++].op = REQUEST_FLUSH;
		}
		if (rng_below(rng, 4) == 0)
			records[made++] = record(sequence++, 0, TRACE_NEVER);
	}
	shuffle(records, made, rng);
	return made;
}

static void random_traces_agree_with_every_pair(void **state)
{
	enum { ROUNDS = 200, MAX = 120 };
	struct trace_record merged[MAX], records[MAX * 5];
	struct rng rng;

	(void)state;
	rng_seed(&rng, check_seed(), RNG_LOAD);
	for (int round = 0; round < ROUNDS; round++) {
		size_t window = 2 + rng_below(&rng, 9);
		size_t count = window + rng_below(&rng, MAX - window);
		uint64_t spread = 1 + rng_below(&rng, 3 * count); /* small: many ties */
		struct reordering got;
		struct naive expected;
		size_t made;

		for (uint32_t i = 0; i < count; i++)
			merged[i] = record(i, 8 * rng_below(&rng, 1000),
				1 + i / 2 + (nsec_t)rng_below(&rng, spread));
		expected = check_naively(merged, count, window);
		made = fall_apart(merged, count, records, &rng);
		got = measure(records, made, (unsigned)window);
		assert_int_equal(got.counted, expected.count);
		assert_int_equal(got.kendall_windows, expected.windows);
		NEAR(got.overtaken_share, expected.share);
		NEAR(got.overtakes_mean, expected.mean);
		NEAR(got.overtakes_max, expected.max);
		NEAR(got.kendall, expected.kendall);
		assert_int_equal(got.requests_queued + got.flushes + got.unfinished, made);
		reordering_done(&got);
	}
}

static void the_depth_is_seen_where_it_is_not_told(void **state)
{
	struct trace_record records[30];
	struct reordering got;

	(void)state;
	/* Three at the drive; each reap lets the next one go at the same instant. */
	for (uint32_t i = 0; i < 30; i++) {
		records[i] = record(i, 0, 10 * (nsec_t)(i + 1));
		records[i].dispatched_ns = i < 3 ? 0 : 10 * (nsec_t)(i - 2);
	}
	got = measure(records, 30, 0);
	assert_int_equal(got.depth, 3);
	assert_int_equal(got.kendall_windows, 10);
	reordering_done(&got);
}

static void nothing_gives_nothing(void **state)
{
	const struct trace_record never = record(0, 0, TRACE_NEVER), one = record(0, 0, 5);
	struct reordering got = measure(&never, 1, 4);

	(void)state;
	assert_int_equal(got.unfinished, 1);
	assert_int_equal(got.requests_dispatched, 0);
	assert_true(isnan(got.overtaken_share) && isnan(got.merge_ratio));
	assert_int_equal(got.elapsed_ns, 0);
	reordering_done(&got);
	got = measure(&one, 1, 0);
	assert_true(got.overtaken_share == 0 && isnan(got.kendall));
	assert_false(got.distance[REORDERING_DISPATCHED].known);
	reordering_done(&got);
}

static void the_text_is_as_agreed(void **state)
{
	enum { COUNT = 400 };
	struct trace_record records[COUNT];
	struct report *report = reorder_report_new();
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	struct reordering known, blank;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		records[i] = record(i, 8000 * ((i * 7) % 16), 1000000 * (nsec_t)(i + 1));
		records[i].queued_ns = 1000000 * (nsec_t)i - 3000000;
		records[i].dispatched_ns = 1000000 * (nsec_t)i - 500000;
		if (i % 4 == 1)
			records[i].completed_ns += 2500000;
	}
	records[100].completed_ns += 200000000;
	records[200].completed_ns += 196500000;
	records[200].result = -EIO;
	known = measure(records, COUNT, 4);
	blank = measure_as(
		records, COUNT, (struct reordering_config){ REORDERING_BLANK, 4, 0, 10 });
	reorder_report_add(report, 1, "wce0", &known);
	reorder_report_add(report, 2, "plain", &blank);
	assert_int_equal(report_table(report, stream, 0, false, NULL), 0);
	reorder_report_starved(&known, 1, stream);
	reorder_report_starved(&blank, 2, stream);
	report_csv(report, stream);
	(void)fclose(stream);
	golden_check(SOURCE_DIR, "reorder/reorder.txt", text);
	reordering_done(&known);
	reordering_done(&blank);
	report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_nobody_is_overtaken),
		cmocka_unit_test(reversed_in_windows_is_distance_one),
		cmocka_unit_test(sorted_by_lba_shortens_the_way),
		cmocka_unit_test(a_tie_counts_half),
		cmocka_unit_test(merged_requests_are_one),
		cmocka_unit_test(damaged_merges_are_told),
		cmocka_unit_test(who_waits_too_long_is_listed),
		cmocka_unit_test(under_write_back_order_is_blank),
		cmocka_unit_test(only_reads_that_missed_count_under_write_back),
		cmocka_unit_test(a_drive_that_takes_any_gives_what_theory_says),
		cmocka_unit_test(random_traces_agree_with_every_pair),
		cmocka_unit_test(the_depth_is_seen_where_it_is_not_told),
		cmocka_unit_test(nothing_gives_nothing),
		cmocka_unit_test(the_text_is_as_agreed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
