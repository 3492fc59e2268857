#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests that go from a program with libhone to one with OpenTelemetry, and from that to one with libhone, are one trace: its records come
# by LTTng and hone-agent, its spans by hone-otel, and the critical path leads through all. So are those that begin with OpenTelemetry, also at a
# sampling rate below 1 if the agent knows the callers; and those of nginx, a Node service with OpenTelemetry and PostgreSQL, both with Hone's modules.
# O: the folder that `make all agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root node npm jq lttng-sessiond
HONE_OTEL_MODULES=$(tools/otel_clients.sh) || skip "needs the packages of tests/scenario/otel/package-lock.json"
own_node
export HONE_OTEL_MODULES OTLP_URL=http://127.0.0.1:4318/v1/traces
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
pids=()
BIN=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
MODULES=
if command -v nginx setpriv curl > /dev/null && [ -e "$BIN/initdb" ] && [ -e "$O/lib/hone/ngx_http_hone_module.so" ] && [ -e "$O/lib/hone/hone_postgres.so" ]; then
  MODULES=$(tools/otel_clients.sh examples/otel/services) || MODULES=
fi
end() {
  local i
  [ ! -e "$D/data/postmaster.pid" ] || as_postgres pg_ctl -w -D "$D/data" -m immediate stop > /dev/null 2>&1
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}"; wait "${pids[i]}"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 12 "$D"/*.log; }
start() { # NAME COMMAND...
  "${@:2}" > "$D/$1.log" 2>&1 &
  pids+=($!)
}
connected() { hone agents --json | jq -e '[.agents[] | select(.connected and .tracer_ok)] | length == 2'; }
report() { hone report "$1" --json > "$D/$(file "$1").json"; }
file() { tr "/ " __ <<< "$1"; }
came() { report "$1" && jq -e --argjson n "$2" '.types[0].count == $n' "$D/$(file "$1").json"; }
whole() { hone report --json | jq -e '.source.counts.traces == 10 and ([.source.counts.incomplete // {} | .. | numbers] | add // 0) == 0'; }
# path TYPE STEP...: each group of the type has this path
path() { jq -e --args '.types[0].groups | length > 0 and all(.path == $ARGS.positional)' "$D/$(file "$1").json" "${@:2}"; }
honed_up() { # ARGUMENTS
  start honed honed -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
    -o storage.space="$D/space.db" "${ALL_TRACED[@]}" "$@"
}

# ---- nginx, PostgreSQL and a service between them --------------------------------
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$D/data" PATH="$BIN:$PATH" "$@"; }
# What users other than root read is laid out as by `make install`.
database_up() {
  chmod 755 "$D" && mkdir -p "$D/lib/hone" "$D/run" "$D/data" && cp "$O"/lib/hone/*postgres*.so "$D/lib/hone" && cp "$O/lib/libhone.so.0" "$D/lib" &&
    chown postgres "$D/run" "$D/data" && as_postgres initdb -D "$D/data" -A trust -E UTF8 --no-locale --no-sync || return 1
  printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$D/run'" "shared_buffers = 32MB" "jit = off" \
    "shared_preload_libraries = '$D/lib/hone/hone_postgres'" >> "$D/data/postgresql.conf"
  as_postgres env LD_PRELOAD="liblttng-ust-fork.so.1:$D/lib/hone/libhone_postgres_waits.so" pg_ctl -w -D "$D/data" -l "$D/data/log" start
}
nginx_conf() { # PORT
  cat <<- CONF
	load_module $O/lib/hone/ngx_http_hone_module.so;
	daemon off; worker_processes 1; user www-data; pid $D/nginx.pid; error_log stderr;
	events { worker_connections 64; }
	http {
	  access_log off; hone on; proxy_http_version 1.1;
	  $(for t in client_body proxy fastcgi uwsgi scgi; do echo "${t}_temp_path $D/$t;"; done)
	  proxy_set_header traceparent \$hone_traceparent; proxy_set_header tracestate \$hone_tracestate;
	  server { listen 127.0.0.1:8088; location / { hone_type "GET /page"; proxy_pass http://127.0.0.1:$1; } }
	}
	CONF
}
pages_up() {
  (database_up) > "$D/database.log" 2>&1 || { cat "$D/database.log"; return 1; }
  HONE_OTEL_MODULES=$MODULES start pages node tests/scenario/otel/pages.js "$D/run"
  wait_for 60 test -s "$D/pages.log" && nginx_conf "$(head -n 1 "$D/pages.log")" > "$D/nginx.conf" || return 1
  start nginx env LD_PRELOAD=liblttng-ust-fork.so.1 nginx -p "$D" -c "$D/nginx.conf"
  wait_for 60 bash -c '> /dev/tcp/127.0.0.1/8088'
}
pages() { for _ in 1 2 3 4 5; do [ "$(curl -s -m 60 http://127.0.0.1:8088/)" = 200010000 ] || return 1; done; }
# The services along the path of each group, each as long as it goes on.
leads_through() {
  jq -e --args '.types[0].groups | length > 0 and all([.path[] | split("/")[0]] | reduce .[] as $s ([]; if .[-1] == $s then . else . + [$s] end) | . == $ARGS.positional)' "$D/$1.json" "${@:2}"
}
types() { hone status --json | jq -e --args '[.types[].type] | sort == $ARGS.positional' "$@"; }

# ---- at a rate below 1 -----------------------------------------------------------
settled() { report "GET /own" && jq -e '.types[0].count >= 5' "$D/GET__own.json" && hone status --json | jq -e '.counts.pending == 0'; }
both_parts() { jq -e '.types[0] | .count < 35 and ([.groups[].count] | add) == .count and all(.groups[]; .path | any(. == "otel_caller/hone:unit_begin(STOCK)"))' "$D/GET__own.json"; }

echo 1..15
start sessiond lttng-sessiond --no-kernel
honed_up
start agent hone-agent -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o agent.run_dir=/dev/shm/hone-agent -o agent.callers_known=yes \
  -o below.enabled=no -o maps.folder="$D/maps"
start otel hone-otel -o controller.url="ipc://$D/agents.sock" -o spans.hold=3s -o spans.delay=3s
check "hone-agent and hone-otel are connected, on one node" wait_for 30 connected
check "five requests go from libhone by OpenTelemetry to libhone, and five begin with OpenTelemetry" env HONE_POLICY=/dev/shm/hone-policy \
  "$O/tests/scenario/otel_caller" call 5 node tests/scenario/otel/between.js 5 "$O/tests/scenario/otel_caller" serve
check "hone report has the five that began with libhone" wait_for 30 came MIXED 5
check "the path leads through the spans into the program that they call, and back" path MIXED "otel_caller/hone:request_begin(MIXED)" \
  "otel_caller/hone:fork(node)" "between/hone:unit_begin(GET /between)" "between/hone:fork(CALL stock)" "between/hone:unit_begin(CALL stock)" \
  "otel_caller/hone:unit_begin(stock)" "otel_caller/hone:unit_end(stock)" "between/hone:unit_end(CALL stock)" "between/hone:join(CALL stock)" \
  "between/hone:unit_end(GET /between)" "otel_caller/hone:join(node)" "otel_caller/hone:request_end(MIXED)"
check "hone report has the five that began with OpenTelemetry" wait_for 30 came "GET /own" 5
check "all ten are whole" whole
check "by traceparent alone, a request that began in the program that was called is a unit of the span" path "GET /own" \
  "between/hone:request_begin(GET /own)" "between/hone:fork(CALL stock)" "between/hone:unit_begin(CALL stock)" \
  "otel_caller/hone:unit_begin(STOCK)" "otel_caller/hone:unit_end(STOCK)" "between/hone:unit_end(CALL stock)" "between/hone:join(CALL stock)" \
  "between/hone:request_end(GET /own)"
check "no other requests are seen" types "GET /own" MIXED

if [ -n "$MODULES" ]; then
  check "nginx and PostgreSQL with Hone's modules, and a service with OpenTelemetry between them, are there" pages_up
  check "and answer" pages
  check "hone report has these requests" wait_for 60 came "GET /page" 5
  check "each is one trace, by traceparent and tracestate in both directions" leads_through "GET__page" nginx pages postgres pages nginx
  check "no part of one is a request of its own" types "GET /own" "GET /page" MIXED
else
  for it in 1 2 3 4 5; do echo "ok $((N += 1)) # SKIP needs nginx, PostgreSQL, Hone's modules for both and the packages of examples/otel/services"; done
fi

# honed's is the second process that was started.
kill "${pids[1]}" && wait "${pids[1]}"
honed_up -o agents.sampled=50%
wait_for 60 connected > /dev/null
env HONE_POLICY=/dev/shm/hone-policy "$O/tests/scenario/otel_caller" call 0 node tests/scenario/otel/between.js 40 "$O/tests/scenario/otel_caller" serve
check "of 40 requests some are sampled at a rate of 50 %" wait_for 60 settled
check "both programs have chosen the same ones, by the trace id" both_parts
exit $FAILED
