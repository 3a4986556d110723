#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A drive that does not answer: a loop device over a file on a frozen file system. The watchdog
# names the oldest request, the first interrupt stops sending, the second leaves at once with the
# result so far as one valid document.
set -eu
. tests/support/require.sh
require root loop mkfs.ext4 fsfreeze python3

work=$(mktemp -d /var/tmp/bareplatter-hung.XXXXXX)
outer="" inner="" frozen=""
tidy_up()
{
	[ -z "$frozen" ] || fsfreeze --unfreeze "$work/fs" || :
	for _ in $(seq 50); do
		[ -z "$inner" ] || losetup --detach "$inner" 2>/dev/null || :
		losetup --noheadings --output NAME | grep -qx "${inner:-none}" || break
		sleep 0.1
	done
	umount "$work/fs" 2>/dev/null || :
	[ -z "$outer" ] || losetup --detach "$outer" || :
	rm -rf "$work"
}
trap tidy_up EXIT
trap 'exit 1' INT TERM HUP

truncate -s 256M "$work/disk"
mkfs.ext4 -q -F "$work/disk"
outer=$(losetup --find --show "$work/disk")
mkdir "$work/fs"
mount "$outer" "$work/fs"
fallocate -l 64M "$work/fs/backing"
inner=$(losetup --find --show "$work/fs/backing")
identity=$("$BAREPLATTER" check "$inner" | sed -n 's/^identity: //p')

"$BAREPLATTER" run "$inner" --write "$identity" --pattern randwrite --depth 4 --time 60s \
	--watchdog 500ms --output-format json >"$work/result" 2>"$work/talk" &
run=$!
sleep 1
fsfreeze --freeze "$work/fs"
frozen=1

wait_for()
{
	local text=$1
	for _ in $(seq 100); do
		grep -q "$text" "$work/talk" && return
		sleep 0.1
	done
	echo "never said: $text"
	cat "$work/talk"
	exit 1
}
wait_for "no answer for .* requests at the drive is a write of 4096 bytes at LBA [0-9]"

kill -INT $run
sleep 1
kill -0 $run || { echo "the first interrupt did not wait for the drive"; exit 1; }
kill -INT $run
code=0
# It must leave while the drive still hangs.
for _ in $(seq 50); do
	kill -0 $run 2>/dev/null || break
	sleep 0.1
done
if kill -0 $run 2>/dev/null; then
	echo "the second interrupt did not end the command"
	exit 1
fi
wait $run || code=$?
[ "$code" = 130 ] || { echo "exit code $code, not 130"; exit 1; }

python3 - "$work/result" <<-'END'
	import json, sys
	result = json.load(open(sys.argv[1]))
	assert result["status"] == "interrupted", result["status"]
	cell = result["cells"][0]
	assert cell["status"] == "abandoned", cell["status"]
	assert cell["iops"] > 0
	assert any("no answer" in m["text"] for m in result["messages"])
	assert any("still at the drive" in n for n in cell["notes"])
END
