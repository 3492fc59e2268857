#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Spans that programs write to LTTng-UST when they start and end, over two processes, become units by examples/otel/otel.map.
# O: the folder of `make all otel-spans-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond jq
own_node
D=$(mktemp -d)
export LTTNG_HOME=$D
end() {
	local pid
	for pid in $(cat "$D/sessiond.pid" 2> /dev/null); do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	rm -rf "$D"
}
trap end EXIT
why() { head -c 1500 "$D/document" "$D/said" 2> /dev/null; }
ahead_of_others
MAP=examples/otel/otel.map

# record NAME EVENTS: while 200 requests are served
record() {
	lttng -n create "$1" --output="$D/$1" && lttng -n enable-channel -u --buffers-pid --num-subbuf=8 --subbuf-size=256k -s "$1" c || return 1
	lttng -n enable-event -u -s "$1" -c c "$2" && lttng -n start "$1" && "$O/tests/scenario/otel_spans_program" 200 || return 1
	lttng -n stop "$1" && lttng -n destroy "$1"
}
is() { jq -e "$1" "$D/document"; }

echo 1..11
lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) 2> "$D/sessiond.log" || bail "no session daemon"
check "LTTng records two programs" record spans 'otl_ust_go:*'
"$O/bin/hone" analyze "$D/spans" --map $MAP --json --samples > "$D/document" 2> "$D/said"
check "each request is a trace, over both processes" is '.source.counts.traces == 200 and .source.counts.spans == 800'
check "its type is the operation" is '[.types[].type] == ["GET /"]'
check "units are spans with their services" is '[.requests[0].units[] | .service + " " + .name] == ["front GET /", "front cart.get", "cart GET /cart", "cart store.read"]'
check "each is called by its parent, which waits for it" is '[.requests[0].units[].parent] == [null, 0, 1, 2] and ([.requests[0].units[1:][].joined] | all)'
check "nothing is left out" is '.source.skipped == []'
slow() { "$O/bin/hone" analyze "$D/spans" --map $MAP | tee "$D/document" | grep -A1 "edge .*cart/hone:unit_begin(store.read)" | grep "cart/hone:unit_end(store.read)"; }
check "the slow store is found" slow
check "LTTng records ends alone" record ends 'otl_ust_go:end_span'
"$O/bin/hone" analyze "$D/ends" --map $MAP --json > "$D/document" 2> "$D/said"
check "a span without its start is said" grep -q "no trace could be analysed" "$D/said"
check "hone map check knows spans" "$O/bin/hone" map check $MAP --no-program
"$O/bin/hone" map show $MAP --json > "$D/document" 2> "$D/said"
check "hone map show knows spans" is '.requests[0] | .correlate == "span" and .type_field == ["op_name", "operation", "name"]'
exit $FAILED
