#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A diagnosis that ends between a hand-over and the begin of the unit goes on below the tracepoints: what the thread did that began it.
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
why() { hone why ORDER; hone agents; tail -n 8 "$D/agent.log" "$D/honed.log"; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1 || bail "the session daemon starts"
honed -o storage.database="$D/f.db" -o storage.space="$D/s.db" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
	"${ALL_TRACED[@]}" 2> "$D/honed.log" &
HONED=$!
wait_for 20 test -S "$D/agents.sock" || bail "honed starts"
hone-agent -o agent.node=desk -o controller.url="ipc://$D/agents.sock" 2> "$D/agent.log" &
AGENT=$!
LD_LIBRARY_PATH=$O/lib "$O/tests/scenario/before_program" &
PROGRAM=$!
seen() { hone status --json | jq -e 'any(.types[]; .type == "ORDER" and .traces > 50)'; }
check "its requests are seen" wait_for 30 seen
check "a diagnosis ends" hone start ORDER --wait
below() { hone forest ORDER --json | jq -e ".runs[0].verdict | debug | $1"; }
check "its verdict leads to the begin of the unit" below '.edge.to | test("hone:unit_begin")'
check "most of that time the thread waited for a lock" below '.below.top == "lock" and ([.below.states[] | select(.state == "lock")][0].share > 0.5)'
check "in the function that takes it" below '.below.places[0].place | test("reserve")'
check "whose holder, a thread of a name, slept in another one" below '.below.holders[0] | .state == "timer" and .thread == "clerk" and (.place | test("count_stock"))'
check "it is not said that the process stood still" below '.waited == null'
kill $PROGRAM
check "the agent ends" eval 'kill $AGENT; wait_for 10 gone $AGENT'
echo "1..$N"
exit $FAILED
