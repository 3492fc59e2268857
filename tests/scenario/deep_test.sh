#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A program with LTTng's helpers preloaded, under a real agent and controller: the time between two of its own
# tracepoints passes in a wait for a mutex, in loading a library, or in work that no helper traces. All helper
# tracepoints are disabled afterwards. Also libhone's context field, which the tracer reads inside malloc: it must be
# harmless there.
# O: the folder that `make all deep-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond
own_node /run/hone
ahead_of_others
D=$(mktemp -d)
PIDS=() DESK=
trap 'kill $DESK "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
export LTTNG_HOME=$D HONE_SOCKET=ipc://$D/op.sock LTTNG_UST_REGISTER_TIMEOUT=-1 DESK_LIBRARY=$O/tests/scenario/deep_library.so
HELPERS=liblttng-ust-pthread-wrapper.so.1:liblttng-ust-dl.so.1:liblttng-ust-libc-wrapper.so.1
why() { "$O/bin/hone" forest BOOK; "$O/bin/hone" agents; tail -n 5 "$D"/*.log; }
hone() { "$O/bin/hone" "$@"; }
programs() { hone agents --json | jq -e --argjson n "$1" '.agents[0].programs == $n'; }
desk() {	# MODE: restarts the program; without capabilities, like hone-agent, which can then find the program's locks
	[ -z "$DESK" ] || { kill "$DESK"; wait "$DESK" 2> /dev/null; wait_for 20 programs 0; }
	LD_PRELOAD=$HELPERS setpriv --bounding-set=-all --inh-caps=-all "$O/tests/scenario/deep_program" "$1" 3000 2> "$D/desk.log" &
	DESK=$!
	wait_for 20 programs 1 && wait_for 20 has_helpers && wait_for 20 more "$(traces)"
}
traces() { hone status --json | jq '[.types[] | select(.type == "BOOK") | .traces][0] // 0'; }
more() { [ "$(traces)" -gt $(($1 + 300)) ]; }
has_helpers() { hone tracepoints --json | jq -e '[.. | strings] | any(. == "lttng_ust_pthread:pthread_mutex_lock_req") and any(. == "lttng_ust_libc:malloc") and any(. == "lttng_ust_dl:dlopen")'; }
run() { hone forest BOOK --json | jq -er ".runs[0] | $1"; }
ended() { run '.state != "active"'; }
diagnosed() { hone start BOOK && wait_for 120 ended; }
ends() { [ "$(run '.verdict.edge | .from + " " + .to')" = "deep_program/$1 deep_program/$2" ]; }
says() { run .verdict | tee /dev/stderr | jq -e "$1"; }
quiet() { hone status --json | jq -e .quiet || hone agents --json | jq -e 'all(.agents[]; .added == 0)'; }
learned() { ! hone space BOOK --json | has lttng_ust; }
context() {	# records of malloc in another user's session carry the request; those outside of a request carry none
	lttng -n create by_hand -o "$D/by_hand" && lttng -n enable-event -u 'lttng_ust_libc:*,lttng_ust_pthread:*' &&
		lttng -n add-context -u -t '$app.hone:trace_id' -t '$app.hone:probed' && lttng -n start && sleep 1 && lttng -n stop &&
		lttng -n destroy by_hand || return 1
	babeltrace2 "$D/by_hand" > "$D/by_hand.txt"
	awk '/lttng_ust_libc:malloc/ { n++; if ($0 ~ /hone_trace_id = \{ [1-9]/) with++; else without++ }
		END { print n, with, without; exit !(n > 100 && with > 100 && without > 0) }' "$D/by_hand.txt"
}

echo 1..20
lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
PIDS+=($!)
wait_for 10 lttng -n list > /dev/null || bail "no session daemon"
"$O/bin/honed" -o "controller.agents=ipc://$D/agents.sock" -o "controller.operators=$HONE_SOCKET" \
	"${ALL_TRACED[@]}" -o "storage.database=$D/forest.db" -o "storage.space=$D/space.db" 2> "$D/honed.log" &
PIDS+=($!)
"$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=ipc://$D/agents.sock" 2> "$D/agent.log" &
PIDS+=($!)
check "the controller answers" wait_for 20 programs 0
check "requests of a program with preloaded helpers are seen" desk mutex
check "the helpers' tracepoints can be enabled" wait_for 20 has_helpers
check "it learns" hone learn --seconds 4 --wait
check "learning leaves the helpers' tracepoints out" learned
check "a thread holds a mutex: the diagnosis ends" diagnosed
check "the verdict is the wait for the lock" ends lttng_ust_pthread:pthread_mutex_lock_req lttng_ust_pthread:pthread_mutex_lock_acq
check "the verdict names the program's tracepoints around it" says \
	'.preload | .kind == "mutex" and .edge == { from: "deep_program/deskp:priced", to: "deep_program/deskp:booked" }'
check "the verdict names the mutex" says '.preload.object | startswith("deep_program+book")'
check "after the mutex's diagnosis all added tracepoints are off" wait_for 10 quiet

check "a library is loaded: the diagnosis ends" eval 'desk library && diagnosed'
check "the verdict is the loading of the library" eval 'run ".verdict.edge | .from, .to" | has -x deep_program/lttng_ust_dl:dlopen'
check "the verdict names the library" says \
	'.preload.kind == "library" or .separation.tracepoint == "deep_program/lttng_ust_dl:dlopen"'
check "after the library's diagnosis all added tracepoints are off" wait_for 10 quiet

check "a cause without a helper: the diagnosis ends" eval 'desk work && diagnosed'
check "the verdict is the edge between the program's own tracepoints" ends deskp:priced deskp:booked
check "the verdict is this edge: not spread over several, no helper, no cut" says '.preload == null and .kind != "spread" and .kind != "cut"'
check "after the third diagnosis all added tracepoints are off" wait_for 10 quiet
check "records of malloc carry the trace id of their request" context
check "the program is still running" kill -0 "$DESK"
exit $FAILED
