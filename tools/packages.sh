# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Which Debian 12 packages each purpose needs, in this one place, and how they are installed.
# Sourced by the scripts beside it. Here-strings and not process substitution: a bare chroot has no
# /proc, and so no /dev/fd.

declare -A packages=(
	[build]="gcc libc6-dev cmake ninja-build pkgconf liburing-dev libaio-dev libudev-dev
		libblkid-dev libsmartcols-dev libjson-c-dev libgsl-dev libxxhash-dev libsgutils2-dev
		libnvme-dev"
	[scratch]="mount util-linux" # losetup and fallocate
	[test]="libcmocka-dev mount util-linux"
	[heavy]="e2fsprogs xfsprogs parted lvm2 dmsetup mdadm fio postmark strace man-db python3"
	[tidy]="clang clang-tidy"
	[fuzz]="clang libclang-rt-14-dev"
	[fresh]="debootstrap"
)

# packages_missing GROUP...: prints those of the groups that are not installed.
packages_missing()
{
	local group name state wanted=""
	declare -A installed=()
	for group in "$@"; do
		wanted+=" ${packages[$group]}"
	done
	# shellcheck disable=SC2086 # package names are words
	while read -r name state; do
		[ "$state" = installed ] && installed[$name]=1
	done <<<"$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null)"
	for name in $wanted; do
		if [ -z "${installed[$name]:-}" ]; then
			installed[$name]=1 # named once
			echo "$name"
		fi
	done
}

# packages_install NAME...: the package lists are fetched only where the lists at hand do not
# know a package, or name a version that the mirror no longer has.
packages_install()
{
	local apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
	export DEBIAN_FRONTEND=noninteractive
	if apt-cache show "$@" >/dev/null 2>&1 &&
		"${apt[@]}" install --no-install-recommends "$@"; then
		return 0
	fi
	"${apt[@]}" update && "${apt[@]}" install --no-install-recommends "$@"
}

# packages_ensure GROUP...: installs what the groups lack. Ends the script with 4 where that is
# not possible. Wants attended() from tools/attended.sh.
packages_ensure()
{
	local missing log
	if ! command -v dpkg-query >/dev/null; then
		echo "$0: not a Debian system; needed are the equivalents of:" \
			"$(for group in "$@"; do echo ${packages[$group]}; done | xargs)" >&2
		return 0
	fi
	read -ra missing <<<"$(packages_missing "$@" | tr '\n' ' ')"
	[ "${#missing[@]}" -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo "$0: please install as root: apt-get install ${missing[*]}" >&2
		exit 4
	fi
	echo "installing ${missing[*]}" >&2
	log=$(mktemp)
	if ! attended packages_install "${missing[@]}" >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		echo "$0: could not install ${missing[*]}" >&2
		exit 4
	fi
	rm -f "$log"
}
