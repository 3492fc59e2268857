# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the demo after examples/stage.sh: in place of an agent on each node, hone-otel; in place of LTTng's session daemons, the
# services themselves say what is on.

stage_added_by="the services themselves"
stage_agents_start() {
  "$O/bin/hone-otel" -o agent.node=local -o controller.url="ipc://$stage/agents.sock" -o listen.otlp="127.0.0.1:${OTLP_PORT:-4318}" \
    -o listen.zipkin= -o spans.hold=2s -o spans.delay=2s >>"$stage/otel.log" 2>&1 &
  stage_agent_pids+=($!)
}
stage_ready() { hone agents --json | jq -e 'any(.agents[]; .connected and .tracer_ok)'; }
stage_names() {
  local tracepoints
  eval "$(app defaults)"
  hone tracepoints --json | jq -e --argjson n "$tracepoints" '.total >= $n'
}
# Spans are known once they were passed.
stage_loaded() { until_true 30 "the spans that are off were passed" stage_names; }
stage_hone_gone() { true; }
stage_added() { app on "$stage/$APP"; }
