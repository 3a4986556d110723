#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The style law holds for every file of the tree, and the checker can fail: first it must find
# each of a set of planted offences at its line and nothing in a clean file, then it reads the
# tree.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
root=$PWD
export LC_ALL=C # bytes, so that every awk agrees on what a character is

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# plant FILE OFFENCE LINE...: writes a file whose last line is the offence; `-` plants a clean one.
spdx='/* SPDX-License-Identifier: GPL-3.0-or-later */'
plant()
{
	local file=$1 offence=$2
	shift 2
	mkdir -p "$scratch/$(dirname "$file")"
	printf '%s\n' "$@" >"$scratch/$file"
	[ "$offence" = - ] || echo "$file:$#: $offence" >>"$scratch/expected"
}

self_test()
{
	local long word dots
	long=$(printf 'x%.0s' {1..101})
	word=TO; word+=DO
	: >"$scratch/expected"
	plant engine/a.c 'line of 101 columns' "$spdx" "$long"
	plant engine/b.c 'line of 104 columns' "$spdx" $'\t'"${long:0:96}"
	plant engine/c.c 'trailing blanks' "$spdx" 'int a; '
	plant engine/d.c 'unfinished work' "$spdx" "/* $word: later */"
	plant engine/e.c 'no SPDX' 'int a;'
	plant engine/f.c 'engine/ must not include fsmodel/' "$spdx" '#include "fsmodel/pool.h"'
	plant fsmodel/a.c 'fsmodel/ must not include devices/' "$spdx" '#include "devices/check.h"'
	plant devices/a.c 'devices/ must not include tools/' "$spdx" '#include "tools/options.h"'
	plant devices/b.c 'include "check.h" from the root' "$spdx" '#include "check.h"'
	plant engine/g.c '<liburing.h> is included' "$spdx" '#include <liburing.h>'
	plant engine/h.c '<libaio.h> is included' "$spdx" '# include <libaio.h>'
	plant tools/a.c '<libudev.h> is included' "$spdx" '#include <libudev.h>'
	plant tools/b.c '<blkid.h> is included' "$spdx" '#include <blkid/blkid.h>'
	plant engine/i.c 'only engine/clock.c' "$spdx" $'\tif (time (NULL))'
	plant tests/engine/a.c 'only engine/clock.c' "$spdx" $'\tclock_gettime(0, &t);'
	plant tools/c.c 'ioctl is called' "$spdx" $'\treturn ioctl(fd, BLKFLSBUF);'
	plant engine/j.c 'only tools/ prints' "$spdx" $'\tprintf("a");'
	plant engine/k.c 'only tools/ prints' "$spdx" $'\tfprintf(stderr, "a");'
	plant tests/fsmodel/a.c 'the C library' "$spdx" $'\tx = rand() % 3;'
	plant engine/l.c 'only tools/ prints' "$spdx" '/* one' ' * two */ puts("a /* b");'
	plant engine/m.c 'asserts stay on' "$spdx" '#ifdef NDEBUG'
	mapfile -t dots < <(printf '\ta();%.0s\n' {1..68})
	plant engine/n.c 'file of 601 lines' "$spdx" $(printf '; %.0s' {1..600})
	plant engine/o.c - "$spdx" 'static int f(void)' '{' "${dots[@]}" '}'
	echo 'engine/o.c:2: function of 71 lines' >>"$scratch/expected"
	# The clean ones: the same words where they are allowed, in prose and in strings.
	plant engine/clock.c - "$spdx" $'\tclock_gettime(CLOCK_MONOTONIC, &now);'
	plant engine/backend_uring.c - "$spdx" '#include <liburing.h>'
	plant devices/c.c - "$spdx" '#include "engine/base.h"' $'\tioctl(fd, BLKFLSBUF);'
	plant tools/d.c - "$spdx" '#include "version.h"' '#include "fsmodel/pool.h"' $'\tputs("a");'
	plant engine/p.c - "$spdx" '/* printf() is not' ' * called, nor rand() */' \
		$'\tname = "stderr and time(";' $'\tc = \'"\'; snprintf(b, 9, "rand()");' \
		$'\tops->time(clock); x_time(0); // isn\'t printf()' \
		'static int f(void)' '{' "${dots[@]:1}" '}' "${long:0:100}"

	cd "$scratch"
	find . -name '*.[ch]' | sed 's,^\./,,' >files
	if xargs awk -f "$root/tests/support/style.awk" <files >found; then
		echo "the checker ended with 0 over planted offences"
		return 1
	fi
	local status=0 line
	while IFS= read -r line; do
		grep -qF -- "$line" found || { echo "not found: $line"; status=1; }
	done <expected
	if [ "$(wc -l <found)" != "$(wc -l <expected)" ]; then
		echo "found more than was planted, or less:"
		cat found
		status=1
	fi
	cd "$root"
	return $status
}

# Every file that people write; recorded data is not held to the style.
list_files()
{
	local listing
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		listing=(git ls-files --cached --others --exclude-standard)
	else
		listing=(find . -path ./build -prune -o -type f -print)
	fi
	"${listing[@]}" | sed 's,^\./,,' | while IFS= read -r file; do
		case $file in
		tests/golden/* | tests/*/data/* | tests/data/*) ;;
		*.c | *.h | *.sh | *.awk | *.cmake | *.in | *.py | *.md) echo "$file" ;;
		*CMakeLists.txt | .ci/run | tools/* | tests/bench/*) echo "$file" ;;
		esac
	done | while IFS= read -r file; do
		[ -f "$file" ] && echo "$file"
	done | sort -u
}

self_test
list_files >"$scratch/files"
grep -q '^engine/.*\.h$' "$scratch/files" || { echo "engine/ has no header?"; exit 1; }
tr '\n' '\0' <"$scratch/files" | xargs -0 awk -f tests/support/style.awk
echo "style: $(wc -l <"$scratch/files") files hold to it"
