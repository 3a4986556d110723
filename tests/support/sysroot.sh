# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by shell tests: `sysroot_new TREE FOLDER` expands tests/golden/sysroots/TREE.tree as
# tests/support/sysroot.h describes it.

sysroot_new() {
	sysroot_tab=$(printf '\t')
	while IFS= read -r sysroot_line; do
		case $sysroot_line in
		'' | '#'*) continue ;;
		*"$sysroot_tab"*)
			sysroot_path=${sysroot_line%%"$sysroot_tab"*}
			mkdir -p "$2/$(dirname "$sysroot_path")"
			printf '%s\n' "${sysroot_line##*"$sysroot_tab"}" |
				sed 's/\\n/\n/g; s/\\t/\t/g' >"$2/$sysroot_path"
			;;
		*' -> '*)
			sysroot_path=${sysroot_line%% -> *}
			mkdir -p "$2/$(dirname "$sysroot_path")"
			ln -s "${sysroot_line##* -> }" "$2/$sysroot_path"
			continue
			;;
		esac
		case $sysroot_path in
		sys/devices/*/dev)
			mkdir -p "$2/sys/class/block" "$2/sys/dev/block"
			sysroot_target=../../../$(dirname "$sysroot_path")
			ln -s "$sysroot_target" "$2/sys/class/block/$(basename "$sysroot_target")"
			ln -s "$sysroot_target" "$2/sys/dev/block/$(cat "$2/$sysroot_path")"
			;;
		esac
	done <"tests/golden/sysroots/$1.tree"
}
