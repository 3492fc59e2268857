#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Alerts on the shop: how many begin while nothing is planted, and after how many windows a fault is one that makes a tenth of the searches slow
# (slow_tenth of examples/shop/README.md), and whether the diagnosis that the alert starts names the place. All request types are watched, and
# all requests are traced. First what is usual is learned for LEARN seconds; then nothing is planted for HEALTHY seconds; then ROUNDS times: the
# fault is switched on until there is an alert and its diagnosis has ended, at least for ON_WINDOWS windows and for MISS_WINDOWS if there is none, then off until the alert has ended, and
# for REST_WINDOWS more. A window is WINDOW seconds long in place of a minute.
#
#   O=build bench/alerts_shop.sh     writes $O/alerts-shop.jsonl, with the load average and the pressure on CPUs each second or third of a window, and prints its tables
#   TYPES: the types of all requests, if not those of the shop in its usual mix; SEARCH is one of them.
#   LEARN (320), HEALTHY (900), ROUNDS (5), WINDOW (4), RATE (240 requests/s), DEGREE (1: 20 ms more): see above; 30 minutes. An interrupt ends it
#   with the tables of what was measured so far. It leaves what was learned in $O/healthy.db; HEALTHY_DB=FILE: learned already, with the same WINDOW.
set -euo pipefail
bench=$(cd "$(dirname "$0")" && pwd)
here=$bench/../examples
O=$(realpath "${O:-$bench/../build}")
export O
LEARN=${LEARN:-320} HEALTHY=${HEALTHY:-900} ROUNDS=${ROUNDS:-5} WINDOW=${WINDOW:-4} RATE=${RATE:-240} DEGREE=${DEGREE:-1}
ON_WINDOWS=8 MISS_WINDOWS=15 REST_WINDOWS=6 DIAGNOSIS_SECONDS=150 TYPE=SEARCH
mix=${TYPES:-}
TYPES=${TYPES:-GET_HOME GET_PRODUCT SEARCH ADD_TO_CART CHECKOUT GET_ORDERS}
out=$O/alerts-shop.jsonl
APP=shop
. "$here/stage.sh"
load= sampler= sleeper=
end() {
  local rc=$?
  trap - EXIT INT TERM
  for p in $sleeper $sampler $load; do kill "$p" && wait "$p"; done 2>/dev/null || true
  [ $rc -eq 0 ] || stage_logs >&2
  stage_unhone	# then all that was learned is in the file
  [ ! -s "$stage/healthy.db" ] || cp "$stage"/healthy.db* "$O" || true
  stage_down || rc=1
  [ ! -s "$out" ] || python3 "$bench/alerts_shop.py" "$out" || rc=1
  exit $rc
}
trap end EXIT
trap 'exit 130' INT TERM

# A sleep that a signal ends.
rest() {
  sleep "$1" &
  sleeper=$!
  wait $sleeper
  sleeper=
}

note() { jq -nc --argjson t "$EPOCHREALTIME" "{t: \$t} + $1" "${@:2}" >>"$out"; }

# What hone alerts says, each second, with the load of the machine.
sample() {
  trap - EXIT INT
  trap 'exit 0' TERM
  local load pressure
  while sleep "$(jq -n "[1, $WINDOW / 3] | min")"; do
    read -r load _ </proc/loadavg
    pressure=$(sed -n 's/^some avg10=\([0-9.]*\).*/\1/p' /proc/pressure/cpu 2>/dev/null || true)
    hone alerts --json | jq -c --argjson t "$EPOCHREALTIME" --argjson load "$load" --argjson pressure "${pressure:-null}" \
      '{t: $t, load: $load, pressure: $pressure, alerts, left_out,
        watched: [.watched[] | {type, alert, answer, window, requests, per_second, healthy_windows, mean_ms, usual_mean_ms, groups: (.groups | length)}]}' >>"$out" || true
  done
}

watched() { hone alerts --json | jq -er --arg t $TYPE ".watched[] | select(.type == \$t) | $1"; }
new_window() { [ "$(watched .window)" != "$before" ]; }
wait_windows() {	# N: until N windows of TYPE have ended
  local before
  for _ in $(seq "$1"); do
    before=$(watched .window)
    until_true $((3 * ${WINDOW%.*} + 10)) "a window ends" new_window
  done
}

# The number of the newest alert of TYPE after alert $last.
alert_number() { hone alerts --json | jq -er --arg t $TYPE --argjson last "$last" '[.alerts[] | select(.type == $t and .number > $last)][-1].number // empty'; }
alert_is() { hone alerts --json | jq -e --argjson n "$number" "[.alerts[] | select(.number == \$n)][0] | $1"; }
decided() { alert_is '.started != "undecided"'; }
diagnosed() { hone forest --run "$run" --json | jq -e '.runs[0].state != "active"'; }

# The verdict of the diagnosis that alert $number started.
note_verdict() {
  local run
  until_true 20 "it is decided whether a diagnosis starts" decided || true
  run=$(alert_is '.run // 0' || true)
  if [ "$run" = 0 ]; then
    note '{verdict: {round: $round, started: $word}}' --argjson round "$round" --arg word "$(alert_is .started || true)"
    return
  fi
  until_true $DIAGNOSIS_SECONDS "the diagnosis ends" diagnosed || true
  hone forest --run "$run" --json >"$stage/run.json"
  note '{verdict: ($run[0].runs[0] | {round: $round, run, state, seconds, cycles, from: .verdict.edge.from, to: .verdict.edge.to, key: .verdict.key.name})}' \
    --argjson round "$round" --slurpfile run "$stage/run.json"
}

: >"$out"
stage_app
for file in ${HEALTHY_DB:+"$HEALTHY_DB"*}; do cp "$file" "$stage/healthy.db${file#"$HEALTHY_DB"}"; done
stage_honed -o watch.window="${WINDOW}s" -o watch.learn="${LEARN}s" -o watch.starts_per_day=100 -o watch.cool_down=0s \
  -o agents.budget=0% -o agents.enough=0 -o capture.wait=1s
stage_agents
"$here/shop/shop.sh" load "$stage/shop" --seconds 100000 --rate "$RATE" ${mix:+--mix "$(sed 's/ /=1,/g; s/$/=1/' <<<"$mix")"} --seed 1 >"$stage/load.log" 2>&1 &
load=$!
seen() { hone status --json | jq -e --arg t "$TYPES" '[.types[] | select(.traces > 20) | .type] as $seen | $t | split(" ") - $seen == []'; }
until_true 60 "requests of all types are seen" seen
hone learn --seconds 10 --wait >"$stage/learn.log"
# What was learned while all tracepoints were on is not usual.
[ -n "${HEALTHY_DB:-}" ] || for type in $TYPES; do hone alerts accept $type >/dev/null; done
note '{mark: "learning", window_s: $w, rate: $r, type: $type, from: "shop-catalog/shop_catalog:score_names_begin", to: "shop-catalog/shop_catalog:score_names_end"}' \
  --argjson w "$WINDOW" --argjson r "$RATE" --arg type $TYPE
sample &
sampler=$!
[ -n "${HEALTHY_DB:-}" ] || rest "$LEARN"
judged() { hone alerts --json | jq -e --arg t "$TYPES" '[.watched[] | select(.answer != "learning" and .answer != "few-requests") | .type] as $j | $t | split(" ") - $j == []'; }
until_true $((LEARN / 2 + 60)) "all types are judged" judged
note '{mark: "healthy"}'
rest "$HEALTHY"
for round in $(seq "$ROUNDS"); do
  last=$(hone alerts --json | jq '[.alerts[].number] | max // 0')
  wait_windows 1
  app fault "$stage/shop" slow_tenth "$DEGREE"
  note '{mark: "on", round: $round}' --argjson round "$round"
  began=$SECONDS number=
  until number=$(alert_number) || [ $((SECONDS - began)) -ge $((MISS_WINDOWS * ${WINDOW%.*})) ]; do sleep 0.3; done
  [ -z "$number" ] || note_verdict
  left=$((ON_WINDOWS * ${WINDOW%.*} - (SECONDS - began)))
  [ $left -le 0 ] || rest $left
  app fault "$stage/shop" slow_tenth off
  note '{mark: "off", round: $round}' --argjson round "$round"
  [ -z "$number" ] || until_true $((20 * ${WINDOW%.*})) "the alert ends" alert_is '.ended != null' || true
  note '{mark: "ended", round: $round}' --argjson round "$round"
  wait_windows $REST_WINDOWS
done
note '{mark: "end"}'
