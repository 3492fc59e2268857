#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone baseline save --states and hone analyze --baseline: of two services without instrumentation, what their operations usually wait for is
# learned from a recording of the kernel. Healthy recordings raise no alarm in 99 % of the operations; each fault is named at its operation
# with its state, and so is the change of a server's workers from synchronous to threaded, whose waits for the network are lost.
# O: the folder of `make all states-scenario`.
. "$(dirname "$0")/lib.sh"
needs root jq node
B=$O/lib/hone/hone-below H=$O/bin/hone
[ -x "$B" ] || skip "hone-below was not built: it needs clang and libbpf"
"$B" --can --json | jq -e .waits > /dev/null || skip "BPF is not permitted here"
ahead_of_others
D=$(mktemp -d -p "$O")
export XDG_DATA_HOME=$D/data
PIDS=()
trap 'kill "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
why() {
	jq -c '.operations[]? | .name as $n | .findings[]? | [$n, .state, .more, .measure, .mean, .usual, .operations]' "$D/${COMPARED:-none}.json"
	tail -n 30 "$D"/*.log "$D"/*.txt 2> /dev/null
}
PORT=$((20000 + $$ % 5000 * 2))

# record NAME MODE REQUESTS: the services in this mode, recorded while they serve so many requests
record() {
	local work recorder
	rm -f "$D/in" "$D/out" && mkfifo "$D/in"
	"$O/tests/scenario/states_work" $PORT "$D/file" "$3" "$2" < "$D/in" > "$D/out" 2> "$D/$1.work.log" &
	work=$!
	PIDS+=($work)
	exec 9> "$D/in"
	wait_for 20 grep -q ready "$D/out" || bail "the services do not begin"
	"$H" kernel record --texts --seconds 120 --pid $work "$D/$1" > "$D/$1.log" 2>&1 &
	recorder=$!
	PIDS+=($recorder)
	wait_for 20 grep -q "recording the kernel" "$D/$1.log" || bail "hone kernel record does not begin"
	echo go >&9
	exec 9>&-
	wait $work
	kill -INT $recorder
	wait $recorder
	PIDS=()
	rm -f "$D/file"
}
# compare NAME: the comparison of a recording with the baseline
compare() { COMPARED=$1 && "$H" analyze --baseline healthy "$D/$1" --json > "$D/$1.json" 2> "$D/$1.err.log"; }
# finds NAME OPERATION STATE MORE: the first finding of this operation is of this state
finds() {
	compare "$1" && jq -e --arg o "$2" --arg s "$3" --argjson m "$4" '[.operations[] | select(.name | startswith($o + " "))][0].findings[0] |
		.state == $s and .more == $m' "$D/$1.json"
}

baseline() {
	rm -rf "$D/baseline"
	record baseline sync 2000
	"$H" baseline save --states healthy "$D/baseline" > "$D/save.txt" 2>&1
}
# twice_more NAME MODE REQUESTS COMMAND...: what is compared are two windows of time, and the machine is shared: if the command fails, both are
# recorded anew, twice at most
twice_more() {
	local name=$1 mode=$2 requests=$3 left=2
	shift 3
	until "$@"; do
		((left-- > 0)) || return 1
		echo "once more: $name" >&2
		baseline
		rm -rf "$D/$name"
		record "$name" "$mode" "$requests"
	done
}

echo 1..17
baseline
check "a baseline of a recording is saved" "$H" baseline save --states healthy "$D/baseline" --json
check "it has both operations, with enough samples" eval '"$H" baseline show healthy --json | jq -e "[.types[0].operations[] | select(.samples > 500)] | length == 2"'
check "what contacts does is a pattern: the rest of the request from the network, then reads" \
	eval '"$H" baseline show healthy --json | jq -e "[.types[0].operations[1].intervals[].patterns[].pattern] | any(. == \"R-N-(R-D)+-R\")"'
check "as text, too" grep -q "contacts.*R-N-(R-D)+-R" "$D/save.txt"

record healthy sync 500
quiet() { compare "$1" && jq -e '.requests > 400 and .compared > 800 and .outside <= 0.01 * .compared' "$D/$1.json"; }
check "a healthy recording raises no alarm in 99 % of the operations" twice_more healthy sync 500 quiet healthy
calm() { compare healthy && jq -e '[.operations[].findings[]] | length == 0' "$D/healthy.json"; }
check "and has no finding" twice_more healthy sync 500 calm

for mode in threaded disk lock timer compute hog; do record $mode $mode 300; done
check "threaded workers: contacts lost its waits for the network" twice_more threaded threaded 300 finds threaded contacts network false
check "and it lacks the pattern that has them" jq -e '[.operations[] | select(.name | startswith("contacts ")) | .findings[] | select(.measure == "absent") |
	.pattern] | any(test("N"))' "$D/threaded.json"
check "it waits for another thread instead" jq -e '[.operations[] | select(.name | startswith("contacts ")) | .findings[] | select(.more) | .resource] |
	index("another thread") != null' "$D/threaded.json"
check "more reads: contacts, the disk" twice_more disk disk 300 finds disk contacts disk true
check "a lock that is held for long: contacts, a lock" twice_more lock lock 300 finds lock contacts lock true
check "text is for people" eval '"$H" analyze --baseline healthy "$D/lock" | has "^contacts .* a lock  *lock, more"'
page() { "$H" analyze --baseline healthy "$D/lock" --html "$D/lock.html" > /dev/null && node tests/scenario/states_page.js "$D/lock.html" "$D/lock.json"; }
check "the page draws each finding" page
check "back-off: contacts, a timer" twice_more timer timer 300 finds timer contacts timer true
check "rendering: front, the CPU" twice_more compute compute 300 finds compute front running true
# Where front computes for longer, what contacts needs is no longer in the caches: contacts may run for longer, too, and by little.
blamed_little() {
	finds compute front running true && jq -e '[.operations[] | .name as $n | .findings[] | select(.state == "running" and .more and .measure == "time") |
		{front: ($n | startswith("front ")), cost: ((.mean - .usual) * .operations)}] |
		([.[] | select(.front | not).cost] | add // 0) < 0.1 * ([.[] | select(.front).cost] | add)' "$D/compute.json"
}
check "and contacts is not blamed for it" twice_more compute compute 300 blamed_little
check "processes that want its CPU: contacts, preemption" twice_more hog hog 300 finds hog contacts ready true
exit "$FAILED"
