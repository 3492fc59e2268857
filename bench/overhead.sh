#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What Hone costs the application when it idles: the shop's throughput with an agent on every node, always-on
# tracepoints on and every request sampled, beside the same without any tracing. Pairs in one run, in turn, closed
# loop with every connection asking again at once: the machine is full, so whatever Hone uses is missing elsewhere.
#
#   O=build bench/overhead.sh [PAIRS [SECONDS]]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
O=${O:-$here/build}
pairs=${1:-6} seconds=${2:-8}
dir=$(mktemp -d "${TMPDIR:-/tmp}/hone-overhead.XXXXXX")
export HONE_SOCKET="ipc://$dir/honed.sock"
pids=()

hone_off() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  for p in "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
  pids=()
}
end() { local rc=$?; trap - EXIT; hone_off; "$here/examples/shop/shop.sh" stop "$dir/shop" || rc=1; rm -rf "$dir"; exit $rc; }
trap end EXIT
trap 'exit 130' INT TERM

hone_on() {
  local node
  "$O/bin/honed" -o controller.agents="ipc://$dir/agents.sock" -o controller.operators="$HONE_SOCKET" \
    -o storage.database="$dir/forest.db" -o storage.space="$dir/space.db" >>"$dir/honed.log" 2>&1 &
  pids+=($!)
  for node in $nodes; do
    "$here/examples/node.sh" exec "$dir/shop" "$node" "$O/bin/hone-agent" -o agent.node="$node" \
      -o controller.url="ipc://$dir/agents.sock" -o agent.run_dir=/dev/shm/hone-agent >>"$dir/agents.log" 2>&1 &
    pids+=($!)
  done
  local limit=$((SECONDS + 20))
  until [ "$("$O/bin/hone" agents --json 2>/dev/null |
      jq '[.agents[] | select(.connected and .tracer_ok and .programs > 0)] | length' 2>/dev/null)" = "$count" ]; do
    [ $SECONDS -lt $limit ] || { echo "overhead: the agents did not come up" >&2; tail "$dir"/*.log >&2; exit 1; }
    sleep 0.1
  done
}
load() {	# requests a second
  "$here/examples/shop/shop.sh" load "$dir/shop" --seconds "$seconds" --think 0 --connections 8 --seed "$1" --json |
    jq .all.requests_per_s
}

"$here/examples/shop/shop.sh" start "$dir/shop"
nodes=$("$here/examples/shop/shop.sh" nodes "$dir/shop")
count=$(echo "$nodes" | wc -w)
load 1 >/dev/null	# warm
echo "pair  without_rps  with_rps  ratio"
ratios=
for i in $(seq "$pairs"); do
  if [ $((i % 2)) = 0 ]; then
    hone_on; b=$(load "$i"); hone_off; a=$(load "$i")
  else
    a=$(load "$i"); hone_on; b=$(load "$i"); hone_off
  fi
  ratio=$(jq -n "$b / $a")
  ratios="$ratios $ratio"
  printf '%4d  %11.1f  %8.1f  %5.3f\n' "$i" "$a" "$b" "$ratio"
done
jq -nr --arg r "$ratios" '$r | split(" ") | map(select(. != "") | tonumber) | sort |
  "median ratio \(.[length / 2 | floor]) (least \(.[0]), most \(.[-1])), \(length) pairs; wanted: 0.95 or more"'
