#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 800 connections per second without keys, from four addresses, do not keep out an agent with a round trip of 200 ms.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root python3 jq
own_node /run/hone
D=$(mktemp -d)
PORT=7001 FAR=7002 WITHIN_S=5
export HONE_SOCKET="ipc://$D/honed.sock" LTTNG_HOME=$D
HONED='' AGENT='' RELAY='' FLOOD=''
end() {
	for pid in $FLOOD $AGENT $RELAY $HONED; do kill "$pid" 2> /dev/null; done
	wait
	rm -rf "$D"
}
trap end EXIT
why() { tail -n 12 "$D/honed.log" "$D/agent.log"; hone agents; }
hone() { "$O/bin/hone" "$@"; }
connected() { hone agents --json | jq -e 'any(.agents[]; .node == "far" and .connected)'; }
away() { ! connected; }
begins() { [ "$(tail -n 1 "$D/$1.count" 2> /dev/null || echo 0)" -gt 1000 ]; }
start_agent() {
	: > "$D/relay.times"
	"$O/bin/hone-agent" -o agent.node=far -o controller.url="tls://localhost:$FAR" -o tls.ca="$D/keys/agents/far/ca.pem" \
		-o tls.certificate="$D/keys/agents/far/agent.pem" -o tls.key="$D/keys/agents/far/agent.key" \
		-o agent.run_dir=/run/hone/agent >> "$D/agent.log" 2>&1 &
	AGENT=$!
}
# The time from the agent's first attempt until it is connected.
gets_in() {
	local took
	start_agent
	wait_for 60 test -s "$D/relay.times" || return 1
	wait_for 60 connected || return 1
	took=$(awk -v now="$(date +%s.%N)" 'NR == 1 { print now - $1 }' "$D/relay.times")
	echo "$1: connected after $took s"
	awk -v t="$took" -v most="$WITHIN_S" 'BEGIN { exit !(t <= most) }'
}
leaves() {
	kill "$AGENT"
	wait "$AGENT"
	AGENT=
	wait_for 60 away
}

echo 1..11
hone keys init --host localhost --dir "$D/keys" > "$D/keys.log" && hone keys agent far --dir "$D/keys" >> "$D/keys.log" || bail "no keys"
"$O/bin/honed" -o controller.agents="tls://127.0.0.1:$PORT" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
	-o storage.space="$D/space.db" -o tls.ca="$D/keys/ca.pem" -o tls.certificate="$D/keys/controller.pem" \
	-o tls.key="$D/keys/controller.key" -o tls.revoked="$D/keys/revoked.pem" >> "$D/honed.log" 2>&1 &
HONED=$!
wait_for 60 hone status || bail "no controller"
python3 tests/scenario/flood.py relay $FAR $PORT >> "$D/relay.times" &
RELAY=$!

check "without a flood the agent connects within $WITHIN_S s" gets_in alone
check "and leaves" leaves
for kind in silent half junk; do
	python3 tests/scenario/flood.py flood $PORT $kind > "$D/$kind.count" &
	FLOOD=$!
	wait_for 60 begins $kind || bail "the flood does not begin"
	check "in a flood of connections of kind $kind the agent connects within $WITHIN_S s" gets_in $kind
	check "a connected agent stays in it" connected
	check "and leaves" leaves
	kill $FLOOD
	wait $FLOOD
	FLOOD=
done
exit $FAILED
