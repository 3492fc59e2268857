#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Several honed that share the work by Kafka: two gates, two shards, a decider and one that stands by, with librdkafka's mock cluster as a process of
# its own. Six nodes send the same 750 requests to them and to one honed that works alone: both report the same. While they do, a gate, a shard and
# the decider are killed, a broker is down, and messages are refused. Then a decider that was stopped wakes, and one is killed: who takes over has the
# forest of the former ones, also if it came late and the log had been cut.
#   BROKERS=host:port kafka_test.sh      uses that cluster: its topics must exist, and the broker and its refusals are left out
. "$(dirname "$0")/lib.sh"
needs jq
D=$(mktemp -d)
declare -A PID
end() {
	local p
	for p in "${PID[@]}"; do kill -CONT "$p" && kill -KILL "$p" && wait "$p"; done 2> /dev/null
	rm -rf "$D"
}
trap end EXIT
hone() { command "$O/bin/hone" "$@"; }
start() { # NAME OPTION...
	local name=$1
	shift
	mkdir -p "$D/$name"
	"$O/bin/honed" -o controller.agents="ipc://$D/$name/agents.sock" -o controller.operators="ipc://$D/$name/honed.sock" -o storage.database="$D/$name/f.db" \
		-o storage.space="$D/$name/s.db" -o web.listen= -o controller.silent_after=3s "${ALL_TRACED[@]}" "$@" 2>> "$D/$name/log" &
	PID[$name]=$!
}
role() { # ROLE NAME
	start "$2" -o kafka.brokers="$brokers" -o kafka.role="$1" -o kafka.name="$2" -o kafka.options="session.timeout.ms=3000 heartbeat.interval.ms=300"
}
agents() { # NAME URLS URLS [TRACES FIRST]
	"$O/tests/scenario/kafka_agents" "$D/$1.state" "${4:-750}" 200 "$2" "$3" "${5:-0}" &
	PID[$1]=$!
}
stop() {
	kill "${PID[$1]}" 2> /dev/null
	wait "${PID[$1]}" 2> /dev/null
	unset "PID[$1]"
}
crash() {
	kill -KILL "${PID[$1]}"
	wait "${PID[$1]}" 2> /dev/null
	unset "PID[$1]"
}
mock_has_said() { [ "$(wc -l < "$D/brokers")" -gt "$1" ]; }
mock() {
	local said
	[ -z "${BROKERS:-}" ] || return 0
	said=$(wc -l < "$D/brokers")
	echo "$*" >&8
	wait_for 20 mock_has_said "$said"
}
runs() { HONE_SOCKET=ipc://$D/$1/honed.sock hone history --json | jq -c '[.runs[] | [.type, .state, .reason]]'; }
status() { HONE_SOCKET=ipc://$D/$1/honed.sock hone status --json; }
state() { jq -e "$2" "$D/$1.state"; }
log_is() { status "$1" | jq -e ".log | $2"; }
# What a report says of its request type. Times to 0.1 ms: a node's clock is slewed by 0.04 % while its offset is measured.
report() { HONE_SOCKET=ipc://$D/$1/honed.sock hone report --json | jq -c '.types[] | [.service, .type, .count, (.groups | map([.group, .count, (.mean_ms * 10 | round)])), (.mean_ms, .p95_ms | . * 10 | round)]'; }
has_ended() { # DECIDER RUNS
	runs "$1" | jq -e --argjson n "$2" 'map(select(. == ["BUY", "stopped", "controller-ended"])) | length == $n'
}
begins() {
	HONE_SOCKET=ipc://$D/$1/honed.sock hone start BUY
	begins_anew "$1"
}
begins_anew() { runs "$1" | jq -e 'map(select(.[0] == "BUY" and .[1] == "active")) | length == 1'; }
why() { tail -n 4 "$D"/*/log; status d1 | jq -c .log; status d2 | jq -c .log; cat "$D"/*.state; }

if [ -n "${BROKERS:-}" ]; then
	brokers=$BROKERS
else
	[ -x "$O/tests/scenario/kafka_mock" ] || skip "needs kafka_mock"
	mkfifo "$D/in"
	"$O/tests/scenario/kafka_mock" 8 < "$D/in" > "$D/brokers" 2> "$D/mock.log" &
	PID[mock]=$!
	exec 8> "$D/in"
	wait_for 20 test -s "$D/brokers" || bail "the mock cluster does not start"
	brokers=$(head -n 1 "$D/brokers")
fi

start alone
role gate g1
role gate g2
role shard s1
role shard s2
role decider d1
wait_for 20 test -S "$D/alone/honed.sock" -a -S "$D/g1/agents.sock" -a -S "$D/g2/agents.sock" -a -S "$D/d1/honed.sock" || bail "honed does not start"
agents a "ipc://$D/alone/agents.sock" "ipc://$D/alone/agents.sock"
agents k "ipc://$D/g1/agents.sock ipc://$D/g2/agents.sock" "ipc://$D/g2/agents.sock ipc://$D/g1/agents.sock"
check "agents of both gates are known to the decider" wait_for 20 log_is d1 '.gates == 2 and .agents == 6'
role decider d2
wait_for 10 state k '.records > 1000' > /dev/null
crash s1
mock down 2
mock errors 6
wait_for 20 state k '.records > 5000' > /dev/null
mock up 2
check "all records are in rows: none lost, none late, though a shard was killed, a broker was down and messages were refused" \
	wait_for 60 log_is d1 '.rows.taken == 750 and .rows.lost == 0 and .gate_records == 7500'
wait_for 30 eval "status alone | jq -e '.counts.traces == 750'" > /dev/null
report alone > "$D/alone.json"
report d1 > "$D/d1.json"
check "the report has all requests" jq -e '.[2] == 750' "$D/d1.json"
check "and says of them what one honed that works alone says" diff "$D/alone.json" "$D/d1.json"

# While Kafka does not take what is decided into the log of the forest, it is acted on by nobody: a decider that took over would not know of it.
mock hold hone.forest
HONE_SOCKET=ipc://$D/d1/honed.sock hone start BUY > "$D/start" 2>&1 &
PID[start]=$!
HONE_SOCKET=ipc://$D/d1/honed.sock hone learn --seconds 60 > "$D/learn" 2>&1 &
PID[learn]=$!
if [ -z "${BROKERS:-}" ]; then
	check "a diagnosis begins" wait_for 20 begins_anew d1
	sleep 0.5
	check "while Kafka does not take that, nobody is told, and nothing is turned on" eval '[ ! -s "$D/start" ] && [ ! -s "$D/learn" ] && state k ".on == 0"'
fi
mock up 2
check "who asked is told when Kafka has taken it, or that it has not" wait_for 20 eval 'gone "${PID[start]}" && gone "${PID[learn]}"'
wait "${PID[start]}" "${PID[learn]}"
unset "PID[start]" "PID[learn]"
check "a diagnosis has begun" wait_for 20 begins d1

# The decider turns tracepoints on, and is stopped; the other takes over.
check "the decider turns tracepoints on at nodes of both gates" wait_for 20 state k '.on == 6'
term=$(status d1 | jq .log.term)
kill -STOP "${PID[d1]}"
sleep 0.4
kill -CONT "${PID[d1]}"
check "a decider that stood still for 0.4 s still leads, and nothing was turned off" eval "log_is d1 '.term == $term and .agents == 6' && state k '.on == 6'"
kill -STOP "${PID[d1]}"
check "when it is stopped, the one that stands by takes over with a higher term" wait_for 30 log_is d2 ".term > $term and .agents == 6"
check "and turns them off" wait_for 20 state k '.on == 0'
check "it has the diagnosis that the former one was at, ended with a reason" has_ended d2 1
mock cut hone.forest
role decider d3
on=$(jq .wants_on "$D/k.state")
kill -CONT "${PID[d1]}"
check "the stopped one wakes, and ends" wait_for 20 gone "${PID[d1]}"
check "it has turned nothing on" state k ".on == 0 and .wants_on == $on"
wait "${PID[d1]}" 2> /dev/null
unset "PID[d1]"
crash g1
check "agents of a gate that was killed go to the other one" wait_for 20 log_is d2 '.gates == 1 and .agents == 6'

# One that came when the log had been cut has asked for all.
check "one that stands by finds that the log was cut, and gets a full state" wait_for 30 grep -q "is a copy of the forest of term" "$D/d3/log"
check "and had said that it had not got all" eval '[ -n "${BROKERS:-}" ] || grep -q "does not have all" "$D/d3/log"'
term=$(status d2 | jq .log.term)
crash d2
check "when the decider is killed, the one that stands by takes over with a higher term" wait_for 30 log_is d3 ".term > $term and .agents == 6 and .forest.whole"
check "it has the diagnosis of the first decider, though it never saw it" has_ended d3 1
stop k
agents k "ipc://$D/g2/agents.sock" "ipc://$D/g2/agents.sock" 400 1000
check "the diagnosis begins anew when its requests are there" wait_for 30 begins_anew d3

# Alone, the new one reads nothing of the term before.
term=$(status d3 | jq .log.term)
crash d3
rm -rf "$D/d3"
role decider d3
check "a decider that was killed and is started anew takes a higher term" wait_for 30 log_is d3 ".term > $term and .agents == 6"
check "also without a database of its own it has all diagnoses" has_ended d3 2
HONE_SOCKET=ipc://$D/d3/honed.sock hone learn --seconds 60 > /dev/null 2>&1
check "and it is obeyed" wait_for 20 state k '.on == 6'
kill "${PID[d3]}"
check "a decider that is told to end turns everything off, and all agents have confirmed it" wait_for 20 gone "${PID[d3]}"
check "so nothing is on" state k '.on == 0'
wait "${PID[d3]}" || FAILED=1
unset "PID[d3]"
stop k
stop a
for it in g2 s2; do kill "${PID[$it]}"; done
for it in g2 s2; do
	wait "${PID[$it]}" || FAILED=1
	unset "PID[$it]"
done
echo "1..$N"
exit "$FAILED"
