#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# OpAMP with a real agent: Elastic's distribution of OpenTelemetry for Node, with a program that is not changed. An instrumentation is off by default, on while
# Hone learns, and as the application configured it when hone-otel has ended; the program itself sees that.
# O: the folder that `make all` built. The packages: tests/scenario/elastic/package-lock.json, in a cache folder.
. "$(dirname "$0")/lib.sh"
needs node npm jq
MODULES=$(tools/otel_clients.sh tests/scenario/elastic) || skip "needs the packages of tests/scenario/elastic/package-lock.json"
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
honed= otel= service=
end() {
  local p
  for p in $service $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 12 "$D/otel.log" "$D/honed.log" "$D/service.log"; hone agents; hone tracepoints; cat "$D/state"; }
otel_up() {
  hone-otel -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o opamp.off=undici -o opamp.poll=200ms -o spans.hold=500ms -o spans.delay=1s \
    -o listen.zipkin= -o listen.grpc= 2>> "$D/otel.log" &
  otel=$!
}
is() { grep -qx "$1" "$D/state" || { cat "$D/state"; return 1; }; }
lever() { hone agents --json | jq -e '.agents[0].levers == {"shop": "opamp"}'; }
listed() { hone tracepoints --json | jq -e '[.tracepoints[].tracepoint] == ["opamp:undici_begin", "opamp:undici_end"]'; }
seen() { hone report --json | jq -e 'any(.types[]; .count > 20)'; }
learned() { hone space show "$(hone status --json | jq -r '.types | max_by(.traces) | .type')" > "$D/space" && grep opamp:undici_begin "$D/space"; }

echo 1..9
honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" -o learn.budget=90% "${ALL_TRACED[@]}" 2>> "$D/honed.log" &
honed=$!
otel_up
ELASTIC_OTEL_OPAMP_ENDPOINT=http://127.0.0.1:4320/v1/opamp OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_METRICS_EXPORTER=none \
  OTEL_LOGS_EXPORTER=none OTEL_SERVICE_NAME=shop OTEL_BSP_SCHEDULE_DELAY=100 OTEL_NODE_RESOURCE_DETECTORS=env,host,process \
  node --import "file://$MODULES/node_modules/@elastic/opentelemetry-node/import.mjs" tests/scenario/elastic/app.js "$D/state" > "$D/service.log" 2>&1 &
service=$!
check "hone agents says that the service obeys OpAMP" wait_for 60 lever
check "the instrumentation that opamp.off names is the search space" wait_for 20 listed
check "and off in the program" wait_for 20 is off
check "requests come" wait_for 30 seen
hone learn --seconds 8 > /dev/null
check "learning turns it on" wait_for 20 is on
check "and off" wait_for 30 is off
check "its spans were learned, as tracepoints" wait_for 10 learned
kill $otel && wait $otel
check "SIGTERM ends hone-otel: exit 0" test $? = 0
check "and the program does what its application started with" wait_for 10 is on
exit $FAILED
