#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Three servers without any instrumentation are followed by kernel events: a diagnosis ends with the service and the state of a planted
# fault, and with nothing where there is none. ROUNDS=1 FAULTS="lock none", of lock cpu disk timer none; CYCLE_MAX=12s; BELOW_USER=nobody. O: the folder of `make all agent-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond bpftool
[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang, bpftool and libbpf"
can=$("$O/lib/hone/hone-below" --can --json) && jq -e '.waits' <<< "$can" > /dev/null || skip "hone-below cannot do that here: $can"
own_node /run/hone
ahead_of_others
D=$(mktemp -d)
# Programs are followed by their names, so those of this scenario have names of their own. The file of the disk's fault is on a disk, which /tmp may not be.
KL=kl$(($$ % 100000))
export LTTNG_HOME=$D HONE_SOCKET=ipc://$D/honed.sock KERNEL_LIVE_FOLDER=$O KERNEL_LIVE_NAME=$KL
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
		-o controller.operators="$HONE_SOCKET" -o search.budget=20% -o search.cycle_max="${CYCLE_MAX:-12s}" "${ALL_TRACED[@]}" 2>> "$D/honed.log" &
	HONED=$!
	wait_for 20 test -S "$D/agents.sock" || bail "honed starts"
	agent_start
}
agent_start() {
	hone-agent -o agent.node=desk -o controller.url="ipc://$D/agents.sock" -o controller.silence=2s -o controller.retry=200ms \
		-o controller.sampling_without=3s -o kernel.services=$KL-front,$KL-middle,$KL-back -o log.level=debug \
		${BELOW_USER:+-o below.user="$BELOW_USER"} "$@" 2>> "$D/agent.log" &
	AGENT=$!
}
# One request in twenty takes 15 ms longer, or a lock is held for a third of the time.
slowed() { cat "$D/load.log" && awk '$1 > 100 && $3 >= 0.04 * $1 { ok = 1 } END { exit !ok }' "$D/load.log"; }
traces() { hone status --json | jq -e "[.types[] | select(.type == \"$TYPE\") | .traces][0] > $1"; }
kernel() { hone agents --json | jq -e ".agents[0].kernel | debug | $1"; }
verdict() { hone forest $TYPE --json | jq -e ".runs | sort_by(.id) | last | .verdict | debug | $1"; }


# hone start, and whether its verdict is the planted fault: the edge inside the back, and the state of its thread there.
diagnose() { hone start $TYPE --wait > "$D/diagnosis.$N" 2>&1; }
judge() {	# STATE
	ALL=$((ALL + 1))
	verdict "(.kind == \"place\" or .kind == \"key\") and (.edge.from | test(\"^$KL-back/hone:unit_begin\")) and (.edge.to | test(\"^$KL-back/hone:unit_end\")) and .below.top == \"$1\"" \
		> "$D/verdict.$ALL" 2>&1 && RIGHT=$((RIGHT + 1))
}
# Without a fault no place is found, however busy the machine is.
judge_healthy() {
	ALL=$((ALL + 1))
	hone forest $TYPE --json | jq -e '.runs | sort_by(.id) | last | .state | debug | . == "nothing stands out" or . == "not found" or . == "unsure"' \
		> "$D/verdict.$ALL" 2>&1 && RIGHT=$((RIGHT + 1))
}
most_right() { echo "$RIGHT of $ALL"; cat "$D"/verdict.*; [ $((RIGHT * 10)) -ge $((ALL * ${LEAST_TENTHS:-6})) ]; }
helper() { pgrep -r R,S,D -P "$(pgrep -P "$AGENT" -x hone-starter)" -x hone-below; }
held() { grep -hoP "^$1_id:\s*\K[0-9]+" "/proc/$2/fdinfo/"* 2> /dev/null; }
all_gone() {	# PIDS PROGRAMS LINKS: those processes and BPF objects do not exist
	local it
	for it in $1; do gone "$it" || { echo "process $it"; return 1; }; done
	for it in $2; do bpftool prog show id "$it" && return 1; done
	for it in $3; do bpftool link show id "$it" && return 1; done
	return 0
}

start
check "without a process of that name, it is said that there is none" wait_for 20 kernel '.processes == 0 and .missing == "no-process"'
check "and no hone-below runs" wait_for 10 eval '! helper'
for fault in ${FAULTS:-lock none}; do
	servers_start "${fault#none}"
	check "$fault: the three servers are followed" wait_for 20 kernel '.processes == 3 and .missing == ""'
	check "$fault: their requests are seen" wait_for 30 traces $((${SEEN:=0} + 300))
	for ((round = 1; round <= ${ROUNDS:-1}; round++)); do
		diagnose
		case $fault in
		none) judge_healthy ;;
		*) judge "${fault/cpu/running}" ;;
		esac
	done
	check "$fault: of a few of them alone something may be missing" kernel ".lossy * 10 < .requests"
	SEEN=$(hone status --json | jq "[.types[] | select(.type == \"$TYPE\") | .traces][0]")
	servers_end
	[ "$fault" = none ] || check "$fault: it slows requests, by the clock of their client" slowed
done
[ -n "${FAULTS:-}" ] || LEAST_TENTHS=10
check "planted faults are found, with their service and the state of its thread, and nothing without one ($RIGHT of $ALL)" most_right

# ---- whoever is killed, nothing stays attached, and what is missing is counted --------
servers_start ""
followed() { helper && kernel '.processes == 3'; }
note() { pid=$(helper) programs=$(held prog "$pid") links=$(held link "$pid"); [ -n "$programs" ]; }
check "they are followed again" wait_for 20 followed
check "the BPF programs belong to descriptors of hone-below" note
lost() { hone agents --json | jq -e '.agents[0].lost_ring > 0'; }
check "nothing was lost so far" eval '! lost'
kill -9 "$pid"
check "hone-below is killed: nothing stays attached" wait_for 10 all_gone "$pid" "$programs" "$links"
check "what was lost is counted" wait_for 10 lost
check "and it is started again" wait_for 20 followed
now() { hone status --json | jq "[.types[] | select(.type == \"$TYPE\") | .traces][0]"; }
SEEN=$(now)
check "requests are seen again" wait_for 20 traces $((SEEN + 100))
note
kill -9 "$AGENT"
check "the agent is killed: nothing stays attached" wait_for 10 all_gone "$pid" "$programs" "$links"
wait_for 20 gone "$AGENT"
agent_start -o kernel.http=yes -o kernel.gateways=127.0.0.1
check "another agent follows them" wait_for 20 followed
named() { hone status --json | jq -e 'any(.types[]; .type == "127.0.0.2:8080 GET /item/{id}" and .traces > 50)'; }
check "types have method and path where that is asked for, without numbers and query" wait_for 20 named
note
kill -9 "$HONED"
check "honed is killed: when nothing was heard of it for controller.sampling_without, nothing stays attached" wait_for 20 all_gone "$pid" "$programs" "$links"
HONED=
servers_end
answered() { cat "$D/load.log" && grep -q '^[1-9][0-9]* requests' "$D/load.log" && ! grep . "$D/front.log" "$D/middle.log" "$D/back.log"; }
check "the programs did not notice" answered
check "the agent ends" eval 'kill $AGENT; wait_for 10 gone $AGENT'
AGENT=
echo "1..$N"
exit $FAILED
