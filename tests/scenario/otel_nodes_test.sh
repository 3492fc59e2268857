#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Services with OpenTelemetry on two nodes, each with a hone-otel of its own: a request through both is one trace, and a diagnosis of the first one's
# requests turns spans on in the second one, and names one of them.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs node npm jq
ahead_of_others
HONE_OTEL_MODULES=$(tools/otel_clients.sh) || skip "needs the packages of tests/scenario/otel/package-lock.json"
export NODE_PATH=$HONE_OTEL_MODULES/node_modules
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
pids=()
end() {
  local i
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}"; wait "${pids[i]}"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 20 "$D"/*.log; hone status; hone tracepoints; cat "$D/on"; }
start() { # NAME COMMAND...
  "${@:2}" > "$D/$1.log" 2>&1 &
  pids+=($!)
}
otel() { # NODE PORT: OTLP by HTTP at this one alone
  start "$1" hone-otel -o controller.url="ipc://$D/agents.sock" -o agent.node="$1" -o spans.hold=300ms -o spans.delay=700ms -o listen.otlp="127.0.0.1:$2" \
    -o listen.grpc= -o listen.zipkin= -o listen.opamp= -o listen.sampling=
}
connected() { hone agents --json | jq -e '[.agents[] | select(.connected and .tracer_ok)] | length == 2'; }
total() { hone tracepoints --json | jq -e ".total == $1"; }
on() { [ "$(wc -l < "$D/on")" = "$1" ]; }
came() { hone report --json > "$D/report.json" && jq -e 'any(.types[]; .type == "GET /page" and .count > 10)' "$D/report.json"; }
STEPS='["front/hone:request_begin(GET /page)", "front/hone:fork(GET)", "front/hone:unit_begin(GET)", "stock/hone:unit_begin(GET /stock)", "stock/hone:unit_end(GET /stock)",
  "front/hone:unit_end(GET)", "front/hone:join(GET)", "front/hone:request_end(GET /page)"]'

echo 1..12
start honed honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" -o learn.budget=90% "${ALL_TRACED[@]}" -o agents.enough=10 -o analysis.patience=8s
otel n1 4318
otel n2 14318
check "there is one hone-otel on each node" wait_for 30 connected
OTLP_URL=http://127.0.0.1:14318 start stock node tests/scenario/otel/nodes.js stock "$D/on"
wait_for 30 test -s "$D/stock.log" || bail "the service has no port"
OTLP_URL=http://127.0.0.1:4318 start front node tests/scenario/otel/nodes.js front "$(head -n 1 "$D/stock.log")"
check "spans that are off in the second service are tracepoints" wait_for 30 total 6
check "requests come" wait_for 40 came
check "each is one trace through both nodes, on one path" jq -e --argjson steps "$STEPS" '.types[] | select(.type == "GET /page") | .groups | length == 1 and .[0].path == $steps' "$D/report.json"
check "learning turns spans on in the second service, and off" timeout 60 hone learn --seconds 5 --wait
check "all are off" wait_for 20 on 0
# At 10 requests a second of 50, the other parts are alone here, and have a rate of their own. Under diagnosis all requests are sampled.
alone() { hone status --json | jq -e 'any(.types[]?; .type == "GET /stock" and .sampled < 0.9)'; }
check "parts whose request was not sampled are a type with a lower rate" wait_for 30 alone
check "a diagnosis of the first service's requests finds the fault" timeout 90 hone start "GET /page" --wait
found() {
  hone forest "GET /page" --json > "$D/forest.json" && jq -c '.runs[0] | {state, verdict: (.verdict | {edge, key})}' "$D/forest.json" &&
    jq -e '.runs[0] | .state == "found" and .verdict.edge.from == "stock/shop:weigh_begin" and .verdict.edge.to == "stock/shop:weigh_end"' "$D/forest.json"
}
check "its verdict names the service on the other node, scope and span" found
check "and the attribute of the span that explains it" jq -e '.runs[0].verdict.key.name == "stock/shop:weigh_begin.tries"' "$D/forest.json"
check "all spans are off when it says so" on 0
whole() {
  hone report --json > "$D/report.json" &&
    jq -e 'all(.types[] | select(.type == "GET /page") | .groups[]; .path | index("stock/hone:unit_begin(GET /stock)"))' "$D/report.json"
}
check "no request lacks the part of the second node" whole
exit $FAILED
