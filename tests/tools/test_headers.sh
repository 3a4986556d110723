#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Every header compiles alone and twice: it includes what it needs and guards itself. The goal is
# that a reader may start at any header, and that the order of includes never matters.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

read -ra flags < <(pkg-config --cflags liburing libudev blkid smartcols json-c gsl libxxhash cmocka)
flags+=(-std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -I"$scratch" -fsyntax-only
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wundef -Werror)

# compiles HEADER: the header alone, twice.
compiles()
{
	printf '#include "%s"\n#include "%s"\n' "$1" "$1" | ${CC:-cc} "${flags[@]}" -x c -
}

# The test can fail: a header that uses a type it did not include, and one without a guard.
echo 'uint64_t later(void);' >"$scratch/incomplete.h"
echo 'struct twice { int a; };' >"$scratch/unguarded.h"
for planted in incomplete.h unguarded.h; do
	if compiles "$planted" 2>/dev/null; then
		echo "$planted compiled, though it must not"
		exit 1
	fi
done

count=0 status=0
for header in engine/*.h fsmodel/*.h devices/*.h tools/*.h tests/*/*.h; do
	[ -f "$header" ] || continue
	count=$((count + 1))
	compiles "$header" || { echo "$header does not stand alone"; status=1; }
done
[ "$count" -gt 0 ] || { echo "no header found"; exit 1; }
echo "headers: $count stand alone"
exit $status
