#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All of Hone, with parts killed during a diagnosis: no added tracepoint stays enabled, every decision that took effect
# is in the database, the application keeps running, and afterwards everything works again.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root
ahead_of_others
here=$PWD/examples
. "$here/stage.sh"
load=
end() { [ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null; stage_down; }
trap end EXIT
why() { stage_logs; }
# A slow search, one tracepoint a cycle, leaves time to kill a process during it.
begin() { hone start GET_PRODUCT --k 1; }
something_added() { [ "$(hone status --json | jq .added)" -gt 0 ]; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "GET_PRODUCT" and .traces > 20)'; }
state_is() { [ "$(hone forest GET_PRODUCT --json | jq -r '.runs[0].state')" = "$1" ]; }
quiet() { hone status --json | jq -e .quiet; }
loaded() { kill -0 "$load"; }

echo 1..17
stage_app && stage_honed "${ALL_TRACED[@]}" && stage_agents || bail "the stage does not come up"
"$here/shop/shop.sh" load "$stage/shop" --seconds 900 --rate 160 --json >"$stage/load.json" 2>&1 &
load=$!
until_true 60 "requests are seen" seen
check "it learns" hone learn --seconds 6 --wait
"$here/shop/shop.sh" fault "$stage/shop" slow_function 6

# How long a look at the session daemons of all nodes takes: on a busy machine seconds, by which the looks below are late.
begun=$SECONDS
stage_added >/dev/null
late=$((3 * (SECONDS - begun + 1)))
check "a diagnosis begins" begin
check "it enables tracepoints" until_true 90 "something is added" something_added
kill -9 "$honed"; wait "$honed" 2>/dev/null
check "10 s after kill -9 of the controller all added tracepoints are off" until_true $((10 + late)) "nothing is added" stage_nothing_added
check "the controller starts again with its database" stage_honed "${ALL_TRACED[@]}"
check "it reports that the diagnosis was interrupted" until_true 30 "stopped" state_is stopped
check "the agents connect again" until_true 60 "the agents" stage_ready
until_true 60 "requests are seen" seen

check "another diagnosis begins and uses what was learned before" begin
check "it enables tracepoints" until_true 90 "something is added" something_added
victim=${stage_agent_pids[5]}	# the agent of node price, which has the fault
kill -9 "$victim"; wait "$victim" 2>/dev/null
no_session() { ! "$here/node.sh" exec "$stage/shop" price lttng list 2>/dev/null | grep hone- >/dev/null; }
check "10 s after kill -9 of an agent its sessions have ended" until_true $((10 + late)) "no session" no_session
unset 'stage_agent_pids[5]'
hone stop >/dev/null 2>&1
check "hone stop disables all added tracepoints" until_true $((10 + late)) "nothing is added" stage_nothing_added

"$here/node.sh" exec "$stage/shop" price "$O/bin/hone-agent" -o agent.node=price \
  -o controller.url="ipc://$stage/agents.sock" -o agent.run_dir=/dev/shm/hone-agent >>"$stage/agent-price.log" 2>&1 &
stage_agent_pids+=($!)

check "a new agent replaces the killed one" until_true 60 "the agents" stage_ready

check "the fault is found" hone start GET_PRODUCT --wait
check "the verdict names the right place" bash -o pipefail -c "'$O/bin/hone' forest GET_PRODUCT --json |
  jq -e '.runs[0].verdict.edge.from == \"shop-price/shop_price:tax_rate_end\"'"
check "SIGTERM during a diagnosis: the controller disables all added tracepoints before it ends" bash -c "
  '$O/bin/hone' start GET_HOME && kill $honed && while kill -0 $honed 2>/dev/null; do sleep 0.05; done"
wait "$honed"; honed=
check "all added tracepoints are off" stage_nothing_added
kill "$load" 2>/dev/null; wait "$load"; load=
check "no request failed during the test" jq -e '.all.requests > 1000 and .all.errors == 0' "$stage/load.json"
exit $FAILED
