#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tracepoints that are always on by their log level: said first what they cost, set, set back, kept over a restart of honed, and off when honed
# has ended or was killed.
# O: the folder that `make levels-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond jq
own_node /run/hone
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1 HONE_SOCKET=ipc://$D/honed.sock
PATH=$O/bin:$PATH
end() {
	local pid
	for pid in ${PROGRAM:-} ${HONED:-} ${AGENT:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT
why() { hone levels; hone agents; cat "$D/state"; tail -n 8 "$D/agent.log" "$D/honed.log"; }

honed_start() {
	rm -f "$D/agents.sock"
	honed "${ALL_TRACED[@]}" -o storage.database="$D/f.db" -o storage.space="$D/s.db" -o controller.agents="ipc://$D/agents.sock" \
		-o controller.operators="$HONE_SOCKET" -o agents.lease=2s -o levels.budget=1% 2>> "$D/honed.log" &
	HONED=$!
	wait_for 20 test -S "$D/agents.sock"
}
# on LETTERS: these are enabled in the program: e(rr), i(nfo), d(ebug)
on() { [ "$(cat "$D/state")" = "$1" ] || { cat "$D/state"; return 1; }; }
level() { jq -e ".services[] | select(.service == \"levels_program\") | $1"; }
levels() { hone levels --json | level "$1"; }
listed() { levels '[.levels[] | [.level, .tracepoints]] == [["err", 1], ["info", 1], ["debug", 1]]'; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "PACK" and .traces > 20)'; }
confirmed() { hone agents --json | jq -e '.agents[0].connected'; }
counted() { levels '[.levels[] | select(.counted and .on)] | length == 3 and .[0].per_second < .[1].per_second and .[1].per_second * 5 < .[2].per_second'; }
said() { has -F -- "$1" "$D/said"; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1 || bail "the session daemon starts"
honed_start || bail "honed starts"
hone-agent -o agent.node=n1 -o controller.url="ipc://$D/agents.sock" -o controller.retry=200ms 2> "$D/agent.log" &
AGENT=$!
LD_LIBRARY_PATH=$O/lib "$O/tests/scenario/levels_program" "$D/state" &
PROGRAM=$!
check "the tracepoints are listed by their log levels" wait_for 30 listed
wait_for 30 seen > /dev/null
check "none is on by itself" on ---
check "before anything is learned the cost is not known" eval 'hone levels levels_program debug --dry-run > "$D/said" && said "not known"'
check "and nothing is set" eval '! hone levels levels_program debug > "$D/said" 2>&1 && said "--force" && on ---'
check "a name that no program has is refused" eval '! hone levels levels_programs info > "$D/said" 2>&1 && said "no program"'
# Again, if a busy machine let nothing of the three seconds be used.
learned() { hone learn --seconds 3 --wait > /dev/null; levels .known; }
wait_for 60 learned > /dev/null
check "after learning it is predicted" levels '.known and (.levels | map(.per_second) | .[0] < .[1] and .[1] < .[2])'
check "the cost is said, and nothing is changed" eval \
	'hone levels levels_program info --dry-run --json | jq -e ".change | .set == false and .after.core > 0 and .after.unknown == 0" && on ---'
check "info is set within the budget" hone levels levels_program info
check "and what is as severe is on" wait_for 20 on ei-
check "debug is set" hone levels levels_program debug
check "and all are on" wait_for 20 on eid
check "their records come and are counted" wait_for 40 counted
tracepoint() { hone tracepoints --json | jq -r ".tracepoints[] | select(.level == \"$1\" and .state == \"on\" and .hypothesis == null and .by_level == {service: \"levels_program\", level: \"debug\"}) | .tracepoint" | grep .; }
check "hone tracepoints says that they are on by their level" eval 'tracepoint err && tracepoint info && tracepoint debug'
check "and so does hone why" eval 'hone why --tracepoint "$(tracepoint info)" > "$D/said" && said "Its log level is info. It is on for all sampled requests, since hone levels has debug on for levels_program."'
check "it is set back" hone levels levels_program log
check "and is off" wait_for 20 on ei-
kill $HONED
check "honed ends" wait_for 20 gone $HONED
check "then all are off" on ---
check "which its agent has confirmed" has 'all added tracepoints are off (confirmed by all agents)' "$D/honed.log"
honed_start
check "the next honed has them on again" wait_for 20 on ei-
check "the audit has who set them" eval 'hone audit --json | jq -e "[.rows[] | select(.asked | contains(\"levels_program\"))] | any(.outcome == \"done\") and any(.outcome == \"failed\")"'
kill -9 $HONED
check "when honed is killed they are off with their lease" wait_for 20 on ---
honed_start
wait_for 20 on ei- > /dev/null
check "all are set off" hone levels '*' off
check "and are off" wait_for 20 on ---
check "which leaves no rule" eval 'hone levels --json | jq -e ".rules == [] and .stored"'
echo "1..$N"
exit $FAILED
