#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The verb `cache` as a script sees it: what cannot be seen is unknown and not off, nothing is
# written, and setting needs the identity.
set -u
. "$(dirname "$0")/../support/require.sh"
. "$(dirname "$0")/../support/sysroot.sh"

scratch=$(mktemp -d)
device=
trap '[ -z "$device" ] || losetup --detach "$device"; rm -rf "$scratch"' EXIT
out=$scratch/out err=$scratch/err
failed=0

fail()
{
	echo "FAILED: $*"
	sed 's/^/  stdout: /' "$out" | head -20
	sed 's/^/  stderr: /' "$err" | head -5
	failed=1
}

# expect CODE ARGUMENT...
expect()
{
	local code=$1 got=0
	shift
	"$BAREPLATTER" cache "$@" --state-dir "$scratch/records" >"$out" 2>"$err" </dev/null ||
		got=$?
	[ "$got" = "$code" ] || fail "\"cache $*\" ended with $got instead of $code"
}

says() { grep -qF -- "$1" "$2" || fail "nothing says: $1"; }

# Usage.
expect 2
expect 2 get
expect 2 look /dev/null
says '"look" is neither get nor set' "$err"
expect 2 set /dev/no-such-disk
says "on or off" "$err"
expect 2 set /dev/no-such-disk maybe
expect 2 get /dev/no-such-disk on
expect 2 get /dev/no-such-disk
says /dev/no-such-disk "$err"
expect 2 get /dev/no-such-disk --write x
expect 2 set sda on --sysroot "$scratch"
says "no drive to set" "$err"

# A recorded machine has a kernel's view and no drive; below a volume every member is named.
sysroot_new server "$scratch/server"
expect 4 get sda --sysroot "$scratch/server"
says "write cache: unknown" "$out"
says "kernel: write back" "$out"
says "no drive to ask" "$err"
expect 4 get sdh --sysroot "$scratch/server"
says "neither cache nor depth of the drives can be seen from here" "$err"
expect 4 get dm-1 --sysroot "$scratch/server"
says "drive: sdc" "$out"
says "drive: sdd" "$out"
expect 4 get sda --sysroot "$scratch/server" -J
says '"write_cache": "unknown"' "$out"
says '"verdict": "unknown"' "$out"
says '"status": "failed"' "$out"
[ "$(grep -c '^{' "$out")" = 1 ] || fail "not one document"

# A loop device: nobody can tell, and nothing is written.
require root loop
truncate -s 16MiB "$scratch/image"
device=$(losetup --find --show "$scratch/image") || exit 1
writes() { awk '{ print $5, $6, $7 }' "/sys/block/${device#/dev/}/stat"; }
view() { cat "/sys/block/${device#/dev/}/queue/write_cache"; }
before=$(sha256sum <"$scratch/image") written=$(writes) kernel=$(view)
identity=$("$BAREPLATTER" check "$device" | sed -n 's/^identity: //p')
expect 4 get "$device"
says "write cache: unknown" "$out"
says "cannot be seen" "$err"
expect 3 set "$device" off
says "$identity" "$err"
expect 3 set "$device" off --write wrong
says "does not match" "$err"
expect 4 set "$device" off --write "$identity"
says "cannot be set, because it cannot be seen" "$err"
[ -z "$(ls "$scratch/records" 2>/dev/null)" ] || fail "a record was left"
[ "$(writes)" = "$written" ] || fail "writes before: $written, after: $(writes)"
[ "$(sha256sum <"$scratch/image")" = "$before" ] || fail "the image changed"
[ "$(view)" = "$kernel" ] || fail "queue/write_cache was $kernel and is $(view)"
exit $failed
