#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# heavy: runs every part of the comparison bench once, for a second each
#
# The comparison bench works: each part ends with a verdict, whatever it is (figures of a sanitized
# build on a busy machine mean nothing, and noise may swallow them), and it leaves neither a loop
# device nor its file.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
. tests/support/require.sh
require root loop uring fio strace python3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Leaks cannot be looked for in a process that strace traces.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

status=0
tests/bench/compare --pairs 1 --seconds 1 --command "$BAREPLATTER" >"$scratch/out" 2>&1 || status=$?
cat "$scratch/out"
case $status in 0 | 1 | 4) ;; *) echo "FAILED: ended with $status"; exit 1 ;; esac
verdicts=$(grep -cE ': (met|missed|not measured: no usable)' "$scratch/out") || true
[ "$verdicts" = 7 ] || { echo "FAILED: $verdicts verdicts, 7 expected"; exit 1; }
left=$(losetup --noheadings --output BACK-FILE --list | grep bareplatter-bench || true)
left+=$(find /dev/shm -name 'bareplatter-bench.*')
[ -z "$left" ] || { echo "FAILED: left $left"; exit 1; }

# A command that fails is reported as such and not measured.
status=0
tests/bench/compare --pairs 1 --seconds 1 --only null --command /bin/false >"$scratch/out" 2>&1 ||
	status=$?
[ "$status" = 4 ] || { echo "FAILED: a failing command ended with $status"; exit 1; }
grep -q 'null: not measured: exit 1 of: /bin/false' "$scratch/out"
