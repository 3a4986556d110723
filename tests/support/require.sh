# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Sourced by shell tests: `require root loop` ends the test with 77 (a skip) where a means is
# missing. Where the variable REQUIRE names it (a comma list) the test fails instead: whoever runs
# the tests then knows that the means exists, so that a silent skip would hide something.

. "$(dirname "${BASH_SOURCE[0]}")/means.sh"

require()
{
	local means
	for means in "$@"; do
		means_exist "$means" && continue
		case ,${REQUIRE:-}, in
		*,"$means",*)
			echo "missing: $means, which REQUIRE=$REQUIRE promises" >&2
			exit 1
			;;
		esac
		echo "skipped: needs $means" >&2
		exit 77
	done
}
