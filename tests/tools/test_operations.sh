#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# `bareplatter operations`: the recorded streams of the real PostMark by their SHA-256, the named
# pools against them, refused files, the options that choose a load, and the counts.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
golden=tests/golden/postmark

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=$scratch/out err=$scratch/err
failed=0

fail()
{
	echo "FAILED: $*"
	sed 's/^/  stderr: /' "$err" | head -5
	failed=1
}

# expect CODE ARGUMENT...: runs the verb.
expect()
{
	local code=$1 got=0
	shift
	"$BAREPLATTER" operations "$@" >"$out" 2>"$err" </dev/null || got=$?
	[ "$got" = "$code" ] || fail "\"$*\" ended with $got instead of $code"
}

says() { grep -qE -- "$1" "$err" || fail "nothing says: $1"; }
sha() { grep -v '^#' "$1" | sha256sum | cut -d' ' -f1; }
recorded() { awk -F'\t' -v name="$1" '$1 == name { print $10 }' "$golden/SUMMARY.tsv"; }

# Every recorded configuration, refused or equal.
count=0
while read -r name _; do
	case $name in
	name) continue ;;
	grammar | sizeswap | sizedblspace | hugehigh)
		expect 2 --postmark "$golden/$name.cfg"
		[ ! -s "$out" ] || fail "$name is refused but prints operations"
		;;
	tx5crash)
		# The original dies after the first transaction, 502 operations.
		expect 0 --postmark "$golden/$name.cfg"
		head -n 502 "$out" >"$scratch/begin"
		[ "$(sha "$scratch/begin")" = "$(recorded "$name")" ] || fail "$name differs"
		[ "$(wc -l <"$out")" -gt 502 ] || fail "$name stops early"
		;;
	*)
		expect 0 --postmark "$golden/$name.cfg"
		[ "$(sha "$out")" = "$(recorded "$name")" ] || fail "$name differs"
		;;
	esac
	count=$((count + 1))
done <"$golden/SUMMARY.tsv"
[ "$count" = 47 ] || fail "$count configurations instead of 47"

# Refused files name every fault with its line, and nothing else.
expect 2 --postmark $golden/grammar.cfg
for line in $(seq 1 17) 19 $(seq 22 28); do
	says "grammar\.cfg:$line: "
done
[ "$(grep -c 'grammar\.cfg:' "$err")" = 25 ] || fail "grammar has other faults than 25"
expect 2 --postmark $golden/sizeswap.cfg
says 'sizeswap\.cfg:1: .*5000.*100'
expect 2 --postmark $golden/sizedblspace.cfg
says 'sizedblspace\.cfg:1: .*blank'
expect 2 --postmark $golden/hugehigh.cfg
says 'hugehigh\.cfg:1: .*1073741824'
expect 2 --postmark "$scratch/nosuch"
says 'nosuch.*No such file'

# Named pools are the recorded configurations.
for pair in SS:SS SL:SL LS:LS LL:LL-full p97-small:p97small p97-large:p97large postmark:default; do
	expect 0 --pool "${pair%:*}"
	[ "$(sha "$out")" = "$(recorded "${pair#*:}")" ] || fail "pool ${pair%:*} differs"
done
expect 0
[ "$(sha "$out")" = "$(recorded SS)" ] || fail "the default is not SS"

# Values replace those of the pool, of every run of a file too.
expect 0 --pool postmark --seed 1
[ "$(sha "$out")" = "$(recorded seed1)" ] || fail "--seed differs"
expect 0 --pool postmark --subdirectories 10
[ "$(sha "$out")" = "$(recorded sub10)" ] || fail "--subdirectories differs"
expect 0 --pool postmark --bias-read -1 --bias-create -1
[ "$(sha "$out")" = "$(recorded biasboth-1)" ] || fail "biases differ"
expect 0 --pool SS --files 500 --transactions 500 --size-low 4KiB --size-high 4096
[ "$(sha "$out")" = "$(recorded eqsize4096)" ] || fail "--files and sizes differ"
expect 0 --postmark $golden/default.cfg --seed 1
[ "$(sha "$out")" = "$(recorded seed1)" ] || fail "--seed on a file differs"
expect 0 --pool SS --transactions 5 -o "$scratch/file"
says 'shortened: 5 of its 100000'
[ ! -s "$out" ] || fail "-o leaves something on stdout"
grep -q '^C 10000 ' "$scratch/file" || fail "-o writes no operations"

expect 2 --pool SSS --bias-read 11 --paper-disk small
says "no pool 'SSS'"
says 'bias-read 11'
expect 2 --pool SS --postmark $golden/default.cfg --output-format json
says 'exclude each other'
says 'needs --count'
expect 2 --pool SS --size-low 20000
says 'low must not exceed high'
expect 2 --pool SS --size-high 1073741824
says '2\^30'

# Several runs are parted, and equal settings draw equal streams.
printf 'set number 10\nset transactions 20\nset location a\nset location +b 2\nrun\nrun x\nquit\n' \
	>"$scratch/two.cfg"
expect 0 --postmark "$scratch/two.cfg"
says 'two\.cfg:3: .*no effect'
says 'two\.cfg:6: .*report file'
[ "$(grep '^#' "$out")" = "# run 2" ] || fail "runs are not parted by one line"
[ "$(sed '/^#/,$d' "$out" | sha256sum)" = "$(sed '1,/^#/d' "$out" | sha256sum)" ] ||
	fail "the second run differs"
grep -qE '^C (a|b)/1 [0-9]+$' "$out" || fail "names lack their location"

# Counts: 500 transactions are 500 pairs; each half adds up to them, wasted ones included.
expect 0 --pool SS --count --output-format csv
# column KEY: the figure of the only row.
column()
{
	awk -F, -v key="$1" '{ sub(/\r$/, "") }
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == key) at = i }
		NR == 2 { print $at }' "$out"
}
is() { [ "$(column "$1")" = "$2" ] || fail "$1 is $(column "$1") instead of $2"; }
is transactions 100000
is appends_wasted 384
is write_bytes 791108526
is write_bytes_binary32 791093504.0
is write_postmark "754.45 megabytes"
is draws 643748
first=$(($(column read) + $(column appended) + $(column appends_wasted)))
second=$(($(column created_in_transactions) + $(column deleted_in_transactions) + \
	$(column creates_wasted)))
[ "$first $second" = "100000 100000" ] || fail "the halves add up to $first and $second"
expect 0 --pool LL --paper-disk large --count --output-format csv
grep -q '^1,40000,40000,' "$out" || fail "LL on the larger disk has not 40,000 transactions"
expect 0 --pool LL --count
grep -q '28750223457' "$out" || fail "the table lacks the exact bytes"

# JSON is one document, on faults too.
if command -v python3 >/dev/null; then
	expect 0 --pool postmark --count --output-format json
	python3 -c 'import json, sys
cell = json.load(sys.stdin)["cells"][0]
assert cell["created"] == 764 and cell["pool_emptied"] is False' <"$out" || fail "JSON of counts"
	expect 2 --pool postmark --count --output-format json --bias-read 11
	python3 -c 'import json, sys
document = json.load(sys.stdin)
assert document["status"] == "failed" and "bias-read" in str(document["messages"])' <"$out" ||
		fail "JSON of faults"
fi

# A full disk is an error.
if [ -w /dev/full ]; then
	got=0
	"$BAREPLATTER" operations --pool SS >/dev/full 2>"$err" || got=$?
	[ "$got" = 1 ] || fail "a full disk ends with $got"
	says 'No space left'
fi

exit $failed
