# SPDX-License-Identifier: GPL-3.0-or-later
#
# The style law as a program: prints one line `FILE:LINE: offence` for each offence and ends with
# 1 if there was any. Files are named relative to the root of the tree, since the folder decides
# what a file may include and call. Kept to what mawk understands.
#
# Comments, strings and character constants are blanked before calls are looked for, so that
# prose may speak of printf() and a message may hold an include.

function offence(text) { print FILENAME ":" FNR ": " text; found = 1 }
function offence_at(file, line, text) { print file ":" line ": " text; found = 1 }

# Columns as an editor shows them: tabs to 8, one per UTF-8 character.
function columns(line,    count, piece, parts, n) {
	gsub(/[\200-\277]/, "", line)
	if (index(line, "\t") == 0)
		return length(line)
	n = split(line, parts, "\t")
	count = 0
	for (piece = 1; piece <= n; piece++) {
		count += length(parts[piece])
		if (piece < n)
			count += 8 - count % 8
	}
	return count
}

# The line's code; in_comment lives on from line to line.
function code_of(line,    out, at) {
	out = ""
	while (line != "") {
		if (in_comment) {
			at = index(line, "*/")
			if (at == 0)
				return out
			line = substr(line, at + 2)
			in_comment = 0
			continue
		}
		if (!match(line, /["']|\/\*|\/\//))
			return out line
		out = out substr(line, 1, RSTART - 1)
		if (substr(line, RSTART, 2) == "//")
			return out
		if (substr(line, RSTART, 2) == "/*") {
			in_comment = 1
			line = substr(line, RSTART + 2)
			out = out " "
			continue
		}
		line = substr(line, RSTART)
		if (substr(line, 1, 1) == "\"") {
			if (!match(line, /^"([^"\\]|\\.)*"/))
				return out
			out = out "\"\""
		} else {
			if (!match(line, /^'([^'\\]|\\.)*'/))
				return out
			out = out "''"
		}
		line = substr(line, RLENGTH + 1)
	}
	return out
}

function calls(code, names) {
	return code ~ ("(^|[^A-Za-z0-9_.>])(" names ")[ \t]*\\(")
}

function mentions(code, names) {
	return code ~ ("(^|[^A-Za-z0-9_])(" names ")([^A-Za-z0-9_]|$)")
}

function header_home(header, pattern, homes) {
	if (included ~ pattern && FILENAME !~ homes)
		offence("<" header "> is included outside its home")
}

function check_include(line,    owner) {
	if (line !~ /^[ \t]*#[ \t]*include/)
		return
	included = line
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", included)
	header_home("liburing.h", "^<liburing", "^engine/backend_uring\\.c$")
	header_home("libaio.h", "^<libaio", "^engine/backend_libaio\\.c$")
	header_home("libudev.h", "^<libudev", "^devices/")
	header_home("blkid.h", "^<blkid", "^devices/")
	header_home("err.h", "^<(err|error)\\.h", "^(tools|tests)/")
	if (included !~ /^"/)
		return
	owner = substr(included, 2)
	sub(/".*/, "", owner)
	if (owner !~ /\//) {
		if (owner != "version.h" || layer != "tools")
			offence("include \"" owner "\" from the root of the tree, with its folder")
		return
	}
	sub(/\/.*/, "", owner)
	if (index(" " may_include[layer] " ", " " owner " ") == 0)
		offence(layer "/ must not include " owner "/")
}

function check_calls(code) {
	if (FILENAME != "engine/clock.c" && FILENAME !~ /^tests\/bench\// &&
	    calls(code, "clock_gettime|gettimeofday|time"))
		offence("only engine/clock.c reads a clock; take a struct clock")
	if (layer != "devices" && layer != "tests" && calls(code, "ioctl"))
		offence("ioctl is called only in devices/")
	if (layer != "tools" && layer != "tests" &&
	    (calls(code, "v?printf|puts|putchar|perror|fputs|fputc|putc") ||
	     mentions(code, "stdout|stderr")))
		offence("only tools/ prints; return the sentence in a struct error")
	if (calls(code, "s?rand|s?random|rand_r|[delmn]rand48"))
		offence("the C library's generator is not reproducible; take a struct rng")
	if (mentions(code, "NDEBUG"))
		offence("asserts stay on in every build")
}

# A function's body stands between two braces in the first column; its name is on the last line
# before it that begins in the first column.
function check_function(line) {
	if (line ~ /^[A-Za-z_].*\(/)
		signature = FNR
	else if (line ~ /^\{/)
		body = FNR
	else if (line ~ /^\}/ && body) {
		if (FNR - signature + 1 > 70)
			offence_at(FILENAME, signature,
				"function of " FNR - signature + 1 " lines (limit 70)")
		body = 0
	}
}

function finish_file() {
	if (file == "")
		return
	if (!licensed)
		offence_at(file, 1, "no SPDX-License-Identifier in the first two lines")
	if (lines > 600)
		offence_at(file, lines, "file of " lines " lines (limit 600)")
}

BEGIN {
	may_include["engine"] = "engine"
	may_include["fsmodel"] = "engine fsmodel"
	may_include["devices"] = "engine devices"
	may_include["tools"] = "engine fsmodel devices tools"
	may_include["tests"] = "engine fsmodel devices tools tests"
	unfinished = "TO" "DO|FIX" "ME|XX" "X|HA" "CK"
}

FNR == 1 {
	finish_file()
	file = FILENAME
	layer = FILENAME
	sub(/\/.*/, "", layer)
	is_c = FILENAME ~ /\.[ch]$/
	licensed = FILENAME ~ /\.md$/
	in_comment = 0
	body = signature = 0
}

{
	lines = FNR
	if (FNR <= 2 && /SPDX-License-Identifier: GPL-3\.0-or-later/)
		licensed = 1
	if (/[ \t]$/)
		offence("trailing blanks")
	if (length($0) > 80 || index($0, "\t"))
		if (columns($0) > 100)
			offence("line of " columns($0) " columns (limit 100)")
	if (mentions($0, unfinished))
		offence("unfinished work belongs into an issue, not into the tree")
}

is_c {
	check_include($0)
	check_calls(code_of($0))
	check_function($0)
}

END {
	finish_file()
	exit found
}
