#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# CPU of Hone on a node, as a share of a core, measured from outside: the agent, and the session daemon with its
# consumers; while idle, and under load. From the kernel's accounting (/proc/PID/task/*/schedstat, ns), over SECONDS for
# each row.
# O: the folder that `make agent-scenario all` built. HONE_AGENT: an agent to use instead of $O/bin/hone-agent, to
# compare.
# Usage: agent_idle.sh [SECONDS] ["PROGRAMS:REQUESTS_PER_SECOND ..."]
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
if [ "$(id -u)" != 0 ] || ! command -v lttng lttng-sessiond unshare > /dev/null; then
	echo "agent_idle: needs root and lttng-tools" >&2
	exit 1
fi
if [ "${HONE_NODE:-}" != "$PPID" ]; then
	make -s O="$O" all agent-scenario
	HONE_NODE=$$ unshare --mount --propagation private bash "$0" "$@"
	exit
fi
mkdir -p /run/lttng /run/hone
mount -t tmpfs tmpfs /run/lttng && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run/hone
D=$(mktemp -d)
PIDS=() PROGRAMS=()
trap 'kill "${PROGRAMS[@]}" "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
export LTTNG_HOME=$D
SECONDS_EACH=${1:-5}

cpu_ns() { cat /proc/"$1"/task/*/schedstat 2> /dev/null | awk '{ s += $1 } END { printf "%.0f", s }'; }
tracer_ns() {
	local sum pid
	sum=$(cpu_ns "$SESSIOND")
	for pid in $(cat /proc/"$SESSIOND"/task/*/children); do sum=$((sum + $(cpu_ns "$pid"))); done
	echo "$sum"
}
agents() { HONE_SOCKET=ipc://$D/op.sock "$O/bin/hone" agents --json; }
records() { agents | jq '.agents[0].records'; }
until_true() { local n=0; until "${@:2}" > /dev/null 2>&1; do sleep 0.1; n=$((n + 1)); [ $n -lt "$1"0 ] || return 1; done; }
ready() { agents | jq -e --argjson n "$1" '.agents[0] | .programs == $n and .tracer_ok and (.record_assumed | not)'; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
PIDS+=($SESSIOND)
until_true 10 lttng -n list
"$O/bin/honed" -o "controller.agents=ipc://$D/agents.sock" -o "controller.operators=ipc://$D/op.sock" \
	-o "storage.database=$D/forest.db" -o "storage.space=$D/space.db" -o agents.budget=0% -o agents.enough=0 2> "$D/honed.log" &
PIDS+=($!)
"${HONE_AGENT:-$O/bin/hone-agent}" -o agent.node=bench -o "controller.url=ipc://$D/agents.sock" 2> "$D/agent.log" &
AGENT=$!
PIDS+=($AGENT)

printf '%8s %12s %12s %12s %12s %14s %12s\n' programs requests/s records/s 'agent %' 'tracer %' 'agent ns/rec' 'kB/s'
for row in ${2:-1:0 20:0 1:200 20:5000}; do
	n=${row%:*} rate=${row#*:}
	PROGRAMS=()
	every=1000000000
	[ "$rate" = 0 ] || every=$((n * 1000000 / rate))
	for i in $(seq "$n"); do
		"$O/tests/scenario/agent_program" "$D/$i.state" "$every" &
		PROGRAMS+=($!)
	done
	until_true 40 ready "$n" || { echo "agent_idle: the node does not come up" >&2; cat "$D"/*.log >&2; exit 1; }
	sleep 5	# until the agent has listed the tracepoints
	sent() { agents | jq '.agents[0].cost.all.bytes // 0'; }
	a=$(cpu_ns $AGENT) t=$(tracer_ns) r=$(records) b=$(sent) from=$(date +%s%N)
	sleep "$SECONDS_EACH"
	a2=$(cpu_ns $AGENT) t2=$(tracer_ns) to=$(date +%s%N)
	r2=$(records) b2=$(sent)
	awk -v n="$n" -v rate="$rate" -v a=$((a2 - a)) -v t=$((t2 - t)) -v r=$((r2 - r)) -v b=$((b2 - b)) -v d=$((to - from)) 'BEGIN {
		printf "%8d %12d %12.0f %12.3f %12.3f %14s %12.1f\n", n, rate, r / d * 1e9, a / d * 100, t / d * 100,
			(r > 100 ? sprintf("%.0f", a / r) : "-"), b / d * 1e6 }'
	kill "${PROGRAMS[@]}"
	wait "${PROGRAMS[@]}" 2> /dev/null || true
done
