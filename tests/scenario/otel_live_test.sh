#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Spans that programs write to LTTng-UST are the requests and units of a live diagnosis, by examples/otel/otel.map in the agent; under a real LTTng
# on a private node.
# O: the folder of `make all otel-spans-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond jq
here=$PWD/examples
. "$here/stage.sh"
stage=$(mktemp -d "${TMPDIR:-/tmp}/hone-otel.XXXXXX")
export HONE_SOCKET="ipc://$stage/honed.sock"
nodes=one agent=
in_node() { "$here/node.sh" exec "$stage/shop" one "$@"; }
end() {
  [ $FAILED = 0 ] || stage_logs | sed 's/^/# /'
  stage_unhone
  [ -z "$agent" ] || kill "$agent" 2>/dev/null
  "$here/node.sh" stop "$stage/shop" one
  rm -rf "$stage"
}
trap end EXIT
why() { hone status; tail -n 8 "$stage/agent-one.log" "$stage/honed.log" "$stage/shop/one/program.log"; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "otl" and .traces > 100)'; }
connected() { hone agents --json | jq -e 'any(.agents[]; .connected and .tracer_ok and .programs > 0)'; }
whole() { hone report otl --json > "$stage/report" && jq -e '[.types[].groups[].path[]? | tostring] | any(contains("unit_end(store.read)")) and any(contains("unit_end(cart.get)"))' "$stage/report"; }
slow() { hone report otl | tee "$stage/text" | grep -A1 "edge .*unit_begin(otl)" | grep "unit_end(store.read)"; }

echo 1..6
ahead_of_others
mkdir "$stage/maps" "$stage/shop"
cp examples/otel/otel.map "$stage/maps"
"$here/node.sh" start "$stage/shop" one || bail "no node"
"$here/node.sh" run "$stage/shop" one program "$O/tests/scenario/otel_spans_program" 10000000
"$here/node.sh" exec "$stage/shop" one "$O/bin/hone-agent" -o agent.node=one -o controller.url="ipc://$stage/agents.sock" \
  -o agent.run_dir=/dev/shm/hone-agent -o maps.folder="$stage/maps" >>"$stage/agent-one.log" 2>&1 &
agent=$!
stage_honed "${ALL_TRACED[@]}" || bail "no controller"
check "an agent with the mapping is connected" wait_for 60 connected
check "traces of spans are requests" wait_for 60 seen
check "units of both processes are in them" whole
check "the slow store is found" wait_for 30 slow
check "the instrumentation has no mistake" hone check otl --seconds 5
kill "$agent" && wait "$agent"
agent=
check "no tracepoint is left enabled" eval '! in_node lttng -n list | has hone-one'
exit $FAILED
