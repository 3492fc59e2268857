#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The cost of tracepoints is measured on each node and kept under the overhead budget: with a tiny budget fewer requests
# are probed, and the diagnosis still finds the fault. The measurement leaves nothing behind.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root
here=$PWD/examples
. "$here/stage.sh"
load= watcher=
end() { for pid in $load $watcher; do kill "$pid"; wait "$pid"; done 2>/dev/null; stage_down; }
trap end EXIT
why() { hone agents; hone status; cat "$stage/spent"; stage_logs; }
SHARE_PCT=0.0015	# of a core: 15 us a second, less than 100 records of 100 to 300 ns and the cost of their filters
measured() {	# every agent has measured, and the values are plausible
  hone agents --json | jq -e --argjson n "$(echo "$nodes" | wc -w)" \
    '[.agents[] | select(.connected and (.record_assumed | not) and .record_ns >= 20 and .record_ns <= 2000)] | length == $n'
}
nothing_stays() {	# the measurement leaves neither a session nor a folder
  local node
  for node in $nodes; do
    ! "$here/node.sh" exec "$stage/shop" "$node" bash -c 'lttng -n list; ls /dev/shm/hone-agent' 2>/dev/null | grep -e -cost || return 1
  done
}
seen() { hone status --json | jq -e 'any(.types[]; .type == "GET_PRODUCT" and .traces > 20)'; }
state() { hone forest GET_PRODUCT --json | jq -r '.runs[0].state'; }
ended() { [ "$(state)" != active ]; }
watch() {	# during the diagnosis: the cost on each node, and the smallest probed share
  while sleep 0.2; do
    hone agents --json | jq -c '.agents[] | [.spent_pct, .budget_pct]'
    hone status --json | jq -c '.types[] | select(.type == "GET_PRODUCT") | {probed}'
  done >"$stage/spent"
}
spent_ok() { jq -se '[.[] | arrays] | length > 10 and all(.[0] <= .[1] * 1.001)' "$stage/spent"; }
spent_some() { jq -se 'any(.[] | arrays; .[0] > 0)' "$stage/spent"; }
probed_less() { jq -se '[.[] | objects | .probed | select(. > 0)] | length > 0 and min < 1' "$stage/spent"; }

echo 1..10
stage_app && stage_honed "${ALL_TRACED[@]}" -o search.budget="$SHARE_PCT%" && stage_agents || bail "the stage does not come up"
check "every agent measures what a record costs: between 20 and 2000 ns" wait_for 90 measured
check "the cost measurement leaves no session and no folder" wait_for 10 nothing_stays
check "the program that measures is not listed among the node's programs" bash -c "! '$O/bin/hone' tracepoints --json | grep hone_cost"
check "the program that measures has no request type" eval 'hone status --json | jq -e ".types == []"'
"$here/shop/shop.sh" load "$stage/shop" --seconds 900 --rate 250 --json >"$stage/load.json" 2>&1 &
load=$!
until_true 60 "requests are seen" seen
check "it learns" hone learn --seconds 6 --wait
"$here/shop/shop.sh" fault "$stage/shop" slow_function 6
watch &
watcher=$!
check "a diagnosis begins" hone start GET_PRODUCT
check "it ends, and has found the fault" eval 'wait_for 120 ended && [ "$(state)" = found ]'
kill "$watcher"; wait "$watcher" 2>/dev/null; watcher=
check "it enabled tracepoints, and they cost something" spent_some
check "no node exceeded its budget" spent_ok
check "fewer than all requests were probed" probed_less
exit $FAILED
