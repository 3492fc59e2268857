#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A program with tracepoints but without libhone is learned and diagnosed by a mapping, whether its requests stay on one
# thread or move between threads under changing ids; under a real LTTng on a private node, next to another user's
# session.
# O: the folder that `make all agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond
here=$PWD/examples
. "$here/stage.sh"
stage=$(mktemp -d "${TMPDIR:-/tmp}/hone-map.XXXXXX")
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

# ---- setup ----
program_start() {	# [NAME=VALUE]...: the program's environment
  rm -f "$stage/shop/one/program.pid"
  "$here/node.sh" run "$stage/shop" one program env "$@" "$O/tests/scenario/map_program" "$stage/control"
  wait_for 10 eval 'program=$(cat "$stage/shop/one/program.pid" 2>/dev/null) && [ "$(cat /proc/$program/comm)" = map_program ]' 
}
fault() { echo "$1" >"$stage/fresh" && mv "$stage/fresh" "$stage/control"; }
agent_start() {
  "$here/node.sh" exec "$stage/shop" one "$O/bin/hone-agent" -o agent.node=one \
    -o controller.url="ipc://$stage/agents.sock" -o controller.silence=2s -o controller.sampling_without=3s -o agent.hang=2s -o agent.run_dir=/dev/shm/hone-agent -o maps.folder="$stage/maps" "$@" >>"$stage/agent-one.log" 2>&1 &
  agent=$!
}
agent_says() { in_node timeout 10 "$O/bin/hone-agent" -o agent.node=one -o maps.folder="$stage/$1" -o agent.run_dir=/dev/shm/no; }
fails_at() {	# FOLDER TEXT: the agent does not start, and names the position in the file
  local said rc=0
  said=$(agent_says "$1" 2>&1) || rc=$?
  echo "exit $rc: $said"
  [ $rc = 1 ] && grep -qE -e "$2" <<<"$said"
}
# rules_on SESSION...: the enabled names in sessions with these name prefixes, one a line
rules_on() {
  in_node lttng -n list 2>/dev/null | sed -n "s/^ *[0-9]*) \($1[^ ]*\).*/\1/p" | while read -r session; do
    in_node lttng -n list "$session" | sed -n 's/^ *\([A-Za-z_0-9]*:[^ ]*\) .*\[enabled\].*/\1/p'
  done
}
named='broker:call_begin broker:call_end broker:done broker:queued broker:started broker:written'
named_on() { echo "$(rules_on hone- | grep -v '^hone[:_]' | sort | tr '\n' ' ')"; [ "$(rules_on hone- | grep -v '^hone[:_]' | sort | tr '\n' ' ')" = "$named " ]; }
nothing_on() { rules_on hone-; [ -z "$(rules_on hone- | grep -v '^hone[:_]')" ]; }
no_session() { in_node lttng -n list; ! in_node lttng -n list | has hone-one; }
own_session() { rules_on team; in_node lttng -n list team | has ' team: \[active\]' && [ "$(rules_on team)" = broker:lookup_begin ]; }
seen() { hone status --json | jq -e --arg t "$1" --argjson n "$2" 'any(.types[]; .type == $t and .traces > $n)'; }
traces() { hone status --json | jq --arg t "$1" '.types[] | select(.type == $t) | .traces'; }
connected() { hone agents --json | jq -e 'any(.agents[]; .connected and .tracer_ok and .programs > 0)' && hone tracepoints --json | jq -e '.total >= 25'; }
verdict_is() { hone forest "$1" --json | jq -e --arg from "map_program/broker:$2" --arg to "map_program/broker:$3" \
  '.runs[0] | {state, words, verdict} | ., (.state == "found" and .verdict.edge.from == $from and .verdict.edge.to == $to) | if type == "object" then debug else . end'; }

spending_ended() {	# notes the overhead now
  hone agents --json | jq -c '.agents[0] | [.spent_pct, .budget_pct]' >>"$stage/spent"
  hone forest SEARCH --json | jq -e '.runs[0].state != "active"'
}

echo 1..37
mkdir "$stage/maps" "$stage/bad" "$stage/shop"
cat >"$stage/maps/broker.map" <<-'MAP'
	[program]
	service = map_program

	[request call]
	begin = broker:call_begin
	end = broker:call_end
	correlate = thread
	type_field = op

	[request job]
	begin = broker:queued
	begin_id = job
	end = broker:done
	end_id = task
	correlate = field
	type = JOB
	step = broker:started job -> task
	step = broker:written task
MAP
printf '[program]\nservice = map_program\n[request x]\nbegin = broker:call_begin\nend = broker:call_end\ncorrelate = magic\n' >"$stage/bad/x.map"
"$here/node.sh" start "$stage/shop" one || bail "no node"
check "an invalid mapping ends the agent's start; the error has file and line" fails_at bad 'bad/x\.map:6: '
check "hone-agent -n finds it, too" eval '! in_node "$O/bin/hone-agent" -n -o maps.folder="$stage/bad"'
fault none
check "a program without libhone runs" program_start
check "it has not loaded libhone" eval '! grep -q libhone "/proc/$program/maps"'
in_node bash -c "lttng -n create team -o '$stage/team' && lttng -n enable-channel -u --buffers-pid -s team c &&
  lttng -n enable-event -u -s team -c c broker:lookup_begin && lttng -n start team" >"$stage/team.log" 2>&1
check "another LTTng session traces it" own_session
agent_start
stage_honed "${ALL_TRACED[@]}" || bail "no controller"
check "an agent with a mapping is connected" wait_for 60 connected
check "the pid that is killed below is that of the agent" [ "$(cat "/proc/$agent/comm")" = hone-agent ]
check "the tracepoints that the mapping names are enabled, each once" wait_for 30 named_on
check "calls are requests, their type is the value of a field" wait_for 60 seen SEARCH 50
check "jobs are requests that go from thread to thread" wait_for 60 seen JOB 50

# ---- learned, and diagnosed ----
check "both types are learned" hone learn --seconds 5 --wait
check "the learned space of calls has the tracepoints inside" eval 'hone space show SEARCH | has broker:lookup_begin'
check "the learned space of jobs has the tracepoints inside, though these have no id" eval 'hone space show JOB | has broker:render_end'
check "after learning only tracepoints that the mapping names are enabled" wait_for 30 named_on
fault lookup
check "a diagnosis of calls ends" hone start SEARCH --wait
check "its verdict names the slow step" verdict_is SEARCH lookup_begin lookup_end
check "then only tracepoints that the mapping names are enabled" wait_for 30 named_on
fault render
check "a diagnosis of jobs ends" hone start JOB --wait
check "the verdict of jobs names the slow step" verdict_is JOB render_begin render_end
check "after that diagnosis only tracepoints that the mapping names are enabled" wait_for 30 named_on

# ---- killed processes ----
fault die
wait_for 10 gone "$program" >/dev/null
check "the program is killed during a job" gone "$program"
fault none
before=$(traces JOB)
check "a new one, with libhone loaded, is traced from its start" eval 'program_start LD_PRELOAD="$O/lib/libhone.so" && wait_for 10 grep -q libhone "/proc/$program/maps" && wait_for 60 seen JOB $((before + 50))'
check "no request spans both processes: none is longer than a second" eval 'hone report JOB --json | jq -e "[.types[].groups[] | .max_ms // .mean_ms] | length > 0 and all(. < 1000)"'

fault lookup
# Percent of a core that half of three tracepoints' records take, of the calls that map_program serves each second.
little=$(hone agents --json | jq '.agents[0].record_ns * 6 / 0.045 * 1.5 / 1e7')
kill -9 "$honed"
wait "$honed" 2>/dev/null
check "without a controller all tracepoints of the program are disabled" wait_for 20 nothing_on
stage_honed "${ALL_TRACED[@]}" -o search.budget="$little%"
check "with a controller again the mapping's tracepoints are enabled and requests are seen" eval 'wait_for 60 named_on && wait_for 60 seen SEARCH 50'

# ---- overhead ----
# A budget for the records of one and a half tracepoints: too few to see where a step begins and ends. If records were
# filtered, one in 100 calls would leave enough for all twelve; the agent must not assume that here.
calls_known() { hone status --json | jq -e '.types[] | select(.type == "SEARCH") | .per_second > 120 and .per_second < 147'; }
wait_for 30 calls_known >/dev/null
check "with a small budget a diagnosis ends" eval 'hone start SEARCH && wait_for 120 spending_ended'
check "the diagnosis reports tracepoints over the budget, since every call is paid for" eval \
  'hone forest SEARCH --json | jq -e ".runs[0] | .reason == \"end-over-budget\" or .verdict.over_budget > 0"'
check "it had a cost, which never exceeded the budget" jq -se 'any(.[]; .[0] > 0) and all(.[]; .[0] <= .[1] * 1.001)' "$stage/spent"
check "after it only tracepoints that the mapping names are enabled" wait_for 30 named_on
fault none

# ---- mappings that come and go ----
mv "$stage/maps/broker.map" "$stage/broker.map"
kill -HUP "$agent"
check "an agent without the mapping enables no tracepoint of the program" wait_for 20 nothing_on
mv "$stage/broker.map" "$stage/maps/broker.map"
kill -HUP "$agent"
check "an agent with the mapping enables them again" wait_for 60 named_on

# ---- such a program has no lease of its own ----
kill -STOP "$agent"
check "while the agent hangs, no session exists" wait_for 20 no_session
kill -CONT "$agent"
check "when the agent continues, the tracepoints are enabled and requests are seen" eval 'wait_for 60 named_on && wait_for 60 seen JOB 50'
kill -9 "$agent"
wait "$agent" 2>/dev/null
agent=
check "after the agent was killed, no session exists" wait_for 10 no_session
agent_start
wait_for 60 named_on >/dev/null
guard=$(pgrep -x hone-guard -P "$agent")
kill -STOP "$guard"	# neither guardian nor agent may notice the other's end
kill -9 "$agent" "$guard"
wait "$agent" 2>/dev/null
agent=
check "agent and guardian are killed at once: the tracepoints stay enabled" named_on
check "--sweep ends the sessions" eval 'in_node "$O/bin/hone-agent" --sweep -o agent.node=one -o agent.run_dir=/dev/shm/hone-agent && no_session'
check "the other LTTng session was not changed" own_session
exit $FAILED
