#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone analyze on files with one thing wrong in each, in every format: bad_input.py makes them, and says what is to be said.
# O: the folder that `make all` built.
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
. tests/scenario/lib.sh

# said FILE FLAGS STATUS TRACES REASON OFFSET: see bad_input.py
said() {
	local file=$1 flags=$2 status=$3 traces=$4 reason=$5 offset=$6 rc=0
	[ "$flags" != - ] || flags=
	# shellcheck disable=SC2086 # they are words
	"$O/bin/hone" analyze --json $flags "$file" > "$D/out" 2> "$D/err" || rc=$?
	echo "exit $rc: $(cat "$D/err")"
	[ $rc = "$status" ] || return 1
	if [ "$status" != 0 ]; then	# named, once, with why
		grep -qF "$file: " "$D/err" && [ ! -s "$D/out" ]
		return
	fi
	jq -c '.source | .counts.traces, .skipped' "$D/out"
	[ ! -s "$D/err" ] && jq -e --arg file "$file" --arg traces "$traces" --arg reason "$reason" --arg offset "$offset" '
		(.types | map(.count) | add) as $n | ($traces == "some" and $n > 0 or ($n | tostring) == $traces) and
		(.source.skipped | if $reason == "-" then . == [] else any(.reason == $reason and .count >= 1 and .file == $file and
		($offset == "-" and .offset != null or (.offset | tostring) == $offset)) end)' "$D/out" > "$D/jq"
}

python3 tests/scenario/bad_input.py "$D" > "$D/cases" || exit 1
while IFS=$'\t' read -r -a words; do
	check "${words[0]##*/}${words[4]:+: ${words[4]}}" said "${words[@]}"
done < "$D/cases"
echo "1..$N"
exit $FAILED
