#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The total cost of Hone on a node is kept under agents.budget: under a load whose tracing would cost several times as
# much, fewer requests are sampled until the actual CPU of agent and tracer (by the kernel's accounting) is within the
# budget; when the load falls, more requests are sampled again.
# O: the folder that `make all agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond
own_node /run/hone
D=$(mktemp -d)
PIDS=() LOAD=()
trap 'kill "${LOAD[@]}" "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
export LTTNG_HOME=$D HONE_SOCKET=ipc://$D/op.sock
why() { "$O/bin/hone" status; "$O/bin/hone" agents; cat "$D/samples" 2> /dev/null; tail -n 5 "$D"/*.log; }
BUDGET_PCT=2		# little for the load below on any machine, much for an agent that has nothing to do
PROGRAMS=4 EVERY_US=100
cpu_ns() {	# CPU time of agent, session daemon and consumers so far
	local pid
	for pid in $AGENT "$SESSIOND" $(cat /proc/"$SESSIOND"/task/*/children); do cat /proc/"$pid"/task/*/schedstat; done 2> /dev/null |
		awk '{ s += $1 } END { printf "%.0f", s }'
}
used_pct() {	# SECONDS: actual percent of a core in that time
	local a from b to
	a=$(cpu_ns) from=$(date +%s%N)
	sleep "$1"
	b=$(cpu_ns) to=$(date +%s%N)
	awk -v d=$((b - a)) -v t=$((to - from)) 'BEGIN { printf "%.3f\n", d / t * 100 }'
}
cost() { "$O/bin/hone" status --json | jq -e ".cost.nodes[0]$1"; }
sampled() { "$O/bin/hone" status --json | jq -e '[.types[] | select(.type == "WORK") | .sampled][0]'; }
load() {
	local i
	for i in $(seq "$PROGRAMS"); do
		"$O/tests/scenario/agent_program" "$D/$i.state" "$1" &
		LOAD+=($!)
	done
}
unload() { kill "${LOAD[@]}"; wait "${LOAD[@]}" 2> /dev/null; LOAD=(); }
known() { "$O/bin/hone" agents --json | jq -e --argjson n "$1" '.agents[0] | .connected and .tracer_ok and .programs == $n'; }
less() { awk -v s="$(sampled)" 'BEGIN { exit !(s > 0 && s < 0.8) }'; }
fits() {	# actual use in 4 s is within the budget, plus a tenth for random variation
	used_pct 4 | tee -a "$D/samples" | awk -v b="$BUDGET_PCT" '{ exit !($1 > 0 && $1 <= b * 1.1) }'
}

echo 1..8
lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
PIDS+=($SESSIOND)
wait_for 10 lttng -n list > /dev/null || bail "no session daemon"
"$O/bin/honed" -o "controller.agents=ipc://$D/agents.sock" -o "controller.operators=$HONE_SOCKET" \
	-o "storage.database=$D/forest.db" -o "storage.space=$D/space.db" -o agents.budget=$BUDGET_PCT% -o agents.enough=0 2> "$D/honed.log" &
PIDS+=($!)
"$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=ipc://$D/agents.sock" 2> "$D/agent.log" &
AGENT=$!
PIDS+=($AGENT)
load $EVERY_US
check "the agent has reported the node's programs" wait_for 40 known $PROGRAMS
check "under load fewer requests are sampled" wait_for 40 less
check "then agent and tracer use at most the budget, measured by the kernel's accounting" wait_for 60 fits
under() { cost " | .now.core_pct <= $BUDGET_PCT * 1.2 and .all.cpu_s > 0 and .all.bytes > 0"; }	# of the window before
check "the cost and the overhead that Hone reports are within the budget" wait_for 15 under
check "at least one request in a hundred is still sampled" eval 'sampled | jq -e ". >= 0.01"'
few=$(sampled)
seen() { "$O/bin/hone" status --json | jq -e '[.types[] | select(.type == "WORK") | .traces][0]'; }
more() { [ "$(seen)" -gt "$1" ]; }
check "sampled requests still arrive" wait_for 10 more "$(seen)"
unload
load 20000
many() { awk -v s="$(sampled)" -v few="$few" 'BEGIN { exit !(s == 1 || s >= 4 * few) }'; }	# a slow machine is never idle
check "with less load many more requests are sampled again" wait_for 90 many
check "with less load agent and tracer use at most the budget" wait_for 30 fits
exit $FAILED
