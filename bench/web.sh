#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The live page of a honed with many nodes and many groups: pretended agents send the requests (agent_link_fleet.c), Chromium opens the page
# (web.js). One line of JSON: the time to the first view, the requests, bytes and processor time that it takes, a report as the page asks for
# it, and how long others wait meanwhile. load: of the machine when the page was opened first, the fleet and honed included.
#   web.sh [AGENTS] [GROUPS] [RECORDS_PER_S] [ROUNDS]
# GROUPS: a hundred or a multiple of it. PICTURES=FOLDER: screenshots. It needs the packages of tests/scenario/web; else it is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
agents=${1:-100} groups=${2:-1000} rate=${3:-30000} rounds=${4:-10}
modules=$(tools/otel_clients.sh tests/scenario/web 2> /dev/null) && command -v chromium > /dev/null || { echo "web.sh: no Chromium, or no playwright-core" >&2; exit 0; }
export NODE_PATH=$modules/node_modules
[ -x "$O/bench/agent_link_fleet" ] || make -s O="$O" "$O/bench/agent_link_fleet"
D=$(mktemp -d)
export PATH="$O/bin:$PATH" HONE_SOCKET="ipc://$D/honed.sock" HOME=$D
honed= fleet=
end() {
  local p
  for p in $fleet $honed; do kill "$p"; wait "$p"; done 2> /dev/null || true
  rm -rf "$D"
}
trap end EXIT
honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" -o storage.space="$D/space.db" \
  -o analysis.report_max=512MiB -o agents.enough=0 -o agents.budget=0% -o web.listen=127.0.0.1:9473 -o operators.questions_per_second=1000 ${WEB_HONED:-} 2> "$D/honed.log" &
honed=$!
for _ in $(seq 100); do hone status > /dev/null 2>&1 && break; sleep 0.1; done
hone status > /dev/null || { cat "$D/honed.log" >&2; exit 1; }
# 100 ways to begin (20 types, 50 services), times so many ways over the nodes
SHAPES=$((groups / 100)) "$O/bench/agent_link_fleet" "ipc://$D/agents.sock" "$agents" 3600 100 "$rate" "$honed" > /dev/null 2> "$D/fleet.log" &
fleet=$!
# Each group has 30 requests and more when it is judged: 100 on average.
traces() { hone status --json | jq .counts.traces; }
while now=$(traces) && [ "$now" -lt $((groups * ${TRACES_OF_GROUP:-100})) ]; do sleep 1; done
read -r load _ < /proc/loadavg
node bench/web.js "$O/bin/hone" "$rounds" "$honed" "$fleet" ${PICTURES:-} > "$D/page.json"
hone status --json > "$D/status.json"
jq -c --arg load "$load" --arg rss "$(awk '/VmRSS/ { print $2 }' "/proc/$honed/status")" --slurpfile s "$D/status.json" \
  '. + { load: ($load | tonumber), nodes: $s[0].agents, other_groups: $s[0].counts.other_groups, traces: $s[0].counts.traces, rss_KiB: ($rss | tonumber) }' "$D/page.json"
