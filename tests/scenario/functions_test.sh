#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# With search.probes = functions, the functions inside the edge of a verdict are timed, in C++ too: exceptions pass probed functions unharmed,
# those that are called too often are not timed, and no probe is left. O: the folder of `make all agent-scenario`.
. "$(dirname "$0")/lib.sh"
. tests/scenario/desk.sh
needs root lttng-sessiond bpftool
needs_below '.waits and .probes'
own_node /run/hone
ahead_of_others
why() { hone why ORDER; hone agents; tail -n 20 "$D/agent.log"; tail -n 8 "$D/honed.log"; }

desk_start -o search.probes=functions -o search.budget=20% "${ALL_TRACED[@]}"
LD_LIBRARY_PATH=$O/lib "$O/tests/scenario/functions_program" > "$D/program.log" 2>&1 &
PROGRAM=$!
seen() { hone status --json | jq -e 'any(.types[]; .type == "ORDER" and .traces > 50)'; }
check "its requests are seen" wait_for 60 seen
helper() { pgrep -r R,S,D -P "$(pgrep -P "$AGENT" -x hone-starter)" -x hone-below; }
links() { cat /proc/"$(helper)"/fdinfo/* 2> /dev/null | awk '/^link_type:/ { type = $2 } /^link_id:/ && type == "uprobe_multi" { print $2 }'; }
verdict() { hone forest ORDER --json | jq -e ".runs[0].verdict | debug | $1"; }
of() { verdict "[.below.functions[] | select(.function == \"$1\")][0] | $2"; }
hone start ORDER --wait --timeout 60 > "$D/said" 2>&1 &
DIAGNOSIS=$!
until gone $DIAGNOSIS; do links; sleep 0.1; done >> "$D/links"
wait $DIAGNOSIS
ENDED=$?
check "a diagnosis ends" eval 'cat "$D/said"; [ $ENDED = 0 ]'
# How far its interval reaches depends on how many requests were slow meanwhile, and on what else the machine does. It is called once in each
# request; one whose records were lost counts as a request without a call.
check "the function with most of the variance is timed" of scan_shelf '.share > 0.4 and .share_low > 0 and .share_high > 0.6 and .calls > 0.9 and .calls <= 1'
check "and what it calls" of look_at '.share > 0.4 and .calls > 1'
check "one that an exception leaves is not timed" verdict '[.below.functions[] | select(.function == "apply_coupon" and .share != null)] == []'
check "exceptions pass it unharmed" kill -0 $PROGRAM
LINKS=$(sort -u "$D/links")
check "its probes were links of hone-below" test -n "$LINKS"
none_on() { hone agents --json | jq -e 'all(.agents[]; .added == 0 or .added == null)' && [ -z "$(links)" ] && bpf_gone link $LINKS; }
check "no probe is left" wait_for 20 none_on
asked() { hone why --tracepoint func.functions_progr:scan_shelf_start --json | jq -e '[.switched[] | .on] | any and (all | not)'; }
check "what was probed is in the log of the run" asked

# By hand.
counted() { "$O/lib/hone/hone-below" --pid $PROGRAM --all --seconds 1 --probes func.serve --json > "$D/counted.json" && jq -e '[.probes[] | .hits] | length == 2 and all(. > 20)' "$D/counted.json"; }
check "hone-below counts the calls of a function" wait_for 30 counted
too_often() { "$O/lib/hone/hone-below" --pid $PROGRAM --all --seconds 2 --probes func.count_coin --json > "$D/often.json" && jq -e 'any(.probes[]; .failed != null and (.failed | test("times a second")))' "$D/often.json"; }
check "one that is called too often goes off" wait_for 30 too_often
missing() { "$O/lib/hone/hone-below" --pid $PROGRAM --all --seconds 1 --probes func.no_such --json > "$D/missing.json" && jq -e 'all(.probes[]; .failed | test("no file"))' "$D/missing.json"; }
check "one that is not there is said to be missing" missing
check "the program goes on" kill -0 $PROGRAM
kill $PROGRAM
check "the agent ends" eval 'kill $AGENT; wait_for 30 gone $AGENT'
echo "1..$N"
exit $FAILED
