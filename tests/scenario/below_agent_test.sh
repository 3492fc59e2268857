#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone-agent and hone-below on a node of its own, with a real program: what a probed request waits for comes as a record of its
# trace and unit, and whoever is killed, nothing stays attached. KILLS=20 KILL_SEED=1 BELOW_USER=nobody. O: the folder of `make agent-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond bpftool
[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang, bpftool and libbpf"
can=$("$O/lib/hone/hone-below" --can 2>&1) || skip "hone-below can do nothing here: $(tail -n 1 <<< "$can")"
own_node /run/hone
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1
URL=ipc://$D/controller.sock
EPOCH=0
mkfifo "$D/say"
FILE=$O/tests/scenario/below_program
exec 9<> "$D/say"

not() { ! "$@"; }
why() { echo "--- agent"; tail -n 8 "$D/agent.log"; echo "--- controller"; grep -v '^below\|^records' "$D/controller.log" | tail -n 5; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 9>&- &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1 || bail "the session daemon starts"

agent_start() {
	"$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=$URL" -o controller.silence=2s -o controller.retry=200ms \
		-o controller.sampling_without=3s -o log.level=debug ${BELOW_USER:+-o below.user="$BELOW_USER"} "$@" 2>> "$D/agent.log" 9>&- &
	AGENT=$!
}
controller_start() {
	"$O/tests/scenario/agent_controller" "$URL" "$D/journal" < "$D/say" >> "$D/controller.log" 9>&- &
	CONTROLLER=$!
	wait_for 20 test -S "$D/controller.sock"
}
program_start() {
	"$FILE" "$D/requests" 9>&- &
	PROGRAM=$!
}
end() {
	local pid
	exec 9>&-
	for pid in ${AGENT:-} ${PROGRAM:-} ${CONTROLLER:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 10 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

say() { echo "$*" >&9; }
# The controller forgets what it was told when it is killed.
TOGGLES=
want() { EPOCH=$((EPOCH + 1)); say want $EPOCH 3000 $TOGGLES; EPOCH=$((EPOCH + 1)); say below $EPOCH "$@"; WANTED=$*; }
# The newest line is of all that is printed from MARK on.
mark() { MARK=$(wc -l < "$D/controller.log"); }
since() { tail -n +$((MARK + 1)) "$D/controller.log"; }
after() { since | grep -E "$1"; }
is() { since | grep '^status' | tail -n 1 | grep -E " below $1 "; }
# The process of hone-below of this agent, and the BPF programs and links that it holds.
helper() { pgrep -r R,S,D -P "$(pgrep -P "$AGENT" -x hone-starter)" -x hone-below; }	# no zombie
held() { grep -hoP "^$1_id:\s*\K[0-9]+" "/proc/$2/fdinfo/"* 2> /dev/null; }
# all_gone PIDS PROGRAMS LINKS: those processes and BPF objects do not exist
all_gone() {
	local it
	for it in $1; do gone "$it" || { echo "process $it"; return 1; }; done
	for it in $2; do bpftool prog show id "$it" && return 1; done
	for it in $3; do bpftool link show id "$it" && return 1; done
	return 0
}

touch "$D/controller.log"
mark
controller_start
program_start
agent_start
want
check "the agent tries what hone-below can do, and ends it" wait_for 20 is ready
check "it runs no hone-below while no program is wanted" wait_for 5 not helper
want below_program
check "hone-below runs when a program is wanted" wait_for 10 helper
check "the agent says that it follows processes" wait_for 10 is active
check "waits for the mutex come as records, with the function" wait_for 20 after 'below trace .* below_program/below:lock\(.*append'
held_for() {	# when these waits begin, the lock is held for the requests that end them, but for a few that another one gets it before
	local hold
	hold=$(sed -n 's/^hold //p' "$D/requests" | head -n 1)
	since | sed -nE 's/^below .* held for (-?[0-9]+) woken by "(.*)" released by ([0-9]+) below_program.below:lock\(.*append.*/\1 \3 \2/p' > "$D/held"
	awk -v hold="$hold" '{ n[$1]++; same += $1 == $2; named += $3 == "below_program" } $1 != 0 && $1 != hold { bad++ }
		END { print NR " waits, held for a HOLD " n[hold] + 0 ", outside of requests " n[0] + 0 ", as released " same + 0 ", named " named + 0
			exit bad || n[hold] < 5 || n[0] < 5 || same < 0.9 * NR || named < NR }' "$D/held"
}
check "it is known for which requests the lock was held when these waits began, and the name of the thread that ended them" wait_for 20 held_for
known() {	# every trace and unit of the records is one of a probed request of the program
	since | sed -n 's/^below \(trace [0-9]* unit [0-9]*\) .*/\1 probed 1/p' | sort -u > "$D/seen"
	sort -u "$D/requests" > "$D/all"
	echo "$(wc -l < "$D/seen") requests"
	[ -s "$D/seen" ] && ! comm -23 "$D/seen" "$D/all" | grep .
}
released() {	# by both kinds of threads, and by no other
	local hold
	hold=$(sed -n 's/^hold //p' "$D/requests" | head -n 1)
	since | grep -oP '^below .* released by \K[0-9]+(?= below_program/below:lock\(.*append)' | sort | uniq -c | tee "$D/released"
	[ "$(awk '{ print $2 }' "$D/released")" = "$(printf '%s\n' 0 "$hold" | sort)" ]
}
check "these waits end by a thread in a request of type HOLD, and by one outside of requests" wait_for 20 released
check "each of these records has the trace and the unit of a probed request" known
bare() {	# no descriptor but the socket, the log and its own; two capabilities
	local pid
	pid=$(helper) && cat "/proc/$pid/status" && grep -q '^CapEff:	000000c000000000$' "/proc/$pid/status" &&
		grep -q '^CapBnd:	000000c000000000$' "/proc/$pid/status" && grep -q '^NoNewPrivs:	1$' "/proc/$pid/status"
}
check "hone-below has CAP_BPF and CAP_PERFMON only, and can get no others" bare
cpu() { since | grep '^status' | sed -n 's/.* cpu_ms \([0-9]*\) .*/\1/p' | tail -n 1; }

pid=$(helper) programs=$(held prog "$pid") links=$(held link "$pid")
echo "# hone-below holds $(wc -w <<< "$programs") programs and $(wc -w <<< "$links") links"
check "the BPF programs belong to descriptors of hone-below" test -n "$programs"
want
check "it ends when no program is wanted any more" wait_for 10 all_gone "$pid" "$programs" "$links"

# ---- USDT probes -----------------------------------------------------------------
probe_links() { held link "$(helper)" | wc -l; }
has_probes() { grep -E '^programs .* below_program\([0-9]+\)=2( |$)' "$D/controller.log"; }
check "the USDT probes of a program are among its tracepoints" wait_for 20 has_probes
mark
TOGGLES=usdt.below_program:append want
check "one that is wanted is switched on, by hone-below" wait_for 20 after '^done [0-9]* results \+\.'
hits() { since | grep '^hit' > "$D/hits"; [ "$(wc -l < "$D/hits")" -gt 100 ]; }
check "who passes it in a probed request is recorded" wait_for 20 hits
# Each WORK passes it once, also while the files' links change; nothing is missing, and nobody else is recorded.
each_once() { awk '{ if (last && $9 != last + 1) bad = 1; last = $9 } END { print NR " hits"; exit bad || $9 < 1 }' "$D/hits"; }
check "each of them once, and nobody else" each_once
hits_known() { sed -E 's/^hit (trace [0-9]* unit [0-9]* probed 1) .*/\1/' "$D/hits" | sort -u > "$D/seen"; sort -u "$D/requests" > "$D/all"; ! comm -23 "$D/seen" "$D/all" | grep .; }
check "with the trace and the unit of that request" hits_known
mark
TOGGLES="usdt.below_program:append usdt.below_program:often" want
check "one that is passed too often goes off, and the controller is told" wait_for 20 after '^done .* results \+!\. .*passed [0-9]* times a second'
mark
check "the other one stays on meanwhile" wait_for 20 hits
check "without a gap" each_once
# An upgrade puts another file in the place of the one that runs, whose process ends; then the new one is deleted.
kill "$PROGRAM"
wait "$PROGRAM" 2> /dev/null
mkdir "$D/bin"
chmod 711 "$D" # hone-below may be another user
FILE=$D/bin/below_program
cp "$O/tests/scenario/below_program" "$FILE"
program_start
old=$PROGRAM
mark
hits_of() { since | grep '^hit' | grep -c "of $1\$" | { read -r n; [ "$n" -ge 20 ]; }; }
check "a program from another file is probed, too" wait_for 20 hits_of "$old"
cp "$FILE" "$FILE.new" && mv "$FILE.new" "$FILE"
mark
check "and when its file has been replaced" wait_for 20 hits_of "$old"
program_start
check "the new version is probed beside it" wait_for 20 hits_of "$PROGRAM"
kill -9 "$old"
wait "$old" 2> /dev/null
mark
check "when the old one has ended in the middle of it, the new one is still probed" wait_for 20 hits_of "$PROGRAM"
rm "$FILE"
mark
check "and when its file has been deleted" wait_for 20 hits_of "$PROGRAM"
# Then the agent reads the list of probes anew, of all processes of that name.
deleted=$PROGRAM
mkdir "$D/more"
cp "$O/tests/scenario/below_program" "$D/more"
FILE=$D/more/below_program
program_start
check "another process of that name begins, and is probed" wait_for 20 hits_of "$PROGRAM"
mark
check "the one whose file has been deleted is still probed" wait_for 20 hits_of "$deleted"
kill "$PROGRAM"
wait "$PROGRAM" 2> /dev/null
PROGRAM=$deleted
sleep 1.5 # the agent looks at processes every second
mark
check "and when that process has ended" wait_for 20 hits_of "$deleted"
alive() { kill -0 "$PROGRAM"; }
check "no probe has harmed it" alive
FILE=$O/tests/scenario/below_program
pid=$(helper) programs=$(held prog "$pid") links=$(held link "$pid")
TOGGLES= want
check "when none is wanted any more, nothing is attached" wait_for 10 all_gone "$pid" "$programs" "$links"
want below_program
wait_for 10 helper > /dev/null
kill "$PROGRAM"
wait "$PROGRAM" 2> /dev/null
: > "$D/requests"
inside() { exec unshare --pid --fork --kill-child "$O/tests/scenario/below_program" "$D/requests"; }
inside 9>&- &
PROGRAM=$!
mark
check "of a program with a pid namespace of its own, waits come, too" wait_for 20 after 'below trace .* below_program/below:lock\(.*append'
check "with the trace and the unit of a probed request" known
kill -9 "$PROGRAM"	# unshare ignores SIGTERM
wait "$PROGRAM" 2> /dev/null
program_start
pid=$(helper) programs=$(held prog "$pid") links=$(held link "$pid")
say silent
check "it ends when the lease of the desired state ends" wait_for 10 all_gone "$pid" "$programs" "$links"

# ---- kills -----------------------------------------------------------------------
KILLS=${KILLS:-20} RANDOM=${KILL_SEED:-1}
recovered() { after "below trace [0-9]* unit [0-9]* pid $PROGRAM "; }
mono() { awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime; }
failures=0 lossless=0
for ((i = 1; i <= KILLS; i++)); do
	want below_program
	wait_for 30 helper > /dev/null
	sleep 0.3 # until the last records of one before it have come
	mark
	wait_for 30 recovered > /dev/null || { echo "# kill $i: no record before it"; failures=$((failures + 1)); }
	from=$(mono)
	sleep "0.$((RANDOM % 10))"
	pid=$(helper) starter=$(pgrep -P "$AGENT" -x hone-starter)
	programs=$(held prog "$pid") links=$(held link "$pid")
	[ -n "$programs" ] || { echo "# kill $i: hone-below holds nothing"; failures=$((failures + 1)); }
	mark
	to=$(mono)
	case $((RANDOM % 5)) in
	0) what=hone-below && kill -9 "$pid" ;;
	1) what="the starter" && kill -9 "$starter" ;;
	2) what="the agent" && kill -9 "$AGENT" ;;
	3) what="the program" && kill -9 "$PROGRAM" && { wait "$PROGRAM" 2> /dev/null; program_start; } && pid='' programs='' links='' ;;
	4) what="the controller" && kill -9 "$CONTROLLER" && wait "$CONTROLLER" 2> /dev/null ;;
	esac
	wait_for 10 all_gone "$pid" "$programs" "$links" > "$D/left" ||
		{ echo "# kill $i of $what: after 10 s there is $(tail -n 1 "$D/left")"; failures=$((failures + 1)); }
	case $what in
	hone-below) wait_for 10 after '^loss' > /dev/null || { echo "# kill $i of $what: no loss"; lossless=$((lossless + 1)); } ;;
	"the starter" | "the agent")
		kill -9 "$AGENT" 2> /dev/null
		wait "$AGENT" 2> /dev/null	# of all its threads: the table of rates is then free
		agent_start
		;;
	"the controller") rm -f "$D/controller.sock" && controller_start ;;
	esac
	echo "# kill $i: $what"
	echo "$from $to $what" >> "$D/windows"
done
check "after each of $KILLS kills nothing is attached after 10 s, and records come again" test "$failures" = 0
check "when hone-below was killed, what it had not reported is a loss" test "$lossless" = 0
# Of each probed request that ended between the first record and the kill, and in that time waited for more than 5 ms: there is a record, or a
# loss of that time was told (of an agent that was killed, by the next one: it begins anew).
silent() {
	sleep 1	# what the controller has not read
	awk 'FILENAME ~ /windows$/ { from[++n] = $1; to[n] = $2; what[n] = $3 " " $4; next }
		FILENAME ~ /log$/ && $1 == "below" { seen[$3, $5] = 1; next }
		FILENAME ~ /log$/ && ($1 == "loss" || $1 == "restarted") { lost_from[++k] = $(NF - 2); lost_to[k] = $NF; next }
		$1 == "done" && $9 - $7 > 5e6 {
			for (i = 1; i <= n && !($7 >= from[i] && $9 <= to[i]); i++);
			if (i > n) next
			all++
			if (($3, $5) in seen) next
			for (j = 1; j <= k && !(lost_from[j] <= $9 && lost_to[j] >= $7); j++);
			if (j <= k) told++
			else { silent++; print "before the kill of " what[i] ": " $0 }
		}
		END { print all + 0 " requests, told as lost " told + 0 ", silently lost " silent + 0; exit silent > 0 || all == 0 }' \
		"$D/windows" "$D/controller.log" "$D/requests" > "$D/silent"
	local rc=$?
	sed 's/^/# /' "$D/silent"
	return $rc
}
silent
check "nothing is lost silently, whoever is killed" test "$(grep -c 'silently lost 0' "$D/silent")" = 1
want below_program
wait_for 10 helper > /dev/null
pid=$(helper) starter=$(pgrep -P "$AGENT" -x hone-starter)
kill "$AGENT"
check "the agent ends" wait_for 10 gone "$AGENT"
check "it leaves no starter and no hone-below" wait_for 2 all_gone "$pid $starter" '' ''
agent_start -o below.enabled=no
mark
check "without permission to start it, the agent says so" wait_for 20 after 'below none "below.enabled in hone-agent.conf is no"'
echo "1..$N"
exit $FAILED
