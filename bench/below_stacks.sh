#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How many stacks of Debian's servers under load are complete, and what unwinding and naming them costs.
#	O=build bench/below_stacks.sh [SAMPLES [BYTES]]		SHOW=3 prints some of them
set -eu
n=${1:-1000} bytes=${2:-16384}
tool=${O:-build}/bench/below_stacks_complete
work=$(mktemp -d /tmp/hone-stacks.XXXXXX)
pids=
end() {
  for p in $pids; do kill "$p" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
chmod 755 "$work"
up() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done; echo "below_stacks: not up: $*" >&2; exit 1; }

if command -v redis-server >/dev/null; then
  redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" --logfile "$work/redis.log" &
  pids="$pids $!" server=$!
  up redis-cli -s "$work/redis.sock" ping
  redis-benchmark -s "$work/redis.sock" -l -c 8 -t set,get,lpush,zadd >/dev/null 2>&1 &
  pids="$pids $!" load=$!
  "$tool" redis "$n" "$bytes" "$server"
  kill "$load" "$server"
fi
if command -v nginx >/dev/null && command -v wrk >/dev/null; then
  mkdir -p "$work/html" && head -c 30000 /dev/zero >"$work/html/index.html"
  cat >"$work/nginx.conf" <<-END
	daemon off; pid $work/nginx.pid; error_log $work/nginx.log; worker_processes 1;
	events { } http { access_log $work/access.log; gzip on; gzip_types *; gzip_min_length 1;
	server { listen 127.0.0.1:18089; root $work/html; } }
	END
  nginx -c "$work/nginx.conf" 2>"$work/nginx.err" &
  pids="$pids $!" master=$!
  up curl -s http://127.0.0.1:18089/
  wrk -t1 -c8 -d60s -H 'Accept-Encoding: gzip' http://127.0.0.1:18089/ >/dev/null 2>&1 &
  pids="$pids $!" load=$!
  "$tool" nginx "$n" "$bytes" $(pgrep -P "$master")
  kill "$load" "$master"
fi
if [ -x /usr/bin/python3 ]; then
  /usr/bin/python3 -c 'import json, re, time
def inner(n): return [json.loads(json.dumps({"a": i, "b": [i] * 5})) for i in range(n)]
def outer():
  while True: inner(200); re.sub("a+b", "c", "aab" * 500); time.sleep(0.001)
outer()' &
  pids="$pids $!"
  server=$!
  sleep 0.5
  "$tool" python3 "$n" "$bytes" "$server"
  kill "$server"
fi
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
if [ -n "$bin" ] && [ "$(id -u)" = 0 ] && id postgres >/dev/null 2>&1; then
  install -d -o postgres "$work/pg"
  as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
  as "$bin/initdb" -D "$work/pg/data" -A trust >"$work/initdb.log" 2>&1
  as "$bin/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses= -c fsync=on >"$work/postgres.log" 2>&1 &
  up as "$bin/psql" -h "$work/pg" -d postgres -c 'select 1'
  server=$(head -1 "$work/pg/data/postmaster.pid")
  pids="$pids $server"
  as "$bin/pgbench" -h "$work/pg" -i -s 2 postgres >/dev/null 2>&1
  as "$bin/pgbench" -h "$work/pg" -c 4 -T 60 postgres >/dev/null 2>&1 &
  load=$!
  sleep 1
  "$tool" postgres "$n" "$bytes" $(pgrep -P "$server")
  kill -INT "$server"
fi
