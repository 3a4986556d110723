#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# heavy: builds the release preset and plays 3 x 14 cells
#
# What the README promises of its first command: it ends with the table of 14 cells, and leaves
# neither a loop device nor a file behind, whether it ends by itself, is stopped by a signal, or
# finds no loop device to use.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
. tests/support/require.sh
require root loop

scratch=$(mktemp -d /var/tmp/test-quickstart.XXXXXX)
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR" "$scratch/bin"
quickstart_pid=""
finish()
{
	[ -z "$quickstart_pid" ] || kill "$quickstart_pid" 2>/dev/null || true
	wait
	rm -rf --one-file-system "$scratch"
}
trap finish EXIT

fail()
{
	echo "FAILED: $*"
	cat "$scratch/out" "$scratch/err"
	exit 1
}

attached() { losetup --noheadings --output BACK-FILE --list | grep -F "$TMPDIR/"; }

nothing_left()
{
	! attached || fail "$1 left a loop device"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "$1 left $(ls -A "$TMPDIR")"
}

# A row of the table names the cell's cache mode and depth.
rows() { grep -cwE '(wb|wt)\b.*\b(1|2|4|8|16|32|64)' "$scratch/out"; }

# plays WHAT: a short run to its end.
plays()
{
	tools/quickstart --transactions 200 >"$scratch/out" 2>"$scratch/err" || fail "$1: exit $?"
	[ "$(rows)" = 14 ] || fail "$1: $(rows) rows, 14 expected"
	grep -q 'shortened: 200 of' "$scratch/err" || fail "$1: not marked as shortened"
	nothing_left "$1"
}

plays "the run on a loop device"
grep -q 'scratch target: /dev/loop' "$scratch/err" || fail "no loop device was used"

# Stopped as by a service manager, which signals the script alone.
tools/quickstart --full >"$scratch/out" 2>"$scratch/err" &
quickstart_pid=$!
for _ in {1..1200}; do
	attached >/dev/null && break
	kill -0 "$quickstart_pid" 2>/dev/null || fail "the full run ended early"
	sleep 0.1
done
sleep 1
kill -TERM "$quickstart_pid"
status=0
wait "$quickstart_pid" || status=$?
quickstart_pid=""
[ "$status" = 143 ] || fail "the stopped run ended with $status, 143 expected"
nothing_left "the stopped run"

printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/losetup"
chmod +x "$scratch/bin/losetup"
PATH=$scratch/bin:$PATH plays "the run without loop devices"
grep -q "scratch target: $TMPDIR/" "$scratch/err" || fail "no file was used as target"

tools/quickstart --nonsense >"$scratch/out" 2>"$scratch/err" && fail "--nonsense was taken"
tools/quickstart --help >"$scratch/out" 2>"$scratch/err" || fail "--help: exit $?"
grep -q '^Usage: tools/quickstart' "$scratch/out" || fail "--help shows no usage"
nothing_left "--help"
