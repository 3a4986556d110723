#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Verbs that only look do not write: the image behind a loop device keeps every byte, and the
# kernel counts no write to the device, whether the verb succeeds or refuses.
set -u
. "$(dirname "$0")/../support/require.sh"
require root loop

image=$(mktemp)
device=
trap '[ -z "$device" ] || losetup --detach "$device"; rm -f "$image" "$image.link"' EXIT
truncate -s 64MiB "$image"
printf 'contents that somebody needs' | dd of="$image" conv=notrunc bs=1 seek=12345 status=none
device=$(losetup --find --show "$image") || exit 1
ln -s "$device" "$image.link"

# The sectors and requests written so far: fields 5 to 7 of the kernel's block statistics.
writes() { awk '{ print $5, $6, $7 }' "/sys/block/${device#/dev/}/stat"; }

before=$(sha256sum <"$image")
written=$(writes)
"$BAREPLATTER" list >/dev/null
"$BAREPLATTER" list -J -a -p >/dev/null
identity=$("$BAREPLATTER" check "$device" | sed -n 's/^identity: //p')
"$BAREPLATTER" check "$image.link" -J >/dev/null
"$BAREPLATTER" plan "$device" >/dev/null 2>&1
"$BAREPLATTER" operations >/dev/null 2>&1
"$BAREPLATTER" help >/dev/null

failed=0
[ -n "$identity" ] || {
	echo "FAILED: check printed no identity"
	failed=1
}
[ "$(writes)" = "$written" ] || {
	echo "FAILED: writes before: $written, after: $(writes)"
	failed=1
}
[ "$(sha256sum <"$image")" = "$before" ] || {
	echo "FAILED: the image changed"
	failed=1
}
exit $failed
