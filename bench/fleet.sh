#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What many agents cost honed: a real honed, and pretended agents that speak the real frames to it (agent_link_fleet.c). One line of JSON:
# processor time, threads and memory of honed, the 50th and 99th percentile of the time from the oldest record of a batch to its arrival,
# and what honed made of the traces.
#   fleet.sh [--tls] [--callgrind] AGENTS [idle|calm|RECORDS_PER_S] [SECONDS]
# idle: no records, a watermark each 100 ms. calm: none, a watermark each second. --callgrind: instructions instead of time, by function.
set -euo pipefail
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
tls= grind=
while [[ ${1:-} == --* ]]; do
  case $1 in --tls) tls=1 ;; --callgrind) grind=1 ;; *) echo "fleet.sh: $1: no such option" >&2; exit 2 ;; esac
  shift
done
agents=${1:?usage: fleet.sh [--tls] [--callgrind] AGENTS [idle|calm|RECORDS_PER_S] [SECONDS]} mode=${2:-idle} seconds=${3:-10}
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
  hone keys init --dir "$D/keys" --host localhost > /dev/null
  for ((i = 0; i < agents; i++)); do hone keys agent "n$i" --dir "$D/keys" > /dev/null; done
  url="tls://127.0.0.1:$((20000 + RANDOM % 10000))"
  more=(-o tls.ca="$D/keys/ca.pem" -o tls.certificate="$D/keys/controller.pem" -o tls.key="$D/keys/controller.key" -o tls.revoked="$D/keys/revoked.pem")
fi
most=$((agents * 2 > 10000 ? (agents > 9900 ? 16384 : 10000) : agents * 2 + 32))
run=()
[ -z "$grind" ] || run=(valgrind --tool=callgrind --callgrind-out-file="$D/callgrind" --instr-atstart=no)
"${run[@]}" honed -o controller.agents="$url" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
  -o storage.space="$D/space.db" -o controller.connections_max="$most" -o controller.strangers_max=10000 "${more[@]}" \
  ${FLEET_HONED:-} 2> "$D/honed.log" &
honed=$!
for _ in $(seq 100); do hone status > /dev/null 2>&1 && break; sleep 0.1; done
if [ -n "$grind" ]; then # counting begins when all are connected
  (sleep "${GRIND_AFTER:-20}"; callgrind_control -i on "$honed" > /dev/null; sleep "$seconds"; callgrind_control -i off "$honed" > /dev/null) &
  seconds=$((seconds + ${GRIND_AFTER:-20}))
fi
"$O/bench/agent_link_fleet" "$url" "$agents" "$seconds" "$watermark_ms" "$rate" "$honed" "$D/keys" > "$D/fleet.json" || { tail -5 "$D/honed.log" >&2; exit 1; }
hone status --json > "$D/status.json"
jq -c --arg mode "$mode" --slurpfile s "$D/status.json" \
  '{ $mode } + . + { delay_p50_ms: $s[0].delay.p50_ms, delay_p99_ms: $s[0].delay.p99_ms, counts: $s[0].counts }' "$D/fleet.json"
if [ -n "$grind" ]; then
  kill "$honed"; wait "$honed" || true; honed=
  callgrind_annotate "$D/callgrind" | grep -v '^--\|^$' | sed -n '1,45p'
fi
