#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The demo: an application on several nodes under load, a planted fault, a diagnosis.
#
#   demo.sh [FAULT]      one fault (default: the first); exits with 1 if the verdict is not right (judge.jq)
#   demo.sh --json ...   the verdict as JSON on standard output, all else on standard error
#   demo.sh --list       lists the faults
#
# O=: where the programs were built. APP=: the application, shop (default), news or otel. KEEP=1: leave everything running and
# print where. LEARN_SECONDS, RATE; DEGREE: the degree N of a fault that has one (the application's README.md).
# ONLY=1: all requests have the type that the fault slows. STRATEGY, K, TAIL, CAUSES: settings of the search. BASELINE=1: before the
# fault, what the healthy type does is kept (hone start --healthy), and the diagnosis is compared with it. PROBES: search.probes of honed.conf.
# SAVE_TO=FOLDER: gets the logs, the databases and the verdict at the end.
# For the benchmarks: DELAY_TO=FILE receives the controller's status at the end; BEFORE_SECONDS: the fault is enabled
# this long before the diagnosis begins, and the JSON gives the response times of other requests before and during it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
O=${O:-$here/../build}
DEGREE=${DEGREE:-on}
ONLY=${ONLY:-}
STRATEGY=${STRATEGY:-}
K=${K:-}
TAIL=${TAIL:-}
CAUSES=${CAUSES:-}
BASELINE=${BASELINE:-}
PROBES=${PROBES:-}
BEFORE_SECONDS=${BEFORE_SECONDS:-0}
APP=${APP:-shop}
faults=$here/$APP/faults.json
[ -e "$faults" ] || { echo "demo: there is no application $APP" >&2; exit 2; }
rate= tracepoints= learn=10
eval "$("$here/$APP/$APP.sh" defaults)"
RATE=${RATE:-$rate}
LEARN_SECONDS=${LEARN_SECONDS:-$learn}
json=0
fault=$(jq -r 'keys_unsorted[0]' "$faults")
for arg in "$@"; do
  case $arg in
  --json) json=1 ;;
  --list) exec jq -r 'to_entries[] | "\(.key)\t\(.value.type)"' "$faults" ;;
  -*) echo "usage: demo.sh [--json] [--list] [FAULT]" >&2; exit 2 ;;
  *) fault=$arg ;;
  esac
done
jq -e --arg f "$fault" 'has($f)' "$faults" >/dev/null ||
  { echo "demo: $fault: unknown fault; known are: $(jq -r 'keys | join(", ")' "$faults")" >&2; exit 2; }
of_fault() { jq -r --arg f "$fault" ".[\$f] | $1" "$faults"; }
type=$(of_fault .type)

if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then
  echo "demo: nodes are mount namespaces, which only root may create: continuing with sudo" >&2
  exec sudo APP="$APP" O="$(realpath "$O")" LEARN_SECONDS="$LEARN_SECONDS" RATE="$RATE" DEGREE="$DEGREE" ONLY="$ONLY" STRATEGY="$STRATEGY" K="$K" TAIL="$TAIL" CAUSES="$CAUSES" BASELINE="$BASELINE" PROBES="$PROBES" KEEP="${KEEP:-}" \
    BEFORE_SECONDS="$BEFORE_SECONDS" "$0" "$@"
fi
[ $json = 0 ] || exec 3>&1 1>&2
bold= plain= green= red=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m' green=$'\e[32m' red=$'\e[31m'; fi
began=$SECONDS
step() { printf '%s%3d s  %s%s\n' "$bold" $((SECONDS - began)) "$*" "$plain"; }

. "$here/stage.sh"
[ ! -e "$here/$APP/stage.sh" ] || . "$here/$APP/stage.sh"
# On a busy machine requests wait for a processor longer than for the fault, and that is found instead. The demo itself makes a load of 1 to 3.
busy() { awk -v n="$(nproc)" '$1 > 3 * n { print "load average " $1 ", processors " n }' /proc/loadavg; }
busy_before=$(busy)
load= switcher= answer=	# answer: a wrong one, told again behind the logs
end() {
  local rc=$?
  trap - EXIT INT TERM
  if [ -n "${KEEP:-}" ]; then
    echo "demo: left running; HONE_SOCKET=$HONE_SOCKET; end the programs, then: examples/$APP/$APP.sh stop $stage/$APP" >&2
    exit $rc
  fi
  [ -z "$switcher" ] || { kill "$switcher" 2>/dev/null; wait "$switcher" 2>/dev/null; } || true
  [ -z "$load" ] || { kill "$load" 2>/dev/null; wait "$load" 2>/dev/null; } || true
  [ $rc -eq 0 ] || { stage_logs; [ -z "$answer" ] || printf '%s\n' "$answer"; } >&2
  busy=${busy_before:-$(busy)}
  [ $rc -ne 1 ] || [ -z "$load" ] || [ -z "$busy" ] || echo "demo: other programs keep the machine busy ($busy); try again when it is quiet" >&2
  [ -z "${SAVE_TO:-}" ] || { mkdir -p "$SAVE_TO" && cp "$stage"/*.{log,db,db-wal,json} "$stage/answers" "$SAVE_TO"; } || true
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

# plant on|off|N: all faults of the entry
plant() {
  local one how=$1
  for one in $(of_fault '.plant // [$f] | .[]'); do
    app fault "$stage/$APP" "$one" "$how"
  done
}

# Some faults begin and end while the diagnosis runs. In a process of its own, which a signal ends with its sleep.
plant_meanwhile() {
  local begins=$1 ends=$2
  trap 'kill $! 2>/dev/null; exit' TERM
  trap - EXIT
  sleep "$begins" & wait $!
  plant "$how"
  [ "$ends" != null ] || return 0
  sleep "$(jq -n "$ends - $begins")" & wait $!
  plant off
}

types_seen() { hone status --json | jq -e --arg t "$type" 'any(.types[]; .type == $t and .traces > 20)'; }

step "starting the application: $APP"
stage_app
step "the controller, and an agent on each of $(echo "$nodes" | wc -w) nodes"
stage_honed ${PROBES:+-o search.probes="$PROBES"}
stage_agents

step "load: $RATE requests a second, of $([ -n "$ONLY" ] && echo "type $type" || echo "several types")"
"$here/$APP/$APP.sh" load "$stage/$APP" --seconds 600 --rate "$RATE" ${ONLY:+--mix "$type=1"} --seed 1 --log "$stage/answers" >"$stage/load.log" 2>&1 &
load=$!
until_true 20 "requests of type $type are seen" types_seen
stage_loaded
hone agents

if [ -n "$BASELINE" ]; then
  step "hone start $type --healthy: what it does without the fault is kept"
  hone start "$type" --healthy --wait
fi

how=$DEGREE
[ -z "$ONLY" ] || how=$(of_fault ".only // \"$DEGREE\"")
planted="the fault '$fault' is planted; Hone does not know where"
[ "$(of_fault '.plant == []')" = false ] || planted="nothing is planted"
if [ "$(of_fault .learned)" = true ]; then
  step "$planted"
  plant "$how"
fi
step "learning for $LEARN_SECONDS s: all tracepoints are enabled, then disabled"
hone learn --seconds "$LEARN_SECONDS" --wait
begins=$(of_fault .begins_s)
if [ "$(of_fault .learned)" != true ] && [ "$begins" = null ]; then
  step "$planted"
  plant "$how"
fi
planted_at=$EPOCHREALTIME
sleep "$BEFORE_SECONDS"

step "hone start $type"
[ "$begins" = null ] || { plant_meanwhile "$begins" "$(of_fault .ends_s)" & switcher=$!; }
found=0
begun_at=$EPOCHREALTIME
hone start "$type" ${STRATEGY:+--strategy "$STRATEGY"} ${K:+--k "$K"} ${TAIL:+--tail "$TAIL"} ${CAUSES:+--causes "$CAUSES"} --wait || found=$?
ended_at=$EPOCHREALTIME
hone forest "$type" --json >"$stage/verdict.json"
[ -z "${DELAY_TO:-}" ] || hone status --json >"$DELAY_TO"

on=$(stage_added)
judged=$(jq -c --argjson want "$(of_fault .)" ".runs[0] | $(cat "$here/judge.jq")" "$stage/verdict.json")
check=$(jq -r .check <<<"$judged")
step "done"
if [ -z "$on" ]; then
  echo "No added tracepoint is on, by $stage_added_by."
else
  echo "${red}STILL ON:${plain}"
  echo "$on"
fi
if [ $json = 1 ]; then
  read -r p50_before n_before <<<"$(p50_between "$planted_at" "$begun_at")"
  read -r p50_during n_during <<<"$(p50_between "$begun_at" "$ended_at")"
  jq -c --arg fault "$fault" --argjson judged "$judged" --argjson before "$p50_before" --argjson nbefore "$n_before" \
    --argjson during "$p50_during" --argjson nduring "$n_during" '.runs[0] + {fault: $fault, judged: $judged,
    others: {before_p50_ms: $before, before: $nbefore, during_p50_ms: $during, during: $nduring}}' "$stage/verdict.json" >&3
fi
if [ "$check" = right ] && [ -z "$on" ] && { [ $found = 0 ] || [ "$(jq -r '.runs[0].state' "$stage/verdict.json")" != found ]; }; then
  echo "${green}The answer is right: '$fault'.${plain}"
  exit 0
fi
answer="The answer misses '$fault': $check"
echo "$red$answer$plain"
answer=$(hone forest "$type" 2>&1 || true)$'\n'$answer
exit 1
