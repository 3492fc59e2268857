#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Spans of a Node service that are off by default are the search space: hone-otel-gate turns them on while Hone wants them, the verdict
# names service, scope and span, and they are off afterwards, also when hone-otel or honed was killed.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs node npm curl jq
ahead_of_others
HONE_OTEL_MODULES=$(tools/otel_clients.sh) || skip "needs the packages of tests/scenario/otel/package-lock.json"
export NODE_PATH=$HONE_OTEL_MODULES/node_modules OTLP_URL=http://127.0.0.1:4318
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
honed= otel= service=
end() {
  local p
  for p in $service $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 20 "$D/otel.log" "$D/honed.log" "$D/service.log"; hone status; hone tracepoints; cat "$D/on"; }
honed_up() {
  honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
    -o storage.space="$D/space.db" -o learn.budget=90% "${ALL_TRACED[@]}" 2>> "$D/honed.log" &
  honed=$!
}
otel_up() {
  hone-otel -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o levels.info='shop:tax, shop:render' -o spans.hold=300ms -o spans.delay=700ms -o listen.zipkin= 2>> "$D/otel.log" &
  otel=$!
}
total() { hone tracepoints --json | jq -e ".total == $1"; }
on() { [ "$(wc -l < "$D/on")" = "$1" ]; }
count() { hone report --json > "$D/report.json" && jq -e 'any(.types[]; .type == "GET /order" and .count > 10)' "$D/report.json"; }

echo 1..23
check "the package's own tests pass" node --test npm/hone-otel-gate/test/
honed_up
otel_up
node tests/scenario/otel/gated.js "$D/on" 2> "$D/service.log" &
service=$!
check "spans that are off are tracepoints, each with two ends" wait_for 20 total 8
check "hone agents has the service, and how much a span costs it" wait_for 10 bash -c "hone agents --json | jq -e '.agents[0] | .services == [\"gated\"] and .programs == 1 and .added == 0'"
check "requests come" wait_for 20 count
check "without the spans that are off, their children below the span above" jq -e '[.types[] | select(.type == "GET /order") | .groups[].path[]] | unique == ["gated/hone:fork(SELECT)",
  "gated/hone:join(SELECT)", "gated/hone:request_begin(GET /order)", "gated/hone:request_end(GET /order)", "gated/hone:unit_begin(SELECT)", "gated/hone:unit_end(SELECT)"]' "$D/report.json"
check "none is on" on 0

# ---- a diagnosis -------------------------------------------------------------------
hone learn --seconds 2 > /dev/null
check "learning turns them on" wait_for 10 on 4
learned() { hone status --json | jq -e '.learning == null or .learning == false' && on 0; }
check "and off" wait_for 20 learned
check "a diagnosis finds the fault" timeout 60 hone start "GET /order" --wait
found() {
  hone forest "GET /order" --json > "$D/forest.json" && jq -c '.runs[0] | {state, verdict: (.verdict | {edge, key})}' "$D/forest.json" &&
    jq -e '.runs[0] | .state == "found" and .verdict.edge.from == "gated/shop:voucher_begin" and .verdict.edge.to == "gated/shop:voucher_end"' "$D/forest.json"
}
check "its verdict names service, scope and span" found
check "and the attribute of the span that explains it" jq -e '.runs[0].verdict.key.name == "gated/shop:voucher_begin.tries"' "$D/forest.json"
check "all spans are off when it says so" on 0

# ---- log levels --------------------------------------------------------------------
listed() { hone levels --json | jq -e '[.services[0].levels[] | [.level, .tracepoints]] == [["info", 4], ["debug-line", 4]]'; }
check "spans have the log levels of their patterns" listed
check "those of a level are turned on" hone levels gated info --force
check "for requests that nobody diagnoses" wait_for 20 on 2
counted() { hone levels --json | jq -e '.services[0].levels[0] | .on and .counted and .per_second > 1'; }
check "and their records are counted" wait_for 60 counted
check "they are set off" hone levels gated off
check "and are off" wait_for 20 on 0

# ---- leases ------------------------------------------------------------------------
hone learn --seconds 60 > /dev/null
wait_for 10 on 4 > /dev/null
kill -9 $otel && wait $otel 2> /dev/null
check "spans that were on when hone-otel was killed are on until their lease ends" on 4
check "which is soon" wait_for 7 on 0
otel_up
check "they go on with another one" wait_for 10 on 4
kill -9 $honed && wait $honed 2> /dev/null
check "and off when honed is killed" wait_for 8 on 0
honed=
post() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "${@:2}" $OTLP_URL/hone/v1/gate)" = "$1" ]; }
bad_questions() {
  post 405 && post 415 -d '{}' && post 400 -H 'Content-Type: application/json' -d '{"service":' &&
    head -c 700000 /dev/zero | tr '\0' x > "$D/large" && post 413 -H 'Content-Type: application/json' --data-binary @"$D/large"
}
check "questions that are none are refused with the right status" bad_questions
exit $FAILED
