#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A shop of several languages: nginx with Hone's module, two Node services with OpenTelemetry, a service in C with libhone, PostgreSQL and
# Redis (README.md draws it).
#
#   otel.sh start DIR                start the shop in DIR (created if missing)
#   otel.sh stop DIR                 end everything, and remove what start created
#   otel.sh fault DIR NAME on|off|N  switch a fault (README.md lists them)
#   otel.sh load DIR [ARG...]        users: services/load.js with these arguments
#   otel.sh on DIR                   spans that Hone has turned on, by the services themselves
#   otel.sh nodes DIR                names of the nodes that have a session daemon: edge, of nginx and the service in C
#   otel.sh port DIR                 the port of nginx, which receives all requests
#   otel.sh defaults                 the demo's requests per second, and how many tracepoints there are
#
# The packages that the services need are installed into a cache folder (tools/otel_clients.sh). OTLP_PORT, default 4318: where
# hone-otel listens. O: the build folder, default: build beside examples. Root is required, for the node.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../node.sh"
programs=$(realpath -m "${O:-$here/../../build}")
otlp=http://127.0.0.1:${OTLP_PORT:-4318}

fail() { echo "otel.sh: $*" >&2; exit 1; }
usage() { sed -n 's/^#   \(otel.sh\)/\1/p' "${BASH_SOURCE[0]}"; exit "$1"; }

# run DIR NAME COMMAND...: in the background, in a session of its own; DIR/NAME.pid, .log
run() {
  setsid "${@:3}" >>"$1/$2.log" 2>&1 </dev/null &
  echo $! >"$1/$2.pid"
}
# A process that has ended and that nobody has waited for has no command line.
alive() { local pid; pid=$(cat "$1/$2.pid" 2>/dev/null) && [ -n "$(tr -d '\0' <"/proc/$pid/cmdline" 2>/dev/null)" ]; }
not_alive() { ! alive "$@"; }
# end_one DIR NAME SIGNAL
end_one() {
  alive "$1" "$2" || return 0
  kill "-$3" "$(cat "$1/$2.pid")" 2>/dev/null
  node_wait 10 not_alive "$1" "$2" || kill -KILL -- "-$(cat "$1/$2.pid")" 2>/dev/null
}

as_postgres() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }
pg() { psql -h "$1/pg" -U shop -d postgres -qAt -v ON_ERROR_STOP=1 "${@:2}" </dev/null; }
pg_answers() { pg "$1" -c 'SELECT 1' >/dev/null; }
redis_answers() { [ "$(redis-cli -s "$1/redis.sock" ping)" = PONG ]; }
healthy() { curl -sf --noproxy '*' -o /dev/null "http://127.0.0.1:$(cat "$1/$2.port")/health"; }

start_postgres() {
  local dir=$1 bin data
  bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
  data=$(mktemp -d /tmp/otel-shop-pg.XXXXXX) && ln -s "$data" "$dir/pg" || return 1
  [ "$(id -u)" != 0 ] || chown postgres:postgres "$data"
  as_postgres "$bin/initdb" -D "$data" -U shop -A trust -E UTF8 --no-locale --no-sync >"$dir/initdb.log" 2>&1 || return 1
  run "$dir" postgres env -C / "${POSTGRES_AS[@]}" "$bin/postgres" -D "$data" -c listen_addresses= -c unix_socket_directories="$data" \
    -c fsync=off -c autovacuum=off -c jit=off -c max_parallel_workers_per_gather=0 -c dynamic_shared_memory_type=mmap
  node_wait 20 pg_answers "$dir" && pg "$dir" -f "$here/schema.sql" >"$dir/schema.log" 2>&1
}

# node_service DIR NAME ARGUMENTS...
node_service() {
  local dir=$1 name=$2 port
  port=$(node_free_port)
  echo "$port" >"$dir/$name.port"
  run "$dir" "$name" env OTEL_SERVICE_NAME="$name" OTEL_EXPORTER_OTLP_ENDPOINT="$otlp" node "$dir/services/$name.js" "$port" "${@:3}"
  node_wait 20 healthy "$dir" "$name"
}

# Bodies and answers of these services fit into memory; the folders are there since nginx wants to have made them.
nginx_conf() {
  local dir=$1 kind
  cat <<CONF
load_module $programs/lib/hone/ngx_http_hone_module.so;
user www-data;
worker_processes 1;
daemon off;
pid $dir/edge/master.pid;
error_log stderr;
events { worker_connections 512; }
http {
  access_log off;
$(for kind in client_body proxy fastcgi uwsgi scgi; do echo "  ${kind}_temp_path $dir/edge/$kind;"; done)
  keepalive_timeout 1h;
  keepalive_requests 1000000;
  upstream front { server 127.0.0.1:$(cat "$dir/front.port"); keepalive 64; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:$(cat "$dir/edge.port");
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    hone on;
    proxy_set_header traceparent \$hone_traceparent;
    proxy_set_header tracestate \$hone_tracestate;
    location = /health { hone off; return 200 "nginx\n"; }
    location /basket/ { hone_type "GET /basket/:customer"; proxy_pass http://front; }
    location /history/ { hone_type "GET /history/:customer"; proxy_pass http://front; }
  }
}
CONF
}
start_stock() {
  node_run "$1" edge stock "$programs/examples/otel/otel-stock" --ready "$1/stock.port"
  node_wait 20 test -s "$1/stock.port"
}
start_nginx() {
  node_free_port >"$1/edge.port"
  nginx_conf "$1" >"$1/edge/nginx.conf"
  node_run "$1" edge nginx env LD_PRELOAD=liblttng-ust-fork.so.1 nginx -p "$1/edge" -c "$1/edge/nginx.conf"
  node_wait 20 healthy "$1" edge
}

start_programs() {
  local dir=$1 modules program
  for program in lib/hone/ngx_http_hone_module.so examples/otel/otel-stock; do
    [ -e "$programs/$program" ] || { echo "otel.sh: $programs/$program is not there: make all (nginx: apt-get install nginx-dev)" >&2; return 1; }
  done
  modules=$("$here/../../tools/otel_clients.sh" "$here/services") || return 1
  # Node looks for packages beside the file.
  mkdir "$dir/services" && cp "$here"/services/*.js "$dir/services" && mkdir "$dir/services/node_modules" &&
    ln -s "$modules"/node_modules/* "$dir/services/node_modules" &&
    mkdir "$dir/services/node_modules/hone-otel-gate" &&
    cp "$here"/../../npm/hone-otel-gate/{*.js,*.json} "$dir/services/node_modules/hone-otel-gate" || return 1
  POSTGRES_AS=()
  [ "$(id -u)" != 0 ] || POSTGRES_AS=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  start_postgres "$dir" || return 1
  run "$dir" redis redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --appendonly no --dir "$dir"
  node_wait 10 redis_answers "$dir" || return 1
  for i in $(seq 0 99); do echo "SET basket:$i [$((1 + i)),$((2 + i * 3)),$((5 + i * 7))]"; done | redis-cli -s "$dir/redis.sock" >/dev/null
  node_start "$dir" edge && start_stock "$dir" || return 1
  node_service "$dir" price "$dir/redis.sock" "$(realpath "$dir/pg")" "$(cat "$dir/stock.port")" &&
    node_service "$dir" front "$(cat "$dir/price.port")" && start_nginx "$dir"
}

start() {
  local dir=$1
  mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
  [ ! -e "$dir/shop" ] || fail "$dir: there is a shop already, or its rest: otel.sh stop $dir"
  touch "$dir/shop"
  # Waits for the end of an interrupted start, which would otherwise create files while stop removes them.
  trap 'stop "$dir"; exit 130' INT TERM
  (trap : INT TERM; start_programs "$dir") && exit 0
  for log in "$dir"/*.log; do echo "--- $log"; tail -n 5 "$log"; done >&2
  stop "$dir"
  fail "start failed"
}

stop() {
  local dir data rc=0
  dir=$(cd "$1" 2>/dev/null && pwd) || return 0
  [ -e "$dir/shop" ] || return 0
  node_stop "$dir" edge || rc=1
  end_one "$dir" front TERM
  end_one "$dir" price TERM
  end_one "$dir" redis TERM
  end_one "$dir" postgres INT
  data=$(readlink "$dir/pg") && [[ $data == /tmp/otel-shop-pg.* ]] && rm -rf "$data"
  rm -rf "$dir/services" "$dir"/{front,price,redis,postgres,stock,edge}.{pid,port,log} "$dir"/{pg,redis.sock,initdb.log,schema.log,shop}
  rmdir --ignore-fail-on-non-empty "$dir"
  return $rc
}

post_fault() {
  curl -sf --noproxy '*' -o /dev/null -X POST "http://127.0.0.1:$(cat "$1/$2.port")/fault?name=$3&on=$4" || fail "the service $2 does not answer"
}

switch_fault() {
  local on=$3
  case $on in
  on) on=1 ;;
  off) on=0 ;;
  [1-9] | [1-9][0-9]) ;;
  *) fail "on, off or a number, not $on" ;;
  esac
  case $2 in
  voucher | pool) post_fault "$1" price "$2" "$on" ;;
  shelf) post_fault "$1" stock "$2" "$on" ;;
  index)
    pg "$1" -c 'DROP INDEX IF EXISTS orders_customer' || fail "PostgreSQL does not answer"
    [ "$on" = 1 ] || pg "$1" -c 'CREATE INDEX orders_customer ON orders (customer)' ;;
  *) fail "no fault $2; there are voucher, index, pool, shelf" ;;
  esac
}

exec 3>&-	# what goes on running must not hold a caller's pipe open
cmd=${1:-}
[ $# = 0 ] || shift
case "$cmd:$#" in
start:1) start "$1" ;;
stop:1) stop "$1" ;;
fault:3) switch_fault "$@" ;;
on:1) for name in front price; do curl -sf --noproxy '*' "http://127.0.0.1:$(cat "$1/$name.port")/gate" | sed "s/^/$name /"; done ;;
nodes:1) [ -e "$1/shop" ] && echo edge || fail "$1: no shop" ;;
port:1) cat "$1/edge.port" ;;
defaults:0) echo "rate=40 tracepoints=22 learn=14" ;;
load:*)
  [ $# -ge 1 ] || usage 2
  dir=$1
  shift
  exec node "$here/services/load.js" --port "$(cat "$dir/edge.port")" "$@" ;;
--help:0) usage 0 ;;
*) usage 2 >&2 ;;
esac
