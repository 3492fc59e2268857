#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone kernel record records what happens in the kernel: why threads waited, by a program whose phases are known, lean and full; what is sent
# and received by TCP, each message once; only processes that are asked for; what is lost is told; nothing is attached afterwards,
# however it ends.
# O: the folder of `make all kernel-record-scenario`.
. "$(dirname "$0")/lib.sh"
needs root jq bpftool unshare babeltrace2
B=$O/lib/hone/hone-below S=$O/tests/scenario H=$O/bin/hone TIMES=12
[ -x "$B" ] || skip "hone-below was not built: it needs clang and libbpf"
"$B" --can --json | jq -e .waits > /dev/null || skip "BPF is not permitted here"
ahead_of_others
D=$(mktemp -d)
PIDS=()
trap 'kill "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
why() { tail -n 40 "$D"/*.log 2> /dev/null; }
# held PID: the BPF programs of a hone-below, by their ids; and whether those that were held are gone, which takes the kernel a moment
HELD=
held() {
	HELD=$(cat /proc/"$1"/fdinfo/* 2> /dev/null | awk '/^prog_id:/ { print $2 }' | sort -u)
	ALL_HELD="${ALL_HELD:-} $HELD"
	[ "$(wc -w <<< "$HELD")" -ge 10 ]
}
detached() { local it; for it in $HELD; do bpftool prog show id "$it" 2> /dev/null && return 1; done; return 0; }
# recording NAME: hone kernel record of that name has begun
recording() { wait_for 20 grep -q "recording the kernel" "$D/$1.log"; }

echo 1..74
# begin PROGRAM...: starts it, waits until it is ready; its process id is in WORK. It goes on by: echo go >&9
begin() {
	rm -f "$D/in" "$D/out" && mkfifo "$D/in"
	"$@" < "$D/in" > "$D/out" &
	WORK=$!
	PIDS+=($WORK)
	exec 9> "$D/in"
	wait_for 30 test -s "$D/out" || bail "the program does not begin"
}

# ---- what threads wait for
# is PHASE STATE LEAST: at least LEAST waits, and 99 % of the time of those whose state is known in this state
is() {
	grep "^$1 " "$D/causes"
	awk -v p="$1" -v s="$2" -v least="$3" '$1 == p && $2 !~ /^(ready|running|unknown)$/ { all += $4; if ($2 == s) { n += $3; of += $4 } }
		END { exit !(n >= least && of >= 0.99 * all) }' "$D/causes"
}
for mode in lean full; do
	begin "$S/below_work" "$D" $TIMES
	"$H" kernel record --seconds 120 --events $mode --json "$D/$mode" > "$D/$mode.json" 2> "$D/$mode.log" &
	RECORD=$!
	PIDS+=($RECORD)
	recording $mode || bail "hone kernel record does not begin"
	echo go >&9
	check "$mode: the program goes through its phases" wait_for 60 grep -q done "$D/out"
	exec 9>&-
	wait $WORK
	kill -INT $RECORD
	wait $RECORD
	check "$mode: a recording that is interrupted is whole" jq -e '.ok and .ended == "asked" and .lost == 0 and .late == 0 and .kinds.switch > 100' "$D/$mode.json"
	"$S/kernel_causes" $WORK "$D/$mode" > "$D/causes" 2>> "$D/$mode.log"
	# On a busy machine what a thread would wait for is often there before it gets to wait.
	for it in "mutex lock 6" "pi_mutex lock 6" "read_lock lock 6" "timed_lock lock 6" "cond thread 8" "sem thread 8" "direct_read disk 4" \
		"cold_read disk 3" "fsync disk 4" "fault fault 3" "sleep timer 10" "poll timer 10" "epoll timer 10" "tcp network 8" "unix thread 8" \
		"pipe thread 8" "child thread 8"; do
		read -r phase state least <<< "$it"
		check "$mode: $phase: $state" is "$phase" "$state" "$least"
	done
	few_unknown() { awk -v all=$((17 * TIMES)) '$2 == "unknown" { n += $3 } END { exit !(n <= 0.01 * all) }' "$D/causes"; }
	check "$mode: of all waits, at most 1 in 100 has an unknown state" few_unknown
	crowded() { awk '$1 == "crowded" && $2 == "ready" { ns = $4 } END { exit !(ns > '$TIMES' * 3e6) }' "$D/causes"; }
	check "$mode: a thread beside which another one computes is ready for a part of the time" crowded
done
check "full: contexts say the same of each wake-up as the kernel's own stack" grep -q "^disagree 0 of [1-9]" "$D/causes"

# ---- what they send and receive
begin "$S/kernel_tcp" 20 50
"$H" kernel record --seconds 60 --pid $WORK --texts --json "$D/tcp" > "$D/tcp.json" 2> "$D/tcp.log" &
RECORD=$!
PIDS+=($RECORD)
recording tcp
"$S/below_work" "$D" 1 unix < /dev/null > /dev/null	# another process, which is not asked for
echo go >&9
wait $WORK
exec 9>&-
wait $RECORD
check "the recording ends when the processes have" jq -e '.ended == "processes" and .lost == 0' "$D/tcp.json"
"$S/kernel_events" "$D/tcp" > "$D/tcp.txt" 2>> "$D/tcp.log"
# PID SENDS RECEIVES, as the program has counted, and as they were recorded
counted() { tail -n +2 "$D/out" | sort -n; }
recorded() { awk '$6 == "send" || $6 == "receive" { n[$4 " " $6]++; pid[$4] } END { for (p in pid) print p, n[p " send"], n[p " receive"] }' "$D/tcp.txt" | sort -n; }
same_messages() { diff <(counted) <(recorded) && [ "$(counted | wc -l)" = 2 ]; }
check "each message that was sent or received is recorded once, also of the child" same_messages
# Each connection has two ends, and the first message of each is the client's.
pairs() {
	awk '$6 == "send" { s[$8 " " $9]++ } $6 == "receive" { r[$9 " " $8]++ }
		END { for (c in s) { n++; bad += !(c in r) } for (c in r) bad += !(c in s); print n, bad + 0; exit !(n == 40 && bad == 0) }' "$D/tcp.txt"
}
check "ends of connections pair" pairs
before() { awk '$6 == "send" && !($8 " " $9 in s) { s[$8 " " $9] = $1 } $6 == "receive" { c = $9 " " $8; if (!(c in s) || s[c] > $1) bad++ }
	END { exit bad > 0 }' "$D/tcp.txt"; }
check "nothing is received before it was sent" before
texts() { grep -c " send .* GET /100 HTTP/1.1$" "$D/tcp.txt" && grep -c " receive .* GET /3145728 HTTP/1.1$" "$D/tcp.txt" && ! grep -q secret "$D/tcp.txt"; }
check "the first line of messages is kept where that was asked for, and no more" texts
only() {
	awk -v a="$WORK" -v b="$(counted | awk -v w=$WORK '$1 != w { print $1 }')" '
		$6 == "switch" && $4 != a && $4 != b && $9 != a && $9 != b { bad++ }
		$6 ~ /^(send|receive|fork|exit)$/ && $4 != a && $4 != b { bad++ }
		END { print bad + 0; exit bad > 0 }' "$D/tcp.txt"
}
check "only the processes that are asked for, and their children, are recorded" only

# ---- what is lost
# Of the same processes, whose first thread waits while both begin: one has room for all, one is the smallest possible.
begin "$S/kernel_tcp" 4 300
"$H" kernel record --seconds 60 --pid $WORK --events sched,syscalls,net,faults --json "$D/roomy" > "$D/roomy.json" 2> "$D/roomy.log" &
ROOMY=$!
"$H" kernel record --seconds 60 --pid $WORK --events sched,syscalls,net,faults --ring 4 --json "$D/tiny" > "$D/tiny.json" 2> "$D/tiny.log" &
RECORD=$!
PIDS+=($RECORD $ROOMY)
recording roomy
recording tiny
echo go >&9
wait_for 60 gone $WORK
exec 9>&-
kill -INT $RECORD $ROOMY
wait $RECORD $ROOMY
check "with a tiny ring events are lost, and that is told" jq -e '.lost > 0 and .lost_spans > 0 and .kinds.lost == .lost_spans' "$D/tiny.json"
for it in tiny roomy; do "$S/kernel_events" "$D/$it" > "$D/$it.txt" 2>> "$D/$it.log"; done
# What was recorded and what was lost: without the names of all other threads that there are at the begin. A fork is lost with its name.
sum() { awk -v a=$WORK -v b="$(counted | awk -v w=$WORK '$1 != w { print $1 }')" '$6 == "lost" { if ($2 != 65535) n += $8; next } $6 == "fork" { next }
	$6 != "name" || $4 == a || $4 == b { n++ } END { print n }' "$D/$1.txt"; }
# What the kernel left out, of all CPUs, may have been of others.
left_out() { awk '$6 == "lost" && $2 == 65535 { n += $8 } END { print n + 0 }' "$D/tiny.txt" "$D/roomy.txt"; }
nothing_else() {
	echo "$(sum roomy) $(sum tiny) $(left_out)"
	[ "$(awk '$6 == "lost" && $2 != 65535' "$D/roomy.txt" | wc -l)" = 0 ] && [ $(($(sum roomy) - $(sum tiny))) -le "$(left_out)" ] &&
		[ $(($(sum tiny) - $(sum roomy))) -le "$(left_out)" ]
}
check "what is recorded and what is lost is all that has happened" nothing_else
spans() { awk '$6 == "lost" { n += $8; if ($9 > $1 || $1 - $9 > 4e9) bad++ } END { print n, bad + 0; exit bad > 0 || n == 0 }' "$D/tiny.txt"; }
check "of its CPU, with the span of time in which they were lost" spans
check "events are in the order of their times" sort -n -s -c -k1,1 "$D/tiny.txt"

# ---- live and recorded
# hone with a hone-below whose stream is kept, too, as hone reads it
mkdir -p "$D/tee/bin" "$D/tee/lib/hone"
cp "$H" "$D/tee/bin/hone"
printf '#!/bin/bash\nexec "%s" "$@" > >(exec tee "%s")\n' "$B" "$D/live.stream" > "$D/tee/lib/hone/hone-below"
chmod +x "$D/tee/lib/hone/hone-below"
begin "$S/kernel_tcp" 10 40
"$D/tee/bin/hone" kernel record --seconds 60 --events full,packets,faults,migrations,signal:signal_generate --texts --json "$D/both" \
	> "$D/both.json" 2> "$D/both.log" &
RECORD=$!
PIDS+=($RECORD)
recording both
echo go >&9
wait_for 60 gone $WORK
"$S/below_work" "$D" 1 <<< go > /dev/null
exec 9>&-
kill -INT $RECORD
wait $RECORD
"$S/kernel_stream" < "$D/live.stream" > "$D/live.txt" 2>> "$D/both.log"
"$S/kernel_events" "$D/both" > "$D/both.txt" 2>> "$D/both.log"
same() { cmp "$D/live.txt" "$D/both.txt" && [ "$(wc -l < "$D/live.txt")" = "$(jq .events "$D/both.json")" ]; }
check "events that are read from the recording are those that were taken live, to the last bit" same
kinds() { [ "$(cut -d' ' -f6 "$D/both.txt" | sort -u | wc -l)" -ge 15 ]; }
check "of all kinds that hone-below delivers" kinds
check "babeltrace2 reads the recording, too" eval '[ "$(babeltrace2 "$D/both" 2>> "$D/both.log" | wc -l)" -ge "$(jq .events "$D/both.json")" ]'

# ---- how it ends
"$H" kernel record --seconds 60 "$D/killed" > "$D/killed.log" 2>&1 &
RECORD=$!
recording killed
check "a recording holds BPF programs" held "$(pgrep -P $RECORD)"
kill -KILL $RECORD
wait $RECORD 2> /dev/null
check "when hone is killed, hone-below ends, and nothing is attached" wait_for 5 detached
"$H" kernel record --seconds 60 "$D/orphan" > "$D/orphan.log" 2>&1 &
RECORD=$!
PIDS+=($RECORD)
recording orphan
sleep 0.5
held "$(pgrep -P $RECORD)"
kill -KILL "$(pgrep -P $RECORD)"
wait $RECORD
check "when hone-below is killed, hone fails" test $? = 1
check "and says so, and that the events before that are kept" eval 'grep -q "hone-below has ended unexpectedly" "$D/orphan.log" && grep -q "events before" "$D/orphan.log"'
check "and nothing is attached" wait_for 5 detached
mkfifo "$D/pipe"
"$B" --record --seconds 60 > "$D/pipe" 2> "$D/reader.log" &
BELOW=$!
PIDS+=($BELOW)
exec 8< "$D/pipe"
head -c 100 <&8 > /dev/null
held $BELOW
exec 8<&-
wait $BELOW
ENDED=$?
check "when the reader ends, so does hone-below, and says so" eval '[ $ENDED = 1 ] && grep -q "the reader of the events has ended" "$D/reader.log"'
check "and nothing is attached then" wait_for 5 detached

# ---- call stacks of processes that are made
begin "$S/kernel_children"
"$H" kernel record --seconds 60 --events syscalls,stacks --pid $WORK --json "$D/children" > "$D/children.json" 2> "$D/children.log" &
RECORD=$!
PIDS+=($RECORD)
recording children || bail "hone kernel record does not begin"
echo go >&9
exec 9>&-
wait $WORK $RECORD
"$S/kernel_events" "$D/children" | awk '$6 == "stack"' > "$D/stacks"
# of_children LEAST: each that the program told has so many stacks of its 20 naps in its function
of_children() {
	awk -v least="$1" 'NR == FNR { stack[++lines] = $3 " " $0; next }
		$2 ~ /^[0-9]+$/ { told++; found = 0; for (i = 1; i <= lines; i++) { split(stack[i], word, " "); found += word[1] == $2 && index(stack[i], ";" $1 "() at ") > 0 }
			print $1, found; bad += found < least } END { exit !(told == 6 && bad == 0) }' "$D/stacks" "$D/out"
}
check "children, their threads and children, and what they execute have call stacks" of_children 10
# no thread of the program has a stack of another one; before_exec and after_exec are the same
no_other() {
	awk 'NR == FNR { if ($2 ~ /^[0-9]+$/) of[$2] = of[$2] ";" $1 "() at "; next }
		match($0, /;(in_early_child|in_child|in_thread_of_child|in_grandchild|before_exec|after_exec)\(\) at /) { n++
			if (index(of[$3], substr($0, RSTART, RLENGTH)) == 0) { print; wrong++ } } END { exit !(n > 60 && wrong == 0) }' "$D/out" "$D/stacks"
}
check "and none has the stack of another one" no_other
check "of which nothing is lost" jq -e '.ok and .lost == 0 and .kinds.stack > 60' "$D/children.json"

# ---- what is in the way
full_disk() {
	unshare --mount --propagation private bash -c 'mkdir -p "$1/small" && mount -t tmpfs -o size=64k tmpfs "$1/small" &&
		"$2" kernel record --seconds 20 --events full "$1/small/r"' - "$D" "$H" > "$D/disk.log" 2>&1
	[ $? = 1 ] && grep -q "No space left on device" "$D/disk.log"
}
check "a full disk is told" full_disk
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
mkdir -m 777 "$D/open"
chmod 711 "$D"
denied() {
	as_nobody --inh-caps=-all --bounding-set=-all "$H" kernel record --seconds 1 "$D/open/r" > "$D/denied.log" 2>&1
	[ $? = 1 ] && grep -q "CAP_BPF and CAP_PERFMON are missing" "$D/denied.log" && [ ! -e "$D/open/r" ]
}
check "without capabilities it says which are missing, and how to grant them" denied
two() {	# something happens meanwhile, also on an idle machine
	local busy
	(while sleep 0.02; do :; done) &
	busy=$!
	as_nobody --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon --bounding-set=-all,+bpf,+perfmon "$H" kernel record \
	--seconds 1 --events full,packets,faults,migrations,signal:signal_generate --json "$D/open/two" > "$D/two.json"
	kill $busy
	wait $busy 2> /dev/null
	jq -e '.kinds.switch > 0 and .kinds.syscall_in > 0' "$D/two.json"
}
check "CAP_BPF and CAP_PERFMON are enough for all of it" two
misused() { "$H" kernel record --events nonsense "$D/no" 2> "$D/no.log"; [ $? = 2 ] && [ ! -e "$D/no" ]; }
check "an unknown group of events ends with 2" misused
missing() { "$H" kernel record --events no:such_tracepoint "$D/no" 2> "$D/no.log"; [ $? = 1 ] && grep -q "no tracepoint such_tracepoint" "$D/no.log"; }
check "an unknown tracepoint is named" missing
no_process() { "$H" kernel record --pid 4194303 "$D/no" 2> "$D/no.log"; [ $? = 1 ] && grep -q "there is no process 4194303" "$D/no.log"; }
check "a process that does not exist is named" no_process
again() { "$H" kernel record --seconds 1 "$D/tcp" 2> "$D/no.log"; [ $? = 1 ] && grep -q "has files" "$D/no.log"; }
check "a folder with files is not written to" again
HELD=$ALL_HELD
check "nothing is attached afterwards" wait_for 5 detached
exit $FAILED
