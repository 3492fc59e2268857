#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests that begin in a program with libhone and go on in one with OpenTelemetry are one trace: its records come by LTTng and
# hone-agent, its spans by hone-otel, and the critical path leads through both.
# O: the folder that `make all agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root node npm jq lttng-sessiond
HONE_OTEL_MODULES=$(tools/otel_clients.sh) || skip "needs the packages of tests/scenario/otel/package-lock.json"
own_node
export HONE_OTEL_MODULES OTLP_URL=http://127.0.0.1:4318/v1/traces
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
pids=()
end() {
  local i
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}"; wait "${pids[i]}"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 12 "$D"/*.log; }
start() { # NAME COMMAND...
  "${@:2}" > "$D/$1.log" 2>&1 &
  pids+=($!)
}
connected() { hone agents --json | jq -e '[.agents[] | select(.connected and .tracer_ok)] | length == 2'; }
report() { hone report MIXED --json > "$D/report.json"; }
came() { report && jq -e '.types[0].count == 5' "$D/report.json"; }

echo 1..6
start sessiond lttng-sessiond --no-kernel
start honed honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" "${ALL_TRACED[@]}"
start agent hone-agent -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o agent.run_dir=/dev/shm/hone-agent -o below.enabled=no -o maps.folder="$D/maps"
start otel hone-otel -o controller.url="ipc://$D/agents.sock" -o spans.hold=500ms -o spans.delay=2s
check "hone-agent and hone-otel are connected, on one node" wait_for 30 connected
check "five requests go through both programs" env HONE_POLICY=/dev/shm/hone-policy "$O/tests/scenario/otel_caller" 5 tests/scenario/otel/client.js
check "hone report has them" wait_for 30 came
check "each is one trace, whole: none is incomplete" jq -e '.source.counts.traces == 5' "$D/report.json"
check "the path leads from libhone's fork into the span, and back to its join" jq -e '.types[0].groups | length > 0 and all(.path |
  (index("otel_caller/hone:fork(node)")) as $fork | .[$fork + 1] == "front/hone:unit_begin(GET /basket)" and
  (index("stock/hone:unit_begin(SELECT stock)")) > $fork and .[-2] == "otel_caller/hone:join(node)")' "$D/report.json"
check "only the program with libhone has a request type" bash -c "hone status --json | jq -e '[.types[].type] == [\"MIXED\"]'"
