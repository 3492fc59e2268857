#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The load of hours in minutes: two nodes with their agents and a controller; programs that start, stop, fork, exec,
# load libraries and crash; diagnoses that are started and stopped repeatedly, and operators' questions. Memory,
# descriptors and threads of every process are sampled every second: they must not grow (soak.py defines that), nothing
# is left behind, and every lost record is counted. TAP, and a table.
# O: the folder that `make soak-scenario` built. SOAK_SECONDS (70): how long the load lasts. SOAK_SEED (1).
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond python3 jq
: "${SOAK_SECONDS:=70}" "${SOAK_SEED:=1}"
SECONDS_WARM=$((SOAK_SECONDS / 5 > 90 ? 90 : SOAK_SECONDS / 5))
SECONDS_SETTLE=$((SOAK_SECONDS / 5 > 30 ? 30 : SOAK_SECONDS / 5))
stage=$(mktemp -d "${TMPDIR:-/tmp}/hone-soak.XXXXXX")
export HONE_SOCKET="ipc://$stage/honed.sock"
. examples/node.sh
nodes="n1 n2"
pids=() loads=() steady=() operator=
hone() { "$O/bin/hone" "$@"; }
# in_node NODE COMMAND... &: $! is the command's own pid
in_node() { local node=$1; shift; exec examples/node.sh exec "$stage" "$node" "$@"; }
why() { tail -n 5 "$stage"/*.log; }

# ---- what runs ------------------------------------------------------------------
late=$O/tests/scenario/soak_late.so
for name in steady brief fork prefork exec execd crash late killed untraced; do
  ln -s "$O/tests/scenario/soak_program" "$stage/soak_$name"
done
up() {
  local node pid
  # Small limits, so that all bounded stores are full before the first measurement.
  "$O/bin/honed" -o controller.agents="ipc://$stage/agents.sock" -o controller.operators="$HONE_SOCKET" \
    -o storage.database="$stage/forest.db" -o storage.space="$stage/space.db" -o storage.size_max=256KiB \
    -o agents.enough=0 -o analysis.memory_max=16MiB -o analysis.report_max=1MiB -o analysis.patience=3s -o analysis.samples_max=128 \
    >"$stage/honed.log" 2>&1 &
  honed=$!
  wait_for 20 hone status --json >/dev/null || return 1
  "$O/tests/scenario/soak_tap" "$stage/tap.sock" "$stage/agents.sock" >"$stage/taps" 2>"$stage/tap.log" &
  tap=$!
  for node in $nodes; do
    node_start "$stage" "$node" || return 1
    in_node "$node" "$O/bin/hone-agent" -o agent.node="$node" -o controller.url="ipc://$stage/tap.sock" \
      -o agent.run_dir=/dev/shm/hone-agent >"$stage/agent-$node.log" 2>&1 &
    eval "agent_$node=$!"
  done
  wait_for 30 traces || return 1
  for node in $nodes; do
    in_node "$node" "$stage/soak_steady" steady "$stage/ends-$node" "$late" &
    steady+=($!)
  done
  wait_for 30 known
}
agents() { hone agents --json | jq -e "$1"; }
traces() { agents '[.agents[] | select(.connected and .tracer_ok)] | length == 2'; }
known() { agents 'all(.agents[]; .programs > 0)'; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "WORK" and .traces > 20)'; }
# untraced NODE: a program that the node's session daemon did not register in time is not traced, which must be
# reported.
untraced() {
  local session
  session=$(cat "$stage/$1/sessiond.pid")
  kill -STOP "$session"
  LTTNG_UST_REGISTER_TIMEOUT=0 timeout 60 examples/node.sh exec "$stage" "$1" "$stage/soak_untraced" three "$stage/ends-$1" "$late"
  local rc=$?
  kill -CONT "$session"
  return $rc
}
load_start() {
  local node i=0
  for node in $nodes; do
    in_node "$node" "$O/tests/scenario/soak_load" $((SOAK_SEED + i++)) 400 "$stage" "$stage/ends-$node" "$late" \
      >>"$stage/load-$node" 2>>"$stage/load.log" &
    loads+=($!)
  done
  operate &
  operator=$!
}
load_stop() {
  local pid
  touch "$stage/enough"
  wait "$operator"
  rm -f "$stage/enough"
  kill "${loads[@]}"
  for pid in "${loads[@]}"; do wait "$pid" || FAILED=1; done
  loads=()
}

# ---- operators ------------------------------------------------------------------
# Appends each answer's time, in ms, to $stage/asked.
ask() {
  local began=${EPOCHREALTIME/./}
  timeout 30 "$O/bin/hone" "$@" >>"$stage/operator.out" 2>&1
  echo "$(((${EPOCHREALTIME/./} - began) / 1000)) $? $*" >>"$stage/asked"
  [ "$(stat -c %s "$stage/operator.out")" -lt 1000000 ] || : >"$stage/operator.out"
}
operate() {
  local i=0 words
  while [ ! -e "$stage/enough" ]; do
    i=$((i + 1))
    [ $((i % 7)) = 0 ] && words="learn --seconds 2" || words="start WORK --seed $i"
    ask $words
    for words in "status --json" "agents" "forest WORK --json" "tracepoints" "report" "status" "forest" "history"; do
      ask $words
      [ -e "$stage/enough" ] || sleep 0.5
    done
    ask stop
    [ $((i % 5)) != 0 ] || wait_for 10 nothing_added >>"$stage/left_on" || echo "round $i" >>"$stage/left_on"
  done
}

# ---- measurements -----------------------------------------------------------------
sessions() { node_exec "$stage" "$1" lttng -n list 2>/dev/null | sed -n 's/^ *[0-9]*) \(hone-[^ ]*\).*/\1/p'; }
added() {
  local node session
  for node in $nodes; do
    for session in $(sessions "$node"); do
      node_exec "$stage" "$node" lttng -n list "$session" 2>/dev/null |
        sed -n "s/^ *\([A-Za-z_0-9]*:[^ ]*\) .*\[enabled\].*/$node \1/p" | grep -v ' hone:'
    done
  done
}
nothing_added() { local on; on=$(added); echo "$on"; [ -z "$on" ]; }
root() { echo "/proc/$(cat "$stage/$1/holder.pid")/root"; }
# left NODE: prints what agents and traced programs could leave in /dev/shm and in the session daemon
left() {
  sessions "$1"
  ls -A "$(root "$1")/dev/shm" | grep -v -e '^lttng-ust-wait' -e '^sem\.'
}
nothing_left() { local l; l=$(left "$1"); echo "$l"; [ -z "$l" ]; }
sampler_start() {
  local node what=("honed=$honed" "file:database=$stage/forest.db" "file:wal=$stage/forest.db-wal" "file:space=$stage/space.db")
  for node in $nodes; do
    local agent session
    eval "agent=\$agent_$node"
    session=$(cat "$stage/$node/sessiond.pid")
    what+=("agent-$node=$agent" "guard-$node=$(pgrep -P "$agent" -x hone-guard)" "sessiond-$node=$session"
      "consumerd-$node=$(pgrep -P "$session" -x lttng-consumerd)" "shm:shm-$node=$(root "$node")/dev/shm")
  done
  python3 tests/scenario/soak.py sample "$stage/samples" "${what[@]}" &
  sampler=$!
}
# phase NAME COMMAND...: runs it and notes its begin and end
phase() {
  local name=$1 began=$EPOCHREALTIME
  shift
  "$@"
  echo "$name $began $EPOCHREALTIME" >>"$stage/phases"
}
settle() { sleep "$SECONDS_SETTLE"; }
under_load() { sleep "$1"; }
ends_well() { kill "$1" && wait "$1"; }
end() {
  local pid node
  kill "${sampler:-}" 2>/dev/null
  for pid in "${loads[@]}" "$operator" "${steady[@]}" "${agent_n1:-}" "${agent_n2:-}" "${tap:-}" "${honed:-}"; do
    [ -z "$pid" ] || kill "$pid" 2>/dev/null
  done
  for node in $nodes; do node_stop "$stage" "$node"; done
  [ $FAILED = 0 ] && rm -rf "$stage" || echo "# logs: $stage"
}
trap end EXIT

# ---- the soak ---------------------------------------------------------------------
up || bail "controller, agents and programs do not come up"
check "requests are seen" wait_for 30 seen
for node in $nodes; do
  check "a program runs on $node without being traced" untraced "$node"
done
load_start
sleep "$SECONDS_WARM"
sampler_start
load_stop
settle
phase base under_load 10
load_start
phase load under_load "$SOAK_SECONDS"
check "hone status answers under load" hone status --json
load_stop
check "after the load all added tracepoints are off" wait_for 10 nothing_added
settle
phase end under_load 10
kill "$sampler"; wait "$sampler"; sampler=

for pid in "${steady[@]}"; do
  check "a program that ran all the time exits 0" ends_well "$pid"
done
steady=()
sleep 2	# the last records arrive one batch after the program's end; records that arrive later count as missing
check "the controller and the agents are the same processes as at the beginning" kill -0 "$honed" "$agent_n1" "$agent_n2"
for node in $nodes; do
  eval "pid=\$agent_$node"
  check "the agent of $node exits 0" ends_well "$pid"
  check "the agent of $node leaves no session and no folder" wait_for 10 nothing_left "$node"
done
check "the controller exits 0" ends_well "$honed"
check "the database passes SQLite's integrity check" bash -c "[ \"\$(python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(\"PRAGMA integrity_check\").fetchone()[0])' '$stage/forest.db')\" = ok ]"
kill "$tap"; wait "$tap"
honed= agent_n1= agent_n2= tap=
check "between diagnoses all added tracepoints were off" test ! -s "$stage/left_on"
check "every question was answered" bash -c "! grep -v -E '^[0-9]+ [01] ' '$stage/asked'"
check "every lost record was reported" python3 tests/scenario/soak.py lost "$stage/taps" "$stage"/ends-n?
check "memory, descriptors and threads do not grow" \
  python3 tests/scenario/soak.py judge "$stage/samples" "$stage/phases" $((SOAK_SECONDS / 60))
{
  python3 tests/scenario/soak.py judge "$stage/samples" "$stage/phases" $((SOAK_SECONDS / 60))
  python3 tests/scenario/soak.py lost "$stage/taps" "$stage"/ends-n?
  cat "$stage"/load-n?
  sort -n "$stage/asked" | awk '{ ms[NR] = $1 } END { printf "%d questions, ms: median %d, 99 of 100 %d, longest %d\n", NR,
    ms[int((NR + 1) / 2)], ms[int(NR * 0.99)], ms[NR] }'
  grep -c '^.* start ' "$stage/asked" | sed 's/$/ diagnoses begun/'
} | sed 's/^/# /'
echo "1..$N"
exit $FAILED
