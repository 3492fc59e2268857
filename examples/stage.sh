# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the demo, the tests and the benchmarks: an application in a new folder, with a controller, and an agent on
# each of its nodes. Needs $here (the folder examples) and $O (the build folder). APP: which example it is; default shop.
#
#   stage_app              starts the application; sets $stage (its folder) and $nodes (names of the nodes)
#   stage_honed            starts the controller and waits until it answers; sets $honed (its pid)
#   stage_agents           starts an agent on each node and waits until each is connected and traces; in two steps: stage_agents_start,
#                          stage_agents_known
#   stage_unhone           ends controller and agents (by their pids), and waits for their child processes
#   stage_down             ends everything and removes the folder; 1 if the application did not end cleanly
#   stage_added            added tracepoints according to the nodes' session daemons (without always-on ones and those with which
#                          an agent measures): "node event" lines
#   hone ...               runs hone with this controller
#   app ...                runs the application's script (shop/shop.sh, news/news.sh)
#   until_true SECONDS WORDS COMMAND...   waits until COMMAND succeeds; prints WORDS if it does not in time

set -o pipefail	# jq -e takes no answer at all for yes
stage= nodes= honed=
stage_added_by="the session daemons of all nodes"	# who says what stage_added prints
stage_agent_pids=()
APP=${APP:-shop}

app() { "$here/$APP/$APP.sh" "$@"; }
hone() { "$O/bin/hone" "$@"; }

until_true() {
  local limit=$((SECONDS + $1)) words=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $limit ] || { echo "waited in vain: $words" >&2; return 1; }
    sleep 0.1
  done
}

stage_app() {
  stage=$(mktemp -d "${TMPDIR:-/tmp}/hone-stage.XXXXXX")
  export HONE_SOCKET="ipc://$stage/honed.sock"
  app start "$stage/$APP" || return 1
  nodes=$(app nodes "$stage/$APP")
}

# Where the packages are installed there are users that the daemons would become, and that may not use this folder.
stage_honed() {
  "$O/bin/honed" -o controller.user=root -o controller.agents="ipc://$stage/agents.sock" -o controller.operators="$HONE_SOCKET" \
    -o storage.database="$stage/forest.db" -o storage.space="$stage/space.db" "$@" >>"$stage/honed.log" 2>&1 &
  honed=$!
  until_true 30 "honed answers" hone status --json
}

stage_ready() {
  local tracepoints
  eval "$(app defaults)"
  [ "$(hone agents --json | jq '[.agents[] | select(.connected and .tracer_ok and .programs > 0)] | length')" = \
    "$(echo "$nodes" | wc -w)" ] && hone tracepoints --json | jq -e --argjson n "$tracepoints" '.total >= $n'
}

stage_node_agents() {
  local node
  for node in $nodes; do
    "$here/node.sh" exec "$stage/$APP" "$node" "$O/bin/hone-agent" -o agent.node="$node" \
      -o controller.url="ipc://$stage/agents.sock" -o agent.user=root -o agent.run_dir=/dev/shm/hone-agent \
      >>"$stage/agent-$node.log" 2>&1 &
    stage_agent_pids+=($!)
  done
}

stage_agents_start() { stage_node_agents; }

stage_agents_known() {
  until_true 60 "every agent is connected, traces, and has told of its programs" stage_ready
}

stage_agents() { stage_agents_start && stage_agents_known; }

stage_loaded() { true; }	# waits for what is known only under load

stage_hone() {	# Hone's processes on the nodes; that one ends meanwhile says nothing of the others
  local node
  for node in $nodes; do
    "$here/node.sh" pids "$stage/$APP" "$node"
  done | sed 's|.*|/proc/&/comm|' | { xargs -r cat 2>/dev/null || true; } | grep '^hone-'
}
stage_hone_gone() { ! stage_hone; }

stage_unhone() {
  local p
  for p in $honed "${stage_agent_pids[@]}"; do kill "$p" 2>/dev/null || true; done
  for p in $honed "${stage_agent_pids[@]}"; do wait "$p" 2>/dev/null || true; done
  [ "${#stage_agent_pids[@]}" = 0 ] || until_true 30 "the guardians end" stage_hone_gone || true
  honed=
  stage_agent_pids=()
}

stage_logs() {
  local log
  for log in "$stage"/*.log; do
    [ ! -s "$log" ] || { echo "--- ${log##*/}"; tail -n 15 "$log"; }
  done
}

stage_down() {
  local rc=0
  stage_unhone
  [ -z "$stage" ] || { app stop "$stage/$APP" || rc=1; rm -rf "$stage"; }
  stage=
  return $rc
}

stage_node_added() {
  local node session
  for node in $nodes; do
    for session in $("$here/node.sh" exec "$stage/$APP" "$node" lttng list 2>/dev/null |
        sed -n 's/^ *[0-9]*) \(hone-[^ ]*\).*/\1/p'); do
      "$here/node.sh" exec "$stage/$APP" "$node" lttng list "$session" 2>/dev/null |
        sed -n "s/^ *\([A-Za-z_0-9]*:[^ ]*\) .*\[enabled\].*/$node \1/p" | grep -v ' hone[:_]' || true
    done
  done
}
stage_added() { stage_node_added; }
stage_nothing_added() { [ -z "$(stage_added)" ]; }
