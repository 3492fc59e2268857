#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone export: of trace files, and of what honed keeps; each format is read by others' readers, compared with the requests as they are. Then to
# back ends that take it, refuse it, and do not answer.
# O: the folder that `make all` built. The readers: tests/scenario/export/package-lock.json, in a cache folder; flamegraph.pl of Debian's
# libdevel-nytprof-perl.
. "$(dirname "$0")/lib.sh"
. tests/scenario/jaeger.sh
FLAMEGRAPH=${FLAMEGRAPH:-/usr/share/perl5/Devel/NYTProf/flamegraph.pl}
needs node npm jq perl curl
[ -e "$FLAMEGRAPH" ] || skip "needs flamegraph.pl (libdevel-nytprof-perl)"
HONE_EXPORT_MODULES=$(tools/otel_clients.sh tests/scenario/export) || skip "needs the packages of tests/scenario/export/package-lock.json"
export HONE_EXPORT_MODULES
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
unset OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS OTEL_EXPORTER_OTLP_CERTIFICATE OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE
honed= otel= back= silent= waits=
end() {
  local p
  for p in $waits $silent $back $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { cat "$D/said" "$D/back.log" 2> /dev/null | head -c 2000; tail -n 5 "$D/honed.log" "$D/otel.log" 2> /dev/null; }

written() { # NAME ARGUMENTS: exports in all formats and as they are
  local name=$1 f
  shift
  hone export "$@" --json > "$D/$name.json" || return 1
  for f in otlp zipkin jaeger chrome folded pprof; do
    hone export "$@" --format $f --output "$D/$name.$f" > "$D/said" 2>&1 || { cat "$D/said"; return 1; }
  done
}
said_of() { # NAME FORMAT
  grep -A 10 "^$2 differs" "$D/judged.$1"
  grep -q "^$2 ok$" "$D/judged.$1"
}
read_by_others() { # NAME WORDS: five checks and the flame graph
  local f
  node tests/scenario/export/judge.js "$D/$1.json" $(printf "%s=$D/$1.%s " otlp otlp zipkin zipkin jaeger jaeger chrome chrome pprof pprof) > "$D/judged.$1" 2>&1
  for f in otlp:"OpenTelemetry's protobuf" zipkin:"the schema of Zipkin's API" jaeger:"the schema of Jaeger's JSON" chrome:"tracerbench's trace-model" pprof:pprof-format; do
    check "$2: ${f#*:} reads ${f%%:*}, and finds the same requests" said_of "$1" "${f%%:*}"
  done
  check "$2: folded has the stacks and times of the profile" diff <(sort "$D/$1.folded") <(grep ' [0-9]*$' "$D/judged.$1" | sort)
  check "$2: flamegraph.pl draws it" drawn "$1"
}
drawn() {
  local sum
  sum=$(awk '{ s += $NF } END { printf "%d", s }' "$D/$1.folded")
  perl "$FLAMEGRAPH" --countname=ns "$D/$1.folded" > "$D/$1.svg" 2> "$D/said" && [ ! -s "$D/said" ] &&
    tr -d , < "$D/$1.svg" | grep -q "<title>all ($sum ns 100%)"
}
fails() { # STATUS WORDS COMMAND...
  local status=$1 words=$2 rc
  shift 2
  "$@" > "$D/said" 2>&1
  rc=$?
  cat "$D/said"
  [ $rc = "$status" ] && grep -qE -e "$words" "$D/said"
}
back_end() { # ANSWERS: starts a back end; $url is where
  [ -z "$back" ] || { kill "$back"; wait "$back"; } 2> /dev/null
  node tests/scenario/export/back_end.js "$@" > "$D/back.log" 2>&1 &
  back=$!
  wait_for 10 grep -q port "$D/back.log"
  url=http://127.0.0.1:$(jq -r 'select(.port).port' "$D/back.log")
}
ended_with() { # STATUS NAME: what ran beside this
  wait "${!2}"
  [ $? = "$1" ]
}
came() { jq -s -e "map(select(.port | not)) | $1" "$D/back.log"; }

echo 1..50
jaeger "$D/in.json" 1 200 1000 4000

# ---- beside all this: back ends that do not answer, six times each ---------------
back_end hang || bail "the back end does not start"
silent=$back back=
mv "$D/back.log" "$D/silent.log"
hone export --slowest 3 "$D/in.json" --to "$url" --timeout 0.1 > "$D/hung" 2>&1 &
hung=$!
hone export --all "$D/in.json" --to http://127.0.0.1:1 --json > "$D/absent.json" 2> "$D/absent" &
absent=$!
waits="$hung $absent"

# ---- files ---------------------------------------------------------------------
check "hone export --all writes every format of a trace file" written all --all "$D/in.json"
read_by_others all "a file"
sed '0,/"name":"get"/s//"name":"got"/' "$D/all.zipkin" > "$D/wrong.zipkin"
check "a reader sees a span that is wrong" fails 0 "zipkin differs: name of" node tests/scenario/export/judge.js "$D/all.json" zipkin="$D/wrong.zipkin"
hone analyze "$D/in.json" --json > "$D/analysis.json"
check "group, shares and times of requests are those of the analysis" jq -e --slurpfile r "$D/analysis.json" '
  ($r[0].types[0].groups[0]) as $g | ($g.edges | map(.share) | add) as $shares | all(.requests[]; .group.group == $g.group and
  .group.problem == "unpredictable" and .group.usual_ms == $g.p50_ms and (([.units[].share] | add) - $shares | fabs) < 1e-9 and
  (([.units[].path_ms] | add) - .total_ms | fabs) < 1e-6)' "$D/all.json"
check "the unit of the planted delay has the share" jq -e 'all(.requests[].units[]; (.name == "get") == (.share > 0.9))' "$D/all.json"
for f in otlp zipkin jaeger; do
  hone analyze "$D/all.$f" --json > "$D/again.json" 2> "$D/said"
  check "hone analyze finds the same group in the exported $f" jq -e --slurpfile r "$D/analysis.json" '
    .types[0].groups[0].group == $r[0].types[0].groups[0].group and .types[0].count == 200 and
    (.types[0].groups[0].mean_ms - $r[0].types[0].groups[0].mean_ms | fabs) < 0.01' "$D/again.json"
done
hone export --slowest 3 "$D/in.json" --json > "$D/slow.json"
check "--slowest 3 are the slowest" jq -e --slurpfile all "$D/all.json" '
  ([.requests[].total_ms] | sort) == ([$all[0].requests[].total_ms] | sort | .[-3:])' "$D/slow.json"
check "a trace id chooses one" eval 'hone export 0000000000000011 "$D/in.json" --json | jq -e ".requests | length == 1 and .[0].trace == \"0000000000000011\""'
check "an unknown trace is a failure, and writes nothing" fails 1 "^hone: export: no file has the trace" hone export 1111111111111111 "$D/in.json" --output "$D/none"
check "no file is left then" test ! -e "$D/none"
check "standard input is refused" fails 1 "cannot be read twice" hone export --all - < "$D/in.json"
check "an unknown format is wrong usage" fails 2 "must be otlp, zipkin, jaeger, chrome, folded or pprof" hone export --all "$D/in.json" --format perfetto
check "chrome cannot be sent" fails 2 "only otlp and zipkin can be sent" hone export --all "$D/in.json" --format chrome --to http://127.0.0.1:1
check "an address without http is wrong usage" fails 2 "must begin with http" hone export --all "$D/in.json" --to ftp://x

# ---- to a back end --------------------------------------------------------------
back_end 200 || bail "the back end does not start"
export OTEL_EXPORTER_OTLP_HEADERS='x-key=a%20b'
check "OTLP is sent, in batches, to the usual path" fails 0 "600 spans of 200 requests, in 2 batches" hone export --all "$D/in.json" --to "$url"
unset OTEL_EXPORTER_OTLP_HEADERS
check "it came whole, gzipped, with the headers" came 'length == 2 and (map(.spans) | add) == 600 and all(.[]; .path == "/v1/traces" and .method == "POST" and
  .encoding == "gzip" and .type == "application/json" and .key == "a b" and (.agent | startswith("hone/")) and .error == null)'
check "Zipkin is sent to its path" fails 0 "600 spans" hone export --all "$D/in.json" --format zipkin --to "$url/"
check "it came whole" came '.[2:] | (map(.spans) | add) == 600 and all(.[]; .path == "/api/v2/spans")'
back_end 503+1 429 200
check "429 and 503 are tried again" fails 0 "9 spans .*2 retries" hone export --slowest 3 "$D/in.json" --to "$url"
check "after the time of Retry-After, and after about 0.75 s without it" came 'length == 3 and .[1].after_ms >= 1000 and .[1].after_ms < 4000 and .[2].after_ms >= 375'
back_end partial 200
check "what the back end rejects is counted, told, and a failure" fails 1 "2 spans were rejected.*200: two are too old" hone export --all "$D/in.json" --to "$url"
check "it is not sent again" came 'length == 2'
back_end 400 200
check "400 is not tried again: dropped, told, and the rest is sent" fails 1 "[1-9][0-9]* in 1 batches dropped.*answered 400: .*as told" hone export --all "$D/in.json" --to "$url"
check "it came once" came 'length == 2'
# ---- what honed keeps -------------------------------------------------------------
check "hone export without honed fails" fails 1 "Connection refused|no program listens|No such file" hone export --all
honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" "${ALL_TRACED[@]}" 2> "$D/honed.log" &
honed=$!
hone-otel -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o spans.hold=100ms -o spans.delay=500ms \
  -o listen.otlp=127.0.0.1:4318 -o listen.zipkin=127.0.0.1:9411 2>> "$D/otel.log" &
otel=$!
connected() { hone agents --json | jq -e '.agents | any(.node == "n1" and .connected)'; }
wait_for 20 connected || bail "hone-otel does not connect"
check "hone export before the first request fails and says so" fails 1 "no complete request yet" hone export --all
sent() { node tests/scenario/export/spans.js 100 | curl -sf -o /dev/null -H 'Content-Type: application/json' --data-binary @- http://127.0.0.1:4318/v1/traces; }
sent || bail "hone-otel does not take spans"
counted() { hone report --json | jq -e '[.types[].count] == [100]'; }
check "honed has the requests" wait_for 20 counted
check "hone export --all writes every format of what honed keeps" written live --all
check "honed keeps the 32 slowest of a type and 32 others" jq -e '(.requests | length) == 64 and
  ([.requests[].total_ms] | . == (sort | reverse)) and all(.requests[]; .type == "GET /basket" and
  (.units[1].fields | keys) == ["failed", "rows"])' "$D/live.json"
read_by_others live "honed"
check "hone export TRACE of one that honed keeps" eval 'hone export "$(jq -r ".requests[5].trace" "$D/live.json")" --format otlp | jq -e "[.resourceSpans[].scopeSpans[].spans[]] | length == 2"'

# ---- what ran beside -------------------------------------------------------------
check "a back end that does not answer in time is given up" ended_with 1 hung
check "the spans are dropped, with the reason" grep -qE "9 in 1 batches dropped; .*[Tt]imed? ?out" "$D/hung"
check "after six attempts" eval '[ "$(grep -c hang "$D/silent.log")" = 6 ]'
check "without a back end it fails" ended_with 1 absent
check "all is dropped then, after one batch was tried" jq -e '.spans == 0 and .dropped == 600 and .retries == 5 and (.why | test("connect"))' "$D/absent.json"
waits=
exit $FAILED
