#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The demo: a shop on several nodes under load, a planted fault, a diagnosis.
#
#   demo.sh [FAULT]      one fault (default: slow_function); exits with 1 if the verdict misses it
#   demo.sh --json ...   the verdict as JSON on standard output, all else on standard error
#   demo.sh --list       lists the faults
#
# O=: where the programs were built. KEEP=1: leave everything running and print where. LEARN_SECONDS, RATE; DEGREE: the
# degree N of a fault that has one (shop/README.md).
# ONLY=1: all requests have the type that the fault slows. STRATEGY, K: settings of the search.
# For the benchmarks: DELAY_TO=FILE receives the controller's status at the end; BEFORE_SECONDS: the fault is enabled
# this long before the diagnosis begins, and the JSON gives the response times of other requests before and during it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
O=${O:-$here/../build}
LEARN_SECONDS=${LEARN_SECONDS:-10}
RATE=${RATE:-160}
DEGREE=${DEGREE:-on}
ONLY=${ONLY:-}
STRATEGY=${STRATEGY:-}
K=${K:-}
BEFORE_SECONDS=${BEFORE_SECONDS:-0}
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
  { echo "demo: $fault: unknown fault; known are: $(jq -r 'keys | join(", ")' "$here/shop/faults.json")" >&2; exit 2; }
type=$(jq -r --arg f "$fault" '.[$f].type' "$here/shop/faults.json")

if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then
  echo "demo: nodes are mount namespaces, which only root may create: continuing with sudo" >&2
  exec sudo O="$(realpath "$O")" LEARN_SECONDS="$LEARN_SECONDS" RATE="$RATE" DEGREE="$DEGREE" ONLY="$ONLY" STRATEGY="$STRATEGY" K="$K" KEEP="${KEEP:-}" \
    BEFORE_SECONDS="$BEFORE_SECONDS" "$0" "$@"
fi
[ $json = 0 ] || exec 3>&1 1>&2
bold= plain= green= red=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m' green=$'\e[32m' red=$'\e[31m'; fi
began=$SECONDS
step() { printf '%s%3d s  %s%s\n' "$bold" $((SECONDS - began)) "$*" "$plain"; }

. "$here/stage.sh"
load=
end() {
  local rc=$?
  trap - EXIT INT TERM
  if [ -n "${KEEP:-}" ]; then
    echo "demo: left running; HONE_SOCKET=$HONE_SOCKET; end the programs, then: examples/shop/shop.sh stop $stage/shop" >&2
    exit $rc
  fi
  [ -z "$load" ] || { kill "$load" 2>/dev/null; wait "$load" 2>/dev/null; } || true
  [ $rc -eq 0 ] || stage_logs >&2
  stage_down || rc=1
  exit $rc
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# p50_between FROM TO: the median response time (ms) of requests of other types answered in this period; their number.
p50_between() {
  awk -v from="$1" -v to="$2" -v type="$type" '$1 >= from && $1 < to && $2 != type && $4 == 200 { print $3 }' "$stage/answers" |
    sort -n | awk '{ ms[NR] = $1 } END { print NR ? ms[int((NR + 1) / 2)] : "null", NR }'
}

types_seen() { hone status --json | jq -e --arg t "$type" 'any(.types[]; .type == $t and .traces > 20)'; }

step "starting a shop of several services, each on a node of its own"
stage_shop
step "the controller, and an agent on each of $(echo "$nodes" | wc -w) nodes"
stage_honed
stage_agents

step "load: $RATE requests a second, of $([ -n "$ONLY" ] && echo "type $type" || echo "several types")"
"$here/shop/shop.sh" load "$stage/shop" --seconds 600 --rate "$RATE" ${ONLY:+--mix "$type=1"} --seed 1 --log "$stage/answers" >"$stage/load.log" 2>&1 &
load=$!
until_true 20 "requests of type $type are seen" types_seen
hone agents

step "learning for $LEARN_SECONDS s: all tracepoints are enabled, then disabled"
hone learn --seconds "$LEARN_SECONDS" --wait

step "the fault '$fault' is planted; Hone does not know where"
how=$DEGREE
[ -z "$ONLY" ] || how=$(jq -r --arg f "$fault" --arg on "$DEGREE" '.[$f].only // $on' "$here/shop/faults.json")
"$here/shop/shop.sh" fault "$stage/shop" "$fault" "$how"
planted_at=$EPOCHREALTIME
sleep "$BEFORE_SECONDS"

step "hone start $type"
found=0
begun_at=$EPOCHREALTIME
hone start "$type" ${STRATEGY:+--strategy "$STRATEGY"} ${K:+--k "$K"} --wait || found=$?
ended_at=$EPOCHREALTIME
hone forest "$type" --json >"$stage/verdict.json"
[ -z "${DELAY_TO:-}" ] || hone status --json >"$DELAY_TO"

on=$(stage_added)
check=$(jq -r --arg f "$fault" --slurpfile faults "$here/shop/faults.json" '
  .runs[0] as $r | $faults[0][$f] as $want | $r.verdict as $v |
  if $v == null then "no verdict: " + ($r.reason // $r.state)
  elif ($want.from | index($v.edge.from)) == null then "the edge begins at " + $v.edge.from + ", not at " + ($want.from | join(" or "))
  elif ($want.to | index($v.edge.to)) == null then "the edge ends at " + $v.edge.to + ", not at " + ($want.to | join(" or "))
  elif $want.key != null and ($v.key.name // "none" | . != $want.key and (startswith($want.key + " of ") | not)) then "the key is " + ($v.key.name // "none") + ", not " + $want.key
  else "right" end' "$stage/verdict.json")
step "done"
if [ -z "$on" ]; then
  echo "No added tracepoint is on, by the session daemons of all nodes."
else
  echo "${red}STILL ON:${plain}"
  echo "$on"
fi
if [ $json = 1 ]; then
  read -r p50_before n_before <<<"$(p50_between "$planted_at" "$begun_at")"
  read -r p50_during n_during <<<"$(p50_between "$begun_at" "$ended_at")"
  jq -c --arg fault "$fault" --arg check "$check" --argjson before "$p50_before" --argjson nbefore "$n_before" \
    --argjson during "$p50_during" --argjson nduring "$n_during" '.runs[0] + {fault: $fault, check: $check,
    others: {before_p50_ms: $before, before: $nbefore, during_p50_ms: $during, during: $nduring}}' "$stage/verdict.json" >&3
fi
if [ "$check" = right ] && [ -z "$on" ] && [ $found = 0 ]; then
  echo "${green}The verdict is right: '$fault' was planted there.${plain}"
  exit 0
fi
echo "${red}The verdict misses '$fault': $check${plain}"
exit 1
