#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What many agents cost honed: a real honed, and pretended agents that speak the real frames to it (agent_link_fleet.c). One line of JSON:
# processor time, threads and memory of honed, the 50th and 99th percentile of the time from the oldest record of a batch to its arrival,
# and what honed made of the traces.
#   fleet.sh [--tls] [--callgrind] [--restart] AGENTS [idle|calm|RECORDS_PER_S] [SECONDS]
# idle: no records, a watermark each 100 ms. calm: none, a watermark each second. --callgrind: instructions instead of time, by function.
# --restart: then honed is killed (kill -9) and started again; a second line says what it took until all agents were back. FLEET_KEYS=folder: of
# `hone keys`, used again by the next run. FLEET_PERF=file: `perf record` of honed while it is measured. agent_link_fleet.c has more variables.
set -euo pipefail
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
tls= grind= restart=
while [[ ${1:-} == --* ]]; do
  case $1 in --tls) tls=1 ;; --callgrind) grind=1 ;; --restart) restart=1 ;; *) echo "fleet.sh: $1: no such option" >&2; exit 2 ;; esac
  shift
done
agents=${1:?usage: fleet.sh [--tls] [--callgrind] [--restart] AGENTS [idle|calm|RECORDS_PER_S] [SECONDS]} mode=${2:-idle} seconds=${3:-10}
rate=0 watermark_ms=100
case $mode in idle) ;; calm) watermark_ms=1000 ;; *) rate=$mode ;; esac
[ -x "$O/bench/agent_link_fleet" ] || make -s O="$O" "$O/bench/agent_link_fleet"
D=$(mktemp -d)
export PATH="$O/bin:$PATH" HONE_SOCKET="ipc://$D/honed.sock"
honed=
end() {
  [ -z "$honed" ] || { kill "$honed"; wait "$honed"; } 2> /dev/null || true
  rm -rf "$D"
}
trap end EXIT
ulimit -n "$(ulimit -Hn)"
url="ipc://$D/agents.sock" more=()
if [ -n "$tls" ]; then
  keys=${FLEET_KEYS:-$D/keys}
  [ -e "$keys/ca.pem" ] || hone keys init --dir "$keys" --host localhost > /dev/null
  for ((i = 0; i < agents; i++)); do [ -e "$keys/agents/n$i" ] || hone keys agent "n$i" --dir "$keys" > /dev/null; done
  url="tls://127.0.0.1:$((20000 + RANDOM % 10000))"
  more=(-o tls.ca="$keys/ca.pem" -o tls.certificate="$keys/controller.pem" -o tls.key="$keys/controller.key" -o tls.revoked="$keys/revoked.pem")
fi
most=$((agents * 2 > 10000 ? (agents > 9900 ? 16384 : 10000) : agents * 2 + 32))
[ "$rate" -eq 0 ] || more+=(-o agents.enough=0) # these agents send all that RECORDS_PER_S says, and honed shall not wish for less
run=()
[ -z "$grind" ] || run=(valgrind --tool=callgrind --callgrind-out-file="$D/callgrind" --instr-atstart=no)
start() {
  "${run[@]}" honed -o controller.agents="$url" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
    -o storage.space="$D/space.db" -o controller.connections_max="$most" -o controller.strangers_max=10000 "${more[@]}" \
    ${FLEET_HONED:-} 2>> "$D/honed.log" &
  honed=$!
}
start
for _ in $(seq 100); do hone status > /dev/null 2>&1 && break; sleep 0.1; done
if [ -n "$grind" ]; then # counting begins when all are connected
  (sleep "${GRIND_AFTER:-20}"; callgrind_control -i on "$honed" > /dev/null; sleep "$seconds"; callgrind_control -i off "$honed" > /dev/null) &
  seconds=$((seconds + ${GRIND_AFTER:-20}))
fi
perf=
if [ -n "${FLEET_PERF:-}" ]; then
  (sleep "${PERF_AFTER:-8}"; exec perf record -q -F 999 -o "$FLEET_PERF" -p "$honed" -- sleep "$seconds") 2> /dev/null &
  perf=$!
fi
[ -z "$restart" ] || export RESTART="$D/successor"
"$O/bench/agent_link_fleet" "$url" "$agents" "$seconds" "$watermark_ms" "$rate" "$honed" "${keys:-}" > "$D/fleet.json" &
fleet=$!
if [ -n "$restart" ]; then
  wait "$honed" 2> /dev/null || true
  start
  echo "$honed" > "$D/successor.new"
  mv "$D/successor.new" "$D/successor"
fi
wait "$fleet" || { tail -5 "$D/honed.log" >&2; exit 1; }
[ -z "$perf" ] || wait "$perf" || true
hone status --json > "$D/status.json"
jq -c --arg mode "$mode" --slurpfile s "$D/status.json" \
  'if .restart then . else { $mode } + . end + { delay_p50_ms: $s[0].delay.p50_ms, delay_p99_ms: $s[0].delay.p99_ms, counts: ($s[0].counts | with_entries(select(.value != 0 and (.value|type) == "number"))) }' "$D/fleet.json"
if [ -n "$grind" ]; then
  kill "$honed"; wait "$honed" || true; honed=
  callgrind_annotate "$D/callgrind" | grep -v '^--\|^$' | sed -n '1,45p'
fi
