#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Three servers without any instrumentation are followed by kernel events: a diagnosis ends with the service and the state of a planted
# fault, and with nothing where there is none. ROUNDS=1 FAULTS="lock". O: the folder of `make all agent-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond bpftool
[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang, bpftool and libbpf"
can=$("$O/lib/hone/hone-below" --can --json) && jq -e '.waits' <<< "$can" > /dev/null || skip "hone-below cannot do that here: $can"
own_node /run/hone
ahead_of_others
D=$(mktemp -d)
export LTTNG_HOME=$D HONE_SOCKET=ipc://$D/honed.sock KERNEL_LIVE_FOLDER=$D
PATH=$O/bin:$PATH
TYPE=127.0.0.2:8080
SERVERS=() LOAD= RIGHT=0 ALL=0
servers_end() {
	local pid
	for pid in $LOAD "${SERVERS[@]}"; do
		kill "$pid" 2> /dev/null
		wait_for 10 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	SERVERS=() LOAD=
}
end() {
	local pid
	servers_end
	for pid in ${AGENT:-} ${HONED:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT
why() { hone why $TYPE; hone agents; hone status; tail -n 12 "$D/agent.log" "$D/honed.log"; }
servers_start() {	# FAULT: of the back
	local role
	for role in back middle front; do
		"$O/tests/scenario/kernel_live" $role $([ $role = back ] && echo "$1") > "$D/$role.log" 2>&1 &
		SERVERS+=($!)
	done
	"$O/tests/scenario/kernel_live" load > "$D/load.log" 2>&1 &
	LOAD=$!
}
start() {
	lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
	SESSIOND=$!
	wait_for 20 lttng -n list > /dev/null 2>&1 || bail "the session daemon starts"
	honed -o storage.database="$D/f.db" -o storage.space="$D/s.db" -o controller.agents="ipc://$D/agents.sock" \
		-o controller.operators="$HONE_SOCKET" -o search.budget=20% "${ALL_TRACED[@]}" 2>> "$D/honed.log" &
	HONED=$!
	wait_for 20 test -S "$D/agents.sock" || bail "honed starts"
	hone-agent -o agent.node=desk -o controller.url="ipc://$D/agents.sock" -o kernel.services=kl-* 2>> "$D/agent.log" &
	AGENT=$!
}
traces() { hone status --json | jq -e "[.types[] | select(.type == \"$TYPE\") | .traces][0] > $1"; }
kernel() { hone agents --json | jq -e ".agents[0].kernel | debug | $1"; }
verdict() { hone forest $TYPE --json | jq -e ".runs | sort_by(.id) | last | .verdict | debug | $1"; }

start
servers_start lock
check "the three servers are followed" wait_for 20 kernel '.processes == 3 and .missing == ""'
check "their requests are seen" wait_for 30 traces 200
if [ -n "${LOOK:-}" ]; then sleep $LOOK; hone status; hone agents; hone check | head; hone start $TYPE --wait | head -60;  tail -5 $D/agent.log; fi
echo "1..$N"
exit $FAILED
