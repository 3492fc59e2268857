#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/tap.sh FOLDER [INTERPRETER] TEST [ARGUMENT...]: runs a test for prove and keeps a copy of its TAP in FOLDER, one
# file for each test, for tools/summary.sh to count. Exits with the test's exit code; if the test failed without a
# failed check in its TAP (it crashed, or stopped early), a failed check is added.
set -u
folder=$1
shift
test=
for word in "$@"; do [ -f "$word" ] && test=$word; done	# the test is the last argument that is a file
mkdir -p "$folder"
copy=$folder/$(printf '%s' "$test" | sed 's|^\./||' | tr / _).tap
{ "$@"; echo $? >"$copy.exit"; } | tee "$copy"
rc=$(cat "$copy.exit")
rm -f "$copy.exit"
[ "$rc" = 0 ] || grep -q '^not ok' "$copy" || echo "not ok - $test ended with exit code $rc" >>"$copy"
exit "$rc"
