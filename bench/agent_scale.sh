#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The agent on a node with PROGRAMS programs of 2000 tracepoints each: toggles, memory, processor time for a record.
# O: the folder that `make agent-bench` built. Usage: agent_scale.sh [PROGRAMS] [option of hone-agent...]
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
if [ "${HONE_NODE:-}" != "$PPID" ]; then
	HONE_NODE=$$ unshare --mount --propagation private bash "$0" "$@"
	exit
fi
mkdir -p /run/lttng /run/hone
mount -t tmpfs tmpfs /run/lttng && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run/hone
D=$(mktemp -d)
PIDS=()
trap 'kill "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
export LTTNG_HOME=$D
lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
PIDS+=($SESSIOND)
until lttng -n list > /dev/null 2>&1; do sleep 0.05; done
N=${1:-20}
shift || true
STATES=()
for i in $(seq "$N"); do
	"$O/bench/agent_scale_program" "$D/$i.state" &
	PIDS+=($!)
	STATES+=("$D/$i.state")
	until [ -s "$D/$i.state" ]; do sleep 0.01; done
done
"$O/bin/hone-agent" -o agent.node=bench -o "controller.url=ipc://$D/c.sock" -o controller.silence=60s \
	-o controller.retry=100ms "$@" 2> "$D/agent.log" &
echo $! > "$D/agent.pid"
PIDS+=($!)
"$O/bench/agent_scale" "ipc://$D/c.sock" "$D/agent.pid" $SESSIOND "${STATES[@]}" || { tail -n 5 "$D/agent.log" >&2; exit 1; }
grep -E "warning|error" "$D/agent.log" >&2 || true
