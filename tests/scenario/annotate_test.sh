#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone annotate: requests of a real program, nested and moving over a pool of threads, get their system calls, waits, locks and page faults, and
# no others. The program says what it did. The same comes of the recordings later, by spans of other tracers, and is read back
# from the files for back ends. O: the folder of `make all annotate-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond jq bpftool
[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang and libbpf"
"$O/lib/hone/hone-below" --can --json | jq -e .waits > /dev/null || skip "BPF is not permitted here"
own_node
ahead_of_others
REQUESTS=24
D=$(mktemp -d)
export LTTNG_HOME=$D
PATH=$O/bin:$PATH
PIDS=()
end() {
	local pid
	for pid in "${PIDS[@]}" $(cat "$D/sessiond.pid" 2> /dev/null); do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT
why() { tail -n 5 "$D"/*.log 2> /dev/null; }

lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) 2> "$D/sessiond.log" ||
	bail "the session daemon starts"
mkdir "$D/files"
# record NAME FLAGS...: the program serves while hone annotate records it
record() {
	local name=$1 program
	shift
	rm -f "$D/in" && mkfifo "$D/in"
	HONE_SAMPLE=1 "$O/tests/scenario/annotate_program" "$D/files" $REQUESTS < "$D/in" > "$D/$name.truth" &
	program=$!
	PIDS+=($program)
	exec 9> "$D/in"
	wait_for 20 grep -q ready "$D/$name.truth" || bail "the program starts"
	hone annotate --pid $program --seconds 60 "$@" --json "$D/$name" > "$D/$name.json" 2> "$D/$name.log" &
	ANNOTATE=$!
	PIDS+=($ANNOTATE)
	wait_for 30 grep -q "recording requests" "$D/$name.log" || bail "hone annotate records"
	HELD=$(bpf_held prog $ANNOTATE)
	check "$name: its BPF programs belong to descriptors of its own" test "$(wc -w <<< "$HELD")" -ge 10
	sleep 0.5
	echo go >&9
	check "$name: the program serves its requests" wait_for 60 gone $program
	exec 9>&-
	kill -INT $ANNOTATE
	check "$name: hone annotate ends when it is asked to" wait_for 60 gone $ANNOTATE
	wait $ANNOTATE
	check "$name: its exit status is 0" test $? = 0
}

# ---- live, with the spans of the program
record live --tracepoint 'orders:*'
says() { jq -e "$1" "$D/live.json"; }
sessions() { ! lttng list 2> /dev/null | grep hone-annotate; }
check "its LTTng session is gone" sessions
check "nothing is attached any more" wait_for 20 bpf_gone prog $HELD
check "all spans are annotated, and no event is lost" says \
	".counts.spans == 8 * $REQUESTS and .counts.annotated == .counts.spans and .counts.not_attributed == {} and .recording.losses == 0 and .clock == \"monotonic\""

# right PHASE PREDICATE: for each phase of this name that the program tells, the predicate is true of the span of that unit: $x has unit, tid and argument. The
# program tells all of them.
right() {
	jq -n -e --slurpfile d "$D/live.json" --rawfile truth "$D/live.truth" --arg phase "$1" "
		# without what LTTng-UST calls once in each thread
		def own: [.calls[] | select(.name | IN(\"gettid\", \"rt_sigprocmask\", \"getrandom\", \"mremap\") or (\$phase != \"touch\" and . == \"mmap\") | not)];
		def missed: (.states.unknown // 0) > 1; # the kernel did not report the switch (docs/below.md, Losses): said, not guessed
		# The answer takes 5 ms from when the question came. If something else had the processor meanwhile, less of it is left to wait for.
		def sent_ms: own[2].at_ms;
		def answered_ms: own[3].at_ms + own[3].ms - sent_ms;
		def waits_not: own[3].at_ms - sent_ms >= 5;
		def is_right(\$x): $2;
		(\$d[0].spans | map({key: .span, value: .}) | from_entries) as \$by
		| [\$truth | split(\"\n\")[] | select(startswith(\$phase + \" \")) | split(\" \") | {unit: .[1], tid: (.[2] | tonumber), argument: (.[3] | tonumber)}] as \$told
		| [\$told[] | . as \$x | [\$d[0].spans[] | select(.name == \"orders:\" + \$phase
			and (if \$phase == \"journal\" then \$by[.parent].parent else .parent end) == \$x.unit)] | {x: \$x, spans: .}] as \$found
		| [\$found[] | select((.spans | length) != 1 or (.x as \$x | .spans[0] | (is_right(\$x) and .thread.tid == \$x.tid and .active_ms == .ms) | not))] as \$wrong
		| if (\$told | length) == $REQUESTS and \$wrong == [] then true else (\$wrong[0] | tojson | error) end"
}
check "each save has its write and its fsync, with its descriptor" right journal \
	'[own[] | [.name, .argument, .result]] == [["write", $x.argument, 100], ["fsync", $x.argument, 0]]'
check "each nap is one sleep of 12 ms, ended by a timer" right nap \
	'[own[] | .name] == ["clock_nanosleep"] and own[0].ms >= 12 and own[0].result == 0 and (own[0].wait.state == "timer" and .states.timer >= 11.9 or missed)'
check "each question has its calls, in this order, with their descriptor and results, and waits for the network" right ask \
	'[own[] | .name] == ["socket", "connect", "sendto", "recvfrom", "close"] and own[0].result == $x.argument
	 and all(own[1:][]; .argument == $x.argument) and [own[1:][] | .result] == [0, 8, 6, 0]
	 and answered_ms >= 5 and (own[3].wait.state == "network" or missed or waits_not) and (own[3].peer | startswith("127.0.0.1:"))'
check "each guarded step waits for the lock that the other thread holds, who is named" right guard \
	'all(own[]; .name == "futex") and (own | length) > 0 and .states.lock > 0 and
	 any(.calls[]; .wait.state == "lock" and .wait.owner.tid == $x.argument and .wait.owner.name == "holder")'
check "each touched page is a fault" right touch \
	'[own[] | .name][-2:] == ["mmap", "munmap"] and all(own[]; .name | IN("mmap", "munmap")) and .counted["exceptions:page_fault_user"] >= $x.argument and .counted["exceptions:page_fault_user"] < $x.argument + 8'
# How many calls were in a state that the recorder does not know: it did not see how they ended, and says so. There are over 200 that wait.
UNSEEN=$(jq '[.spans[].calls[]? | select((.states.unknown // 0) > 0.1)] | length' "$D/live.json")
check "of at most 1 in 100 waits it is not known what they were" test "$UNSEEN" -le 2
# stacked SPAN CALL FUNCTIONS: calls of this name that waited, in spans of this name, have a stack that ends in FUNCTIONS, a regular expression. One
# may have none: its processor was taken away while it was written down, or its end was not seen.
stacked() {
	jq -e --arg span "$1" --arg call "$2" --arg ends "(^|;)$3\$" '
		[.spans[] | select(.name == $span) | .calls[] | select(.name == $call and (.wait != null or (.states.unknown // 0) > 1)) | .stack] |
		(length >= '$REQUESTS' and ([.[] | select(. == null)] | length) <= 1 and all(.[] | select(. != null); test($ends))) or (tojson | error)' "$D/live.json"
}
line='\(\) at annotate_program\.c:[0-9]+'
check "each fsync that waited has the stack of save()" stacked orders:journal fsync "client$line;save$line;fsync"
check "each nap has the stack of nap()" stacked orders:nap clock_nanosleep "pool;nap$line;pause_ns$line;(__)?nanosleep;(__)?clock_nanosleep.*"
check "each wait for the guarded mutex has the stack of guard()" stacked orders:guard futex "pool$line;guard$line;.*pthread_mutex_lock.*"
own_stacks() {	# no call has the stack of another one
	jq -e '{fsync: ";fsync$", clock_nanosleep: ";(__)?clock_nanosleep[^;]*$", recvfrom: ";(__|__libc_)?recv[^;]*$", sendto: ";(__|__libc_)?send[^;]*$",
			connect: ";[^;]*connect$", openat: ";[^;]*open[^;]*$", futex: "mutex|lll_|futex|cond_|sem_"} as $ends |
		[.spans[].calls[]? | select(.stack != null and $ends[.name] != null) | select((. as $c | $c.stack | test($ends[$c.name])) | not)] as $wrong |
		if $wrong == [] then true else ($wrong[0] | tojson | error) end' "$D/live.json"
}
check "no call has the stack of another one" own_stacks
check "at most 2 % of the time is in an unknown state" says '([.spans[].self.unknown // 0] | add) <= 0.02 * ([.spans[].active_ms] | add)'
check "at least 10 spans are longer than 10 ms" says '[.spans[] | select(.ms > 10)] | length >= 10'
check "the states of each span add up to its time on its threads" says \
	'all(.spans[]; ([.states[]] | add // 0) + .shared_ms - .active_ms | fabs < 1e-6)'
check "the time of each call is that of its states" says 'all(.spans[].calls[]; ([.states[]] | add // 0) - .ms | fabs < 1e-6)'
check "a unit that moved has calls on several threads" says '[.spans[] | select(.name == "work") | [.calls[].thread.tid] | unique | length | select(. > 1)] | length > 0'
check "the program writes nothing but its own files" says "[.spans[].summary[] | select(.name == \"write\") | .count] | add == $REQUESTS"

# ---- live, with nothing but begins and ends of requests and units, which are on two threads
record bare
moved() {	# in their order; none of a thread that waits for work. LTTng-UST has calls of its own in each thread, and futex is of several phases
	jq -e --arg calls '^clock_nanosleep socket connect sendto recvfrom close( clock_nanosleep)* munmap$' --argjson others '["futex", "gettid", "rt_sigprocmask", "getrandom", "mremap", "mmap"]' \
		"def own: [.calls[].name | select(IN(\$others[]) | not)] | join(\" \");
		def call(\$name): [.calls[] | select(.name == \$name)][0];
		def answered_ms: call(\"recvfrom\").at_ms + call(\"recvfrom\").ms - call(\"sendto\").at_ms;
		def is_right: .not_attributed == null and (own | test(\$calls)) and any(.calls[]; .name == \"clock_nanosleep\" and .ms >= 12) and
			.counted[\"exceptions:page_fault_user\"] >= 64 and ((.states.timer > 11.9 and .states.network > 0 and answered_ms >= 5) or (.states.unknown // 0) > 1) and (.states.thread // 0) < 3;
		[.spans[] | select(.name == \"work\")] | (length == $REQUESTS and all(.[]; is_right)) or
			([.[] | select(is_right | not) | [.not_attributed, .states, .counted, own]] | tojson | error)" "$D/bare.json"
}
check "each unit that moves over the pool has all its calls, faults and waits, and no others" moved

# ---- the recordings, later
again() { hone annotate --spans "$D/live/spans" "$D/live/kernel" --json > "$D/again.json" && cmp "$D/live.json" "$D/again.json"; }
check "the recordings give the same answer later, to the last byte" again
text() { hone annotate --spans "$D/live/spans" --over 10 --call-over 1000 --limit 500 "$D/live/kernel" > "$D/text" && grep -q "vDSO" "$D/text" &&
	grep -q "clock_nanosleep" "$D/text" && grep -q "held by holder" "$D/text"; }
check "as text it names calls and holders, and says what is in no recording" text
chosen() { hone annotate --spans "$D/live/spans" --calls fsync,recvfrom --call-over 1000 "$D/live/kernel" --json |
	jq -e '[.spans[].summary[].name] | unique == ["fsync", "recvfrom"]' && hone annotate --spans "$D/live/spans" --call-over 1000 "$D/live/kernel" --json |
	jq -e "([.spans[].calls[].ms] | min >= 1) and ([.spans[].summary[] | select(.name == \"close\") | .count] | add == 2 * $REQUESTS)"; }
check "calls are chosen by name and by duration; the others are summed" chosen

# ---- back ends
export_as() {	# FORMAT NAME_OF_PARENT: a fsync for each request, below a span "kernel", below journal
	hone annotate --spans "$D/live/spans" --format "$1" --output "$D/$1.json" "$D/live/kernel" > "$D/$1.text" &&
		hone check "$D/$1.json" --json | jq -e ".spans > 16 * $REQUESTS and .traces == $REQUESTS"
}
pairs() {	# FORMAT JQ: a list of {id, parent, name}
	jq -e "[$2] as \$all | (\$all | map({key: .id, value: .}) | from_entries) as \$by | [\$all[] | select(.name == \"fsync\")] | length == $REQUESTS and
		all(.[]; \$by[.parent].name == \"kernel\" and \$by[\$by[.parent].parent].name == \"orders:journal\")" "$D/$1.json"
}
check "otlp is written, and read back" export_as otlp
check "otlp: each fsync is a span below its own" pairs otlp '.resourceSpans[].scopeSpans[].spans[] | {id: .spanId, parent: .parentSpanId, name}'
check "jaeger is written, and read back" export_as jaeger
check "jaeger: each fsync is a span below its own" pairs jaeger '.data[].spans[] | {id: .spanID, parent: (.references[0].spanID // ""), name: .operationName}'
check "zipkin is written, and read back" export_as zipkin
check "zipkin: each fsync is a span below its own" pairs zipkin '.[] | {id, parent: (.parentId // ""), name}'

# ---- spans of another tracer, by the time of day and thread.id
foreign() {
	jq '{resourceSpans: [.resourceSpans[] | .scopeSpans[].spans |= [.[] | select(.name == "orders:nap" or .name == "orders:ask")]]}' "$D/otlp.json" > "$D/foreign.json" &&
		hone annotate --spans "$D/foreign.json" "$D/live/kernel" --json > "$D/foreign.said" &&
		jq -e ".clock == \"wall\" and .counts.annotated == 2 * $REQUESTS and all(.spans[] | select(.name == \"orders:nap\"); [.calls[].name] == [\"clock_nanosleep\"]) and
			all(.spans[] | select(.name == \"orders:ask\"); any(.calls[]; .name == \"recvfrom\"))" "$D/foreign.said"
}
check "spans of OTLP get the calls of the thread that they name" foreign
without() { jq 'del(.resourceSpans[].scopeSpans[].spans[].attributes)' "$D/foreign.json" > "$D/without.json" &&
	hone annotate --spans "$D/without.json" "$D/live/kernel" --json | jq -e ".counts.annotated == 0 and .counts.not_attributed[\"no-thread\"] == 2 * $REQUESTS"; }
check "spans without a thread get nothing, which is said" without
apart() {
	jq '.resourceSpans[].scopeSpans[].spans[] |= (.startTimeUnixNano = "1600000000000000000" | .endTimeUnixNano = "1600000001000000000")' "$D/foreign.json" > "$D/apart.json"
	hone annotate --spans "$D/apart.json" "$D/live/kernel" > "$D/apart.said" 2>&1
	[ $? = 1 ] && grep "do not overlap: spans from 2020-09-13T12:26:40.000000Z" "$D/apart.said"
}
check "spans of another time are refused, with both times" apart
# ---- the same spans as operations: what they usually wait for
states() {
	XDG_DATA_HOME=$D/data hone baseline save --states spans "$D/live/kernel" "$D/live/spans" --json > "$D/states.json" &&
		jq -e ".requests == $REQUESTS and .counts.unknown <= $UNSEEN and .counts.malformed == 0 and ([.types[].operations[].name] | unique) == [\"annotate_progra ORDER\", \"annotate_progra work\"]" "$D/states.json"
}
check "spans with a recording are operations whose states are known" states
misused() { hone annotate "$@" > "$D/misused" 2>&1; [ $? = 2 ]; }
messages() { hone annotate "$D/live/kernel" > "$D/messages" 2>&1; [ $? = 1 ] && grep -q "no request is in the" "$D/messages"; }
check "without spans, a recording in which nobody sends has no request: exit 1" messages
check "a rule for messages contradicts spans of a file: exit 2" misused --spans "$D/otlp.json" --rule all "$D/live/kernel"
no_pid() { hone kernel record --events stacks "$D/no" 2> "$D/misused"; [ $? = 2 ] && grep "of the processes of --pid only" "$D/misused" && [ ! -e "$D/no" ]; }
check "stacks of the whole machine are misuse: exit 2" no_pid
check "an unknown format is misuse: exit 2" misused --spans "$D/otlp.json" --format xml --output - "$D/live/kernel"
# ---- killed
rm -f "$D/in" && mkfifo "$D/in"
HONE_SAMPLE=1 "$O/tests/scenario/annotate_program" "$D/files" 1 < "$D/in" > "$D/killed.truth" &
PIDS+=($!)
exec 9> "$D/in"
wait_for 20 grep -q ready "$D/killed.truth" || bail "the program starts"
hone annotate --pid ${PIDS[-1]} --seconds 60 "$D/killed" > "$D/killed.log" 2>&1 &
killed=$!
PIDS+=($killed)
begun() { lttng list 2> /dev/null | has "hone-annotate-$killed"; }
check "while it records, it has an LTTng session" wait_for 20 begun
keeper=$(pgrep -P $killed -x hone-keeper)
check "and a process that destroys that" test -n "$keeper"
kill -9 $killed
ended() { ! begun; }
check "which is gone soon after a kill -9" wait_for 20 ended
check "and so is the process that destroys it" wait_for 10 gone "$keeper"
exec 9>&-
echo "1..$N"
