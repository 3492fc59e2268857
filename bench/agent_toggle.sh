#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How long a command takes from the controller to the tracepoint, on a node of PROGRAMS programs of 150 tracepoints.
# O: where `make agent-bench` built. Usage: agent_toggle.sh [PROGRAMS] [ROUNDS]
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
PIDS+=($!)
until lttng -n list > /dev/null 2>&1; do sleep 0.05; done
STATES=()
for i in $(seq "${1:-8}"); do
	"$O/tests/scenario/agent_program" "$D/$i.state" 5000 &
	PIDS+=($!)
	STATES+=("$D/$i.state")
	until [ -s "$D/$i.state" ]; do sleep 0.01; done
done
for others in 0 20; do
	"$O/bin/hone-agent" -o agent.node=bench -o "controller.url=ipc://$D/$others.sock" -o controller.silence=60s \
		-o controller.retry=100ms 2> "$D/agent.log" &
	AGENT=$!
	PIDS+=($AGENT)
	"$O/bench/agent_toggle" "ipc://$D/$others.sock" "${2:-100}" $others "${STATES[@]}"
	kill $AGENT
	wait $AGENT
done
