#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 100,000 context switches a second in the requests that a diagnosis looks at below their tracepoints: fewer of them are probed, and the node stays in
# its budget.
# O: the folder of `make all agent-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond bpftool
[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang, bpftool and libbpf"
can=$("$O/lib/hone/hone-below" --can --json) && jq -e '.waits and .holders' <<< "$can" > /dev/null || skip "hone-below cannot do that here: $can"
own_node /run/hone
ahead_of_others
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1 HONE_SOCKET=ipc://$D/honed.sock
PATH=$O/bin:$PATH
end() {
	local pid
	for pid in ${PROGRAM:-} ${AGENT:-} ${HONED:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT
why() { hone why HAND; hone agents; tail -n 8 "$D/agent.log" "$D/honed.log"; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1 || bail "the session daemon starts"
honed -o storage.database="$D/f.db" -o storage.space="$D/s.db" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
	2> "$D/honed.log" &
HONED=$!
wait_for 20 test -S "$D/agents.sock" || bail "honed starts"
hone-agent -o agent.node=n -o controller.url="ipc://$D/agents.sock" 2> "$D/agent.log" &
AGENT=$!
LD_LIBRARY_PATH=$O/lib taskset -c 0 "$O/tests/scenario/switch_program" &
PROGRAM=$!
seen() { hone status --json | jq -e 'any(.types[]; .type == "HAND" and .traces > 50)'; }
switches() { awk '/^(non)?voluntary_ctxt_switches/ { n += $2 } END { print n }' /proc/$PROGRAM/task/*/status; }
check "its requests are seen" wait_for 30 seen
before=$(switches) && sleep 2
rate=$((($(switches) - before) / 2))
echo "# $rate context switches a second"
check "they switch 50,000 times a second or more" test $rate -ge 50000
helper() { pgrep -r R,S,D -P "$(pgrep -P "$AGENT" -x hone-starter)" -x hone-below; }
ticks() { local pid; for pid in $(helper) $(pgrep -P "$(helper)" -x hone-stacks); do sed 's/.*) //' "/proc/$pid/stat"; done 2> /dev/null | awk '{ n += $12 + $13 } END { print n + 0 }'; }
hone start HAND --wait > "$D/said" 2>&1 &
DIAGNOSIS=$!
active() { hone agents --json | jq -e 'any(.agents[]; .below.state == "active")'; }
check "hone-below follows it" wait_for 60 active
began=$SECONDS at=$(date +%s%N) ended=0
while active > /dev/null && [ $((SECONDS - began)) -lt 60 ]; do
	# 0: the diagnosis has just ended
	hone status --json | jq '.types[] | select(.type == "HAND") | .probed | select(. > 0)' >> "$D/probed"
	now=$(ticks) && [ "$now" -gt "$ended" ] && ended=$now
	until=$(date +%s%N)
	sleep 0.1
done
took=$((SECONDS - began))
part=$(awk -v t="$ended" -v ns=$((until - at)) 'BEGIN { print int(t * 1e9 / ns + 0.5) }')
echo "# looked below for $took s; hone-below and hone-stacks took $part % of a core; $(sort -n "$D/probed" | head -n 1) of the requests were probed at least"
check "fewer requests are probed, down to 1 in 100" eval '[ "$(sort -n "$D/probed" | head -n 1)" = 0.01 ]'
check "that is still over the budget, so the look is ended within 10 s" test $took -le 10
check "meanwhile hone-below takes no more than 20 % of a core, with its start and the second in which it measures" test "$part" -le 20
check "the diagnosis ends" wait_for 60 gone $DIAGNOSIS
check "its verdict has what was seen until then, or says why it has nothing" eval \
	'hone forest HAND --json | jq -e ".runs[0].verdict.below | debug | .requests > 0 or .missing == \"over-budget\""'
kill $PROGRAM
echo "1..$N"
exit $FAILED
