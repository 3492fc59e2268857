#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A program that fills its rings on purpose, at all speeds, while it is under diagnosis: the controller pauses before
# records are lost, every lost record is counted, and incomplete traces are not used as evidence.
# O: the folder that `make all agent-scenario` built. BURSTS (16), BURST_SEED (1). KEEP=1: leave the folder.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond
own_node
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1 HONE_SOCKET=ipc://$D/honed.sock
RUN=/dev/shm/hone-agent
why() { local l; for l in agent honed; do echo "--- $l"; tail -n 8 "$D/$l.log"; done; }
hone() { "$O/bin/hone" "$@"; }
SESSIOND= HONED= AGENT= PROGRAM=
end() {
	local pid
	for pid in $AGENT $HONED $PROGRAM $SESSIOND; do
		kill -CONT "$pid" 2> /dev/null; kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && [ -z "${KEEP:-}" ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

# Without hone-below: its records would be counted with those that the program has written.
agent_start() {
	"$O/bin/hone-agent" -o below.enabled=no -o agent.node=n1 -o "controller.url=ipc://$D/agents.sock" -o agent.run_dir=$RUN \
		-o tracer.sub_buffers=8 -o tracer.sub_buffer_size=16KiB -o tracer.switch_timer=50ms -o tracer.added_sub_buffer_size=16KiB \
		-o status.every=100ms "$@" 2>> "$D/agent.log" &
	AGENT=$!
}
agent_stop() { kill "$AGENT"; wait "$AGENT"; AGENT=; }
known() { hone agents --json | jq -e '.agents[] | select(.connected and .tracer_ok and .programs == 1)'; }
say() { local answer; echo "$*" >&7; read -r -t 60 answer <&8; echo "$answer"; }
mapped() { [ "$(say map | cut -d' ' -f2)" -gt 0 ]; }
consumer() { cat /proc/"$SESSIOND"/task/*/children | tr ' ' '\n' | while read -r p; do
	case $(cat "/proc/$p/comm" 2> /dev/null) in lttng-consumerd*) echo "$p" ;; *) cat "/proc/$p"/task/*/children 2> /dev/null | tr ' ' '\n' | while read -r q; do
		case $(cat "/proc/$q/comm" 2> /dev/null) in lttng-consumerd*) echo "$q" ;; esac; done ;; esac; done | head -n 1; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null || bail "no session daemon"
"$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
	-o storage.database="$D/forest.db" -o storage.space="$D/space.db" "${ALL_TRACED[@]}" -o search.budget=100% -o search.cycle_max=5s \
	-o agents.shed_for=100ms >> "$D/honed.log" 2>&1 &
HONED=$!
wait_for 20 hone status > /dev/null
mkfifo "$D/in" "$D/out"
"$O/tests/scenario/burst_program" $RUN < "$D/in" > "$D/out" 2> "$D/program.log" &
PROGRAM=$!
exec 7> "$D/in" 8< "$D/out"
agent_start
check "the agent has reported the program" wait_for 20 known
# A ring is created for its first record: after a little work it can be observed.
check "the agent has mapped the program's ring buffers" wait_for 10 mapped
[ $FAILED = 0 ] || bail "nothing to fill"

python3 tests/scenario/burst_drive.py "$O/bin/hone" "$D/in" "$D/out" "$(consumer)" "$D/forest.db" "${BURSTS:=16}" \
	"${BURST_SEED:=1}" "$D" > "$D/drive.log" 2>&1
sed -n '/^#/p' "$D/drive.log"
while read -r line; do check "${line#*- }" [ "${line%% - *}" = ok ]; done < <(grep -E '^(not )?ok' "$D/drive.log")
check "$BURSTS bursts were played to the end" grep -q '^ok' "$D/drive.log"

# ---- shedding load ----------------------------------------------------------------
why_switched() { python3 -c "
import sqlite3, sys
db = sqlite3.connect('file:$D/forest.db?mode=ro', uri=True)
n = db.execute('SELECT count(*) FROM switched WHERE \"on\" = 0 AND reason = 43 AND subject = ?', ('n1/ring',)).fetchone()[0]
sys.exit(n == 0)"; }
check "at 90 % the agent sheds load by itself, and logs whose ring buffer is full" grep -q 'the ring buffer of burst_program ([0-9]*) is .* added tracepoints go off' "$D/agent.log"
check "the controller logs which queue was full" grep -q 'agent n1 has shed load: ring' "$D/honed.log"
check "hone why names it for the tracepoint" why_switched
check "hone status counts it and names the queue" eval 'hone status --json | jq -e ".queues.sheds > 0 and .queues.shed.queue == \"ring\""'

# ---- a stopped agent ----------------------------------------------------------------
word() { say wrote | cut -d' ' -f"$1"; }
still() { local n; n=$(word 3); sleep 0.5; [ "$(word 3)" = "$n" ]; }
goes_on() { ! still; }
lost() { hone status --json | jq .counts.lost_ring; }
told() { [ "$(lost)" -gt "$LOST" ]; }
no_more_than() { [ "$(du -sk $RUN | cut -f1)" -le "$1" ] || { du -k $RUN; return 1; }; }
say work 1 > /dev/null
wait_for 10 goes_on
LOST=$(lost)
kill -STOP "$AGENT"
STOPPED=$SECONDS
check "without an agent sampling ends" wait_for 12 still
echo "# after $((SECONDS - STOPPED)) s, $(du -sk $RUN | cut -f1) KiB lie in the node's memory"
check "without an agent no more records are written" still
check "the files of the tracer stay within their bound" no_more_than 65536
kill -CONT "$AGENT"
check "a new agent makes sampling start again" wait_for 60 goes_on
say work 0 > /dev/null
# After 10 s its guardian ends the session: the number of unread records in it is unknown.
check "records that were overwritten unread are reported as lost" wait_for 20 told

# ---- files that are full --------------------------------------------------------------
agent_stop
wait_for 10 eval '! hone agents --json | jq -e ".agents[0].connected"'
agent_start -o queue.files=1MiB
check "an agent with little room for the tracer's files starts" wait_for 20 known
check "it has mapped the program's ring buffers" wait_for 10 mapped
sampled_again() { [ "$(say burst 1000 1 | cut -d' ' -f8)" -gt 0 ]; }
wait_for 10 sampled_again
kill -STOP "$AGENT"
say burst 20000 2000 > /dev/null	# fills twenty rings, at a rate that the consumer can follow
kill -CONT "$AGENT"
check "it logs that the files are full" wait_for 10 grep -q "the tracer's files are full" "$D/agent.log"
check "it logs that it has read them to under half" wait_for 10 grep -q "the tracer's files are under half: requests are sampled again" "$D/agent.log"
check "the program is sampled again" wait_for 10 sampled_again
agent_stop
rest() { ls -d $RUN/* /dev/shm/hone-policy* 2> /dev/null; lttng -n list | grep hone-; }
check "no session, file or process is left" eval '! rest'
echo "1..$N"
exit $FAILED
