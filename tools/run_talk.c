/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_talk.h"

#include <stdio.h>
#include <string.h>

#include "version.h"

void run_talk_start(struct run_talk *talk, struct run_session *session, const struct run_plan *plan,
	struct document *document)
{
	memset(talk, 0, sizeof(*talk));
	progress_start(&talk->progress, plan->options->quiet);
	progress_listen();
	talk->session = session;
	talk->plan = plan;
	talk->document = document;
	talk->started_ns = clock_now(&clock_monotonic);
}

void run_talk_say(struct run_talk *talk, const char *text)
{
	progress_clear(&talk->progress);
	(void)fprintf(stderr, "bareplatter: %s\n", text);
}

void run_talk_cell(
	struct run_talk *talk, const struct run_plan *plan, size_t number, const char *phase)
{
	const struct pool_estimate *estimate = run_plan_estimate(plan, &plan->cells[number - 1]);

	talk->cell = number;
	talk->cell_started_ns = clock_now(&clock_monotonic);
	talk->state = (struct progress_state){
		.cell = (unsigned)number,
		.cells = (unsigned)plan->cell_count,
		.phase = phase,
		.unit = "requests",
		.depth = -1,
		.left_ns = NSEC_NEVER,
	};
	if (estimate)
		talk->state.total = strcmp(phase, "create") == 0 ? estimate->creation.requests
								 : estimate->transactions.requests;
}

static void watch(struct run_talk *talk, const struct scheduler_status *status, nsec_t now_ns)
{
	nsec_t patience_ns = talk->plan->options->watchdog_ns;
	const struct request *oldest = &status->oldest;
	char text[256];

	if (!patience_ns || status->oldest_age_ns < patience_ns ||
		(talk->warned_ns && now_ns - talk->warned_ns < patience_ns))
		return;
	talk->warned_ns = now_ns;
	(void)snprintf(text, sizeof(text),
		"no answer for %s: the oldest of %u requests at the "
		"drive is a %s of %u bytes at LBA %llu (512-byte units); interrupt twice to leave "
		"at once",
		units_format_duration(status->oldest_age_ns).text, status->at_drive,
		oldest->op == REQUEST_READ    ? "read"
		: oldest->op == REQUEST_WRITE ? "write"
					      : "flush",
		oldest->length_bytes, (unsigned long long)(oldest->offset_bytes / 512));
	document_message(talk->document, SEVERITY_WARNING, "%s", text);
	run_talk_say(talk, text);
}

/* What is left: this phase at its rate, the cells to come as long as those before. */
static nsec_t time_left(const struct run_talk *talk, nsec_t now_ns)
{
	const struct progress_state *state = &talk->state;
	size_t to_come = talk->plan->cell_count - talk->cell;
	nsec_t cell_ns, left_ns;

	if (talk->plan->time_limit_ns)
		cell_ns = talk->plan->time_limit_ns;
	else if (state->total && state->done && strcmp(state->phase, "create") != 0)
		cell_ns = (nsec_t)((double)(now_ns - talk->cell_started_ns) * (double)state->total /
				   (double)state->done);
	else
		return NSEC_NEVER;
	left_ns = cell_ns - (now_ns - talk->cell_started_ns);
	return (left_ns > 0 ? left_ns : 0) + (nsec_t)to_come * cell_ns;
}

void run_talk_tick(void *user, const struct scheduler_status *status)
{
	struct run_talk *talk = user;
	nsec_t now_ns = clock_now(&clock_monotonic);

	watch(talk, status, now_ns);
	if (!progress_due(&talk->progress, now_ns))
		return;
	talk->state.done = status->requests_completed;
	talk->state.rate_per_s = cell_rate(status->requests_completed, status->now_ns);
	talk->state.depth = status->depth_mean;
	talk->state.left_ns = time_left(talk, now_ns);
	progress_update(&talk->progress, &talk->state, now_ns);
}

/* Notes are of one kind when they begin alike, up to the first figure or colon. */
static size_t kind_length(const char *note)
{
	return strcspn(note, ":0123456789");
}

void run_talk_notes(struct run_talk *talk, const struct cell_result *result, size_t number)
{
	for (size_t i = 0; i < result->notes.count; i++) {
		const char *note = result->notes.text[i];
		size_t k = 0;

		document_message(talk->document,
			result->status == CELL_COMPLETE ? SEVERITY_WARNING : SEVERITY_ERROR,
			"cell %zu: %s", number, note);
		while (k < talk->notes.count &&
			(kind_length(talk->notes.text[k]) != kind_length(note) ||
				strncmp(talk->notes.text[k], note, kind_length(note)) != 0))
			k++;
		if (k == talk->notes.count)
			faults_add(&talk->notes, "%s", note);
		if (k < ARRAY_SIZE(talk->note_cells))
			talk->note_cells[k]++;
	}
}

void run_talk_end(struct run_talk *talk)
{
	progress_clear(&talk->progress);
	for (size_t i = 0; i < talk->notes.count && i < ARRAY_SIZE(talk->note_cells); i++)
		(void)fprintf(stderr, "bareplatter: note (%zu cell%s): %s\n", talk->note_cells[i],
			talk->note_cells[i] == 1 ? "" : "s", talk->notes.text[i]);
	faults_done(&talk->notes);
}

void run_talk_heading(FILE *stream, const struct run_plan *plan)
{
	const struct target *target = &plan->claim->target;

	(void)fprintf(stream, "bareplatter %s on %s, %s, identity %s\n", BAREPLATTER_VERSION,
		target->name, units_format_size(target->size_bytes).text,
		target->kind == TARGET_NULL ? "none" : plan->claim->device.identity);
	if (plan->is_pattern)
		(void)fprintf(stream, "blocks of %s, seed %llu\n",
			units_format_size(plan->block_bytes).text, (unsigned long long)plan->seed);
	else
		(void)fprintf(stream,
			"pool %s: %d files of %d-%d bytes, %d transactions%s, "
			"seed %llu\n",
			plan->pool_name, plan->load.files, plan->load.size_low_bytes,
			plan->load.size_high_bytes, plan->load.transactions,
			plan->shortened ? " (SHORTENED)" : "", (unsigned long long)plan->seed);
}
