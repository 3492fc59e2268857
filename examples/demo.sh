#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The main job, end to end: a shop on several nodes under load, a fault that only the shop knows of, a diagnosis.
#
#   demo.sh [FAULT]      one fault (default: slow_function); exits 1 when the verdict misses it
#   demo.sh --json ...   the verdict as JSON on standard output, all else on standard error
#   demo.sh --list       the faults there are
#
# O=: where the programs were built. KEEP=1: leave everything running and say where. LEARN_SECONDS, RATE.
# DELAY_TO=FILE: the controller's status at the end, for the benchmarks.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
O=${O:-$here/../build}
LEARN_SECONDS=${LEARN_SECONDS:-10}
RATE=${RATE:-160}
json=0
fault=slow_function
for arg in "$@"; do
  case $arg in
  --json) json=1 ;;
  --list) exec jq -r 'to_entries[] | "\(.key)\t\(.value.type)"' "$here/shop/faults.json" ;;
  -*) echo "usage: demo.sh [--json] [--list] [FAULT]" >&2; exit 2 ;;
  *) fault=$arg ;;
  esac
done
jq -e --arg f "$fault" 'has($f)' "$here/shop/faults.json" >/dev/null ||
  { echo "demo: $fault: no such fault; there are: $(jq -r 'keys | join(", ")' "$here/shop/faults.json")" >&2; exit 2; }
type=$(jq -r --arg f "$fault" '.[$f].type' "$here/shop/faults.json")

[ $json = 0 ] || exec 3>&1 1>&2
bold= plain= green= red=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m' green=$'\e[32m' red=$'\e[31m'; fi
began=$SECONDS
step() { printf '%s%3d s  %s%s\n' "$bold" $((SECONDS - began)) "$*" "$plain"; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/hone-demo.XXXXXX")
export HONE_SOCKET="ipc://$dir/honed.sock"
pids=()
load=
end() {
  local rc=$?
  trap - EXIT INT TERM
  if [ -n "${KEEP:-}" ]; then
    echo "demo: left running in $dir; HONE_SOCKET=$HONE_SOCKET; end it with: $0/../shop/shop.sh stop $dir/shop" >&2
    exit $rc
  fi
  [ -z "$load" ] || kill "$load" 2>/dev/null || true
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  for p in $load "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
  "$here/shop/shop.sh" stop "$dir/shop" || rc=1
  if [ $rc -ne 0 ]; then
    for log in "$dir"/*.log; do [ ! -s "$log" ] || { echo "--- ${log##*/}" >&2; tail -n 15 "$log" >&2; }; done
  fi
  rm -rf "$dir"
  exit $rc
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits until a command holds; says what it waited for when it does not come.
until_true() {	# seconds words command...
  local limit=$((SECONDS + $1)) words=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $limit ] || { echo "demo: waited in vain: $words" >&2; return 1; }
    sleep 0.1
  done
}
hone() { "$O/bin/hone" "$@"; }
agents_ready() { [ "$(hone agents --json | jq '[.agents[] | select(.connected and .tracer_ok)] | length')" -eq "$1" ]; }
types_seen() { hone status --json | jq -e --arg t "$type" 'any(.types[]; .type == $t and .traces > 20)'; }
services_seen() { hone tracepoints --json | jq -e '.total >= 150'; }
# From outside: what the nodes' own session daemons have enabled, other than what is always on.
added_on() {
  local node session
  for node in $("$here/shop/shop.sh" nodes "$dir/shop"); do
    for session in $("$here/node.sh" exec "$dir/shop" "$node" lttng list 2>/dev/null | sed -n 's/^ *[0-9]*) \(hone-[^ ]*\).*/\1/p'); do
      "$here/node.sh" exec "$dir/shop" "$node" lttng list "$session" 2>/dev/null |
        sed -n "s/^ *\([a-z_0-9]*:[^ ]*\) .*\[enabled\].*/$node \1/p" | grep -v ' hone:' || true
    done
  done
}

step "a shop of several services comes up, each on a node of its own"
"$here/shop/shop.sh" start "$dir/shop"
nodes=$("$here/shop/shop.sh" nodes "$dir/shop")

step "the controller, and an agent on each of $(echo "$nodes" | wc -w) nodes"
"$O/bin/honed" -o controller.agents="ipc://$dir/agents.sock" -o controller.operators="$HONE_SOCKET" \
  -o storage.database="$dir/forest.db" -o storage.space="$dir/space.db" >"$dir/honed.log" 2>&1 &
pids+=($!)
until_true 10 "honed answers" hone status --json
for node in $nodes; do
  "$here/node.sh" exec "$dir/shop" "$node" "$O/bin/hone-agent" -o agent.node="$node" \
    -o controller.url="ipc://$dir/agents.sock" -o agent.run_dir=/dev/shm/hone-agent >"$dir/agent-$node.log" 2>&1 &
  pids+=($!)
done
until_true 20 "every agent is connected and traces" agents_ready "$(echo "$nodes" | wc -w)"

step "load: $RATE requests a second, of several types"
"$here/shop/shop.sh" load "$dir/shop" --seconds 600 --rate "$RATE" --seed 1 >"$dir/load.log" 2>&1 &
load=$!
until_true 20 "requests of type $type are seen" types_seen
until_true 20 "the agents have told of the programs' tracepoints" services_seen
hone agents

step "learning for $LEARN_SECONDS s: every tracepoint on, then off again"
hone learn --seconds "$LEARN_SECONDS" --wait

step "the fault '$fault' is planted; nobody tells Hone where"
"$here/shop/shop.sh" fault "$dir/shop" "$fault" on

step "hone start $type"
found=0
hone start "$type" --wait || found=$?
hone forest "$type" --json >"$dir/verdict.json"
[ -z "${DELAY_TO:-}" ] || hone status --json >"$DELAY_TO"

on=$(added_on)
check=$(jq -r --arg f "$fault" --slurpfile faults "$here/shop/faults.json" '
  .runs[0] as $r | $faults[0][$f] as $want | $r.verdict as $v |
  if $v == null then "no verdict: " + $r.words
  elif ($want.from | index($v.edge.from)) == null then "the edge begins at " + $v.edge.from + ", not at " + ($want.from | join(" or "))
  elif ($want.to | index($v.edge.to)) == null then "the edge ends at " + $v.edge.to + ", not at " + ($want.to | join(" or "))
  elif $want.key != null and ($v.key.name // "none") != $want.key then "the key is " + ($v.key.name // "none") + ", not " + $want.key
  else "right" end' "$dir/verdict.json")
step "done"
if [ -z "$on" ]; then
  echo "No added tracepoint is on, by the session daemons of all nodes."
else
  echo "${red}STILL ON:${plain}"
  echo "$on"
fi
[ $json = 0 ] || jq -c --arg fault "$fault" --arg check "$check" '.runs[0] + {fault: $fault, check: $check}' "$dir/verdict.json" >&3
if [ "$check" = right ] && [ -z "$on" ] && [ $found = 0 ]; then
  echo "${green}The verdict is right: '$fault' was planted there.${plain}"
  exit 0
fi
echo "${red}The verdict misses '$fault': $check${plain}"
exit 1
