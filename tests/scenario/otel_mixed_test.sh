#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests that go from a program with libhone to one with OpenTelemetry, and from that to one with libhone, are one trace: its records come
# by LTTng and hone-agent, its spans by hone-otel, and the critical path leads through all. So are those that begin with OpenTelemetry.
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
report() { hone report "$1" --json > "$D/${1////_}.json"; }
came() { report "$1" && jq -e --argjson n "$2" '.types[0].count == $n' "$D/${1////_}.json"; }
whole() { hone report --json | jq -e '.source.counts.traces == 10 and ([.source.counts.incomplete // {} | .. | numbers] | add // 0) == 0'; }
# path TYPE STEP...: each group of the type has this path
path() { jq -e --args '.types[0].groups | length > 0 and all(.path == $ARGS.positional)' "$D/${1////_}.json" "${@:2}"; }

echo 1..8
start sessiond lttng-sessiond --no-kernel
start honed honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" "${ALL_TRACED[@]}"
start agent hone-agent -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o agent.run_dir=/dev/shm/hone-agent -o below.enabled=no -o maps.folder="$D/maps"
start otel hone-otel -o controller.url="ipc://$D/agents.sock" -o spans.hold=3s -o spans.delay=3s
check "hone-agent and hone-otel are connected, on one node" wait_for 30 connected
check "five requests go from libhone by OpenTelemetry to libhone, and five begin with OpenTelemetry" env HONE_POLICY=/dev/shm/hone-policy \
  "$O/tests/scenario/otel_caller" call 5 node tests/scenario/otel/between.js 5 "$O/tests/scenario/otel_caller" serve
check "hone report has the five that began with libhone" wait_for 30 came MIXED 5
check "the path leads through the spans into the program that they call, and back" path MIXED "otel_caller/hone:request_begin(MIXED)" \
  "otel_caller/hone:fork(node)" "between/hone:unit_begin(GET /between)" "between/hone:fork(CALL stock)" "between/hone:unit_begin(CALL stock)" \
  "otel_caller/hone:unit_begin(stock)" "otel_caller/hone:unit_end(stock)" "between/hone:unit_end(CALL stock)" "between/hone:join(CALL stock)" \
  "between/hone:unit_end(GET /between)" "otel_caller/hone:join(node)" "otel_caller/hone:request_end(MIXED)"
check "hone report has the five that began with OpenTelemetry" wait_for 30 came "GET /own" 5
check "all ten are whole" whole
check "by traceparent alone, a request that began in the program that was called is a unit of the span" path "GET /own" \
  "between/hone:request_begin(GET /own)" "between/hone:fork(CALL stock)" "between/hone:unit_begin(CALL stock)" \
  "otel_caller/hone:unit_begin(STOCK)" "otel_caller/hone:unit_end(STOCK)" "between/hone:unit_end(CALL stock)" "between/hone:join(CALL stock)" \
  "between/hone:request_end(GET /own)"
check "no other requests are seen" bash -c "hone status --json | jq -e '[.types[].type] | sort == [\"GET /own\", \"MIXED\"]'"
