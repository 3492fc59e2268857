#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A fault that hits one request in 5,000 and lasts for 20 s: whether hone capture names its edge. Each round begins a capture, switches
# the fault on, and 20 s later off again; the load is 150 requests a second of the type, of which the 2,500th is hit: the first of 5,000 begins in their middle.
#
#   transient.sh [ROUNDS]     ROUNDS: 5. OVER: the limit (400 ms); RATE: requests a second (150). Prints a line for each round, and the share that was right.
#
# right: the slowest request has most of its time beyond the usual on the edge of the fault; wrong: on another one; lacks: records of it
# were lost, which is said; none: no request was captured.
set -euo pipefail
here=$(cd "$(dirname "$0")/../examples" && pwd)
O=${O:-$here/../build}
O=$(realpath "$O")
export O
ROUNDS=${1:-5}
OVER=${OVER:-400}
RATE=${RATE:-150}
FROM=shop-price/shop_price:tax_rate_end
TO=shop-price/shop_price:tax_round_begin
APP=shop
. "$here/stage.sh"
load=
end() {
  local rc=$?
  trap - EXIT INT TERM
  [ -z "$load" ] || { kill "$load" 2>/dev/null; wait "$load" 2>/dev/null; } || true
  [ $rc -eq 0 ] || stage_logs >&2
  stage_down || rc=1
  exit $rc
}
trap end EXIT
trap 'exit 130' INT TERM

stage_app
stage_honed
stage_agents
"$here/shop/shop.sh" load "$stage/shop" --seconds 100000 --rate "$RATE" --mix GET_PRODUCT=1 --seed 1 >"$stage/load.log" 2>&1 &
load=$!
seen() { hone status --json | jq -e 'any(.types[]; .type == "GET_PRODUCT" and .traces > 20)'; }
until_true 30 "requests of type GET_PRODUCT are seen" seen
hone learn --seconds 10 --wait
ready() { hone capture --json | jq -e '.captures[-1].state == "active" and .captures[-1].usual >= 3'; }
right=0
for round in $(seq "$ROUNDS"); do
  hone capture GET_PRODUCT --over "$OVER" --count 10 --seconds 45 --json >"$stage/capture.json" 2>"$stage/capture.log" &
  capture=$!
  until_true 30 "the flight recorders are on" ready
  app fault "$stage/shop" rare_stall 5
  sleep 20
  app fault "$stage/shop" rare_stall off
  wait $capture || true
  jq '.captures[0] as $c | {c: $c, slowest: ((.requests // []) | max_by(.total_ms))}' "$stage/capture.json" >"$stage/slowest.json"
  verdict=$(jq -r --arg from "$FROM" --arg to "$TO" '.slowest | if . == null then "none"
    elif .edges[0].from == $from and .edges[0].to == $to then "right" elif .kept.lacks then "lacks" else "wrong" end' "$stage/slowest.json")
  [ "$verdict" != right ] || right=$((right + 1))
  jq -r --arg round "$round" --arg verdict "$verdict" '"round \($round): \($verdict); \(.c.seen) requests, \(.c.slow) slow; " + (.slowest // {} |
    "\(.total_ms // 0 | round) ms, \(.kept.added // 0) records added, \(.edges[0] // {} | "\(.from) -> \(.to) \(.ms // 0 | round) ms, usual \(.usual_ms // 0 | . * 100 | round / 100) ms")" +
    ([.kept.nodes[]? | select(.result != "read" or .overwritten > 0 or .cut > 0 or .undecoded > 0) |
      "; \(.node): \(.result), \(.overwritten) of \(.rings) overwritten"] | add // ""))' "$stage/slowest.json"
done
echo "right: $right of $ROUNDS"
[ "$right" = "$ROUNDS" ]
