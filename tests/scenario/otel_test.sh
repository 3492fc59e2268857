#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone-otel with real clients: OpenTelemetry's SDK for Node (2.x and 3.x) sends spans by OTLP in JSON and protobuf over HTTP, and by gRPC, with and
# without gzip, and by Zipkin's API; `hone report` shows their requests, whole, and finds the planted fault. Malformed and excessive requests.
# O: the folder that `make all` built. The client's packages: tests/scenario/otel/package-lock.json, in a cache folder.
. "$(dirname "$0")/lib.sh"
needs node npm curl jq gzip python3
ahead_of_others
HONE_OTEL_MODULES=$(tools/otel_clients.sh) || skip "needs the packages of tests/scenario/otel/package-lock.json"
export HONE_OTEL_MODULES
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH" XDG_DATA_HOME=$D/home
honed= otel= load=
end() {
  local p
  for p in $load $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 20 "$D/otel.log" "$D/honed.log"; }
otel_up() { # ARGUMENTS: starts hone-otel, with spans that come soon; waits until it is connected
  hone-otel -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o spans.hold=2s -o spans.delay=2s \
    -o listen.otlp=127.0.0.1:4318 -o listen.grpc=127.0.0.1:4317 -o listen.zipkin=127.0.0.1:9411 "$@" 2>> "$D/otel.log" &
  otel=$!
  wait_for 20 connected
}
connected() { hone agents --json | jq -e '.agents | any(.node == "n1" and .connected)'; }
client() { # NAME ARGUMENTS: runs the client; what it says is in NAME.json
  "${NODE:-node}" tests/scenario/otel/client.js "${@:2}" > "$D/$1.json"
}
quiet() { # NAME ENDED
  cat "$D/$1.json"
  jq -e '.ended == '"$2"' and .said == []' "$D/$1.json"
}
report() { hone report --json > "$D/report.json"; }
counted() { report && jq -e '[.types[] | {(.type): .count}] | add == {"GET /basket": '"$1"', "GET /ping": '"$1"'}' "$D/report.json"; }
post() { # STATUS CURL'S ARGUMENTS: the status of the answer; its head and body are in `head` and `body`
  local status=$1 came
  shift
  came=$(curl -s -m 20 -D "$D/head" -o "$D/body" -w '%{http_code}' -X POST "$@")
  echo "$came"
  head -c 300 "$D/body"
  [ "$came" = "$status" ]
}
traces=http://127.0.0.1:4318/v1/traces zipkin=http://127.0.0.1:9411/api/v2/spans
json='Content-Type: application/json' proto='Content-Type: application/x-protobuf'
export OTLP_URL=$traces ZIPKIN_URL=$zipkin OTLP_GRPC_URL=http://127.0.0.1:4317
call() { # CODE METHOD FILE CURL'S ARGUMENTS: a call by gRPC of this method of OTLP, whose body is the file; head and trailers are in `head`
  curl -s -m 20 --http2-prior-knowledge -D "$D/head" -o "$D/body" -H 'content-type: application/grpc' -H 'te: trailers' --data-binary @"$3" "${@:4}" \
    "$OTLP_GRPC_URL/opentelemetry.proto.collector.$2/Export"
  cat "$D/head"
  grep -qi "^grpc-status: $1" "$D/head"
}

echo 1..58
honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" "${ALL_TRACED[@]}" 2> "$D/honed.log" &
honed=$!
otel_up || bail "hone-otel does not connect"
check "it says where it listens, and who reaches that" grep -q "listens at http://127.0.0.1:4318/v1/traces: reached from this machine only" "$D/otel.log"

# ---- real clients --------------------------------------------------------------
check "the SDK sends by OTLP in JSON" client json json 160
check "the SDK sends by OTLP in protobuf, with gzip" client proto proto 160 gzip
check "the SDK sends in JSON with gzip" client gzip json 80 gzip
check "the SDK sends by Zipkin's API" client zipkin zipkin 80
check "the SDK sends by gRPC" client grpc grpc 160
check "the SDK sends by gRPC with gzip" client grpc_gzip grpc 80 gzip
for it in json:480 proto:480 gzip:240 zipkin:240 grpc:480 grpc_gzip:240; do
  check "${it%%:*}: all spans ended, and the SDK logged nothing" quiet "${it%%:*}" "${it##*:}"
done
# The line 3.x needs a newer Node than Debian's, which comes with its packages.
newer=0
if modules3=$(tools/otel_clients.sh tests/scenario/otel3) && node3=$(ls "$modules3"/node_modules/node-linux-*/bin/node); then
  newer=240
  for it in json:gzip proto:none grpc:gzip; do
    name=${it%:*}_3
    HONE_OTEL_MODULES=$modules3 NODE=$node3 check "the SDK's line 3.x sends by ${it%:*}, ${it#*:}" client "$name" "${it%:*}" 160 "${it#*:}"
    check "$name: all spans ended, and the SDK logged nothing" quiet "$name" 480
  done
else
  for it in 1 2 3 4 5 6; do echo "ok $((N += 1)) # SKIP the packages of tests/scenario/otel3 are not there and cannot be fetched"; done
fi
check "hone report has every request of both types" wait_for 30 counted $((360 + newer))
nothing_lost() { hone agents --json | jq -e '.agents[0] | [.lost_ring, .lost_queue, .lost_decode] == [0, 0, 0]'; }
check "and nothing is lost" nothing_lost
check "hone agents names the services that send spans" bash -c "hone agents --json | jq -e '.agents[0] | (.services | sort) == [\"front\", \"stock\"] and .programs == 2'"
check "events of spans are tracepoints" wait_for 20 bash -c "hone tracepoints --json | jq -e '[.. | strings] | any(test(\"event:began\"))'"
check "requests lead through both services" jq -e '.types[] | select(.type == "GET /basket") | .groups | map(select(.path | any(test("^stock/hone:unit_begin\\(SELECT stock\\)$")) and
  any(test("^front/hone:fork\\(render\\)$")))) | map(.count) | add >= 200' "$D/report.json"
check "the planted fault is the first edge: the slow statement" jq -e '.types[] | select(.type == "GET /basket") | .groups | max_by(.count) | .edges | max_by(.share) |
  .from == "stock/hone:unit_begin(SELECT stock)" and .to == "stock/hone:unit_end(SELECT stock)" and .owner_service == "stock" and .share > 0.5' "$D/report.json"
check "and its attribute explains it" jq -e '.types[] | select(.type == "GET /basket") | [.groups[].keys[]] |
  any(.name | test("SELECT stock\\)\\.rows$"))' "$D/report.json"
[ -z "${KEEP:-}" ] || cp "$D/report.json" "$KEEP"
compared() { hone baseline save spans && hone report --baseline spans --json | jq -e '.baseline.name == "spans" and .baseline.types_vanished == []'; }
check "the report is a baseline, with which later ones are compared" compared
analyzed() { hone export --all --format otlp --output "$D/spans.json" && hone analyze "$D/spans.json" --json | jq -e '[.types[].type] | sort == ["GET /basket", "GET /ping"]'; }
check "hone export gives requests, which hone analyze reads" analyzed

# ---- requests by hand ----------------------------------------------------------
now=$(date +%s%N)
span="{\"traceId\":\"000000000000000000000000000000a1\",\"spanId\":\"00000000000000b1\",\"name\":\"GET /hand\",\"kind\":2,\"startTimeUnixNano\":\"$((now - 5000000))\",\"endTimeUnixNano\":\"$now\"}"
bad="{\"traceId\":\"000000000000000000000000000000a2\",\"spanId\":\"00000000000000b2\",\"name\":\"x\",\"startTimeUnixNano\":\"$now\",\"endTimeUnixNano\":\"$((now - 5))\"}"
wrap() { echo "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"hand\"}}]},\"scopeSpans\":[{\"spans\":[$1]}]}]}"; }
wrap "$span,$bad" > "$D/two.json"
check "partial success names what was not taken" bash -c "$(declare -f post); D='$D'; post 200 -H '$json' --data-binary @'$D/two.json' $traces &&
  jq -e '.partialSuccess.rejectedSpans == \"1\" and (.partialSuccess.errorMessage | test(\"ends before it begins\"))' '$D/body'"
wrap "$span" | gzip > "$D/again.gz"
check "the same span again, chunked and with gzip, is taken and not counted twice" post 200 -H "$json" -H 'Content-Encoding: gzip' -H 'Transfer-Encoding: chunked' --data-binary @"$D/again.gz" $traces
has_hand() { report && jq -e 'any(.types[]; .type == "GET /hand" and .count == 1)' "$D/report.json"; }
check "it is one request" wait_for 20 has_hand
check "an empty request succeeds, in the form of its type" bash -c "$(declare -f post); D='$D'; post 200 -H '$proto' --data-binary '' $traces && [ ! -s '$D/body' ] &&
  grep -qi '^content-type: application/x-protobuf' '$D/head'"
check "malformed JSON is 400 and a google.rpc.Status" bash -c "$(declare -f post); D='$D'; post 400 -H '$json' --data-binary '{\"resourceSpans\":[{' $traces && jq -e '.code == 3 and .message != \"\"' '$D/body'"
# of SPAN_ID PARENT_ID TRACE: the span above with these ids
of() { sed "s/\"spanId\":\"[0-9a-f]*\"/\"spanId\":\"$1\",\"parentSpanId\":\"$2\"/; s/a1\"/$3\"/" <<< "$span"; }
wrap "$(of b3 b1 a3),$(of 00000000000000b4 "" a4),$(of 00000000000000b5 00000000000000ff a4)" > "$D/ids.json"
check "a span with ids of a wrong length is refused, and one whose parent may come is taken" bash -c "$(declare -f post); D='$D'; post 200 -H '$json' --data-binary @'$D/ids.json' $traces &&
  jq -e '.partialSuccess.rejectedSpans == \"1\" and (.partialSuccess.errorMessage | test(\"wrong length\"))' '$D/body'"
check "to Zipkin's API, which knows no partial success, it is 400" post 400 -H "$json" --data-binary \
  "[{\"traceId\":\"a5\",\"id\":\"b1\",\"parentId\":\"none\",\"name\":\"x\",\"timestamp\":${now%???},\"duration\":5}]" $zipkin
check "malformed protobuf is 400" post 400 -H "$proto" --data-binary 'hello' $traces
check "metrics and logs are 404, with what to do" bash -c "$(declare -f post); D='$D'; post 404 -H '$proto' --data-binary x http://127.0.0.1:4318/v1/metrics && grep -q OTEL_METRICS_EXPORTER '$D/body' &&
  post 404 -H '$json' --data-binary '{}' http://127.0.0.1:4318/v1/logs"
check "another type, encoding or method: 415, 415, 405" bash -c "$(declare -f post); D='$D'; post 415 -H 'Content-Type: text/plain' --data-binary x $traces &&
  post 415 -H '$json' -H 'Content-Encoding: br' --data-binary x $traces && [ \"\$(curl -s -o /dev/null -w '%{http_code}' $traces)\" = 405 ]"
head -c 104857600 /dev/zero | gzip -9 > "$D/bomb.gz"
check "a bomb of gzip is 413, and costs no memory" bash -c "$(declare -f post); D='$D'; post 413 -H '$json' -H 'Content-Encoding: gzip' --data-binary @'$D/bomb.gz' $traces &&
  [ \$(awk '/VmHWM/ { print \$2 }' /proc/$otel/status) -lt 131072 ]"

printf '\0\0\0\0\0' > "$D/empty"
check "an empty call by gRPC succeeds" call 0 trace.v1.TraceService "$D/empty"
check "metrics by gRPC are UNIMPLEMENTED" call 12 metrics.v1.MetricsService "$D/empty"
printf '\0\0\0\0\5hello' > "$D/hello"
check "a malformed message by gRPC is INVALID_ARGUMENT" call 3 trace.v1.TraceService "$D/hello"
python3 -c 'import sys; b = sys.stdin.buffer.read(); sys.stdout.buffer.write(bytes([1]) + len(b).to_bytes(4, "big") + b)' < "$D/bomb.gz" > "$D/bomb"
check "a bomb by gRPC is RESOURCE_EXHAUSTED" call 8 trace.v1.TraceService "$D/bomb" -H 'grpc-encoding: gzip'
# 512 connections are the bound.
crowded() { [ "$(ls "/proc/$otel/fd" | wc -l)" -gt 500 ]; }
unheard() { # PROTOCOL PORT: of connections that say nothing, before the client comes and meanwhile
  local silent rc
  tests/scenario/otel/silent.py 6000 "$2" > "$D/silent.out" &
  silent=$!
  wait_for 20 crowded
  node tests/scenario/otel/client.js "$1" 16 > "$D/silent.json" && jq -e '.ended == 48 and .said == []' "$D/silent.json" &&
    [ "$(awk '/VmHWM/ { print $2 }' "/proc/$otel/status")" -lt 131072 ]
  rc=$?
  kill $silent && wait $silent
  return $rc
}
for it in grpc:4317 json:4318 zipkin:9411; do
  check "of 6,000 connections that say nothing a client by ${it%:*} sees nothing" unheard "${it%:*}" "${it#*:}"
done

# ---- a full queue ----------------------------------------------------------------
kill $otel && wait $otel
check "SIGTERM ends it: exit 0" test $? = 0
check "it has said how many spans it rejected, whose parents never came, and how many silent connections it closed" bash -c "grep 'of [0-9]* spans: [1-9][0-9]* rejected' '$D/otel.log' &&
  grep '[1-9][0-9]* traces left out since spans of them are missing' '$D/otel.log' &&
  grep -q '[1-9][0-9][0-9]* silent connections closed for new ones' '$D/otel.log'"
otel_up -o spans.memory=1MiB -o spans.hold=3s -o spans.age=10s || bail "hone-otel does not connect again"
# Spans of 5,600 traces are over 90 % of 1 MiB: 176 bytes each.
fill() {
  awk -v end="$(date +%s%N)" 'BEGIN {
    printf "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
    for (i = 1; i <= 5600; i++)
      printf "%s{\"traceId\":\"%032x\",\"spanId\":\"%016x\",\"name\":\"fill\",\"startTimeUnixNano\":\"%s\",\"endTimeUnixNano\":\"%s\"}", (i > 1 ? "," : ""), i, i, end, end
    printf "]}]}]}" }' > "$D/fill.json"
  post 200 -H "$json" --data-binary @"$D/fill.json" $traces
}
check "spans fill the memory" fill
check "then the answer is 503, to be repeated after 2 s" post 503 -H "$json" --data-binary @"$D/two.json" $traces
check "which it says" grep -qi '^retry-after: 2' "$D/head"
check "by gRPC it is UNAVAILABLE, with RetryInfo of 2 s" bash -c "$(declare -f call); D='$D' && call 14 trace.v1.TraceService '$D/empty' &&
  sed -n 's/^grpc-status-details-bin: *\([^[:cntrl:]]*\).*/\1==/p' '$D/head' | base64 -d 2> /dev/null | grep -qa 'google.rpc.RetryInfo'"
check "the SDK repeats its requests" client retry json 8
all_came() { report && jq -e '[.types[] | select(.type == "GET /basket" or .type == "GET /ping") | .count] == ['"$((388 + newer)), $((388 + newer))"']' "$D/report.json"; }
check "and none of its spans is lost" wait_for 20 all_came

# ---- a diagnosis -----------------------------------------------------------------
kill $otel && wait $otel
otel_up || bail "hone-otel does not connect for the third time"
node tests/scenario/otel/client.js proto 100000 gzip > /dev/null &
load=$!
kill_load() { kill $load && { wait $load || true; }; }
busy() { hone report --reset --json | jq -e 'any(.types[]; .type == "GET /basket" and .count >= 5)'; }
wait_for 20 busy > /dev/null
check "hone check finds the instrumentation right" hone check "GET /basket"
check "a diagnosis ends" timeout 120 hone start "GET /basket" --wait
found() {
  hone forest "GET /basket" --json > "$D/forest.json" &&
    jq -c '.runs[0] | {state, edge: .verdict.edge}, .verdict.keys' "$D/forest.json" &&
    jq -e '.runs[0] | .state == "found" and .verdict.edge.from == "stock/hone:unit_begin(SELECT stock)" and
      .verdict.edge.to == "stock/hone:unit_end(SELECT stock)" and (.verdict | tostring | contains("unit_begin(SELECT stock).rows"))' "$D/forest.json"
}
check "and finds the slow statement and its attribute, without a tracepoint" found
check "the load ends" kill_load
