/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/reorder_gains.h"

#include <gsl/gsl_cdf.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "tools/report.h"

#define REPEATS_FOR_INTERVAL 5

static const struct reorder_gain unknown = { (double)NAN, (double)NAN, (double)NAN };

/* A figure of one repeat: a throughput, or the logarithm of a gain (NaN when one is missing). */
typedef double figure_fn(const struct reorder_throughput *repeat);

static double submission_single(const struct reorder_throughput *repeat)
{
	return repeat->submission_single;
}

static double submission_deep(const struct reorder_throughput *repeat)
{
	return repeat->submission_deep;
}

static double drive_single(const struct reorder_throughput *repeat)
{
	return repeat->drive_single;
}

static double kept_deep(const struct reorder_throughput *repeat)
{
	return repeat->kept_deep;
}

static double log_ratio(double above, double below)
{
	return above > 0 && below > 0 ? log(above / below) : (double)NAN;
}

static double log_total(const struct reorder_throughput *repeat)
{
	return log_ratio(repeat->submission_deep, repeat->submission_single);
}

static double log_order(const struct reorder_throughput *repeat)
{
	return log_ratio(repeat->drive_single, repeat->submission_single);
}

static double log_rest(const struct reorder_throughput *repeat)
{
	return log_ratio(repeat->submission_deep, repeat->drive_single);
}

static double log_overlap(const struct reorder_throughput *repeat)
{
	return log_ratio(repeat->kept_deep, repeat->submission_single);
}

static double log_together(const struct reorder_throughput *repeat)
{
	return log_rest(repeat) - log_overlap(repeat);
}

static struct reorder_gain combine(
	const struct reorder_throughput *repeats, size_t count, figure_fn *log_gain)
{
	struct reorder_gain gain = unknown;
	double mean = 0, squares = 0, half;

	for (size_t i = 0; i < count; i++)
		mean += log_gain(&repeats[i]) / (double)count;
	if (!count || isnan(mean))
		return unknown;
	gain.value = exp(mean);
	if (count < REPEATS_FOR_INTERVAL)
		return gain;
	for (size_t i = 0; i < count; i++)
		squares += pow(log_gain(&repeats[i]) - mean, 2);
	half = gsl_cdf_tdist_Pinv(0.975, (double)count - 1) *
	       sqrt(squares / ((double)count - 1) / (double)count);
	gain.low = exp(mean - half);
	gain.high = exp(mean + half);
	return gain;
}

static double mean_of(const struct reorder_throughput *repeats, size_t count, figure_fn *throughput)
{
	double sum = 0;

	if (count == 1)
		return throughput(repeats);
	for (size_t i = 0; i < count; i++) {
		if (!(throughput(&repeats[i]) > 0))
			return 0;
		sum += log(throughput(&repeats[i]));
	}
	return count ? exp(sum / (double)count) : 0;
}

void reorder_gains_compute(const struct reorder_throughput *repeats, size_t count, bool order_kept,
	struct reorder_gains *ret_gains)
{
	static const struct reorder_gain by_identity = { 1, (double)NAN, (double)NAN };
	struct reorder_gains gains = {
		.repeats = count,
		.mean = { mean_of(repeats, count, submission_single),
			mean_of(repeats, count, submission_deep),
			mean_of(repeats, count, drive_single), mean_of(repeats, count, kept_deep) },
		.order_kept = order_kept,
		.total = combine(repeats, count, log_total),
		.order = combine(repeats, count, log_order),
		.rest = combine(repeats, count, log_rest),
		.overlap = combine(repeats, count, log_overlap),
		.together = combine(repeats, count, log_together),
		.control = unknown,
	};

	if (order_kept) {
		gains.mean.kept_deep = gains.mean.submission_deep;
		gains.control = gains.order;
		gains.order = gains.together = by_identity;
		gains.overlap = gains.rest = gains.total;
	}
	*ret_gains = gains;
}

enum reorder_arms reorder_gains_arms(const struct device *device)
{
	static const char *const direct[] = { "sata", "ata", "sas", "scsi", "spi", "usb", "fc",
		"ide" };

	if (device->memory_backed || device->raid_volume || !device->rotational ||
		strcmp(device->transport, "md") == 0)
		return ARMS_MANY;
	for (size_t i = 0; i < ARRAY_SIZE(direct); i++)
		if (strcmp(device->transport, direct[i]) == 0)
			return ARMS_ONE;
	return ARMS_UNKNOWN;
}

static const char *meaning_of(const struct reorder_gains *gains, enum reorder_arms arms)
{
	if (arms == ARMS_MANY)
		return "parallelism, not reordering";
	return gains->order_kept ? "overlap, not reordering" : "order and overlap";
}

static void print_throughput(FILE *stream, double value, double scale)
{
	if (value > 0)
		(void)fprintf(stream, "%16.2f", value * scale);
	else
		(void)fprintf(stream, "%16s", "not measured");
}

static void print_row(FILE *stream, const char *name, double single, double deep, double scale)
{
	(void)fprintf(stream, "  %-20s", name);
	print_throughput(stream, single, scale);
	print_throughput(stream, deep, scale);
	(void)fputc('\n', stream);
}

static void print_gain(FILE *stream, const char *name, const struct reorder_gain *gain)
{
	(void)fprintf(stream, "  %-20s x%.2f", name, gain->value);
	if (!isnan(gain->low))
		(void)fprintf(stream, "  [%.2f .. %.2f]", gain->low, gain->high);
	(void)fputc('\n', stream);
}

/* A part that three throughputs leave open lies between no gain and all that is left. */
static void print_part(FILE *stream, const char *name, const struct reorder_gain *gain,
	const struct reorder_gain *rest)
{
	if (!isnan(gain->value))
		print_gain(stream, name, gain);
	else if (!isnan(rest->value))
		(void)fprintf(stream, "  %-20s x%.2f .. x%.2f\n", name, fmin(1, rest->value),
			fmax(1, rest->value));
	else
		(void)fprintf(stream, "  %-20s not known\n", name);
}

static void print_words(const struct reorder_gains *gains, enum reorder_arms arms, FILE *stream)
{
	if (arms == ARMS_MANY)
		(void)fputs("  parallelism, not reordering: this device is not one arm, so what "
			    "is done first was\n  not chosen before the rest but done beside it\n",
			stream);
	else if (gains->order_kept)
		(void)fputs("  nobody was overtaken: the gain is overlap, order is 1 exactly\n",
			stream);
	else if (isnan(gains->order.value))
		(void)fputs("  order and overlap cannot be told apart without a replay in the "
			    "drive's order,\n  one at a time\n",
			stream);
	else if (isnan(gains->overlap.value))
		(void)fputs("  overlap alone and only together share what order alone leaves; a "
			    "run at this depth on\n  a drive that keeps the order tells them "
			    "apart\n",
			stream);
	if (arms == ARMS_UNKNOWN)
		(void)fputs("  whether one arm serves this device is not known\n", stream);
	if (!isnan(gains->control.value))
		(void)fprintf(stream,
			"  the replay repeats the submission at depth 1: x%.3f, 1 but for noise\n",
			gains->control.value);
}

void reorder_gains_print(const struct reorder_gains *gains, unsigned depth, enum reorder_arms arms,
	double scale, const char *unit, FILE *stream)
{
	const struct reorder_throughput *mean = &gains->mean;
	char deep[32];

	(void)snprintf(deep, sizeof(deep), "%u at the drive", depth);
	(void)fprintf(stream, "  %-20s%16s%16s\n", unit, "one at a time", deep);
	print_row(stream, "submission order", mean->submission_single, mean->kept_deep, scale);
	print_row(stream, "drive's order",
		gains->order_kept && !(mean->drive_single > 0) ? mean->submission_single
							       : mean->drive_single,
		mean->submission_deep, scale);
	print_part(stream, "order alone", &gains->order, &gains->order);
	print_part(stream, "overlap alone", &gains->overlap, &gains->rest);
	print_part(stream, "only together", &gains->together, &gains->rest);
	print_part(stream, "all", &gains->total, &gains->total);
	print_words(gains, arms, stream);
}

static struct json_object *gain_json(const struct reorder_gain *gain)
{
	struct json_object *object = json_object_new_object();

	(void)json_object_object_add(object, "value", report_json_double(gain->value));
	(void)json_object_object_add(object, "low", report_json_double(gain->low));
	(void)json_object_object_add(object, "high", report_json_double(gain->high));
	return object;
}

static struct json_object *throughput_json(double value)
{
	return value > 0 ? report_json_double(value) : NULL;
}

static struct json_object *table_json(const struct reorder_throughput *mean)
{
	struct json_object *object = json_object_new_object();

	(void)json_object_object_add(
		object, "submission_single", throughput_json(mean->submission_single));
	(void)json_object_object_add(
		object, "submission_deep", throughput_json(mean->submission_deep));
	(void)json_object_object_add(object, "drive_single", throughput_json(mean->drive_single));
	(void)json_object_object_add(object, "kept_deep", throughput_json(mean->kept_deep));
	return object;
}

struct json_object *reorder_gains_json(
	const struct reorder_gains *gains, enum reorder_arms arms, const char *throughput_key)
{
	struct json_object *object = json_object_new_object();

	(void)json_object_object_add(
		object, "meaning", json_object_new_string(meaning_of(gains, arms)));
	(void)json_object_object_add(object, "repeats", json_object_new_uint64(gains->repeats));
	(void)json_object_object_add(
		object, "order_kept", json_object_new_boolean(gains->order_kept));
	(void)json_object_object_add(object, throughput_key, table_json(&gains->mean));
	(void)json_object_object_add(object, "total", gain_json(&gains->total));
	(void)json_object_object_add(object, "order", gain_json(&gains->order));
	(void)json_object_object_add(object, "rest", gain_json(&gains->rest));
	(void)json_object_object_add(object, "overlap", gain_json(&gains->overlap));
	(void)json_object_object_add(object, "together", gain_json(&gains->together));
	(void)json_object_object_add(object, "control", gain_json(&gains->control));
	return object;
}
