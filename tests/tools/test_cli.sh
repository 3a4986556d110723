#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The command as a script sees it: exit codes, what is on stdout, what is on stderr.
set -u

out=$(mktemp) err=$(mktemp)
trap 'rm -f "$out" "$err"' EXIT
failed=0

fail()
{
	echo "FAILED: $*"
	sed 's/^/  stdout: /' "$out" | head -5
	sed 's/^/  stderr: /' "$err" | head -5
	failed=1
}

# expect CODE ARGUMENT...: runs the command without a terminal or any input.
expect()
{
	local code=$1 got=0
	shift
	"$BAREPLATTER" "$@" >"$out" 2>"$err" </dev/null || got=$?
	[ "$got" = "$code" ] || fail "\"$*\" ended with $got instead of $code"
}

says() { grep -qF -- "$1" "$2" || fail "nothing says: $1"; }
silent() { [ ! -s "$1" ] || fail "unexpected text"; }

# Help and version are results: on stdout, with nothing on stderr.
for arguments in --help -h help "help list" "help check" "list --help" "check -h" "run --help" \
	"check --usage" "help --man" --version -V; do
	# shellcheck disable=SC2086 # words are meant
	expect 0 $arguments
	[ -s "$out" ] || fail "\"$arguments\" prints nothing"
	silent "$err"
done
expect 0 --version
grep -qE '^bareplatter [0-9]+\.[0-9]+\.[0-9]+$' "$out" || fail "not a version"

# Help is the same by both ways, and stays it whatever the environment asks of argp.
expect 0 help check
cp "$out" "$err"
ARGP_HELP_FMT=rmargin=40 "$BAREPLATTER" check --help | cmp -s - "$err" ||
	fail "help differs between \"help check\" and \"check --help\""

# Faults of usage: 2, on stderr, with the way to the help.
expect 2
says 'see "bareplatter --help"' "$err"
silent "$out"
expect 2 lisst
says 'unknown verb "lisst"' "$err"
says "list, check, plan, operations, run, trace, reorder, cache, restore, help" "$err"
expect 2 help lisst
expect 2 check
says "check needs TARGET" "$err"
says 'see "bareplatter check --help"' "$err"
expect 2 list /dev/null
expect 2 check --bogus --sysroot= --output-format=xml one two
for part in '"--bogus"' '--sysroot:' 'none of: table, json' '"two" is one operand too many'; do
	says "$part" "$err"
done
silent "$out"
expect 2 list -o NAME,NOPE
says '"NOPE" is no column' "$err"

# A node that is not there is a fault of usage too, and nothing is made in its place.
expect 2 check /dev/no-such-disk
says /dev/no-such-disk "$err"
silent "$out"
[ ! -e /dev/no-such-disk ] || fail "the missing node was created"

# JSON stays JSON on errors: one document on stdout, the words on stderr as well.
expect 2 check /dev/no-such-disk --output-format json
says '"status": "failed"' "$out"
says '"name": "bareplatter"' "$out"
says no-such-disk "$out"
says no-such-disk "$err"
expect 2 check --json --bogus
says 'unknown option \"--bogus\"' "$out"

# Looking at nothing at all, and at all disks; no verb writes to "all disks".
expect 0 check null
says "identity: " "$out"
expect 0 list
says NAME "$out"
expect 0 list -o NAME,SIZE -J -b
says '"devices": [' "$out"
says '"status": "complete"' "$out"
expect 0 list --output-format csv
head -1 "$out" | grep -q '^name,size_bytes,.*node' || fail "the heading of the CSV"

# A result that cannot be written is a failed run.
if [ -w /dev/full ]; then
	got=0
	"$BAREPLATTER" list >/dev/full 2>"$err" || got=$?
	[ "$got" = 1 ] || fail "a full disk behind stdout ended with $got"
	says "could not be written" "$err"
fi

exit $failed
