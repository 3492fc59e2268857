#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone analyze on files with one defect each, in every format: bad_input.py generates them with the expected messages.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT

# said FILE FLAGS STATUS TRACES REASON OFFSET: see bad_input.py
said() {
	local file=$1 flags=$2 status=$3 traces=$4 reason=$5 offset=$6 rc=0
	[ "$flags" != - ] || flags=
	# shellcheck disable=SC2086 # they are separate arguments
	"$O/bin/hone" analyze --json $flags "$file" > "$D/out" 2> "$D/err" || rc=$?
	echo "exit $rc: $(cat "$D/err")"
	[ $rc = "$status" ] || return 1
	if [ "$status" != 0 ]; then	# the file is named once, with the reason
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

# ---- folders that can be read only in part
# nobody COMMAND...: runs as a user without root's override of permissions
nobody() { if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --clear-groups "$@"; else "$@"; fi; }
# says CODE TEXT COMMAND...: the command exits with CODE, and its output contains TEXT
says() {
	local code=$1 text=$2 out rc=0
	shift 2
	out=$("$@" 2>&1) || rc=$?
	echo "exit $rc: $out"
	[ $rc = "$code" ] && grep -qF -- "$text" <<< "$out"
}
all_but_unreadable() {
	nobody "$O/bin/hone" analyze --json "$D/folder" > "$D/out" || return 1
	jq -c .source "$D/out"
	jq -e '.source | .counts.files == 6 and .counts.files_failed == 5 and .counts.traces == 5 and
	    (.skipped | any(.reason == "file" and .count == 5))' "$D/out"
}
chmod 755 "$D"
mkdir -p "$D/folder/below" "$D/void"
cp "$D/jaeger-garbage" "$D/folder/a"
cp "$D/jaeger-good" "$D/folder/below/b" && cp "$D/jaeger-good" "$D/folder/c" && chmod 0 "$D/folder/c"
ln -s nowhere "$D/folder/d"
mkdir -m 0 "$D/folder/e"
cp "$D/jaeger-garbage" "$D/folder/g"
check "in a folder every readable file is read, and the others are counted" all_but_unreadable
check "the error names a folder that cannot be read" says 1 "$D/folder/e: Permission denied" nobody "$O/bin/hone" analyze "$D/folder/e"
check "the error names an empty folder" says 1 "$D/void: the folder contains no files" "$O/bin/hone" analyze "$D/void"
check "the error names standard input" says 1 "hone: standard input: the input is empty" "$O/bin/hone" analyze - < /dev/null
check "if no trace is left, the error says why" says 1 "1 traces without a root; first $D/rootless at byte" \
	bash -c "head -n 1 '$D/nezha-good' > '$D/rootless'; echo 1,1,2,p,o,10,20,1 >> '$D/rootless'
	    echo 1,2,1,p,o,10,20,1 >> '$D/rootless'; '$O/bin/hone' analyze '$D/rootless'"

# ---- LTTng's folders
mkdir -p "$D/ctf/words" "$D/ctf/cut" "$D/ctf/mixed"
echo "no metadata" > "$D/ctf/words/metadata"
cp tests/data/ctf-kinds.metadata "$D/ctf/cut/metadata" && truncate -s 7000 "$D/ctf/cut/metadata"
cp tests/data/ctf-kinds.metadata "$D/ctf/mixed/metadata" && head -c 5000 /dev/urandom > "$D/ctf/mixed/stream_0"
for what in words cut mixed; do
	check "the error names a broken CTF trace and what is broken ($what)" says 1 "hone: $D/ctf/$what: " "$O/bin/hone" analyze "$D/ctf/$what"
done

# ---- text with control characters for the terminal
check "names with control characters, broken UTF-8 and lone surrogates become valid JSON and no terminal escapes" bash -c "
	'$O/bin/hone' analyze --json --samples '$D/hostile' > '$D/out' && jq -e '.types[0].count == 40' '$D/out' &&
	iconv -f UTF-8 -t UTF-8 '$D/out' > /dev/null && '$O/bin/hone' analyze '$D/hostile' > '$D/out' &&
	! LC_ALL=C grep -P '[\\x00-\\x09\\x0b-\\x1f\\x7f]' '$D/out' && iconv -f UTF-8 -t UTF-8 '$D/out' > /dev/null"
echo "1..$N"
exit $FAILED
