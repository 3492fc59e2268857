#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The second example, an event loop with a pool of workers and a service in C++: a dependency without any instrumentation
# is found as the cause; of requests that only wait in five queues no place is said to have half; nothing is left behind.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root
ahead_of_others
export APP=news
here=$PWD/examples
. "$here/stage.sh"
load=
end() { [ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null; stage_down; }
trap end EXIT
why() { hone forest; stage_logs; }

seen() { hone status --json | jq -e '[.types[] | select(.traces > 20) | .type] | sort == ["PUBLISH", "READ", "SEARCH"]'; }
# judged FAULT: what examples/judge.jq says of the newest run of the fault's type
judged() {
  local want
  want=$(jq -c --arg f "$1" '.[$f]' "$here/news/faults.json")
  hone forest "$(jq -r .type <<<"$want")" --json | jq --argjson want "$want" ".runs[0] | $(cat "$here/judge.jq")"
}
outcome_is() { judged "$1" | tee /dev/stderr | jq -e --arg o "$2" '.outcome == $o'; }
no_place_has_half() { hone forest PUBLISH --json | jq -e '[.runs[0].verdicts[].share] | all(. < 0.5)'; }
keeps_baseline() {
	timeout 150 "$O/bin/hone" start "$1" --healthy --wait &&
		hone forest "$1" --json | jq -e '.runs[0] | .state == "baseline" and .keeps_baseline and .tracepoints_used == 0'
}
nothing_new() {
	timeout 150 "$O/bin/hone" start "$1" --wait
	[ $? = 3 ] && hone forest "$1" --json | jq -e '.runs[0] | .state == "nothing stands out" and .compared.run > 0'
}
# It ends by itself: 0 found, 1 not found or unsure, 3 nothing stands out.
diagnosed() {
	timeout 150 "$O/bin/hone" start "$1" --wait
	case $? in 0 | 1 | 3) true ;; *) false ;; esac
}

echo 1..12
stage_app && stage_honed "${ALL_TRACED[@]}" && stage_agents || bail "the stage does not come up"
"$here/news/news.sh" load "$stage/news" --seconds 900 --rate 120 --json >"$stage/load.json" 2>"$stage/load.log" &
load=$!
check "the three request types are traced through three nodes" until_true 20 "types" seen
check "no mistake of its instrumentation is found" hone check --seconds 5
check "the space is learned" hone learn --seconds 5 --wait
"$here/news/news.sh" fault "$stage/news" ads on
check "a dependency without instrumentation is diagnosed" diagnosed READ
check "the verdict is the wait for it" outcome_is ads right
"$here/news/news.sh" fault "$stage/news" ads off
check "healthy requests that wait in five queues are diagnosed" diagnosed PUBLISH
check "no place is said to have half of their variance" no_place_has_half
check "the operator says that they are healthy" keeps_baseline PUBLISH
check "compared with that, nothing stands out" nothing_new PUBLISH
check "nothing that was added is on" until_true 30 "nothing is added" stage_nothing_added
kill "$load"
wait "$load"
load=
check "all requests were answered" jq -e '[.types[].errors] | add == 0' "$stage/load.json"
check "all of it ends" stage_down
exit $FAILED
