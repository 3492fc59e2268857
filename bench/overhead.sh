#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the application notices. The shop under load, in turn: without tracing; with plain LTTng that records the same
# tracepoints to memory without a reader; with Hone idle (always-on tracepoints, `agents.enough` requests a second of
# each type sampled); with Hone in a diagnosis, of one request type after the other; with Hone in four diagnoses at a
# time, each restarted when it has ended. All of them in each round, in rotated order; a ratio is between two of one
# round. Each is under full load for SETTLE seconds before it is measured, since honed and its agents are new each time
# and need some seconds to find their overhead budget. Throughput by a closed loop whose connections send the next
# request at once, so that the machine is saturated and any other load reduces it; latencies at a steady rate far below
# saturation.
#
#   O=build bench/overhead.sh [ROUNDS [SECONDS [RATE [SETTLE]]]]     SHOP_HOSTS=1: all services on one node, with one agent
#   make overhead ROUNDS=10 SECONDS=6 RATE=150 SETTLE=12
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
O=$(realpath "${O:-$here/build}")
rounds=${1:-10} seconds=${2:-6} rate=${3:-150} settle=${4:-12}
pen=$O/tests/scenario/instrument_policy
bench=$here/bench
here=$here/examples
. "$here/stage.sh"
starter=
starter_end() { [ -z "$starter" ] || { kill "$starter"; wait "$starter"; } 2>/dev/null || true; starter=; }
end() { local rc=$?; trap - EXIT; starter_end; stage_down || rc=1; exit $rc; }
trap end EXIT
trap 'exit 130' INT TERM
TYPES="GET_HOME GET_PRODUCT SEARCH ADD_TO_CART CHECKOUT GET_ORDERS"
FOUR="GET_HOME GET_PRODUCT SEARCH GET_ORDERS"

load() { "$here/shop/shop.sh" load "$stage/shop" --seconds "$seconds" --seed "$round" --json "$@"; }
on_each() { local n; for n in $nodes; do "$here/node.sh" exec "$stage/shop" "$n" "$@"; done; }

# ---- the five modes ----------------------------------------------------------------
none_on() { :; }
none_off() { :; }
plain_on() {
  on_each bash -c '
    lttng -n create plain --output=/dev/shm/plain
    lttng -n enable-channel -u --buffers-pid --num-subbuf=16 --subbuf-size=32k --switch-timer=100000 c
    lttng -n enable-event -u -c c "hone:*"
    lttng -n start
    for type in '"$TYPES"'; do "$0" $type ffffffff 0 3600 0 || exit; done' "$pen" >>"$stage/plain.log" 2>&1
}
plain_off() {
  on_each bash -c '
    for type in '"$TYPES"'; do "$0" $type 0 0 0 0 || exit; done
    lttng -n destroy plain; rm -rf /dev/shm/plain' "$pen" >>"$stage/plain.log" 2>&1
}
idle_on() { stage_honed && stage_agents; }
idle_off() { stage_unhone; }
# each_in_turn TYPE...: diagnoses these types one at a time, endlessly
each_in_turn() {
  local type
  while :; do
    for type; do hone start "$type" --wait >/dev/null 2>&1 || sleep 0.2; done
  done
}
# diagnose TYPES...: one diagnosis at a time for each argument, of its types in turn
diagnose() {
  stage_honed && stage_agents || return
  ( trap 'kill $(jobs -p) 2>/dev/null; exit' TERM
    for types; do each_in_turn $types & done
    wait ) &
  starter=$!
}
diagnosis_on() { diagnose "$TYPES"; }
diagnosis_off() { starter_end; stage_unhone; }
diagnoses_on() { diagnose $FOUR; }
diagnoses_off() { diagnosis_off; }

# CPU time used so far, ms: by the application and its stores, Hone's agents, LTTng's daemons, honed.
cpu() {
  local ticks
  python3 - "$stage" "${honed:-0}" <<'PYTHON'
import os, sys, time
stage, honed = sys.argv[1:]
sums = {"application": 0, "agents": 0, "daemons": 0, "honed": 0}
tokens = [open(os.path.join(d, "token")).read().strip() for d, _, names in os.walk(stage + "/shop") if "token" in names]
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        name = open(f"/proc/{pid}/comm").read().strip()
        # the process's own clock: its stat counts ticks of 10 ms, of which an idle agent uses none in 2 s
        used = time.clock_gettime_ns(~int(pid) << 3 | 2) / 1e6
        mounts = open(f"/proc/{pid}/mountinfo").read()
    except (OSError, ValueError):
        continue
    ours = any(t + " " in mounts for t in tokens)
    if pid == honed:
        sums["honed"] += used
    elif ours and name.startswith(("hone-agent", "hone-guard", "hone-cost")):
        sums["agents"] += used
    elif ours and name.startswith("lttng"):
        sums["daemons"] += used
    elif ours and name.startswith(("shop-", "nginx", "redis-server", "postgres")):
        sums["application"] += used
print(*(round(v, 3) for v in sums.values()))
PYTHON
}

measure() {	# WAY: prints a line of JSON
  local way=$1 full steady before after
  "${way}_on" || { echo "$way cannot be had" >&2; return 1; }
  load --think 0 --connections 8 --seconds "$settle" >/dev/null
  before=$(cpu)
  full=$(load --think 0 --connections 8)
  after=$(cpu)
  steady=$(load --rate "$rate")
  "${way}_off"
  jq -nc --arg way "$way" --argjson round "$round" --argjson full "$full" --argjson steady "$steady" \
    --arg before "$before" --arg after "$after" '
    ([$before, $after] | map(split(" ") | map(tonumber))) as [$b, $a] |
    {round: $round, way: $way, throughput: $full.all.requests_per_s, p50: $steady.all.p50_ms, p99: $steady.all.p99_ms,
     errors: ($full.all.errors + $steady.all.errors), requests: $full.all.requests,
     cpu_ms: (["application", "agents", "daemons", "honed"] | to_entries | map({key: .value, value: ($a[.key] - $b[.key])}) |
       from_entries)}'
}

round=0
stage_app
load --think 0 --connections 8 >/dev/null
idle_on
"$here/shop/shop.sh" load "$stage/shop" --seconds 8 --rate "$rate" >/dev/null &
learner=$!
hone learn --seconds 5 --wait >/dev/null 2>&1 || true	# a diagnosis needs a learned space
wait "$learner"
idle_off
ways=(none plain idle diagnosis diagnoses)
for round in $(seq "$rounds"); do
  for i in ${!ways[*]}; do
    measure "${ways[(i + round) % ${#ways[*]}]}" >>"$stage/rounds.json"
  done
  [ ! -t 2 ] || printf '\rround %d of %d' "$round" "$rounds" >&2
done
[ ! -t 2 ] || printf '\r\033[K' >&2
python3 "$bench/overhead.py" "$stage/rounds.json" "$rate" "$(echo "$nodes" | wc -w)"
