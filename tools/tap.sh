#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/tap.sh FOLDER [INTERPRETER] TEST [ARGUMENT...]: runs a test for prove and keeps a copy of its TAP in FOLDER, one file
# a test, so that tools/summary.sh can count. Ends with the test's own exit code, told as a failed check where its TAP
# shows none (it crashed, or stopped early).
set -u
folder=$1
shift
test=
for word in "$@"; do [ -f "$word" ] && test=$word; done	# the last word that is a file: the test, not its interpreter
mkdir -p "$folder"
copy=$folder/$(printf '%s' "$test" | sed 's|^\./||' | tr / _).tap
{ "$@"; echo $? >"$copy.exit"; } | tee "$copy"
rc=$(cat "$copy.exit")
rm -f "$copy.exit"
[ "$rc" = 0 ] || grep -q '^not ok' "$copy" || echo "not ok - $test ended with exit code $rc" >>"$copy"
exit "$rc"
