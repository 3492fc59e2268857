#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A diagnosis that ends between a hand-over and the begin of the unit goes on below the tracepoints: what the thread did that began it.
# O: the folder of `make all agent-scenario`.
. "$(dirname "$0")/lib.sh"
. tests/scenario/desk.sh
needs root lttng-sessiond bpftool
needs_below '.waits and .holders'
own_node /run/hone
ahead_of_others
why() { hone why ORDER; hone agents; tail -n 8 "$D/agent.log" "$D/honed.log"; }

desk_start "${ALL_TRACED[@]}"
LD_LIBRARY_PATH=$O/lib "$O/tests/scenario/before_program" &
PROGRAM=$!
seen() { hone status --json | jq -e 'any(.types[]; .type == "ORDER" and .traces > 50)'; }
check "its requests are seen" wait_for 30 seen
check "a diagnosis ends" hone start ORDER --wait
below() { hone forest ORDER --json | jq -e ".runs[0].verdict | debug | $1"; }
check "its verdict leads to the begin of the unit" below '.edge.to | test("hone:unit_begin")'
check "most of that time the thread waited for a lock" below '.below.top == "lock" and ([.below.states[] | select(.state == "lock")][0].share > 0.5)'
check "in the function that takes it" below '.below.places[0].place | test("reserve")'
check "whose holder, a thread of a name, slept in another one" below '.below.holders[0] | .state == "timer" and .thread == "clerk" and (.place | test("count_stock"))'
check "it is not said that the process stood still" below '.waited == null'
kill $PROGRAM
check "the agent ends" eval 'kill $AGENT; wait_for 10 gone $AGENT'
echo "1..$N"
exit $FAILED
