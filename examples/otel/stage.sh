# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the demo after examples/stage.sh: beside the agent of the node edge, hone-otel for the Node services; and beside its session daemon, the
# Node services themselves say what is on.

stage_added_by="the session daemon and the Node services themselves"
stage_agents_start() {
  stage_node_agents
  "$O/bin/hone-otel" -o agent.node=node-services -o controller.url="ipc://$stage/agents.sock" -o listen.otlp="127.0.0.1:${OTLP_PORT:-4318}" \
    -o listen.grpc= -o listen.zipkin= -o listen.opamp= -o listen.sampling= -o spans.hold=2s -o spans.delay=2s >>"$stage/otel.log" 2>&1 &
  stage_agent_pids+=($!)
}
stage_ready() { hone agents --json | jq -e '[.agents[] | select(.connected and .tracer_ok)] | length == 2'; }
stage_names() {
  local tracepoints
  eval "$(app defaults)"
  hone tracepoints --json | jq -e --argjson n "$tracepoints" '.total >= $n'
}
# Spans are known once they were passed.
stage_loaded() { until_true 30 "the spans that are off were passed" stage_names; }
stage_added() { stage_node_added; app on "$stage/$APP"; }
