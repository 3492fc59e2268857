#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that want to hide everybody else's requests from a real controller: one writes records of requests that it says were
# sampled elsewhere, whatever the table of rates says; one makes a request that takes long to analyse; one invents request types without end.
# O: the folder that `make agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond setpriv jq
own_node /run/hone
D=$(mktemp -d)
chmod 711 "$D"
export HONE_SOCKET="ipc://$D/honed.sock" LTTNG_HOME=$D LD_LIBRARY_PATH=$D/p
HOSTILE=64322
PIDS=()
hone() { "$O/bin/hone" "$@"; }
why() { tail -n 6 "$D/agent.log" "$D/honed.log"; hone agents; hone status | head -30; }
end() {
	local pid
	for pid in "${PIDS[@]}"; do kill "$pid" 2> /dev/null; done
	for pid in "${PIDS[@]}"; do wait_for 20 gone "$pid" || kill -9 "$pid"; done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT
mkdir "$D/p"
cp -P "$O"/lib/libhone.so* "$D/p/"
program() { # NAME USER ARGUMENTS...: sets LAST
	local name=$1 user=$2
	shift 2
	cp "$O/tests/scenario/hostile_records" "$D/p/$name"
	setpriv --reuid="$user" --regid="$user" --clear-groups "$D/p/$name" "$@" 2> "$D/$name.log" &
	LAST=$!
	PIDS+=("$LAST")
}
type_is() { hone status --json | jq -e "[.types[] | select(.type == \"$1\")] | length == 1 and (.[0] | $2)"; }
agent_is() { hone agents --json | jq -e ".agents[0] | $1"; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
PIDS+=($!)
wait_for 20 lttng -n list > /dev/null 2>&1 || bail "no session daemon"
"$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o agents.budget=5% \
	-o agents.enough=0 -o analysis.memory_max=64MiB -o storage.database="$D/forest.db" -o storage.space="$D/space.db" >> "$D/honed.log" 2>&1 &
HONED=$!
PIDS+=($HONED)
wait_for 20 hone status > /dev/null || bail "honed does not start"
"$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=ipc://$D/agents.sock" 2>> "$D/agent.log" &
PIDS+=($!)
program shop 0 request WORK 5000
program other 0 request OTHER 5000
check "all requests of honest programs are sampled" wait_for 40 type_is WORK '.sampled == 1 and .traces > 100'

# ---- records that do not obey -----------------------------------------------------------
program jam $HOSTILE units 300000
JAM=$LAST
check "a program that writes whatever it likes lowers the share of everybody's requests" wait_for 60 type_is WORK '.sampled <= 0.02'
check "it is in quarantine, with pid and user" \
	wait_for 60 agent_is ".trouble.kind == \"overrun\" and .trouble.subject == \"jam\" and .trouble.pid == $JAM and .trouble.user == $HOSTILE"
check "the audit names it" eval "hone audit --json | jq -e 'any(.rows[]; .action == \"quarantine\" and .text == \"jam\" and .pid == $JAM and .uid == $HOSTILE)'"
check "the shares of the others rise again while it goes on" wait_for 90 type_is WORK '.sampled >= 0.019'
check "it does go on" kill -0 "$JAM"
check "honed took no more memory than its limit for incomplete traces, and 64 MiB" [ "$(awk '/^VmHWM/ { print int($2 / 1024) }' /proc/$HONED/status)" -lt 128 ]
kill "$JAM"
check "the trouble ends with the program" wait_for 20 agent_is '.trouble == null'

# ---- a request that takes long to analyse ---------------------------------------------------
answers() { # for SECONDS, each within two
	local until=$((SECONDS + $1))
	while [ $SECONDS -lt $until ]; do timeout 2 "$O/bin/hone" status > /dev/null || return 1; done
}
BEFORE=$(hone status --json | jq '.counts.records')
program joiner $HOSTILE joins 302000
check "honed answers while it takes 302,000 joins of one hand-over" answers 5
arrived() { hone status --json | jq -e ".counts.records > $BEFORE + 100000"; }
check "it has taken a third of them or more: the others found the ring buffer full" wait_for 20 arrived
check "its agent is connected all the time" [ "$(grep -c 'connected to' "$D/agent.log")" = 1 ]

# ---- request types without end ----------------------------------------------------------
program inventor $HOSTILE types 600
check "a program fills all places for request types" wait_for 60 eval "hone status --json | jq -e '.types | length >= 512'"
program late 0 request LATE 5000
check "a new type of another program is known all the same" wait_for 60 type_is LATE '.traces > 20'
check "the types of the honest programs kept their places" eval "type_is WORK '.traces > 100' && type_is OTHER '.traces > 100'"
echo "1..$N"
exit $FAILED
