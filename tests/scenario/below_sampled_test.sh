#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A node without CAP_BPF and CAP_PERFMON: hone-below looks at threads in /proc, says so, and what it says of a program of the same user is
# right within the time between two looks; of a program of another user it says that it cannot.
# A verdict of honed says that it was sampled. O: the folder of `make agent-scenario`.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond setpriv awk jq
[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang, bpftool and libbpf"
scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)
[ "$scope" = 0 ] || skip "kernel.yama.ptrace_scope is $scope"
own_node /run/hone
ahead_of_others
D=$(mktemp -d)
chmod 711 "$D"
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1
URL=ipc://$D/controller.sock
EPOCH=0
mkfifo "$D/say"
exec 9<> "$D/say"
why() { echo "--- agent"; tail -n 8 "$D/agent.log"; echo "--- controller"; grep -v '^below\|^records' "$D/controller.log" | tail -n 5; cat "$D/sums" 2> /dev/null; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 9>&- &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1 || bail "the session daemon starts"
no_caps() { exec setpriv --bounding-set=-bpf,-perfmon "$@"; }
nobody() { exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"; }
agent_start() {
	no_caps "$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=$URL" -o controller.silence=2s -o controller.retry=200ms \
		-o log.level=debug -o below.user=nobody 2>> "$D/agent.log" 9>&- &
	AGENT=$!
}
end() {
	local pid
	exec 9>&-
	for pid in ${AGENT:-} ${PROGRAM:-} ${CONTROLLER:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 10 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

say() { echo "$*" >&9; }
want() { EPOCH=$((EPOCH + 1)); say want $EPOCH 3000; EPOCH=$((EPOCH + 1)); say below $EPOCH "$@"; }
mark() { MARK=$(wc -l < "$D/controller.log"); }
after() { tail -n +$((MARK + 1)) "$D/controller.log" | grep -E "$1"; }
is() { tail -n +$((MARK + 1)) "$D/controller.log" | grep '^status' | tail -n 1 | grep -E " below $1"; }

touch "$D/controller.log" "$D/requests"
chown 65534 "$D/requests"
mark
"$O/tests/scenario/agent_controller" "$URL" "$D/journal" < "$D/say" >> "$D/controller.log" 9>&- &
CONTROLLER=$!
wait_for 20 test -S "$D/controller.sock"
nobody "$O/tests/scenario/below_sampled" "$D/requests" 9>&- &
PROGRAM=$!
agent_start
want
check "the agent says that threads are looked at, how often, and which capabilities are missing" \
	wait_for 20 is 'ready "sampled: threads are looked at in /proc each [0-9]+ ms.*CAP_BPF and CAP_PERFMON are missing'
want below_sampled
check "it follows a program of the same user" wait_for 10 is active
check "waits come as records" wait_for 10 after 'below trace .* below_sampled/below:timer\('
requests() { [ "$(wc -l < "$D/requests")" -ge 80 ]; }
check "the program's requests are probed" wait_for 60 requests
sleep 1	# the last ones are still reported
INTERVAL=$(is active | grep -oP 'each \K[0-9]+(?= ms)')
# Of the requests from the first record to the last one: time by state, and by the program's own clocks.
after '^below trace' | sed -E 's/^below trace ([0-9]+) unit [0-9]+ pid [0-9]+ ms ([0-9.]+) ready ([0-9.]+) .*below:([a-z]+)\(([^;]*;)*([^;]*)\)$/\1 \2 \3 \4 \6/' > "$D/records"
awk -v interval="$INTERVAL" '
	FNR == NR { seen[$1] = 1; state[$4] += $2 - $3; state["ready"] += $3; by[$1 " " $4] += $2 - $3; all[$1] += $2; next }
	$1 in seen && first++ > 1 {	# the first of each thread may have begun before it was looked at
		n++; slept += $2; computed += $3; waited += $4
		timer += by[$1 " timer"]; lock += by[$1 " lock"]; running += by[$1 " running"]; unknown += by[$1 " unknown"]; other += by[$1 " thread"]
	}
	END { printf "%d %d %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f\n", n, interval, slept / 1e6, timer, computed / 1e6, running, waited / 1e6, lock, unknown, other }
' "$D/records" "$D/requests" > "$D/sums"
echo "# requests, interval ms; ms slept, seen; computed, seen; waited for the lock, seen; unknown; another thread: $(cat "$D/sums")"
enough() { awk '{ exit !($1 >= 60) }' "$D/sums"; }
check "nearly all probed requests were seen" enough
# Each request has two ends that are unknown for up to an interval, and each state begins and ends within an interval.
near() { awk -v of="$1" '{ d = $(of + 1) - $of; exit !(d < $1 * $2 && d > -2 * $1 * $2) }' "$D/sums"; }
check "the time asleep is right within an interval for each of its ends" near 3
check "the time of computing also" near 5
check "the time that they waited for the lock also" near 7
few() { awk '{ exit !($9 <= 3 * $1 * $2) }' "$D/sums"; }
check "what is unknown is the two ends of each request" few
place() { after 'below:lock\(.*append'; }
check "where they waited for the lock is told" place
cost() { is active | grep -oP 'cpu_ms \K[0-9]+'; }
pid=$(pgrep -P "$(pgrep -P "$AGENT" -x hone-starter)" -x hone-below)
used() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
before=$(used)
sleep 5
cheap() { echo "$(($(used) - before)) ticks in 5 s"; [ $(($(used) - before)) -le $(($(getconf CLK_TCK) * 5 * 3 / 100)) ]; }
check "it takes at most 2 % of a core (and 1 % for its messages)" cheap
kill "$PROGRAM"
wait_for 10 gone "$PROGRAM"
wait "$PROGRAM" 2> /dev/null
chown 0 "$D/requests"
mark
"$O/tests/scenario/below_sampled" "$D/requests" 9>&- &
PROGRAM=$!
check "of a program of another user, it says that it cannot, and why" wait_for 20 is 'cannot ".*threads may not be looked at in /proc'
# ---- with honed: the verdict
export HONE_SOCKET=ipc://$D/operators.sock
hone() { "$O/bin/hone" "$@"; }
kill "$AGENT" "$PROGRAM" "$CONTROLLER"
wait_for 10 gone "$AGENT" && wait_for 10 gone "$PROGRAM"
wait "$AGENT" "$PROGRAM" "$CONTROLLER" 2> /dev/null
"$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
	-o storage.database="$D/forest.db" -o storage.space="$D/space.db" "${ALL_TRACED[@]}" >> "$D/honed.log" 2>&1 9>&- &
CONTROLLER=$!
wait_for 20 hone status > /dev/null
chown 65534 "$D/requests"
URL=ipc://$D/agents.sock
agent_start
nobody "$O/tests/scenario/below_sampled" "$D/requests" 9>&- &
PROGRAM=$!
known() { hone agents --json | jq -e '.agents[] | select(.connected and .tracer_ok and .programs == 1) | .below.can | index("sampled")'; }
check "hone agents says that it is sampled" wait_for 30 known
wait_for 20 eval 'hone status --json | jq -e "[.types[] | select(.type == \"WORK\" and .traces > 20)] | length == 1"' > /dev/null
hone start WORK --wait --json > "$D/start.json" 2> "$D/start.err"
told() { jq -c '[.. | objects | select(has("below")) | .below | select(. != null)][0] | del(.differential)' "$D/start.json"; }
# mean NAME MS: the verdict's mean of that state is right within an interval for each of its ends, and 2 ms for late wake-ups
mean() {
	told
	told | jq -e --arg s "$1" --argjson ms "$2" '(.missing | capture("each (?<ms>[0-9]+) ms").ms | tonumber) as $i
		| ([.states[] | select(.state == $s) | .mean_ms] | add // 0) as $mean | $mean > $ms - 2 * $i - 2 and $mean < $ms + 2 * $i + 2'
}
check "a verdict that looked below says that it was sampled, and how often" eval 'told | jq -e ".requests > 0 and (.missing | test(\"^n1: sampled: .* each [0-9]+ ms\"))"'
followed() { hone audit --json | jq -e '[.rows[].action] | index("unfollow") < index("follow")'; }	# newest first
check "the audit has when threads were followed, and when no more" wait_for 20 followed
check "and how long requests slept" mean timer 40
check "and how long they computed" mean running 20
echo "1..$N"
exit $FAILED
