#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Two programs whose instrumentation is right, or has one planted mistake: hone check names each mistake and its place,
# and says of the right program that it is right. Nothing is called a lost record.
# O: the folder that `make all check-scenario` built. KEEP=1: leave the folder.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond jq
own_node
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1 HONE_SOCKET=ipc://$D/honed.sock
why() { local l; for l in agent honed check.json start.err; do echo "--- $l"; tail -n 8 "$D/$l" "$D/$l.log" 2> /dev/null; done; }
hone() { "$O/bin/hone" "$@"; }
SESSIOND= HONED= AGENT= FRONT= BACK= START=
stop() {
	local pid
	for pid in "$@"; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
		wait "$pid" 2> /dev/null
	done
}
end() {
	stop $START $FRONT $BACK $AGENT $HONED $SESSIOND
	[ $FAILED = 0 ] && [ -z "${KEEP:-}" ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null || bail "no session daemon"
"$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
	-o storage.database="$D/forest.db" -o storage.space="$D/space.db" "${ALL_TRACED[@]}" -o search.cycle_max=8s \
	>> "$D/honed.log" 2>&1 &
HONED=$!
wait_for 20 hone status > /dev/null
"$O/bin/hone-agent" -o agent.node=n1 -o "controller.url=ipc://$D/agents.sock" -o agent.run_dir=/dev/shm/hone-agent \
	-o tracer.switch_timer=50ms -o below.enabled=no 2>> "$D/agent.log" &
AGENT=$!

known() {
	hone agents --json | jq -e --argjson n "$1" '.agents[] | select(.connected and .tracer_ok and .programs == $n) |
		(.services | length) == $n'
}
requests() { hone check GET --json --seconds 2 > "$D/requests.json"; jq -e '.requests[0].begun > 50' "$D/requests.json"; }
# play FRONT'S-MISTAKE BACK BACK'S-MISTAKE: both programs, running
play() {
	stop $FRONT $BACK
	FRONT= BACK=
	rm -f "$D/go"
	wait_for 30 known 0 || return 1
	"$O/tests/scenario/$2" "$D" "$3" & BACK=$!
	"$O/tests/scenario/check_front" "$D" "$1" & FRONT=$!
	wait_for 30 known "$([ "$2" = check_plain ] && echo 1 || echo 2)" || return 1
	touch "$D/go"
	wait_for 30 requests
}
# found CODE JQ-CONDITION: what hone check says of the next 6 s, and its exit status
found() {
	local code=0
	hone check GET --seconds 6 --json > "$D/check.json" || code=$?
	[ "$code" = "$1" ] && jq -e "$2" "$D/check.json"
}
only() { echo "[.mistakes[].kind] | unique == [\"$1\"]"; }
no_losses() { # says what there was, if it fails
	hone status --json > "$D/status.json"
	jq -e ".counts.lossy == 0 and .counts.lost_ring == 0" "$D/status.json"
}

check "both programs run with the right instrumentation" play "" check_back ""
check "hone check says that the right program is right" found 0 '.mistakes == [] and .forks[0].begun > 100 and .forks[0].joined > 100'
check "as text, too" eval 'hone check GET --seconds 2 | grep "The instrumentation is right"'

check "both programs run; the carrier is not passed on" play carrier check_back ""
check "hone check names the carrier that does not arrive, and where it is expected" found 1 \
	"($(only carrier-lost)) and .mistakes[0].at == \"check_front/hone:fork(work)\" and .mistakes[0].to_service == \"check_back\" and .mistakes[0].low > 0.9"

hone start GET --wait > "$D/start.out" 2> "$D/start.err" & START=$!
check "hone start --wait says soon that nothing usable comes, and why" wait_for 8 grep 'check_front/hone:fork(work) is joined, but no unit begins' "$D/start.err"
check "the run's fields have it" eval 'hone status --json |
	jq -e ".runs[0].no_evidence | .reason == \"unit-missing\" and .subject == \"check_front/hone:fork(work)\""'
check "hone stop ends it" hone stop
wait $START; START=

check "both programs run; units do not end" play "" check_back unit
check "hone check names the unit that does not end" found 1 \
	"($(only unit-open)) and .mistakes[0].at == \"check_back/hone:unit_begin(work)\""

check "both programs run; the join is missing" play join check_back ""
check "hone check names the fork without a join" found 1 \
	"($(only join-missing)) and .mistakes[0].at == \"check_front/hone:fork(work)\" and .mistakes[0].low > 0.9"

doubted() {
	timeout 150 "$O/bin/hone" start GET --wait --json > "$D/start.out" 2> "$D/start.err"
	jq -e '.run.state != "found" and all(.run.verdicts[]; .sure | not)' "$D/start.out"
}
check "hone start is not sure of its verdict then" doubted
check "its verdict names the mistake" jq -e '.run.verdict.mistake | .kind == "join-missing" and .at == "check_front/hone:fork(work)"' "$D/start.out"

check "both programs run; the detach is missing" play detach check_back ""
check "hone check names the request that stays on its thread" found 1 \
	"($(only detach-missing)) and .mistakes[0].at == \"check_front/hone:request_begin(GET)\""

check "hone start is not sure of its verdict then, either" doubted

check "the work is done by a program without instrumentation" play "" check_plain ""
check "hone check names the fork into a program that Hone does not see" found 1 \
	"($(only program-unseen)) and .mistakes[0].at == \"check_front/hone:fork(work)\""

check "both programs run with the right instrumentation again" play "" check_back ""
check "a diagnosis begins" hone start GET
kill -9 "$BACK"
check "a program that dies meanwhile is named" wait_for 15 eval 'hone forest GET --json |
	jq -e --argjson pid "$BACK" "any(.runs[0].ended_programs[]; .service == \"check_back\" and .node == \"n1\" and .pid == \$pid)"'
hone stop > /dev/null

check "none of this was called a loss" no_losses
echo "1..$N"
exit $FAILED
