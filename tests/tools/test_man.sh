#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The man page is troff that man(1) takes without a warning, with the sections people look for.
set -eu
. "$(dirname "$0")/../support/require.sh"
require man

page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$BAREPLATTER" help --man >"$page"

warnings=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
if [ -n "$warnings" ]; then
	echo "FAILED: man warns: $warnings"
	exit 1
fi

for section in NAME SYNOPSIS DESCRIPTION VERBS TARGET "SIZES AND LISTS" IDENTITY "EXIT STATUS" \
	FILES EXAMPLES "SEE ALSO"; do
	grep -qx ".SH $section" "$page" || {
		echo "FAILED: no section $section"
		exit 1
	}
done
