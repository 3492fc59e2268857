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
here=$here/examples
. "$here/stage.sh"
end() { local rc=$?; trap - EXIT; stage_down || rc=1; exit $rc; }
trap end EXIT
trap 'exit 130' INT TERM

hone_on() { stage_honed && stage_agents; }
load() {	# requests a second
  "$here/shop/shop.sh" load "$stage/shop" --seconds "$seconds" --think 0 --connections 8 --seed "$1" --json |
    jq .all.requests_per_s
}

stage_shop
load 1 >/dev/null	# warm
echo "pair  without_rps  with_rps  ratio"
ratios=
for i in $(seq "$pairs"); do
  if [ $((i % 2)) = 0 ]; then
    hone_on; b=$(load "$i"); stage_unhone; a=$(load "$i")
  else
    a=$(load "$i"); hone_on; b=$(load "$i"); stage_unhone
  fi
  ratio=$(jq -n "$b / $a")
  ratios="$ratios $ratio"
  printf '%4d  %11.1f  %8.1f  %5.3f\n' "$i" "$a" "$b" "$ratio"
done
jq -nr --arg r "$ratios" '$r | split(" ") | map(select(. != "") | tonumber) | sort |
  "median ratio \(.[length / 2 | floor]) (least \(.[0]), most \(.[-1])), \(length) pairs; wanted: 0.95 or more"'
