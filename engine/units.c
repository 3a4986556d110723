/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Quantities as text, by integers all the way in: "1.5T" is exact or it is refused, and no locale
 * or floating-point rounding has a say. The grammar answers what users of other tools met: a unit
 * that silently meant something else, or a number of which only the first digits were read.
 */
#include "engine/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 10^18 is the largest power of ten whose multiples up to nine fit 64 bits. */
#define FRACTION_DIGITS 18
/* More cells than anybody waits for; keeps a slip like 1-4000000000/1 from eating memory. */
#define LIST_MAX 4096

typedef unsigned __int128 wide_t;

struct decimal {
	uint64_t whole;
	uint64_t fraction; /* numerator over 10^digits */
	uint64_t power;    /* 10^digits; 1 without a fraction */
	const char *end;
};

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "K", KIB },
	{ "k", KIB },
	{ "Ki", KIB },
	{ "KiB", KIB },
	{ "kB", 1000 },
	{ "M", MIB },
	{ "m", MIB },
	{ "Mi", MIB },
	{ "MiB", MIB },
	{ "MB", 1000000 },
	{ "G", GIB },
	{ "g", GIB },
	{ "Gi", GIB },
	{ "GiB", GIB },
	{ "GB", 1000000000 },
	{ "T", TIB },
	{ "t", TIB },
	{ "Ti", TIB },
	{ "TiB", TIB },
	{ "TB", 1000000000000 },
	{ NULL, 0 },
};

static const struct unit time_units[] = {
	{ "", NSEC_PER_SEC },
	{ "ns", 1 },
	{ "us", NSEC_PER_USEC },
	{ "ms", NSEC_PER_MSEC },
	{ "s", NSEC_PER_SEC },
	{ "min", 60 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
	{ NULL, 0 },
};

/* Reads digits up to the first other character. 0, -EINVAL without any, -ERANGE on overflow. */
static int scan_digits(const char **text, uint64_t *ret_value)
{
	const char *at = *text;
	uint64_t value = 0;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; isdigit((unsigned char)*at); at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -ERANGE;
	}
	*text = at;
	*ret_value = value;
	return 0;
}

static int scan_decimal(const char *text, struct decimal *ret_decimal)
{
	struct decimal decimal = { .power = 1, .end = text };
	int rc = scan_digits(&decimal.end, &decimal.whole);

	if (rc < 0)
		return rc;
	if (*decimal.end == '.') {
		const char *first = decimal.end + 1;
		size_t digits = strspn(first, "0123456789");

		if (digits == 0 || digits > FRACTION_DIGITS)
			return -EINVAL;
		decimal.end = first;
		(void)scan_digits(&decimal.end, &decimal.fraction);
		for (size_t i = 0; i < digits; i++)
			decimal.power *= 10;
	}
	*ret_decimal = decimal;
	return 0;
}

/* decimal x factor, exactly: -EINVAL when that is not a whole number, -ERANGE when too large. */
static int scale(const struct decimal *decimal, uint64_t factor, uint64_t *ret_value)
{
	wide_t fraction = (wide_t)decimal->fraction * factor;
	wide_t total = (wide_t)decimal->whole * factor + fraction / decimal->power;

	if (fraction % decimal->power != 0)
		return -EINVAL;
	if (total > UINT64_MAX)
		return -ERANGE;
	*ret_value = (uint64_t)total;
	return 0;
}

static const struct unit *unit_find(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (strcmp(units->name, name) == 0)
			return units;
	return NULL;
}

int units_parse_u64(const char *text, uint64_t *ret_value, struct error *error)
{
	const char *end = text;
	uint64_t value = 0;
	int rc = scan_digits(&end, &value);

	if (rc == -ERANGE)
		return error_set(error, rc, "\"%.64s\" is too large: at most %llu", text,
			(unsigned long long)UINT64_MAX);
	if (rc < 0 || *end)
		return error_set(error, -EINVAL,
			"\"%.64s\" is no whole number: write decimal digits only", text);
	*ret_value = value;
	return 0;
}

int units_parse_size(const char *text, uint64_t *ret_bytes, struct error *error)
{
	struct decimal decimal = { 0 };
	const struct unit *unit = NULL;
	int rc = scan_decimal(text, &decimal);

	if (rc == 0) {
		unit = unit_find(size_units, decimal.end);
		if (!unit)
			return error_set(error, -EINVAL,
				"\"%.64s\" ends in \"%.16s\", which is no unit of size: use K M G "
				"T or KiB MiB GiB TiB (1024), kB MB GB TB (1000)",
				text, decimal.end);
		/* A bare fraction is more likely a forgotten unit than a wish for bytes. */
		rc = unit->factor == 1 && decimal.power > 1
			     ? -EINVAL
			     : scale(&decimal, unit->factor, ret_bytes);
	}
	if (rc == -ERANGE)
		return error_set(error, rc, "\"%.64s\" is too large: at most %llu bytes", text,
			(unsigned long long)UINT64_MAX);
	if (rc < 0 && unit)
		return error_set(error, rc, "\"%.64s\" is not a whole number of bytes", text);
	if (rc < 0)
		return error_set(error, rc,
			"\"%.64s\" is no size: write decimal digits and a unit, like 4096, 4KiB or "
			"1.5G",
			text);
	return 0;
}

int units_parse_duration(const char *text, nsec_t *ret_ns, struct error *error)
{
	struct decimal decimal = { 0 };
	const struct unit *unit = NULL;
	uint64_t value = 0;
	int rc = scan_decimal(text, &decimal);

	if (rc == 0) {
		unit = unit_find(time_units, decimal.end);
		if (!unit)
			return error_set(error, -EINVAL,
				"\"%.64s\" ends in \"%.16s\", which is no unit of time: use ns us "
				"ms s min h",
				text, decimal.end);
		rc = scale(&decimal, unit->factor, &value);
	}
	if (rc == -ERANGE || (rc == 0 && value >= (uint64_t)NSEC_NEVER))
		return error_set(error, -ERANGE, "\"%.64s\" is too long: at most 292 years", text);
	if (rc < 0 && unit)
		return error_set(error, rc, "\"%.64s\" is not a whole number of nanoseconds", text);
	if (rc < 0)
		return error_set(error, rc,
			"\"%.64s\" is no time: write decimal digits and a unit, like 30s, 1.5ms or "
			"2h",
			text);
	*ret_ns = (nsec_t)value;
	return 0;
}

int units_parse_fraction(const char *text, double *ret_value, struct error *error)
{
	struct decimal decimal;
	int rc = scan_decimal(text, &decimal);
	bool percent = rc == 0 && strcmp(decimal.end, "%") == 0;
	uint64_t one = percent ? 100 : 1;

	if (rc < 0 || (*decimal.end && !percent))
		return error_set(
			error, -EINVAL, "\"%.64s\" is no share: write it like 0.25 or 25%%", text);
	if (decimal.whole > one || (decimal.whole == one && decimal.fraction) ||
		(!decimal.whole && !decimal.fraction))
		return error_set(error, -ERANGE,
			"\"%.64s\" is out of range: a share is above 0 and at most 1 (100%%)",
			text);
	*ret_value = ((double)decimal.whole + (double)decimal.fraction / (double)decimal.power) /
		     (double)one;
	return 0;
}

/* Appends a value that is not in the list yet; false when the list is full. */
static bool list_append(struct units_list *list, uint64_t value)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->values[i] == value)
			return true;
	if (list->count == LIST_MAX)
		return false;
	list->values[list->count++] = (uint32_t)value;
	return true;
}

/* One part between commas: `a`, `a-b` or `a-b/s`; moves *at behind it. */
static int list_part(const char **at, struct units_list *list)
{
	uint64_t first = 0, last, step = 0;
	int rc = scan_digits(at, &first);

	last = first;
	if (rc == 0 && **at == '-') {
		++*at;
		rc = scan_digits(at, &last);
		if (rc == 0 && **at == '/') {
			++*at;
			rc = scan_digits(at, &step);
			if (rc == 0 && step == 0)
				return -EINVAL;
		}
	}
	if (rc < 0)
		return rc;
	if (first == 0 || first > last)
		return -EINVAL;
	if (last > UINT32_MAX)
		return -ERANGE;
	for (uint64_t value = first; value < last || (step && value == last);
		value += step ? min_u64(step, UINT32_MAX) : value) {
		if (!list_append(list, value))
			return -E2BIG;
	}
	/* Doubling stops short of a bound that is no power of two times the start: add it. */
	if (step == 0 && !list_append(list, last))
		return -E2BIG;
	return 0;
}

int units_parse_list(const char *text, struct units_list *ret_list, struct error *error)
{
	struct units_list list = { .values = malloc(LIST_MAX * sizeof(*list.values)) };
	const char *at = text;
	int rc;

	if (!list.values)
		return error_set(error, -ENOMEM, "no memory for the list \"%.64s\"", text);
	for (;;) {
		rc = list_part(&at, &list);
		if (rc < 0 || *at != ',')
			break;
		at++;
	}
	if (rc == 0 && !*at) {
		*ret_list = list;
		return 0;
	}
	units_list_done(&list);
	if (rc == -E2BIG)
		return error_set(
			error, -ERANGE, "\"%.64s\" has more than %d values", text, LIST_MAX);
	if (rc == -ERANGE)
		return error_set(error, rc, "\"%.64s\" has a number above %lu", text,
			(unsigned long)UINT32_MAX);
	return error_set(error, -EINVAL,
		"\"%.64s\" is no list of numbers from 1 up: write 1,2,4 or 1-64 (doubling) or "
		"8-32/4 (in steps of 4)",
		text);
}

void units_list_done(struct units_list *list)
{
	free(list->values);
	*list = (struct units_list){ 0 };
}

struct units_text units_format_size(uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct units_text text;
	unsigned unit = 0;
	uint64_t factor = 1, tenths = 0;

	while (unit + 1 < ARRAY_SIZE(names) && bytes / factor >= 1024) {
		factor *= 1024;
		unit++;
	}
	if (bytes % factor != 0) {
		tenths = (uint64_t)(((wide_t)bytes * 10 + factor / 2) / factor);
		/* 1023.96 KiB rounds to 1024.0: say it in the next unit. */
		if (tenths >= 10240 && unit + 1 < ARRAY_SIZE(names)) {
			tenths = 10;
			unit++;
		}
	}
	/* A decimal says that the figure is rounded; whole units are exact. */
	if (tenths)
		(void)snprintf(text.text, sizeof(text.text), "%llu.%llu %s",
			(unsigned long long)(tenths / 10), (unsigned long long)(tenths % 10),
			names[unit]);
	else
		(void)snprintf(text.text, sizeof(text.text), "%llu %s",
			(unsigned long long)(bytes / factor), names[unit]);
	return text;
}

/* Three significant digits of a value in [1, 1000), without the locale's decimal point. False
 * when the value rounds up to 1000 and belongs in the next unit. */
static bool three_digits(double value, const char *suffix, struct units_text *text)
{
	unsigned long hundredths = (unsigned long)llround(value * 100);
	unsigned long tenths = (unsigned long)llround(value * 10);
	unsigned long ones = (unsigned long)llround(value);

	if (hundredths < 1000)
		(void)snprintf(text->text, sizeof(text->text), "%lu.%02lu%s", hundredths / 100,
			hundredths % 100, suffix);
	else if (tenths < 1000)
		(void)snprintf(text->text, sizeof(text->text), "%lu.%lu%s", tenths / 10,
			tenths % 10, suffix);
	else
		(void)snprintf(text->text, sizeof(text->text), "%lu%s", ones, suffix);
	return ones < 1000;
}

static struct units_text format_long(uint64_t ns)
{
	struct units_text text;
	uint64_t tenths = (ns + NSEC_PER_SEC / 20) / (NSEC_PER_SEC / 10);
	uint64_t seconds = (ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
	uint64_t minutes = (ns + 30 * NSEC_PER_SEC) / (60 * NSEC_PER_SEC);

	if (tenths < 600)
		(void)snprintf(text.text, sizeof(text.text), "%u.%u s", (unsigned)(tenths / 10),
			(unsigned)(tenths % 10));
	else if (seconds < 3600)
		(void)snprintf(text.text, sizeof(text.text), "%u min %02u s",
			(unsigned)(seconds / 60), (unsigned)(seconds % 60));
	else
		(void)snprintf(text.text, sizeof(text.text), "%llu h %02u min",
			(unsigned long long)(minutes / 60), (unsigned)(minutes % 60));
	return text;
}

struct units_text units_format_duration(nsec_t duration_ns)
{
	uint64_t ns = duration_ns < 0 ? -(uint64_t)duration_ns : (uint64_t)duration_ns;
	struct units_text text;

	if (ns < (uint64_t)NSEC_PER_USEC)
		(void)snprintf(text.text, sizeof(text.text), "%u ns", (unsigned)ns);
	else if (ns >= (uint64_t)NSEC_PER_MSEC || !three_digits((double)ns / 1e3, " us", &text)) {
		if (ns >= (uint64_t)NSEC_PER_SEC || !three_digits((double)ns / 1e6, " ms", &text))
			text = format_long(ns);
		else if (ns < (uint64_t)NSEC_PER_MSEC)
			(void)three_digits(1, " ms", &text);
	}
	if (duration_ns < 0) {
		memmove(text.text + 1, text.text, strlen(text.text) + 1);
		text.text[0] = '-';
	}
	return text;
}

struct units_text units_format_count(double value)
{
	static const char *const suffixes[] = { "", "k", "M", "G", "T", "P" };
	struct units_text text;
	double size = fabs(value);

	if (!isfinite(value)) {
		(void)snprintf(text.text, sizeof(text.text), "-");
		return text;
	}
	if (size < 1000 && size == floor(size)) {
		(void)snprintf(text.text, sizeof(text.text), "%u", (unsigned)size);
	} else if (size < 0.9995) {
		(void)snprintf(
			text.text, sizeof(text.text), "0.%03u", (unsigned)lround(size * 1000));
	} else {
		unsigned unit = 0;

		while (unit + 1 < ARRAY_SIZE(suffixes) && size >= 999.5) {
			size /= 1000;
			unit++;
		}
		(void)three_digits(size < 1 ? 1 : size, suffixes[unit], &text);
	}
	if (value < 0) {
		memmove(text.text + 1, text.text, strlen(text.text) + 1);
		text.text[0] = '-';
	}
	return text;
}
