# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Long commands under a script that must tidy up. A shell handles a signal only after its
# foreground command has ended, so attended() runs the command in a process group of its own,
# waits where a signal can interrupt, passes the signal on to the whole group and lets it finish:
# what the script removes at its end is then no longer in use. Sourced by the scripts beside it.
#
# The script may define tidy_up(); it runs once on every way out, with signals held off.

attended_group="" # leader of the running command's process group
attended_exit=""  # exit code that a signal asks for

attended_signal()
{
	attended_exit=$2
	if [ -n "$attended_group" ]; then
		kill -s "$1" -- "-$attended_group" 2>/dev/null
	else
		exit "$2"
	fi
}

attended_end()
{
	local status=$?
	trap '' INT TERM HUP
	trap - EXIT
	if [ "$(type -t tidy_up)" = function ]; then
		tidy_up
	fi
	exit "$status"
}

trap 'attended_signal INT 130' INT
trap 'attended_signal TERM 143' TERM
trap 'attended_signal HUP 129' HUP
trap attended_end EXIT

# attended COMMAND...: its exit code, or the end of the script when a signal came meanwhile.
attended()
{
	local status=0
	set -m
	"$@" </dev/null &
	attended_group=$!
	set +m
	while :; do
		status=0
		wait "$attended_group" || status=$?
		# A signal ends the wait early; the command itself may still be draining.
		kill -0 "$attended_group" 2>/dev/null || break
	done
	attended_group=""
	if [ -n "$attended_exit" ]; then
		exit "$attended_exit"
	fi
	return $status
}
