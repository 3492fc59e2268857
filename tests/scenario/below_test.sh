#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone-below says what a thread waited for, where, and what the holder of a lock did: a program goes through phases whose
# truth is known (below_work.c), TIMES times each. A wait that did not happen, such as a read that came from a cache
# after all, is not one of another state.
# O: the folder that `make all below-scenario` built. LOAD=N: N processes compute meanwhile. WITHOUT: features that hone-below is to do without
# (--without), as on an older kernel.
. "$(dirname "$0")/lib.sh"
needs root jq bpftool
B=$O/lib/hone/hone-below
WITHOUT=${WITHOUT:+--without $WITHOUT}
"$B" --can > /dev/null 2>&1 || skip "BPF is not permitted here: $("$B" --can 2>&1 | tail -n 1)"
TIMES=30
ahead_of_others
D=$(mktemp -d)
PIDS=()
trap 'kill "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
why() { jq -r '.rows[] | [.ms, .count, .state, .place, .called, .holder.state, .holder.place] | @tsv' "$D/seen.json" | head -n 25; }

echo 1..47
mkfifo "$D/in"
"$O/tests/scenario/below_work" "$D" $TIMES < "$D/in" > "$D/out" &
WORK=$!
PIDS+=($WORK)
exec 9> "$D/in"
wait_for 30 test -s "$D/out" || bail "the program does not begin"
for ((i = 0; i < ${LOAD:-0}; i++)); do
	timeout 200 sh -c 'while :; do :; done' &
	PIDS+=($!)
done
"$B" $WITHOUT --pid "$WORK" --all --seconds 120 --json > "$D/seen.json" 2> "$D/below.log" &
BELOW=$!
PIDS+=($BELOW)
wait_for 60 grep -q observing "$D/below.log" || bail "hone-below does not begin"
HELD=$(bpf_held prog $BELOW)
check "its BPF programs belong to its descriptors" test "$(wc -w <<< "$HELD")" -ge 3
echo go >&9
check "the program goes through its phases" wait_for 100 grep -q done "$D/out"
exec 9>&-
wait_for 30 gone $BELOW || kill -INT $BELOW
wait $BELOW
check "hone-below ends when the program has" test -s "$D/seen.json"
# Switches that the kernel does not call hone-below's program for are losses, too (docs/below.md, Losses).
echo "# lost, and seen: $(jq -c '[.lost, (.rows | map(.count) | add)]' "$D/seen.json")"
check "nothing was lost" jq -e '.lost == 0' "$D/seen.json"

# waits FUNCTION: those in that function, as {state: times}
waits() { jq -c --arg f "$1" '[.rows[] | select((.place | startswith($f + "()")) and .state != "running" and .state != "ready")]
	| group_by(.state) | map({key: .[0].state, value: (map(.count) | add)}) | from_entries' "$D/seen.json"; }
# is PHASE STATE LEAST: at least LEAST waits there, and 99 % of the time of those whose state is known in this state. How many
# are unknown in all phases is a check of its own.
is() {
	local of=phase_$1
	waits "$of"
	jq -e --arg f "$of" --arg s "$2" --argjson least "$3" '[.rows[] | select((.place | startswith($f + "()")) and .state != "running"
		and .state != "ready" and .state != "unknown")] | (map(.ms) | add // 0) as $all | map(select(.state == $s))
		| (map(.count) | add // 0) >= $least and (map(.ms) | add // 0) >= 0.99 * $all' "$D/seen.json" > /dev/null
}
# On a busy machine what a thread would wait for is often there before it gets to wait: of the disk, memory and locks few remain.
for it in "mutex lock 15" "pi_mutex lock 15" "read_lock lock 15" "write_lock lock 15" "timed_lock lock 15" "cond thread 20" "sem thread 20" "direct_read disk 8" \
	"cold_read disk 5" "fsync disk 8" "fault fault 5" "sleep timer 24" "poll timer 24" "epoll timer 24" "tcp network 20" \
	"unix thread 20" "pipe thread 20" "child thread 20"; do
	read -r phase state least <<< "$it"
	check "$phase: $state" is "$phase" "$state" "$least"
done
# Of 18 phases that wait, TIMES times each. A wait of an unknown state, or of a state that is not its phase's, is wrong.
causes() {
	jq -r '{mutex: "lock", pi_mutex: "lock", read_lock: "lock", write_lock: "lock", timed_lock: "lock", cond: "thread", sem: "thread", direct_read: "disk",
			cold_read: "disk", fsync: "disk", fault: "fault", sleep: "timer", poll: "timer", epoll: "timer", tcp: "network", unix: "thread",
			pipe: "thread", child: "thread"} as $truth
		| [.rows[] | select(.state != "running" and .state != "ready") | (.place | capture("^phase_(?<of>[a-z_]+)[(]")) as $p
			| select($truth[$p.of] != null) | {count, right: (.state == $truth[$p.of])}]
		| "\(map(select(.right).count) | add) \(map(.count) | add)"' "$D/seen.json"
}
causes > "$D/causes"
read -r right all < "$D/causes"
echo "# the cause of $right of $all waits is right"
check "of all waits, 99 in 100 have the right cause" test "$((100 * right))" -ge "$((99 * all))"
ms_of() { jq --arg f "$1" --arg s "$2" '[.rows[] | select((.place | startswith($f)) and .state == $s) | .ms] | add // 0' "$D/seen.json"; }
# A computing thread shows in samples: TIMES times 5 ms, and half of 20 ms beside another thread.
between() { jq -n -e --argjson x "$1" --argjson a "$2" --argjson b "$3" '$x >= $a and $x <= $b'; }
spun() { between "$(jq '[.rows[] | select(.state == "running") | .ms] | add' "$D/seen.json")" $((TIMES * 5)) $((TIMES * 60)); }
check "computing shows as running" spun
check "a thread beside which another one computes is ready for a part of the time" between "$(ms_of "" ready)" $((TIMES * 5)) 1e9
# holder PHASE FUNCTION STATE: the kernel tells of a third of the waits of a lock at least what the holder does (on a busy machine it
# may run, or be gone, when the waiter begins to wait), and then it is in this function, and in this state, or ready (it gets the
# CPU late), in 9 of 10.
holder() {
	jq -e --arg f "phase_$1" --arg h "$2" --arg s "$3" '[.rows[] | select((.place | startswith($f + "()")) and .state == "lock")]
		| (map(.count) | add // 0) as $all | map(select(.holder.state != null and .holder.state != "")) | (map(.count) | add // 0) as $told
		| map(select((.holder.state | test("^(\($s)|ready)$")) and (.holder.place | startswith($h + "()"))))
		| (map(.count) | add // 0) >= 0.9 * $told and $told >= 0.3 * $all and $told > 0' "$D/seen.json"
}
for phase in mutex pi_mutex; do check "$phase: its holder sleeps, and where" holder $phase hold_mutex timer; done
for phase in read_lock write_lock; do check "$phase: its holder sleeps, and where" holder $phase hold_rwlock timer; done
# its sleep has not ended when the other thread gives up, unless that does so late
check "timed_lock: where its holder is" holder timed_lock hold_mutex "unknown|timer"

# ---- losses
# A reader that is stopped for a second while a program switches as often as it can: the rings of the CPUs are full, and that is said.
lossy() {
	local pid below
	mkfifo "$D/go" 2> /dev/null
	"$O/bench/below_cost_program" switch 4 < "$D/go" > /dev/null &
	pid=$!
	PIDS+=($pid)
	exec 8> "$D/go"
	echo >&8
	"$B" $WITHOUT --pid $pid --all --seconds 4 --json > "$D/lossy.json" 2> "$D/lossy.log" &
	below=$!
	PIDS+=($below)
	wait_for 20 grep -q observing "$D/lossy.log"
	[ -z "$1" ] || { kill -STOP $below; sleep 2; kill -CONT $below; }
	wait $below
	kill $pid
	exec 8>&-
	wait $pid 2> /dev/null
	jq -c '[.lost, (.rows | map(.count) | add)]' "$D/lossy.json"
	jq -e "$2" "$D/lossy.json"
}
check "what did not fit while it was stopped is counted as lost" lossy stopped '.lost > 1000'
# ---- with less
# As a user without rights but CAP_BPF and CAP_PERFMON: another user's program, mutexes only.
two() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon \
	--bounding-set=-all,+bpf,+perfmon "$@"; }
rm -f "$D/out"
"$O/tests/scenario/below_work" "$D" 10 mutex < "$D/in" > "$D/out" &
WORK=$!
PIDS+=($WORK)
exec 9> "$D/in"
wait_for 30 test -s "$D/out" || bail "the program does not begin"
two "$B" --pid "$WORK" --all --seconds 60 --json > "$D/two.json" 2> "$D/two.log" &
BELOW=$!
PIDS+=($BELOW)
wait_for 60 grep -q observing "$D/two.log"
echo go >&9
wait_for 60 grep -q done "$D/out"
exec 9>&-
wait_for 30 gone $BELOW
wait $BELOW
check "with CAP_BPF and CAP_PERFMON only, another user's waits for a lock are seen" jq -e '[.rows[] | select(.state == "lock") | .count] | add >= 8' "$D/two.json"
"$B" --can --json --without holders,samples > "$D/can.json"
check "what is switched off is said" jq -e '.waits and (.holders or .samples | not) and (.missing | test("switched off"))' "$D/can.json"
unprivileged() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$B" --can > "$D/can.txt" 2>&1; }
check "without privileges it says that it looks at /proc" eval 'unprivileged && grep -q "^yes  all of this by looks at /proc" "$D/can.txt"'
check "and which are missing, and how to grant them" grep -q "CAP_BPF and CAP_PERFMON are missing (setcap" "$D/can.txt"
one() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+$1 --ambient-caps=-all,+$1 --bounding-set=-all,+$1 "$B" --can > "$D/can.txt" 2>&1; }
check "with one of both the other one is" eval 'one bpf && grep -q "CAP_PERFMON is missing" "$D/can.txt" && one perfmon && grep -q "CAP_BPF is missing" "$D/can.txt"'
untyped() { unshare --mount --propagation private sh -c 'mount -t tmpfs none /sys/kernel/btf && "$1" --can' sh "$B" > "$D/can.txt" 2>&1; }
check "of a kernel that does not describe its types that is said" eval 'untyped; grep -q CONFIG_DEBUG_INFO_BTF "$D/can.txt"'
# ---- programs with the thread context of an OpenTelemetry SDK
S=$O/tests/scenario
otel() {	# otel PROGRAM [LIBRARY]: what it waits for in its spans, and nothing else, is seen
	local pid
	"$@" > "$D/otel.out" &
	pid=$!
	PIDS+=($pid)
	wait_for 20 grep -q ready "$D/otel.out" && "$B" --pid $pid --seconds 1 --json > "$D/otel.json"
	kill $pid
	wait $pid
	jq -c '.rows[] | [.place, .state, .count]' "$D/otel.json"
	jq -e '([.rows[] | select((.place | startswith("in_span()")) and .state == "timer") | .count] | add // 0) >= 20 and
		([.rows[] | select(.place | startswith("without_span()"))] | length) == 0' "$D/otel.json"
}
check "OpenTelemetry's thread context is read: of a program" otel "$S/otel_context_fixed"
for model in offset descriptor module; do
	check "of a library that reaches it by its $model" otel "$S/otel_context_with_$model"
done
for model in descriptor module; do
	check "of a library that is loaded later, by its $model" otel "$S/otel_context_late" "$S/otel_context_$model.so"
done

# ---- a container: the program and its libraries lie in a file system of its own, which nobody else has mounted ----
# So it has to live when its first stack is read, on a busy machine half a second late: two rounds were over by then.
cat > "$D/container" <<'EOF'
set -e
mount -t tmpfs none "$1/root"
mkdir -p "$1/root/opt" "$1/root/dev" "$1/root/tmp" "$1/root/work"
for l in $(ldd "$O/tests/scenario/below_work" | grep -o '/[^ ]*'); do mkdir -p "$1/root${l%/*}"; cp -L "$l" "$1/root$l"; done
cp "$O/tests/scenario/below_work" "$1/root/opt/contained"
mount --bind /dev "$1/root/dev"
exec chroot "$1/root" /opt/contained /work 20
EOF
mkdir "$D/root"
mkfifo "$D/contained.in"
unshare --mount --propagation private bash "$D/container" "$D" < "$D/contained.in" > "$D/contained.out" 2>&1 &
CONTAINED=$!
PIDS+=($CONTAINED)
exec 8> "$D/contained.in"
contained() {
	wait_for 30 test -s "$D/contained.out" || { cat "$D/contained.out"; return 1; }
	[ ! -e "$D/root/opt/contained" ] || return 1 # not seen from here
	"$B" $WITHOUT --pid "$CONTAINED" --all --seconds 60 --json > "$D/contained.json" 2> "$D/contained.log" &
	BELOW=$!
	PIDS+=($BELOW)
	wait_for 60 grep -q observing "$D/contained.log" || return 1
	echo go >&8
	exec 8>&-
	wait_for 60 gone $BELOW || return 1
	jq -e '[.rows[] | select(.place | test("^phase_(cond|sem|tcp|epoll)\\(\\) at below_work.c:[0-9]+"))] | length >= 3' "$D/contained.json"
}
check "functions and lines of a program in a container are named" contained

check "a wrong option ends with 2" test "$("$B" --pid x 2> /dev/null; echo $?)" = 2
check "a process that does not exist ends with 1" test "$("$B" --pid 4194303 2> /dev/null; echo $?)" = 1
check "nothing is attached afterwards" wait_for 10 bpf_gone prog $HELD
exit $FAILED
