#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs without the gate: instrumentations are switched by OpAMP, sampling rates are told as Jaeger's remote sampling. They are off by default, on while
# Hone wants them, and as the operator configured them when hone-otel has ended, or after a kill when it has started again. hone-otel and honed speak TLS.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs python3 curl jq
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
honed= otel= programs=
end() {
  local p
  for p in $programs $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 20 "$D/otel.log" "$D/honed.log" "$D/programs.log"; hone status; hone tracepoints; cat "$D/told"; }
port=14320
tls() { echo "-o tls.ca=$D/keys/$1ca.pem -o tls.certificate=$D/keys/$1$2.pem -o tls.key=$D/keys/$1$2.key"; }
otel_up() { # NODE: whose keys it has, n1's if none is given
  hone-otel -o controller.url="tls://localhost:$port" $(tls "agents/${1:-n1}/" agent) -o agent.node=n1 -o spans.hold=100ms -o spans.delay=300ms -o listen.grpc= -o listen.zipkin= \
    -o opamp.off=express,fs -o opamp.poll=200ms -o sampling.rate=25% 2>> "$D/otel.log" &
  otel=$!
}
off() { grep -q "^config .*\"deactivate_instrumentations\": \"$1\"" "$D/told"; }
rate() { grep -q "^rate $1\$" "$D/told"; }
levers() { hone agents --json | jq -e '.agents[0].levers == {"shop": "opamp", "cart": "sampling"}'; }

echo 1..20
hone keys init --host localhost --dir "$D/keys" > "$D/keys.log" && hone keys agent n1 --dir "$D/keys" >> "$D/keys.log" && hone keys agent n2 --dir "$D/keys" >> "$D/keys.log" ||
  bail "no keys"
honed -o controller.agents="tls://127.0.0.1:$port" $(tls "" controller) -o tls.revoked="$D/keys/revoked.pem" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" -o learn.budget=90% -o search.budget=90% "${ALL_TRACED[@]}" 2>> "$D/honed.log" &
honed=$!
otel_up n2
refused() { hone agents --json | jq -e 'any(.refused[]; .words | contains("may speak for node n2 only"))'; }
check "hone-otel with the keys of another node is refused, with the reason" wait_for 20 refused
kill $otel && wait $otel
otel_up
tests/scenario/otel/levers.py "$D/told" 2> "$D/programs.log" &
programs=$!
check "hone agents has the lever of each service" wait_for 30 levers
check "also as text" bash -c "hone agents | grep -q '^n1 .*levers: .*shop opamp'"
check "what opamp.off names is off" wait_for 10 off "express,fs"
check "and is the search space, with events of spans" wait_for 10 bash -c "hone tracepoints --json | jq -e '[.tracepoints[].tracepoint] | sort == [\"event:answered\", \"opamp:express_begin\", \"opamp:express_end\", \"opamp:fs_begin\", \"opamp:fs_end\"]'"
check "an SDK is told the rates of the controller, by all three paths" wait_for 10 rate 1.0
count() { hone report --json | jq -e 'any(.types[]; .type == "GET /order" and .count > 20)'; }
check "requests come" wait_for 20 count

# ---- a diagnosis -------------------------------------------------------------------
hone learn --seconds 2 > /dev/null
check "learning turns instrumentations on" wait_for 10 off ""
check "and off" wait_for 20 off "express,fs"
learned() { hone space show "GET /order" > "$D/space.txt" && grep -q 'opamp:express_begin .*span.name' "$D/space.txt" && grep -q event:answered "$D/space.txt"; }
check "both are learned" wait_for 10 learned
check "a diagnosis finds the fault" timeout 60 hone start "GET /order" --wait
found() {
  hone forest "GET /order" --json > "$D/forest.json" && jq -c '.runs[0] | {state, verdict: (.verdict | {edge, key})}' "$D/forest.json" &&
    jq -e '.runs[0] | .state == "found" and (.verdict.edge | [.from, .to] | any(test("^shop/opamp:express_")))' "$D/forest.json"
}
check "its verdict names service and instrumentation" found
check "all of them are off when it says so" off "express,fs"

# ---- without a lease ---------------------------------------------------------------
hone learn --seconds 60 > /dev/null
wait_for 10 off "" > /dev/null
kill $otel && wait $otel
check "SIGTERM ends it: exit 0" test $? = 0
check "an agent does then what its application started with" grep -qx 'config {}' "$D/told"
check "and an SDK samples what the operator wants" rate 0.25
otel_up
check "they go on with another one" wait_for 20 off ""
kill -9 $otel && wait $otel 2> /dev/null
kill $honed && wait $honed
honed=
otel_up
check "what a killed one left is set back by the next one, without honed, too" wait_for 20 off "express,fs"
check "with the operator's rate" wait_for 10 rate 0.25
opamp=http://127.0.0.1:4320 rates=http://127.0.0.1:5778/sampling
status() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "${@:2}")" = "$1" ]; }
bad_questions() {
  status 404 -d x $opamp/ && status 405 $opamp/v1/opamp && status 415 -d x $opamp/v1/opamp && status 400 -H 'Content-Type: application/x-protobuf' -d hello $opamp/v1/opamp &&
    head -c 300000 /dev/zero > "$D/large" && status 413 -H 'Content-Type: application/x-protobuf' --data-binary @"$D/large" $opamp/v1/opamp &&
    status 400 $rates && status 400 "$rates?service=a%2Fb" && status 404 ${rates}s && status 405 -d x "$rates?service=a"
}
check "questions that are none are refused with the right status" bad_questions
exit $FAILED
