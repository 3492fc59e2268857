#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Nodes with different boot times: time namespaces that shift CLOCK_MONOTONIC by seconds to a day and contain programs,
# tracer and agent. Traces are complete, effects follow causes, the measured network delay between nodes is right, and a
# diagnosis ends as with one clock.
# O: the folder that `make all clock-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root
ahead_of_others
[ -e /proc/self/ns/time ] || skip "this kernel has no time namespaces"
unshare --time --monotonic 1 --fork true 2>/dev/null || skip "no time namespace can be made here"

back=$(awk '{ b = int($1 / 2); print b < 500 ? b : 500 }' /proc/uptime)	# no clock goes below 0
declare -A shift=([front]=0 [catalog-1]=0 [catalog-2]=86400 [cart]=1000 [order]=0 [price]=-$back [edge]=0 [cache]=2000 [store]=0)
NODE_CLOCKS=
for node in "${!shift[@]}"; do
  [ "${shift[$node]}" = 0 ] || NODE_CLOCKS+="$node=${shift[$node]} "
done
export NODE_CLOCKS

here=$PWD/examples
. "$here/stage.sh"
load= collect=
end() {
  local p
  for p in $load $collect; do kill "$p"; wait "$p"; done 2>/dev/null
  stage_down
}
trap end EXIT
why() { stage_logs; cat "$stage/collected"; } 2>/dev/null
seen() { hone status --json | jq -e 'any(.types[]; .type == "GET_PRODUCT" and .traces > 20)'; }
a_clock() { "$@" perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'print clock_gettime(CLOCK_MONOTONIC)'; }
# Read between two readings of ours, it is between them but for the shift.
shifted() {
  local before theirs after
  before=$(a_clock env)
  theirs=$(a_clock "$here/node.sh" exec "$stage/shop" "$1")
  after=$(a_clock env)
  echo "$before $theirs $after"
  awk -v a="$before" -v t="$theirs" -v b="$after" -v s="${shift[$1]}" 'BEGIN { t -= s; exit !(t >= a && t <= b) }'
}
offsets_right() {	# the error of each node's clock offset is within its stated bound
  local node
  for node in $nodes; do
    awk -v node="$node" -v want="${shift[$node]}" '$1 == "node" && $2 == node { found = 1
      off = $4 + want * 1000; if (off < 0) off = -off
      print node, $4, $6; if ($6 < 0 || off > $6 + 0.001) bad = 1 } END { exit !found || bad }' "$stage/collected" || return 1
  done
}
# For jq: honed's offsets of the agents, minus the shifts.
agents_right() {
  local node
  for node in $nodes; do
    hone agents --json | jq -e --arg n "$node" --argjson want "${shift[$node]}" '.agents[] | select(.node == $n) |
      (.offset_ms + $want * 1000 | fabs) <= .uncertain_ms + 0.001 and .clock_steps == 0' || { echo "$node"; return 1; }
  done
}

echo 1..16
stage_app || bail "the shop does not come up"
check "the programs of one node have a clock that is ahead" shifted cart
check "the programs of another node have a clock that is behind" shifted price
"$here/shop/shop.sh" load "$stage/shop" --seconds 900 --rate 100 --json >"$stage/load.json" 2>&1 &
load=$!

# ---- time between nodes ------------------------------------------------------------
"$O/tests/scenario/clock_collect" "ipc://$stage/agents.sock" "ipc://$stage/collect.sock" \
  "$(echo "$nodes" | wc -w)" 1500 300 >"$stage/collected" 2>&1 &
collect=$!
stage_agents_start
wait $collect
check "1500 traces are complete: causes come first, edges add up to the response time" test $? = 0
collect=
sed 's/^/# /' "$stage/collected"
# The count is of late records, tens for each trace: those of a node that the machine did not schedule for a while.
check "nearly all traces are complete: no record is late and no trace is given up" awk '$1 == "traces" { n = 1
  print; if ($4 + $6 > 0.03 * $2 || $8 > 0.5 * $2) bad = 1 } END { exit !n || bad }' "$stage/collected"
check "each clock's estimate is within its stated bound" offsets_right
check "at most one step in a hundred came before its cause and was moved" awk '$1 == "steps" { n = 1
  print; if ($4 > 0.01 * $2) bad = 1 } END { exit !n || bad }' "$stage/collected"
# The median is compared: a program may be descheduled between an action and its record.
check "every edge between nodes is short and longer than 0" awk '$1 == "edge" && $2 >= 20 { n++
  if ($4 <= 0 || $4 > 250000) { print; bad = 1 } } END { exit n < 10 || bad }' "$stage/collected"

# ---- a diagnosis ----------------------------------------------------------------
stage_honed "${ALL_TRACED[@]}" && stage_agents_known || bail "the controller does not come up"
until_true 60 "requests are seen" seen
check "honed reports the clock offset of each node" until_true 60 "clocks" agents_right
check "it learns" hone learn --seconds 6 --wait
"$here/shop/shop.sh" fault "$stage/shop" slow_function 6
check "a fault on a node whose clock is behind is found" hone start GET_PRODUCT --wait
check "the verdict names the right place" bash -o pipefail -c "'$O/bin/hone' forest GET_PRODUCT --json |
  jq -e '.runs[0].verdict.edge.from == \"shop-price/shop_price:tax_rate_end\"'"
check "few steps had to be moved" bash -o pipefail -c "'$O/bin/hone' status --json |
  jq -e '.counts | .moved <= 0.1 * .traces and .clock_corrected > 100'"
check "records are seconds old when they arrive, not days" bash -o pipefail -c "'$O/bin/hone' status --json |
  jq -e '.delay.batches > 100 and .delay.p99_ms < 5000'"
check "all added tracepoints are off" until_true 30 "nothing is added" stage_nothing_added
kill "$load" 2>/dev/null; wait "$load"; load=
check "no request failed during the test" jq -e '.all.requests > 1000 and .all.errors == 0' "$stage/load.json"
check "all processes end" stage_down
exit $FAILED
