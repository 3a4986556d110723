#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The stream is the original's for configurations that nobody chose: random command files are run
# by the real PostMark under a logger and by `bareplatter operations`, and both must agree line by
# line. SEED repeats a run, RUNS sets how many.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

. tests/support/require.sh
require postmark cc

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$scratch/shim.so" tests/support/preload/postmark_shim.c -ldl

seed=${SEED:-$((SRANDOM % 30000 + 1))}
echo "SEED=$seed"
RANDOM=$seed
cd "$scratch"
mkdir -p a bb ccc

# below N: a number 0 .. N-1 in `value`.
below() { value=$((RANDOM % $1)); }
maybe() { ((RANDOM % $1 == 0)); }

locations()
{
	local sign="" name
	for name in a bb ccc; do
		maybe 2 && continue
		below 4
		if [ "$value" = 0 ]; then
			echo "set location $sign$name"
		else
			echo "set location $sign$name $value"
		fi
		sign=+
	done
}

# One run's settings, in any order of kinds; what is not set keeps the last value, as there.
settings()
{
	local low
	if ! maybe 3; then
		below 3000
		low=$((value + 1))
		below 5000
		if maybe 6; then
			echo "set size $low"
		else
			echo "set size $low $((low + value))"
		fi
	fi
	below 80
	echo "set number $((value + 1))"
	# From 10 on: with fewer the original divides by zero.
	below 400
	echo "set transactions $((value + 10))"
	maybe 2 || { below 30000; echo "set seed $((value + 1))"; }
	maybe 2 || { below 12; echo "set bias read $((value - 1))"; }
	maybe 2 || { below 12; echo "set bias create $((value - 1))"; }
	maybe 2 || { below 5; echo "set subdirectories $((value + 1))"; }
	maybe 2 || locations
	maybe 2 || { below 9000; echo "set read $((value + 1))"; }
	maybe 2 || { below 9000; echo "set write $((value + 1))"; }
	maybe 3 || echo "set buffering false"
	maybe 3 || echo "set report terse"
}

compare()
{
	POSTMARK_SHIM_LOG=original LD_PRELOAD=./shim.so \
		postmark run.cfg </dev/null >talk.txt 2>&1 || {
		echo "the original failed"
		return 1
	}
	"$BAREPLATTER" operations --postmark run.cfg >all 2>talk.txt || { cat talk.txt; return 1; }
	grep -v '^#' all >own || true
	[ -s original ] || { echo "the logger wrote nothing"; return 1; }
	cmp original own
}

status=0
for run in $(seq "${RUNS:-20}"); do
	: >run.cfg
	below 3
	for _ in $(seq $((value + 1))); do
		settings >>run.cfg
		echo run >>run.cfg
	done
	echo quit >>run.cfg
	compare || {
		echo "FAILED: configuration $run of SEED=$seed differs:"
		cat run.cfg
		status=1
	}
done
exit $status
