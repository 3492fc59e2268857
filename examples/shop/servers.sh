# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by shop.sh: the servers of the shop in the version that Debian ships, each with Hone's module if that was
# built, and the faults inside these servers. Needs node.sh, $here, fail().
#
#   servers                     one line for each server: node, module, make target, package
#   servers_untraced            the nodes whose module was not built; prints on stderr what to install
#   start_redis DIR, start_postgres DIR, start_nginx DIR, end_servers DIR
#   server_fault DIR NAME on|off|N     returns 1 for an unknown fault
# edge: nginx. cache: Redis. store: PostgreSQL, as the user postgres.

modules=$(realpath -m "${O:-$here/../../build}/lib/hone")

servers() {
  echo "edge ngx_http_hone_module.so nginx nginx-dev"
  echo "cache hone_redis.so redis redis-server"
  echo "store hone_postgres.so postgres postgresql-server-dev-all"
}

servers_untraced() {
  local node module target package
  servers | while read -r node module target package; do
    [ -e "$modules/$module" ] && continue
    echo "$node"
    echo "shop.sh: $target goes untraced, $modules/$module is not there: apt-get install $package, make $target" >&2
  done
}

as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }

pg_bin() {
  local found
  found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  echo "${found:-$(dirname "$(command -v initdb)")}"
}

# end_process FILE NAME SIGNAL: ends the process whose id is in FILE, if its program is NAME.
end_process() {
  local pid
  pid=$(head -1 "$1" 2>/dev/null)
  [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || return 0
  kill "-$3" "$pid" 2>/dev/null
  node_wait 10 process_gone "$pid" || kill -KILL "$pid" 2>/dev/null
}

process_gone() { ! kill -0 "$1"; }

# ---- Redis ------------------------------------------------------------------------

start_redis() {
  local load=
  [ ! -e "$modules/hone_redis.so" ] || load="--loadmodule $modules/hone_redis.so"
  node_run "$1" cache redis redis-server --port 0 --unixsocket "$1/redis.sock" --save '' --appendonly no --dir "$1" $load
  node_wait 10 redis_answers "$1" || fail "Redis does not start: $(tail -3 "$1/cache/redis.log")"
  redis_fill "$1" 50
}

redis_fill() { [ "$(redis "$1" eval "$redis_lists" 0 "$2")" = OK ] || fail "Redis does not take the lists of goods called back"; }

redis() { redis-cli -s "$1/redis.sock" "${@:2}"; }
redis_answers() { [ "$(redis "$1" ping)" = PONG ]; }

# Lists of products called back, by customer group: ARGV[1] entries in group 2 of 0 to 5, else 50; no product has these ids.
redis_lists='for g = 0, 5 do
    local n, entries = g == 2 and tonumber(ARGV[1]) or 50, {}
    redis.call("DEL", "recalled:" .. g)
    for i = 1, 50 do entries[i] = 1000 + i * 7 end
    for i = 1, n / 50 do redis.call("RPUSH", "recalled:" .. g, unpack(entries)) end
  end
  return redis.status_reply("OK")'

# ---- PostgreSQL -------------------------------------------------------------------

# Creates DIR/pg. If the user postgres cannot enter DIR (mktemp makes folders that only
# root can enter), the folder is in /tmp and DIR/pg is a symbolic link to it.
prepare_postgres_dir() {
  local data=$1/pg
  if as_postgres test -x "$1"; then
    mkdir "$data"
  else
    data=$(mktemp -d /tmp/shop-pg.XXXXXX) && ln -s "$data" "$1/pg"
  fi && chown postgres:postgres "$data" && chmod 700 "$data" || fail "$1/pg: no folder for PostgreSQL"
}

# Prints a folder with the module that the user postgres can read; libhone is in its parent folder.
postgres_module() {
  local to=$1/hone
  [ -e "$modules/hone_postgres.so" ] || return 0
  if as_postgres test -r "$modules/hone_postgres.so"; then
    echo "$modules"
  else
    as_postgres mkdir -p "$to/hone" && cp "$modules"/*postgres* "$to/hone" && cp -P "$modules"/../libhone.so* "$to" &&
      chown -R postgres:postgres "$to" && echo "$to/hone"
  fi
}

# Commits wait for the disk, as by default. Only initdb does not.
start_postgres() {
  local dir=$1 data bin module preload=
  data=$(realpath "$1/pg")
  bin=$(pg_bin)
  as_postgres "$bin/initdb" -D "$data" -U shop -A trust -E UTF8 --no-locale --no-sync >"$dir/store/initdb.log" 2>&1 ||
    fail "initdb: $(tail -3 "$dir/store/initdb.log")"
  module=$(postgres_module "$data")
  as_postgres tee -a "$data/postgresql.conf" >/dev/null <<EOF
listen_addresses = ''
unix_socket_directories = '$data'
dynamic_shared_memory_type = mmap
shared_buffers = 96MB
max_connections = 40
wal_buffers = 64MB
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 1GB
jit = off
max_parallel_workers_per_gather = 0
${module:+shared_preload_libraries = '$module/hone_postgres.so'}
EOF
  [ -z "$module" ] || preload=liblttng-ust-fork.so.1
  [ ! -e "$module/libhone_postgres_waits.so" ] || preload="$module/libhone_postgres_waits.so $preload"
  node_run "$dir" store postgres setpriv --reuid=postgres --regid=postgres --clear-groups \
    env -C / ${preload:+LD_PRELOAD="$preload"} "$bin/postgres" -D "$data"	# -C /: postgres needs a working folder that it can enter
  node_wait 20 pg_answers "$dir" || fail "PostgreSQL does not start: $(tail -3 "$dir/store/postgres.log")"
  pg "$dir" -f "$here/schema.sql" >"$dir/store/schema.log" 2>&1 || fail "the schema: $(tail -3 "$dir/store/schema.log")"
}

pg() { psql -h "$1/pg" -U shop -d postgres -qAt -v ON_ERROR_STOP=1 "${@:2}" </dev/null; }

pg_answers() { pg "$1" -c 'SELECT 1' >/dev/null; }

# pg_session DIR NAME on|off SQL...: starts a foreign session that runs until it is switched off.
pg_session() {
  local dir=$1 name=$2 on=$3
  shift 3
  pg "$dir" -c "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'shop-$name'" >/dev/null ||
    fail "PostgreSQL does not end the session of $name"
  [ "$on" = on ] || return 0
  PGAPPNAME="shop-$name" setsid psql -h "$dir/pg" -U shop -d postgres -qAt "${@/#/--command=}" \
    </dev/null >>"$dir/store/$name.log" 2>&1 &
  node_wait 5 pg_session_there "$dir" "$name" || fail "no session for $name: $(tail -3 "$dir/store/$name.log")"
}

pg_session_there() {
  [ "$(pg "$1" -c "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shop-$2'")" = 1 ]
}

# ---- nginx ------------------------------------------------------------------------

# nginx_conf DIR LIMIT: the permitted searches a second; empty: no limit.
nginx_conf() {
  local dir=$1 limit=$2 hone= type
  [ ! -e "$modules/ngx_http_hone_module.so" ] || hone=1
  cat <<EOF
${hone:+load_module $modules/ngx_http_hone_module.so;}
user www-data;
worker_processes 2;
daemon off;
pid $dir/edge/master.pid;
error_log stderr;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path $dir/edge/body;
  proxy_temp_path $dir/edge/proxy;
  fastcgi_temp_path $dir/edge/fastcgi;
  uwsgi_temp_path $dir/edge/uwsgi;
  scgi_temp_path $dir/edge/scgi;
  keepalive_timeout 1h;
  keepalive_requests 1000000;
  ${limit:+limit_req_zone \$server_name zone=searches:64k rate=${limit}r/s;}
  upstream front {
    server 127.0.0.1:$(port "$dir" front);
    keepalive 64;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:$(cat "$dir/edge/listen");
    server_name shop;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    ${hone:+hone on; proxy_set_header traceparent \$hone_traceparent; proxy_set_header tracestate \$hone_tracestate;}
    location = /health { ${hone:+hone off;} return 200 "nginx\n"; }
$(while read -r path type; do
    echo "    location = $path { ${hone:+hone_type $type; }$([ "$type" != SEARCH ] || echo "${limit:+limit_req zone=searches burst=200; }")proxy_pass http://front; }"
  done <<TYPES
/ GET_HOME
/product GET_PRODUCT
/search SEARCH
/cart ADD_TO_CART
/checkout CHECKOUT
/orders GET_ORDERS
TYPES
)
  }
}
EOF
}

start_nginx() {
  local dir=$1
  node_free_port >"$dir/edge/listen"
  nginx_conf "$dir" "" >"$dir/edge/nginx.conf"
  node_run "$dir" edge nginx env LD_PRELOAD=liblttng-ust-fork.so.1 nginx -p "$dir/edge" -c "$dir/edge/nginx.conf"
  node_wait 10 nginx_answers "$dir" || fail "nginx does not start: $(tail -3 "$dir/edge/nginx.log")"
  cp "$dir/edge/listen" "$dir/edge/port"
}

nginx_answers() { curl -sf --noproxy '*' -o "$1/edge/health" "http://127.0.0.1:$(cat "$1/edge/listen")/health"; }

# On SIGHUP the master starts workers with the new configuration, then ends the old ones.
nginx_reload() {
  local dir=$1 master
  master=$(cat "$dir/edge/nginx.pid")
  nginx_conf "$dir" "$2" >"$dir/edge/nginx.conf"
  nginx_workers "$master" >"$dir/edge/old"
  kill -HUP "$master"
  node_wait 10 nginx_renewed "$master" "$dir/edge/old" || fail "nginx does not take $dir/edge/nginx.conf: $(tail -3 "$dir/edge/nginx.log")"
}

nginx_workers() { cat "/proc/$1/task/$1/children" | tr ' ' '\n' | grep .; }

nginx_renewed() { nginx_workers "$1" | grep -vxFf "$2" | grep -q .; }

# ---- faults and end ----------------------------------------------------------------

# The table that the fault checkpoint writes to: 52 MB, of which each UPDATE changes one row in each page. After a
# checkpoint the first change of a page writes the whole page to the log (WAL, full_page_writes): twenty times as much.
# The session itself does not wait (synchronous_commit = off); every other commit waits until all of it is on the disk.
ledger=("SET client_min_messages = error" "SET synchronous_commit = off" "DROP TABLE IF EXISTS ledger"
  "CREATE TABLE ledger (product integer PRIMARY KEY, seen bigint NOT NULL, note text NOT NULL) WITH (fillfactor = 75)"
  "INSERT INTO ledger SELECT n, 0, repeat('-', 1800) FROM generate_series(1, 20000) AS n")

server_fault() {
  local dir=$1 how=$3 on=on
  [ "$how" != off ] || on=off
  case $2 in
  edge_limit)	# N: tens of searches a second
    [ "$how" != on ] || how=4
    nginx_reload "$dir" "$([ $on = off ] || echo $((10 * how)))" ;;
  big_key)
    redis_fill "$dir" $([ $on = on ] && echo 600000 || echo 50) ;;
  missing_index)
    [ $on = on ] && pg "$dir" -c "DROP INDEX orders_of_user" || pg "$dir" -c "$(grep '^CREATE INDEX' "$here/schema.sql")" ;;
  row_lock)
    pg_session "$dir" row_lock $on "DO \$\$ BEGIN LOOP
      PERFORM 1 FROM product WHERE id <= 60 FOR NO KEY UPDATE;
      PERFORM pg_sleep(0.005 + 0.055 * random());
      COMMIT;
      PERFORM pg_sleep(0.03 * random());
    END LOOP; END \$\$" ;;
  checkpoint)
    pg_session "$dir" checkpoint $on "${ledger[@]}" "DO \$\$ BEGIN LOOP
      UPDATE ledger SET seen = seen + 1 WHERE product % 3 = 0;
      COMMIT;
      CHECKPOINT;
      PERFORM pg_sleep(0.05 * random());
    END LOOP; END \$\$"
    [ $on = on ] || pg "$dir" -c "DROP TABLE IF EXISTS ledger" ;;
  *) return 1 ;;
  esac
}

end_servers() {
  local job rc=0
  end_process "$1/edge/nginx.pid" nginx TERM &
  end_process "$1/cache/redis.pid" redis-server TERM &
  end_process "$1/store/postgres.pid" postgres INT &
  for job in $(jobs -p); do
    wait "$job" || rc=1
  done
  return $rc
}
