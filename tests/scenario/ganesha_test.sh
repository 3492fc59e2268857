#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Unmodified nfs-ganesha with its own tracepoints is learned and diagnosed by examples/ganesha/ganesha.map: another
# server holds leases on some of its files, and an open() of an operation OP_OPEN waits for them. Over an asynchronous
# file system its requests move from thread to thread; ganesha-rpc.map follows them by a field.
# O: the folder that `make all ganesha` built; HONE_GANESHA: the server's folder, if elsewhere.
. "$(dirname "$0")/lib.sh"
if [ ! -e "${HONE_GANESHA:-$O-ganesha}/built" ] || [ ! -x "$O/examples/ganesha/ganesha-load" ]; then
	skip "nfs-ganesha is not built: make ganesha does that in minutes"
fi
needs root lttng lttng-sessiond
here=$PWD/examples
. "$here/stage.sh"
stage=$(mktemp -d "${TMPDIR:-/tmp}/hone-ganesha.XXXXXX")
export HONE_SOCKET="ipc://$stage/honed.sock"
nodes=nfs agent= load=
ganesha() { "$here/ganesha/ganesha.sh" "$@"; }
in_node() { "$here/node.sh" exec "$stage/shop" nfs "$@"; }
end() {
	[ $FAILED = 0 ] || stage_logs | sed 's/^/# /'
	for p in $load $agent; do kill "$p" 2> /dev/null; done
	for p in $load $agent; do wait "$p" 2> /dev/null; done
	stage_unhone
	ganesha stop "$stage/shop"
	rm -rf "$stage"
}
trap end EXIT
why() { hone status; hone forest "$type"; tail -n 8 "$stage/agent-nfs.log" "$stage/honed.log" "$stage/load.log"; }

server_start() { ganesha start "$stage/shop" "$@" && server=$(cat "$stage/shop/nfs/server.pid"); }
load_start() {
	"$here/ganesha/ganesha.sh" load "$stage/shop" -r 150 -s 0 > "$stage/load.log" 2>&1 &
	load=$!
}
load_ends() {
	local rc=0
	kill "$load"
	wait "$load" || rc=$?
	load=
	cat "$stage/load.log"
	return $rc
}
agent_start() {
	"$here/node.sh" exec "$stage/shop" nfs "$O/bin/hone-agent" -o agent.node=nfs -o controller.url="ipc://$stage/agents.sock" -o agent.run_dir=/dev/shm/hone-agent \
		-o maps.folder="$stage/maps" >> "$stage/agent-nfs.log" 2>&1 &
	agent=$!
}
agent_ends() { kill "$agent" && wait "$agent"; agent=; }
connected() { hone agents --json | jq -e 'any(.agents[]; .connected and .tracer_ok and .programs > 0)'; }
seen() { hone status --json | jq -e --arg t "$1" 'any(.types[]; .type == $t and .traces > 50)'; }
rules_on() {
	in_node lttng -n list | sed -n "s/^ *[0-9]*) \(hone-[^ ]*\).*/\1/p" | while read -r session; do
		in_node lttng -n list "$session" | sed -n 's/^ *\([A-Za-z_0-9]*:[^ ]*\) .*\[enabled\].*/\1/p'
	done | grep -v '^hone:' | sort
}
only_on() { rules_on; [ "$(rules_on | tr '\n' ' ')" = "$* " ]; }
no_session() { in_node lttng -n list; ! in_node lttng -n list | has hone-; }
# verdict_is FROM TO...: the verdict's edge begins at FROM (-: any) and ends at one of TO
verdict_is() {
	local from=$1
	shift
	hone forest "$type" --json | jq -e --arg from "$from" '.runs[0] | {state, words, edge: .verdict.edge} | debug |
		(.edge | map_values(ltrimstr("ganesha.nfsd/"))) as $edge | .state == "found" and
		($from == "-" or $edge.from == $from) and ($edge.to | IN($ARGS.positional[]))' --args "$@"
}
mapped_by() { rm -f "$stage"/maps/* && cp "$here/ganesha/$1" "$stage/maps"; }
fits() { in_node "$O/bin/hone" map check "$stage"/maps/*.map; }

echo 1..25
mkdir "$stage/maps"

# ---- on one thread ----
type=OP_OPEN
mapped_by ganesha.map
named="nfs_rpc:v4op_end nfs_rpc:v4op_start"
check "the server starts on a node of its own" server_start
[ $FAILED = 0 ] || exit 1
check "it has not loaded libhone" eval '! grep -q libhone "/proc/$server/maps"'
check "the mapping fits the server" fits
agent_start
stage_honed "${ALL_TRACED[@]}" || bail "no controller"
check "an agent with the mapping is connected" wait_for 20 connected
check "the tracepoints that the mapping names are enabled, and no others" wait_for 10 only_on $named
load_start
check "operations are requests, and their type is the operation" wait_for 30 eval 'seen OP_OPEN && seen OP_READ && seen OP_GETATTR'

check "all types are learned" hone learn --seconds 5 --wait
check "the learned space of each operation has the tracepoints inside" eval 'hone space show OP_OPEN | has state:add && ! hone space show OP_READ | has state:add'
check "after learning only tracepoints that the mapping names are enabled" wait_for 10 only_on $named
check "another server takes leases on some of the files" ganesha fault "$stage/shop" on
check "a diagnosis of OP_OPEN ends" hone start OP_OPEN --wait
check "its verdict is the step that opens the file" verdict_is mdcache:qunlock mdcache:mdc_lru_ref
check "after it only tracepoints that the mapping names are enabled" wait_for 10 only_on $named
agent_ends
check "after the agent has ended, no session of Hone's is left" wait_for 10 no_session
check "no client met an error" load_ends
check "the server is still the same process" eval '[ "$(cat "/proc/$server/comm")" = ganesha.nfsd ]'
stage_unhone
check "the server ends when it is asked to" ganesha stop "$stage/shop"

# ---- from thread to thread ----
type=COMPOUND
rm -f "$stage"/*.db*
mapped_by ganesha-rpc.map
check "the server starts over a file system that answers later, from other threads" server_start mem
check "a second mapping fits it" fits
agent_start
stage_honed "${ALL_TRACED[@]}" || bail "no controller"
load_start
check "RPCs are requests" wait_for 30 seen COMPOUND
check "RPCs are learned" hone learn --seconds 5 --wait
check "a diagnosis of RPCs ends" hone start COMPOUND --wait
# All requests have one type, whatever they ask for: the begin of the edge depends on which were sampled first.
check "its verdict ends where a suspended request is resumed" verdict_is - nfs_rpc:op_end nfs_rpc:v4op_end
# Following by thread would mix them: a read begins on one thread and ends on another, and the next request on the first
# thread is taken for a part of it.
check "no RPC is counted as longer than it was" eval 'hone status --json | jq -e "any(.types[]; .type == \"COMPOUND\" and (.mean_ms | numbers) < 20)"'
check "no client of the second server met an error" load_ends
exit $FAILED
