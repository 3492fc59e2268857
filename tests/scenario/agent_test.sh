#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone-agent under a real LTTng on a node of its own, with a controller that dies, hangs and sends garbage on command.
# O: the folder that `make agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond
own_node /run/hone
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1
URL=ipc://$D/controller.sock
EPOCH=0
mkfifo "$D/say"
exec 9<> "$D/say"

not() { ! "$@"; }

why() { echo "--- agent"; tail -n 5 "$D/agent.log"; echo "--- controller"; tail -n 5 "$D/controller.log"; }

# ---- the node -------------------------------------------------------------------
program_start() { # NAME: a process of that name; its state is in $D/NAME.state
	ln -sf "$O/tests/scenario/agent_program" "$D/$1"
	rm -f "$D/$1.state"
	"$D/$1" "$D/$1.state" 1000 &
	eval "PROGRAM_$1=$!"
	wait_for 20 test -s "$D/$1.state"
}
# word NAME FIELD: prints a field of the program's state, see agent_program.h
word() { od -An -t d8 -w8 -j $(($2 * 8)) -N 8 "$D/$1.state" | tr -d ' '; }
ON=0 TURNED_ON=1 TURNED_OFF=2 ON_NS=3 OFF_NS=4 FIRED=5 REQUESTS=6 PROBED=7
# CLOCK_MONOTONIC in ns, in steps of 10 ms
now() { sed "s/\.//; s/ .*/0000000/" /proc/uptime; }
is() { [ "$(word "$1" "$2")" "$3" "$4" ] || { echo "$1 $2 is $(word "$1" "$2")"; return 1; }; }

agent_start() {
	"$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=$URL" -o controller.silence=2s -o controller.refused=500ms \
		-o controller.retry=200ms -o tracer.slow_call=1s -o log.level=debug -o agent.reader="${AGENT_READER:-hone}" "$@" 2>> "$D/agent.log" 9>&- &
	AGENT=$!
}
controller_start() {
	"$O/tests/scenario/agent_controller" "$URL" "$D/journal" < "$D/say" >> "$D/controller.log" 9>&- &
	CONTROLLER=$!
	wait_for 20 test -S "$D/controller.sock"
}
# controller_mark, then after PATTERN: whether the controller has printed it since
MARK=0
controller_mark() { MARK=$(wc -l < "$D/controller.log"); }
after() { tail -n +$((MARK + 1)) "$D/controller.log" | grep -E "$1" > /dev/null; }
statuses() { [ "$(tail -n +$((MARK + 1)) "$D/controller.log" | grep -c '^status')" -ge "$1" ]; }
told() { grep -q -E "$1" "$D/agent.log"; }
say() { echo "$*" >&9; }
want() { EPOCH=$((EPOCH + 1)); controller_mark; say want $EPOCH "$@"; }
losses() { grep -c '^loss' "$D/controller.log"; }
gaps() { tail -n 40 "$D/controller.log" | grep -o 'gaps [0-9]*' | tail -1; }
sessions() { lttng -n list 2> /dev/null | grep -c ') hone-n1-'; }
# one_each N [SESSION]: N rules for probed requests are enabled, all names different, all in that session
one_each() {
	local s all
	all=$(for s in $(lttng -n list | sed -n "s/.*) \(hone-n1-[^ ]*\) .*/\1/p"); do
		lttng -n list "$s" | grep 'agentp:.*\[enabled\]' | sed "s/^ *\([^ ]*\) .*/\1 $s/"
	done)
	[ "$(wc -l <<< "$all")" = "$1" ] && [ "$(cut -d' ' -f1 <<< "$all" | sort -u | wc -l)" = "$1" ] || { echo "$all"; return 1; }
	[ $# = 1 ] || ! grep -v " $2\$" <<< "$all"
}
no_session() { [ "$(sessions)" = 0 ]; }
# left: prints what an agent could leave behind
left() { ls -d /run/hone/agent-n1/* /dev/shm/hone-policy* /dev/shm/lttng-ust-* 2> /dev/null | grep -v 'lttng-ust-wait'; }
nothing_left() { no_session && [ -z "$(left)" ]; }
end() {
	local pid
	for pid in ${CONTROLLER:-} ${AGENT:-} ${PROGRAM_one:-} ${PROGRAM_two:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

sessiond_start || bail "no session daemon"
program_start one
program_start two
controller_start
agent_start

# ---- toggling -------------------------------------------------------------------
check "the agent connects and sends HELLO" wait_for 20 after '^hello n1 '
check "it reports the programs and their tracepoints" wait_for 20 after '^programs 2 names 300: .*one\([0-9]*\)=150'
want 5000
check "an empty desired state is confirmed" wait_for 10 after "^done $EPOCH results \."
check "requests are sampled" wait_for 10 after '^records [1-9]'
check "tracepoints that the state does not name are disabled" is one $ON -eq 0
want 5000 agentp:ev000 agentp:ev149 no:such
check "DONE reports the outcome of each rule" wait_for 10 after "^done $EPOCH results \+\+\?\. from [0-9]"
check "the tracepoint is enabled in the first program" is one $ON -eq 1
check "the tracepoint is enabled in the second program" is two $ON -eq 1
check "records of the tracepoint arrive" wait_for 10 after 'ticks [1-9][0-9]* gaps 0'
check "the status counts the added tracepoints" wait_for 10 after "^status epoch $EPOCH added 3 programs 2 tracer ok"
want 5000
check "an empty state is confirmed again" wait_for 10 after "^done $EPOCH results \."
check "the tracepoint is disabled in the first program" is one $ON -eq 0
check "the tracepoint is disabled in the second program" is two $ON -eq 0
want 5000 'agentp:*' hone:request_begin
check "a wildcard and an always-on tracepoint are confirmed" wait_for 10 after "^done $EPOCH results \+\+\."
check "the wildcard enables the tracepoint" is two $ON -eq 1
want 5000
wait_for 10 after "^done $EPOCH results \."
check "without the wildcard the tracepoint is disabled" is two $ON -eq 0
controller_mark
check "an always-on tracepoint stays enabled" wait_for 10 after '^records'
# ---- many at once, in several sessions ----------------------------------------------
want 5000 agentp:ev000
wait_for 10 after "^done $EPOCH results \+\."
LOSSES=$(losses)
want 5000 agentp:ev0{00..39}
check "forty tracepoints are enabled by one state" wait_for 20 after "^done $EPOCH results \+{40}\."
check "they are in sessions of eight rules" test "$(sessions)" -ge 6
check "each is enabled once, in one of the sessions" one_each 40
controller_mark
check "records of the tracepoint that was enabled before still arrive" wait_for 10 after 'ticks [1-9]'
check "they have no gap" test "$(gaps)" = "gaps 0"
check "no loss is reported" test "$(losses)" = "$LOSSES"
want 5000 'agentp:*' agentp:ev0{00..39}
check "a wildcard that matches all of them is confirmed" wait_for 20 after "^done $EPOCH results \+{41}\."
check "they are in one session with the wildcard, since two sessions would record them twice" one_each 41 "hone-n1-$AGENT"
check "the time in which they were disabled is reported as a loss" wait_for 10 after '^loss reason 0 count 1 '
want 5000 agentp:ev000
check "all but one are disabled" wait_for 20 after "^done $EPOCH results \+\."
check "that one is enabled" is one $ON -eq 1
controller_mark
check "each of its records is written once" wait_for 10 after 'ticks [1-9][0-9]* gaps 0'
program_start three
check "the tracepoint is enabled in a program that starts now" wait_for 10 is three $ON -eq 1
check "the agent reports this program" wait_for 20 after '^programs 3 names 450:'
kill -9 "$PROGRAM_three"
check "the agent no longer reports a program that was killed" wait_for 20 after '^programs 2 names'

# ---- the controller dies, hangs, sends garbage ------------------------------------
want 5000 agentp:ev000
wait_for 10 after "^done $EPOCH"
LOSSES=$(losses)
for i in 1 2 3; do
	kill -9 "$CONTROLLER"
	wait "$CONTROLLER" 2> /dev/null
	rm -f "$D/controller.sock"
	at=$(word one $FIRED)
	check "kill -9 of the controller: the program still writes records" wait_for 10 is one $FIRED -gt $((at + 200))
	controller_mark
	controller_start
	say want $EPOCH 5000 agentp:ev000
	check "a new controller is sent the outcome of the same epoch" wait_for 10 after "^done $EPOCH results \+\."
	check "the records arrive there" wait_for 10 after '^records'
done
check "no record is missing" test "$(gaps)" = "gaps 0"
check "no loss is reported" test "$(losses)" = "$LOSSES"
for nonsense in garbage version wrong ack; do
	controller_mark
	say $nonsense
	check "$nonsense: the agent closes the connection" wait_for 10 after '^closed'
	check "$nonsense: the controller is told the reason" after '^refused .'
	check "$nonsense: the agent connects again" wait_for 10 after '^hello n1'
	check "$nonsense: its records arrive" wait_for 10 after '^records'
done
check "the reason names the other protocol version" told 'version'
controller_mark
say refuse there is another node of that name
check "a refusal is logged with the controller's reason" wait_for 10 told 'refuses this agent: there is another node'
check "after a refusal the agent connects again" wait_for 10 after '^hello n1'
controller_mark
say want $EPOCH 5000 agentp:ev000
say silent
check "the agent connects again when the controller hangs" wait_for 20 after '^hello n1'
say want $EPOCH 5000 agentp:ev000
wait_for 10 after "^done $EPOCH results"
check "after the hang no record is missing" test "$(gaps)" = "gaps 0"
check "after the hang no loss is reported" test "$(losses)" = "$LOSSES"
want 1000 agentp:ev000
wait_for 10 after "^done $EPOCH results"
kill -STOP "$CONTROLLER"
check "a lease that is not renewed ends" wait_for 20 is one $ON -eq 0
kill -CONT "$CONTROLLER"
check "when the controller continues, the tracepoint is enabled again" wait_for 20 is one $ON -eq 1

# ---- the session daemon dies ------------------------------------------------------
want 5000 agentp:ev000
wait_for 10 after "^done $EPOCH results"
kill -9 "$SESSIOND"
wait "$SESSIOND" 2> /dev/null
check "kill -9 of the session daemon is reported as trouble" wait_for 20 after 'tracer down .*trouble "tracer(-silent|.*session daemon)'
check "without a session daemon the tracepoint is disabled" is one $ON -eq 0
controller_mark
sessiond_start
check "the new session daemon gets a session" wait_for 30 after 'tracer ok .*trouble " "'
check "the tracepoint is enabled in it" wait_for 30 is one $ON -eq 1
controller_mark
check "its records arrive" wait_for 30 after 'ticks [1-9]'
check "the time between the two daemons is reported as a loss" grep -q '^loss reason 0 count 1' "$D/controller.log"
kill -STOP "$SESSIOND"
want 5000 agentp:ev001
check "a session daemon that hangs is reported as trouble" wait_for 20 after 'trouble "tracer-silent'
kill -CONT "$SESSIOND"
check "when the session daemon continues, the agent confirms the state" wait_for 20 after "^done $EPOCH results \+\."

# ---- the agent dies ---------------------------------------------------------------
want 5000 agentp:ev000
wait_for 10 after "^done $EPOCH results"
check "the tracepoint is enabled before the agent is killed" is one $ON -eq 1
killed=$(now)
kill -9 "$AGENT"
check "kill -9 of the agent: the tracepoint is disabled in the first program" wait_for 20 is one $ON -eq 0
check "kill -9 of the agent: the tracepoint is disabled in the second program" wait_for 20 is two $ON -eq 0
check "this takes less than a second" test $(($(word one $OFF_NS) - killed)) -lt 1000000000
check "the guardian leaves no session" wait_for 10 no_session
check "the guardian leaves no folder" wait_for 10 test -z "$(ls /run/hone/agent-n1)"
# while the agent measures the cost of a record, it has two sessions
measuring() {
	local pid
	lttng -n list 2> /dev/null | has "hone-n1-$AGENT-cost" && pid=$(pgrep -x hone-cost -P "$AGENT") && kill -STOP $pid
}
no_folder() { test -z "$(ls /run/hone/agent-n1)"; }
agent_start
check "a new agent measures what a record costs" wait_for 20 measuring
kill -9 "$AGENT"
wait "$AGENT" 2> /dev/null
check "the agent is killed while it measures: no session stays" wait_for 10 no_session
check "the agent is killed while it measures: no folder stays" wait_for 10 no_folder
check "the agent is killed while it measures: the program that measures ends" wait_for 10 not pgrep -f "hone-cost hone-n1-$AGENT-cost"
# the cost measurement is stopped after its program has finished and before it ends its session
# Its program runs for some 50 ms only, so this looks without starting processes, and for up to 40 s.
has_measured() {
	local until=$((SECONDS + 40)) file pid pids name program
	while [ $SECONDS -lt $until ]; do
		for file in /proc/$AGENT/task/*/children; do
			read -ra pids < "$file"
			for pid in "${pids[@]}"; do
				name= program=	# read fails at the end of a file without a newline, and has its text then
				read -r name 2> /dev/null < "/proc/$pid/comm"
				[ "$name" = hone-cost ] && read -r program 2> /dev/null < "/proc/$pid/task/$pid/children"
				[ -n "$program" ] && kill -STOP "$pid" && return
			done
		done
	done
	return 1
}
no_cost() { told 'a record costs' && ! lttng -n list 2> /dev/null | grep -- "hone-n1-$AGENT-cost"; }
: > "$D/agent.log"
agent_start
check "the program that measures hangs after the measurement" has_measured
check "its session is ended, and the measured cost is used" wait_for 60 no_cost
kill -9 "$AGENT"
wait "$AGENT" 2> /dev/null
wait_for 20 no_session
controller_mark
: > "$D/agent.log"
agent_start
check "the next agent confirms the state" wait_for 20 after "^done $EPOCH results \+\."
check "it enables the tracepoint" is two $ON -eq 1
# after the cost measurement two sessions: that of the always-on tracepoints, and a spare one
its_sessions() { told 'a record costs' && test "$(sessions)" = 2 && test "$(ls -d /run/hone/agent-n1/* | wc -l)" = 1; }
# agent and guardian die: only the next agent can clean up
wait_for 60 its_sessions
guard=$(pgrep -x hone-guard -P "$AGENT")
kill -STOP "$guard"	# the guardian must not run in between
kill -9 "$AGENT" "$guard"
wait "$AGENT" 2> /dev/null
check "agent and guardian are killed at once: their sessions stay" test "$(sessions)" = 2
controller_mark
: > "$D/agent.log"
agent_start
check "the next agent starts" wait_for 20 after "^done $EPOCH results \+\."
check "it removed the old sessions and folder, and has its own" wait_for 60 its_sessions
check "a second agent of the same node is refused" not timeout 20 "$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=$URL"
check "the refused agent leaves the tracepoint enabled" is one $ON -eq 1

# ---- too much, too long -----------------------------------------------------------
kill "$AGENT"
wait "$AGENT"
controller_mark
agent_start -o queue.memory=1MiB
want 600000 agentp:ev000
wait_for 20 after "^done $EPOCH results \+\."
kill -STOP "$CONTROLLER"
check "a full queue makes the agent disable its tracepoints" wait_for 60 is one $ON -eq 0
check "the agent logs the queue and how full it was" told 'queue "agent" is 9[0-9] % full: all 1 added tracepoints go off'
at=$(word one $REQUESTS)
wait_for 60 is one $REQUESTS -gt $((at + 5000))
kill -CONT "$CONTROLLER"
check "the controller is told that the agent has shed load" wait_for 20 after '^status .* shed 1'
check "dropped records are counted in a loss" wait_for 20 after '^loss reason 1 count [1-9]'
controller_mark
wait_for 20 statuses 5
check "the same epoch does not enable the tracepoint again" is one $ON -eq 0
want 5000 agentp:ev000
check "a newer epoch is confirmed" wait_for 10 after "^done $EPOCH results \+\."
check "a newer epoch enables the tracepoint again" is one $ON -eq 1
kill -STOP "$SESSIOND"
check "the session daemon hangs before the agent is ended" wait_for 10 after 'trouble "tracer-silent'
began=$(date +%s%N)
kill "$AGENT"
wait "$AGENT"
check "SIGTERM while the session daemon hangs: exit 0" test $? = 0
# Normally 1 to 2 s; closing an inotify descriptor waits for kernel threads, which takes seconds on a busy machine.
check "SIGTERM while the session daemon hangs: the agent ends within ten seconds" test $(($(date +%s%N) - began)) -lt 10000000000
at=$(word one $PROBED)
wait_for 10 is one $REQUESTS -gt $(($(word one $REQUESTS) + 200))
check "the tracepoint is still enabled, but no request is probed" test $(($(word one $PROBED) - at)) -lt 50
kill -CONT "$SESSIOND"
check "when the session daemon continues, the guardian ends the session" wait_for 20 nothing_left
check "then the tracepoint is disabled" is one $ON -eq 0
controller_mark
agent_start -o tracer.idle_session=1s
want 5000 agentp:ev000
wait_for 20 after "^done $EPOCH results \+\."
wait_for 20 after "^records"
check "every missing record was reported as lost" test "$(gaps)" = "gaps 0"

want 5000 agentp:ev0{00..19}
check "twenty tracepoints are enabled" wait_for 20 after "^done $EPOCH results \+{20}\."
check "they are in four or more sessions" test "$(sessions)" -ge 4
want 5000
check "all are disabled" wait_for 20 after "^done $EPOCH results \."
sessions_are() { [ "$(sessions)" = "$1" ] || { sessions; return 1; }; }
check "sessions without rules are ended after tracer.idle_session" wait_for 20 sessions_are 2
controller_mark
check "ending these sessions loses no record" wait_for 10 after 'ticks [0-9]* gaps 0'

# ---- the end ----------------------------------------------------------------------
began=$(date +%s%N)
kill "$AGENT"
wait "$AGENT"
check "SIGTERM: exit 0" test $? = 0
check "SIGTERM: the agent ends within two seconds" test $(($(date +%s%N) - began)) -lt 2000000000
check "SIGTERM: the tracepoint is disabled" is one $ON -eq 0
check "SIGTERM: no session stays" wait_for 20 nothing_left
check "SIGTERM: the node's folder is removed" wait_for 20 not test -e /run/hone/agent-n1
lttng -n create other --output="$D/other" > /dev/null
kill "$SESSIOND"
wait "$SESSIOND"
controller_mark
agent_start
check "without a session daemon the agent says what to do" wait_for 20 after 'trouble ".*no session daemon answers: start lttng-sessiond'
kill -INT "$AGENT"
wait "$AGENT"
check "SIGINT without a session daemon: exit 0" test $? = 0
sessiond_start
controller_mark
mkdir -m 700 "$D/nobody" && chmod 711 "$D"
check "without permission to trace the agent says what to do" bash -c "timeout 5 setpriv --reuid=65534 --regid=65534 --clear-groups \
	'$O/bin/hone-agent' -o agent.node=n2 -o controller.url='$URL' -o agent.run_dir=/dev/shm/n2 \
	-o agent.policy=/dev/shm/n2-policy 2>&1 | grep 'no permission to trace: add .* to the group'"
check "-n accepts the defaults" "$O/bin/hone-agent" -n
check "-nv prints a configuration that reads back the same" bash -c "'$O/bin/hone-agent' -nv > '$D/a' && '$O/bin/hone-agent' -nv -c '$D/a' | cmp '$D/a' -"
"$O/bin/hone-agent" --nonsense 2> /dev/null
check "an unknown flag is misuse: exit 2" test $? = 2
"$O/bin/hone-agent" -n -o tracer.sub_buffers=3 2> /dev/null
check "a wrong configuration: exit 1, as of honed -n" test $? = 1
echo "1..$N"
exit $FAILED
