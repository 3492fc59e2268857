#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How the demo and the evaluation judge an answer (examples/judge.jq), and that each entry of the examples' faults.json can be
# judged: it names a request type of its load, faults that exist, and a place.
. "$(dirname "$0")/lib.sh"
needs jq

# run STATE [FROM TO [KEY]]...: a run with these verdicts
run() {
  local state=$1
  shift
  jq -n --arg state "$state" '[$ARGS.positional | select(. != []) | _nwise(3) | {edge: {from: .[0], to: .[1]}, key: (if .[2] == "" then null else {name: .[2]} end)}] as $v |
    {state: $state, reason: (if $v == [] then "path-gone" else null end), verdict: $v[0], verdicts: $v}' --args "$@"
}
# gives OUTCOME CHECK WANT RUN...: what is said of this run
gives() {
  local outcome=$1 text=$2 want=$3
  shift 3
  run "$@" | jq --argjson want "$want" "$(cat examples/judge.jq)" | tee /dev/stderr |
    jq -e --arg o "$outcome" --arg c "$text" '.outcome == $o and (.check | test($c))'
}
place='{"service": "s", "from": ["s/a"], "to": ["s/b", "t/*"], "key": null}'
keyed='{"service": "s", "from": ["s/a"], "to": ["s/b"], "key": ["node", "s/a.size"]}'
healthy='{"plant": []}'
two='{"causes": [{"service": "s", "from": ["s/a"], "to": ["s/b"], "key": null}, {"service": "t", "from": ["t/a"], "to": ["t/b"], "key": null}]}'
gone='{"service": "s", "from": ["s/a"], "to": ["s/b"], "key": null, "gone": true, "names": "problem-(gone|stopped)"}'
gone_run() { gives "$1" . "$gone" "${@:2}"; }

# entries_of APP TYPE...: each entry has one of the types, and either a place, or nothing planted
entries_of() {
  local app=$1
  shift
  jq -e '[.[] | (.type | IN($ARGS.positional[])) and
    (.plant == [] or ([.causes // [.] | .[] | (.from | length > 0) and (.to | length > 0) and (.service | length > 0)] | all))] | length > 5 and all' \
    "examples/$app/faults.json" --args "$@"
}
news_plants() {
  jq -r 'to_entries[] | .value.plant // [.key] | .[]' examples/news/faults.json |
    while read -r f; do grep -q "^FAULT($f," examples/news/faults.tbl.h || { echo "no fault $f"; return 1; }; done
}

# below WANT BELOW RIGHT: what is said of a verdict with this below its tracepoints
below() {
  jq -n --argjson below "$2" '{state: "found", verdict: {edge: {from: "s/a", to: "s/b"}, key: null, below: $below}} | .verdicts = [.verdict]' |
    jq --argjson want "${place%\}}, \"below\": $1}" "$(cat examples/judge.jq)" | tee /dev/stderr | jq -e --argjson right "$3" '.outcome == "right" and .below == $right'
}
lock='{"state": "lock", "function": "note", "holder": "write_out"}'
ready='{"state": "ready", "function": "weigh"}'
in_lock='{"top": "lock", "places": [{"place": "note() at c.c:1;pthread_mutex_lock", "caller": "add() at c.c:9"}], "holders": [{"place": "write_out() at c.c:7;fsync"}, {"place": "x"}]}'
in_hash='{"top": "ready", "places": [{"place": "hash() at t.c:3", "caller": "weigh() at c.c:9"}, {"place": "note"}], "holders": []}'

# A verdict of a spread or of a type has no edge.
without_place() {
  jq -n '{state: "found", verdict: {kind: "spread", edge: null}} | .verdicts = [.verdict]' |
    jq --argjson want "$1" "$(cat examples/judge.jq)" | tee /dev/stderr | jq -e '.outcome == "wrong" and .service == false and .both == false'
}

echo 1..19
check "the place is right" gives right '^right$' "$place" found s/a s/b ''
check "any label of a service may be an end" gives right '^right$' "$place" found s/a t/c ''
check "another begin is wrong" gives wrong 'begins at s/b' "$place" found s/b s/b ''
check "another end is wrong" gives wrong 'ends at s/c' "$place" found s/a s/c ''
check "a second verdict with the place does not make the first right" gives wrong 'begins at x/a' "$place" found x/a x/b '' s/a s/b ''
check "a right place that is unsure is unsure" gives unsure 'place is right' "$place" unsure s/a s/b ''
check "no verdict is not found, with the reason" gives "not found" path-gone "$place" "not found"
check "a verdict without a place is wrong" eval 'without_place "$place" && without_place "$two"'
check "one of several keys is enough" gives right '^right$' "$keyed" found s/a s/b 's/a.size of 3 values'
check "a missing key is told, the place is right" gives right 'key is none' "$keyed" found s/a s/b ''
check "of a healthy application \"found\" is wrong" gives wrong 'nothing was planted' "$healthy" found s/a s/b ''
check "and no verdict is right" gives right '^right$' "$healthy" "not found"
check "of two causes both must be named, in any order" eval "gives right '^right$' '$two' found t/a t/b '' s/a s/b '' && gives wrong 't/a' '$two' found s/a s/b ''"
check "a problem that is gone must be told as such" eval "gone_run wrong found s/a s/b '' && gone_run 'not found' 'not found'"
check "state, function and holder are counted" below "$lock" "$in_lock" '{"state": true, "function": true, "holder": true}'
check "a caller is a right function, and a holder is judged only where there should be one" below "$ready" "$in_hash" '{"state": true, "function": true, "holder": null}'
check "other states, functions, holders, and none at all, are not right" eval "below '$lock' '$in_hash' '{\"state\": false, \"function\": false, \"holder\": false}' &&
  below '$lock' null '{\"state\": false, \"function\": false, \"holder\": false}'"
check "each entry of the examples can be judged" eval "entries_of news READ SEARCH PUBLISH &&
  entries_of shop GET_HOME GET_PRODUCT SEARCH ADD_TO_CART CHECKOUT GET_ORDERS"
check "each fault that the news site plants exists" news_plants
exit $FAILED
