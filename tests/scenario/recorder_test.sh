#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The flight recorder of hone-agent under a real LTTng: what it had of a request is sent after the request has ended, what was replaced
# meanwhile is told, and its session is gone when it is not wanted, its lease has ended, or its agent is dead.
# O: the folder that `make agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond
own_node /run/hone
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1
URL=ipc://$D/controller.sock
EPOCH=0 KEEPS=0
mkfifo "$D/say"
exec 9<> "$D/say"

why() { echo "--- agent"; tail -n 5 "$D/agent.log"; echo "--- controller"; tail -n 8 "$D/controller.log" | cut -c1-300; lttng -n list; }

# The rings of the recorder hold some seconds.
agent_start() {
	"$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=$URL" -o controller.retry=200ms -o log.level=debug \
		-o tracer.recorder_sub_buffers=4 -o tracer.recorder_sub_buffer_size=8KiB 2>> "$D/agent.log" 9>&- &
	AGENT=$!
}
ON=0
word() { od -An -t d8 -w8 -j $(($1 * 8)) -N 8 "$D/one.state" | tr -d ' '; }
is() { [ "$(word "$1")" "$2" "$3" ] || { echo "$1 is $(word "$1")"; return 1; }; }
MARK=0
controller_mark() { MARK=$(wc -l < "$D/controller.log"); }
after() { tail -n +$((MARK + 1)) "$D/controller.log" | has -E "$1"; }
told() { has -E "$1" "$D/agent.log"; }
say() { echo "$*" >&9; }
want() { EPOCH=$((EPOCH + 1)); controller_mark; say want $EPOCH "$@"; }
recorder() { EPOCH=$((EPOCH + 1)); controller_mark; say recorder $EPOCH "$@"; }
keep() { KEEPS=$((KEEPS + 1)); controller_mark; say keep "$@"; }
# Asks for the same request once more: whether its record is gone, and that is told.
overwritten() {
	KEEPS=$((KEEPS + 1))
	controller_mark
	say again
	wait_for 20 after "^kept $KEEPS " && after "^kept $KEEPS read .*overwritten [1-9].*strange 0 records 0 "
}
not_silently() { ! grep -E '^kept [0-9]+ read .*overwritten 0 .*records 0 ' "$D/controller.log"; }
sessions() { lttng -n list 2> /dev/null | sed -n 's/.*) \(hone-n1-[^ ]*\) .*/\1/p'; }
recording() { sessions | has -E -- '-r[0-9]+$'; }
no_recorder() { ! recording; }
no_session() { [ -z "$(sessions)" ]; }
left() { ls -d /run/hone/agent-n1/* /dev/shm/hone-policy* /dev/shm/lttng-ust-* 2> /dev/null | grep -v 'lttng-ust-wait'; }
nothing_left() { no_session && [ -z "$(left)" ]; }
no_snapshot() { [ -z "$(ls -d /run/hone/agent-n1/*/recorder/snapshot-* 2> /dev/null)" ]; }
end() {
	local pid
	for pid in ${CONTROLLER:-} ${AGENT:-} ${PROGRAM:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1 || bail "no session daemon"
ln -sf "$O/tests/scenario/agent_program" "$D/one"
"$D/one" "$D/one.state" 1000 9>&- &
PROGRAM=$!
wait_for 20 test -s "$D/one.state"
"$O/tests/scenario/agent_controller" "$URL" "$D/journal" < "$D/say" >> "$D/controller.log" 9>&- &
CONTROLLER=$!
wait_for 20 test -S "$D/controller.sock"
agent_start

want 4000
check "requests are sampled" wait_for 20 after '^records [1-9]'
check "no session records what nobody wants" no_recorder
keep
check "a node without a recorder says so" wait_for 10 after "^kept $KEEPS no-recorder "
recorder 'agentp:*' 'hone:*'
check "the recorder is on, with a session of its own" wait_for 20 after '^status .*recorder 1 '
check "its session exists" recording
check "its tracepoint is enabled in the program" wait_for 10 is $ON -eq 1
check "what it writes is counted" wait_for 10 after '^status .*recorder 1 bytes [1-9][0-9]* records [1-9]'
# The newest request that has ended began after the recorder was on once half a second has passed.
sleep 0.6
keep
check "a request's records are sent after its end: of it alone, whole" \
	wait_for 10 after "^kept $KEEPS read rings [1-9][0-9]* overwritten 0 unlisted 0 undecoded 0 cut 0 strange 0 records 1 one/agentp:ev000 "
check "the snapshot is removed" wait_for 10 no_snapshot
check "once it was overwritten that is told" wait_for 60 overwritten
check "and never is a record missing without that" not_silently
want 4000 agentp:ev000
wait_for 10 after "^done $EPOCH results \+\."
check "a tracepoint that is added meanwhile arrives as always" wait_for 10 after '^records .*ticks [1-9]'
sleep 0.6
keep
check "and is in the recorder once" wait_for 10 after "^kept $KEEPS read .*strange 0 records 1 one/agentp:ev000 "
want 4000
wait_for 10 after "^done $EPOCH results \."
check "the recorder does not end with it" recording
lttng -n destroy "$(sessions | grep -E -- '-r[0-9]+$')" > /dev/null
check "a recorder that somebody destroyed is made again" wait_for 20 recording
check "without touching the others" test "$(grep -c 'tracing: session' "$D/agent.log")" = 1
recorder
check "when it is not wanted its session is ended" wait_for 20 no_recorder
check "and its tracepoint is disabled" wait_for 10 is $ON -eq 0
recorder 'agentp:*'
wait_for 20 recording
say silent
check "it ends with its lease" wait_for 20 no_recorder
check "and its tracepoint with it" wait_for 10 is $ON -eq 0
want 4000
recorder 'agentp:*'
wait_for 20 is $ON -eq 1
kill -9 $AGENT
check "when the agent is killed the guardian disables it" wait_for 20 is $ON -eq 0
check "and ends all sessions" wait_for 20 no_session
agent_start
check "the next agent has it again, as it is wanted" wait_for 20 recording
kill $AGENT
check "the agent ends" wait_for 20 gone $AGENT
check "and leaves nothing behind" wait_for 10 nothing_left
echo "1..$N"
exit $FAILED
