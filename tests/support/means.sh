# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What a machine may have or lack for the tests. A name that is not listed in means_exist() is the
# name of a program.

PATH=$PATH:/usr/sbin:/sbin

# A loop device can really be attached: in a container the driver may be there and not allowed.
loop_can_attach()
{
	local file device status=1
	[ "$(id -u)" = 0 ] || return 1
	file=$(mktemp) || return 1
	truncate -s 1MiB "$file"
	if device=$(losetup --find --show "$file" 2>/dev/null); then
		losetup --detach "$device"
		status=0
	fi
	rm -f "$file"
	return $status
}

# Known to the kernel, not switched off, and no seccomp filter in force that might refuse it.
uring_can_open()
{
	[ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)" = 0 ] &&
		grep -qwE "io_uring_setup|__io_uring_free" /proc/kallsyms 2>/dev/null &&
		grep -q '^Seccomp:[[:space:]]*0$' /proc/self/status
}

means_exist()
{
	case $1 in
	root) [ "$(id -u)" = 0 ] ;;
	loop) loop_can_attach ;;
	uring) uring_can_open ;;
	zram) [ "$(id -u)" = 0 ] && [ -e /sys/block/zram0/disksize ] ;;
	dm) [ "$(id -u)" = 0 ] && dmsetup version >/dev/null 2>&1 ;;
	md) [ "$(id -u)" = 0 ] && [ -e /proc/mdstat ] ;;
	tracefs) [ "$(id -u)" = 0 ] && [ -r /sys/kernel/tracing/events/block/enable ] ;;
	udev) [ -d /run/udev/data ] ;;
	unshare) unshare --mount true 2>/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}
