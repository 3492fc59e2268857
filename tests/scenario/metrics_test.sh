#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Metrics of a live application: promtool finds no fault in them, a real Prometheus scrapes them with exemplars, the documentation
# has each of them, and what is not a scrape is refused.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root curl promtool prometheus
here=$PWD/examples APP=news
. "$here/stage.sh"
load= prometheus=
end() {
  local p
  for p in $load $prometheus; do kill "$p"; wait "$p"; done 2>/dev/null
  stage_down
}
trap end EXIT
why() { tail -5 "$stage/prometheus.log" "$stage/honed.log"; }
at=127.0.0.1:9464
metrics() { curl -sf --max-time 10 "http://$at/metrics" "$@"; }
status_of() { curl -s --max-time 10 -o /dev/null -w '%{http_code}' "$@"; }
# value LINE: of the line that begins so
value() { metrics | awk -v line="$1" 'index($0, line " ") == 1 { print $NF }'; }
# prom PATH FILTER [NAME=VALUE]: the jq filter on what Prometheus answers
prom() { curl -sfG --max-time 10 "http://127.0.0.1:9090/api/v1/$1" "${@:3}" | jq -e "$2"; }
names_told() { metrics | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' | sort; }
names_documented() { sed -n 's/^| `\([a-z_]*\)` .*/\1/p' docs/metrics.md | sort; }

echo 1..18
stage_app && stage_honed "${ALL_TRACED[@]}" -o metrics.listen="$at" && stage_agents || bail "the stage does not come up"
check "the log says where" grep -q "metrics at http://$at/metrics" "$stage/honed.log"
"$here/news/news.sh" load "$stage/news" --seconds 600 --rate 60 --seed 1 >"$stage/load.log" 2>&1 &
load=$!
enough() { [ "$(value 'hone_requests_total{type="READ",service="news-gate"}')" -ge 100 ]; }
check "requests are counted by type" wait_for 60 enough
check "promtool finds no fault in them" bash -o pipefail -c "curl -sf http://$at/metrics | promtool check metrics"
check "docs/metrics.md has each of them, and no other" diff <(names_told) <(names_documented)
agree() {
  local told
  told=$(hone status --json | jq '[.types[] | select(.type == "READ") | .traces] | first') &&
    awk -v a="$told" -v b="$(value 'hone_requests_total{type="READ",service="news-gate"}')" 'BEGIN { exit !(b >= a && b < a + 200) }'
}
check "they agree with hone status" agree
check "every node's agent is up" bash -o pipefail -c "curl -sf http://$at/metrics | grep -c '^hone_agent_up{.*} 1$' | grep -qx '$(echo "$nodes" | wc -w)'"
check "groups and the edges with most of their variance are told" bash -o pipefail -c \
  "curl -sf http://$at/metrics | grep '^hone_edge_variance_share{type=.*,group=\"[0-9a-f]\{16\}\",from=\".*\",to=\".*\",edge=\"[0-9]*\"} 0'"

# ---- a real Prometheus -------------------------------------------------------------
mkdir "$stage/tsdb"
cat >"$stage/prometheus.yml" <<EOF
global: { scrape_interval: 1s }
scrape_configs: [ { job_name: hone, static_configs: [ { targets: [ "$at" ] } ] } ]
EOF
check "promtool finds no fault in the configuration of docs/metrics.md" bash -o pipefail -c \
  "sed -n '/^scrape_configs/,/^\`\`\`/{/^\`/d;p}' docs/metrics.md >'$stage/documented.yml' && [ -s '$stage/documented.yml' ] && promtool check config --syntax-only '$stage/documented.yml'"
prometheus --config.file="$stage/prometheus.yml" --storage.tsdb.path="$stage/tsdb" --web.listen-address=127.0.0.1:9090 \
  --enable-feature=exemplar-storage >"$stage/prometheus.log" 2>&1 &
prometheus=$!
check "Prometheus scrapes them" wait_for 60 prom query '.data.result[0].value[1] == "1"' --data-urlencode 'query=up{job="hone"}'
check "it computes a quantile of response times" wait_for 60 prom query '.data.result[0].value[1] | tonumber > 0' \
  --data-urlencode 'query=histogram_quantile(0.95, sum by (le) (rate(hone_request_duration_seconds_bucket{type="READ"}[30s])))'
check "it has exemplars with trace ids" wait_for 60 prom query_exemplars '[.data[].exemplars[].labels.trace_id] | length > 0 and all(test("^[0-9a-f]{32}$"))' \
  --data-urlencode 'query=hone_request_duration_seconds_bucket' --data-urlencode "start=$(($(date +%s) - 60))" --data-urlencode "end=$(($(date +%s) + 120))"

dashboard() {	# each expression of it, for all types
  local expr n=0
  while read -r expr; do
    prom query '.status == "success"' --data-urlencode "query=${expr//\$type/.*}" >/dev/null || { echo "$expr"; return 1; }
    n=$((n + 1))
  done < <(jq -r '.panels[].targets[].expr' docs/grafana.json)
  [ $n -gt 10 ]
}
check "it computes each expression of docs/grafana.json" dashboard
names_drawn() { jq -r '.panels[].targets[].expr' docs/grafana.json | grep -o 'hone_[a-z_]*' | sed 's/_bucket$//' | sort -u; }
check "whose metrics are told" [ -z "$(comm -23 <(names_drawn) <(names_told))" ]

# ---- what is not a scrape ----------------------------------------------------------
check "another path is not found" [ "$(status_of "http://$at/")" = 404 ]
check "nothing can be posted" [ "$(status_of -X POST -d x "http://$at/metrics")" = 405 ]
check "a browser that another site's name led here is refused" [ "$(status_of -H 'Host: evil.example' "http://$at/metrics")" = 421 ]
crowd() {	# connections that say nothing do not keep a scrape away for longer than 10 s
  local i fds=() ok=1
  for i in $(seq 40); do exec {fd}<>"/dev/tcp/${at%:*}/${at#*:}" && fds+=("$fd"); done
  wait_for 15 metrics -o /dev/null && ok=0
  for i in "${fds[@]}"; do exec {i}>&-; done
  return $ok
}
check "silent connections do not keep a scrape away" crowd
refused() {
  ! "$O/bin/honed" -o metrics.listen=nowhere -o controller.agents="ipc://$stage/x.sock" -o controller.operators="ipc://$stage/y.sock" \
    -o storage.database="$stage/z.db" -o storage.space="$stage/zs.db" 2>"$stage/refused" && grep "metrics.listen: nowhere is no address" "$stage/refused"
}
check "an address that is none is refused at start" refused
[ $FAILED = 0 ]
