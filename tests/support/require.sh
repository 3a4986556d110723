# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Which means a test needs and this machine may lack. A shell test names them in a comment line
#
#	# requires: root loop
#
# and sources this file before it changes folder:
#
#	. "$(dirname "$0")/../support/require.sh"
#
# That ends it with 77 (a skip) where one is missing. Where the variable REQUIRE names the missing
# one (a comma list), the test fails instead: whoever runs the tests then knows that the means
# exists, so that a silent skip would hide something.

. "$(dirname "${BASH_SOURCE[0]}")/means.sh"

# skip MEANS REASON: ends the test.
skip()
{
	case ,${REQUIRE:-}, in
	*,"$1",*)
		echo "FAILED: $2, although $1 is said to be here"
		exit 1
		;;
	esac
	echo "SKIPPED: $2"
	exit 77
}

while read -r means; do
	means_exist "$means" || skip "$means" "this machine lacks $means"
done < <(sed -n 's/^# requires: *//p' "$0" | tr -s ' ' '\n')
unset means
