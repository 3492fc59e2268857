#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `hone report` of a live application: groups, edges that add up, intervals, keys, loops; a baseline and the changes
# since then; a reset window; and every lost record is counted.
# O: the folder that `make all report-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root
ahead_of_others
here=$PWD/examples
. "$here/stage.sh"
load= mute=
end() {
  local p
  for p in $load $mute; do kill "$p"; wait "$p"; done 2>/dev/null
  stage_down
}
trap end EXIT
save_report() { hone report "${@:2}" --json >"$stage/$1.json"; }
# doc FILE FILTER: the jq filter on a saved document
doc() { jq -e "$2" "$stage/$1.json"; }
# The report has at least N requests of each of the shop's types, and of the given types.
enough() {
  hone report --json | jq -e --argjson n "$1" '[.types[] | select(.count >= $n) | .type] | contains($ARGS.positional)' \
    --args GET_HOME GET_PRODUCT SEARCH ADD_TO_CART CHECKOUT GET_ORDERS "${@:2}"
}
# The larger group of ROUNDS has at least N requests.
rounds_enough() { hone report ROUNDS --json | jq -e --argjson n "$1" 'any(.types[0].groups[]; .count >= $n)'; }
# found FILTER VALUE: on the changes; prints what was found
found() { jq -c "$1" "$stage/changed.json"; jq -e "$1 | $2" "$stage/changed.json"; }
load_on() {
  "$here/shop/shop.sh" load "$stage/shop" --seconds 900 --rate 80 --json >"$stage/load.json" 2>&1 &
  load=$!
}
load_off() { kill "$load"; wait "$load"; load=; } 2>/dev/null

echo 1..35
stage_app && stage_honed "${ALL_TRACED[@]}" -o analysis.ignore="*/hone:unit_begin(news)" -o analysis.bins="*/hone:request_end*.status=400" && stage_agents || bail "the stage does not come up"
export XDG_DATA_HOME=$stage/data
check "before the first request the report has no types" bash -o pipefail -c "'$O/bin/hone' report --json | jq -e '.types == [] and .source.counts.traces == 0'"
# The shop's cache holds each of its 300 users and most searches, so the healthy baseline stays valid.
check "the load warms the caches" "$here/shop/shop.sh" load "$stage/shop" --seed 2 --seconds 8 --rate 400
load_on
"$here/node.sh" run "$stage/shop" front rounds "$O/tests/scenario/report_rounds"

# ---- the report ------------------------------------------------------------------
check "requests of all types arrive" until_true 90 "enough of each" enough 40 ROUNDS
save_report all
save_report one GET_PRODUCT
check "hone report --json is a document of all types, live" doc all '.document == "hone.analysis" and .version == 1 and .source.live and (.types | length) == 7'
check "hone report TYPE has only this type" doc one '(.types | length) == 1 and .types[0].type == "GET_PRODUCT" and .types[0].count >= 40'
check "each group has a path from its begin to its end" doc all '[.types[].groups[]] | length > 0 and all(
  (.group | test("^[0-9a-f]{32}$")) and (.path[0] | test("hone:request_begin")) and (.path[-1] | test("hone:request_end")))'
check "the requests of a type are those of its groups and of the rest" doc all '.types | all(.count == ([.groups[].count] | add) + .other.traces)'
check "edges add up to the mean, except for rounding in print" doc all '[.types[].groups[]] | all(
  . as $g | ([.edges[].mean_ms] | add) - $g.mean_ms | fabs <= 1e-7 * $g.mean_ms)'
check "shares add up to 1" doc all '[.types[].groups[] | select(.count > 1)] | all(([.edges[].share] | add) - 1 | fabs < 1e-6)'
check "each share and each CV lies in its interval" doc all '[.types[].groups[] | select(.count >= 30)] | length >= 5 and all(
  .cv_low <= .cv and .cv <= .cv_high and .probability >= 0 and (.edges | all(.low <= .share and .share <= .high)))'
check "exemplars have complete trace ids" doc all '[.types[].groups[].exemplars[]] | length > 0 and all(
  . != null and (.trace | test("^[0-9a-f]{32}$")) and .total_ms > 0)'
check "each edge has an owning service, or is between services" doc all '[.types[].groups[].edges[]] | all(has("owner_service")) and
  ([.[].owner_service] | unique | debug | contains(["nginx", "redis-server", "postgres", "shop-front", "shop-catalog", "shop-cart", "shop-order", "shop-price", null]))'
check "the document counts moved steps, and no trace was left out" doc all '.source.counts | .moved >= 0 and .other_groups == 0 and .collisions == 0 and .inexact == 0'
check "hone report prints the type for people" bash -c "'$O/bin/hone' report GET_PRODUCT | grep -q 'GET_PRODUCT'"

# ---- loops, bins, excluded waits-----------------------------------------------------
until_true 60 "enough rounds" rounds_enough 60
save_report loops ROUNDS
check "requests with one to three iterations are one group, failed ones another" doc loops '.types[0].groups |
  [.[].path[-1]] | sort == ["report_rounds/hone:request_end(ROUNDS) [status < 400]",
  "report_rounds/hone:request_end(ROUNDS) [status >= 400]"]'
check "paths show nested loops" doc loops '[.types[0].groups[].path] | all(
  map(select(. == "(" or . == ")+")) == ["(", "(", ")+", ")+"] and .[index("(") + 1] == "report_rounds/hone:fork(round)")'
check "the number of iterations is a key that explains the time" doc loops '[.types[0].groups[] | select(.count >= 60)] |
  length > 0 and all(. as $g | $g.problem == "unpredictable" and
  all("round", "step"; . as $loop | any($g.keys[]; .numeric and .rho > 0.5 and .p < 1e-3 and
    .name == "iterations of ( report_rounds/hone:fork(" + $loop + ") ... )+")))'
check "an excluded wait is no part of the response time" doc loops '[.types[0].groups[]] | all(.ignored_mean_ms >= 2 and
  ([.edges[] | select(.ignored)] | length == 2 and all(.to == "report_rounds/hone:unit_begin(news)" or
  .from == "report_rounds/hone:unit_begin(news)")))'

# ---- a baseline --------------------------------------------------------------------
hone report --reset --json >/dev/null
# Thirty-three times the window that is compared with it, so that one block in which another service stands out by chance is
# less than one in twenty.
check "a window without a fault is full" until_true 500 "enough of each" enough 1000 ROUNDS
check "hone baseline save stores it under a name" hone baseline save healthy
check "hone baseline list has it" bash -c "'$O/bin/hone' baseline list | grep '^healthy '"
rounds=$(cat "$stage/shop/front/rounds.pid")
save_report before --reset
save_report after
check "--reset prints the window and starts a new one" jq -e --slurpfile old "$stage/before.json" '
  .source.since > $old[0].source.since and .source.counts.traces < $old[0].source.counts.traces / 4' "$stage/after.json"
kill "$rounds"
until_true 30 "the program of rounds ends" gone "$rounds"
# Records arrive in the order of their requests' ends; 30 requests take longer than the delay of records.
no_rounds() { hone report --reset --json | jq -e '.source.counts.traces >= 30 and all(.types[]; .type != "ROUNDS")'; }
until_true 60 "its last requests" no_rounds
"$here/shop/shop.sh" fault "$stage/shop" missing_index on
check "requests with a fault arrive" until_true 90 "enough of each" enough 30
# A window in which the machine did other work for a while is like a healthy block in which it did; another window follows it.
for _ in 1 2 3; do
  until_true 90 "enough of each" enough 30
  hone report --reset --baseline healthy --html "$stage/page.html" --json >"$stage/changed.json"
  jq -e '.baseline.suspects[0] | .service == "postgres" and .sure' "$stage/changed.json" >/dev/null && break
done
check "the baseline has healthy blocks enough" found '.baseline.blocks' '.needed == 19 and .count >= .needed and .enough and .length_ms > 0 and
  .p <= 0.05'
check "the service with the fault is the first suspect, and sure" found '.baseline.suspects[:3]' '.[0] | .service == "postgres" and .sure and
  .unsure == null and .score > .usual_score and .p <= 0.05'
check "the change of the mean is attributed to its edges" found '.baseline.types[] | select(.type == "GET_ORDERS") | {change_ms, low_ms, p,
  edges: .edges[:2]}' '.low_ms > 1 and .edges[0].owner_service == "postgres" and .edges[0].share > 0.5'
check "a type that vanished is listed" found '.baseline | {types_appeared, types_vanished}' '. == {types_appeared: [], types_vanished: ["ROUNDS"]}'
check "the page contains the data and loads nothing from elsewhere" bash -c "
  grep -q 'shop-price' '$stage/page.html' && grep -q 'hone.analysis' '$stage/page.html' &&
  ! grep -E -i '(src|href|url|@import|fetch|import)[^a-z]{1,3}(https?:)?//' '$stage/page.html'"

# ---- errors-------------------------------------------------------------------------
check "an unknown type: exit 1, and the error lists the known types" bash -c "'$O/bin/hone' report NO_SUCH 2>'$stage/said'; [ \$? = 1 ] &&
  grep 'no request of this type has been seen; seen: .*GET_PRODUCT' '$stage/said'"
"$O/bin/honed" -o controller.agents="ipc://$stage/mute-agents.sock" -o controller.operators="ipc://$stage/mute.sock" \
  -o storage.database="$stage/mute.db" -o storage.space="$stage/mute-space.db" -o analysis.report_max=0B >"$stage/mute.log" 2>&1 &
mute=$!
until_true 10 "a second controller answers" hone status --socket "ipc://$stage/mute.sock"
check "a controller that keeps no report: exit 1, and the error says why" bash -c "'$O/bin/hone' report --socket 'ipc://$stage/mute.sock' 2>'$stage/said'; [ \$? = 1 ] &&
  grep 'report_max' '$stage/said'"

# ---- accounting of every record ----------------------------------------------------
load_off
all_here() {
  local sent
  sent=$(hone agents --json | jq '[.agents[] | .records - .lost_queue] | add')
  hone status --json | jq -e --argjson sent "$sent" '.counts | .records + .outside == $sent and .held == 0'
}
check "all records that the agents sent have arrived" until_true 60 "the last records" all_here
hone status --json >"$stage/status.json"
check "each record was used, or is counted with a reason" doc status '.counts |
  .records > 10000 and .records == .used + .late + .duplicate + .given_up + .held and .used > 0.99 * .records'
check "no record was lost, and no trace is inexact" doc status '.counts |
  ., (.inexact == 0 and .lost_ring == 0 and .lost_queue == 0 and .lost_decode == 0 and .pathless == 0 and .untyped == 0 and
  .given_up_memory == 0 and .given_up_malformed == 0 and .duplicate == 0 and .other_groups == 0 and .moved >= 0)'
hone report --reset --json >/dev/null
check "after the last reset no request arrived" bash -o pipefail -c "'$O/bin/hone' report --json | jq -e '.types == [] and .source.counts.traces == 0'"
check "no request failed during the test" jq -e '.all.requests > 500 and .all.errors == 0' "$stage/load.json"
exit $FAILED
