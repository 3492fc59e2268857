#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Spans a second that hone-otel takes, with its default configuration on one processor, and what becomes of twice as many: of the spans
# that are sent, those that hone-otel or honed lost; memory and processor time of hone-otel. Then the instructions for each span, if
# valgrind is there.
#   HONE_OTEL="-o spans.memory=8MiB" otel_spans_load.sh [SECONDS [RATE]...]		HONE_OTEL: further arguments of hone-otel
# requested: spans of the traces that are requests in honed; unaccounted: spans of batches that were taken which are neither requests nor counted.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
seconds=${1:-10}
shift || true
[ $# -gt 0 ] || set -- 50000 100000
make -s O="$O" "$O/bench/otel_spans_load"
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
honed= otel=
end() {
  for p in $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null || true
  rm -rf "$D"
}
trap end EXIT
connected() { hone agents --json 2> /dev/null | jq -e '.agents | any(.connected)' > /dev/null; }
for rate; do
  honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
    -o storage.space="$D/space.db" -o agents.budget=90% -o agents.enough=1000000 2> "$D/honed.log" &
  honed=$!
  taskset -c 0 hone-otel -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o listen.otlp=127.0.0.1:14318 -o listen.grpc= -o listen.zipkin= \
    ${HONE_OTEL:-} 2> "$D/otel.log" &
  otel=$!
  for _ in $(seq 100); do connected && break; sleep 0.1; done
  "$O/bench/otel_spans_load" send 14318 "$rate" "$seconds" > "$D/sent" || true
  sleep 14 # the delay and the hold, and the last batches
  hone agents --json > "$D/agents.json"
  hone status --json > "$D/status.json"
  cpu=$(awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$otel/stat")
  jq -c --argjson rate "$rate" --argjson cpu "$cpu" --argjson kib "$(awk '/VmHWM/ { print $2 }' "/proc/$otel/status")" --slurpfile agents "$D/agents.json" --slurpfile status "$D/status.json" \
    '. + ($agents[0].agents[0] | { lost_queue, lost_decode }) + { requested: ($status[0].counts.traces * 6) } | . + { unaccounted: (.spans - 510 * .refused_batches - .requested - .lost_queue - .lost_decode) } + { wanted_rate: $rate, cpu_share: ($cpu / .seconds), cpu_us_span: ($cpu * 1e6 / .spans), memory_MiB: ($kib / 1024) }' "$D/sent"
  grep -o "of [0-9]* spans:.*" "$D/otel.log" || true
  for p in $otel $honed; do kill "$p"; wait "$p" || true; done
  honed= otel=
  rm -f "$D"/*.db
done
[ -z "${HONE_OTEL:-}" ] && command -v valgrind > /dev/null || exit 0
# 40,800 spans at 5,000/s by a clock of their own: some three seconds' worth are still held at the end.
valgrind --tool=callgrind --callgrind-out-file="$D/callgrind" "$O/bench/otel_spans_load" read 40800 5000 > /dev/null 2>&1
callgrind_annotate --inclusive=yes "$D/callgrind" | awk '
  / .*otel_source.c:otel_source_receive/ && !r { gsub(",", "", $1); r = $1 }
  / .*otel_source.c:otel_source_poll/ && !p { gsub(",", "", $1); p = $1 }
  END { printf "{\"instructions_span\": {\"receive\": %.0f, \"records\": %.0f}}\n", r / 40800, p / 15810 }'
