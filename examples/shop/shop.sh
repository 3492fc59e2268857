#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The shop: nine nodes. nginx in front, a service on each of six, Redis, PostgreSQL.
#
#   shop.sh start DIR                start the shop in DIR (created if missing)
#   shop.sh stop DIR                 end everything, and remove what start created
#   shop.sh fault DIR NAME on|off|N  switch a fault (README.md lists them and explains N)
#   shop.sh load DIR [ARG...]        users: shop-load with these arguments
#   shop.sh nodes DIR                names of the nodes that have a session daemon
#   shop.sh port DIR NODE            the port of a node's service; edge: nginx, which receives all requests
#   shop.sh defaults                 the demo's requests per second, and how many tracepoints there are, for eval
#
# The programs are in $O/examples/shop; O defaults to the folder build beside examples.
# Any number of shops can run side by side, each in its own DIR. Root is required, for
# the nodes; PostgreSQL runs as the user postgres, the workers of nginx as www-data.
#
# A server whose module was not built runs untraced and without a separate node.
# SHOP_HOSTS=1: everything on one node, with one session daemon.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../node.sh"
programs=${O:-$here/../../build}/examples/shop

nodes="front catalog-1 catalog-2 cart order price"
server_nodes="edge cache store"

fail() { echo "shop.sh: $*" >&2; exit 1; }
. "$here/servers.sh"

# Prints the nodes whose service contains the fault.
fault_nodes() {
  case $1 in
  slow_function|cpu_function|rare_stall) echo price ;;
  lock_contention|journal_fsync) echo cart ;;
  small_pool|slow_disk|page_cache) echo order ;;
  slow_node) echo catalog-2 ;;
  input_dependent|noisy_neighbour|slow_tenth) echo catalog-1 catalog-2 ;;
  *) fail "no fault $1; there are $(sed -n 's|^  "\([a-z_]*\)": {|\1|p' "$here/faults.json" | tr '\n' ' ')" ;;
  esac
}

# ---- the services ----------------------------------------------------------------

# The service listens, or has ended.
service_settled() { [ -s "$1/port" ] || { [ -s "$1/$2.pid" ] && process_gone "$(cat "$1/$2.pid")"; }; }

# start_service DIR NODE PROGRAM ARG...: returns when the program listens.
start_service() {
  local dir=$1 node=$2 program=$3
  shift 3
  rm -f "$dir/$node/port"
  node_run "$dir" "$node" "$program" "$programs/$program" --ready "$dir/$node/port" "$@"
  node_wait 10 service_settled "$dir/$node" "$program"
  [ -s "$dir/$node/port" ] ||
    fail "$program on node $node does not answer: $(tail -3 "$dir/$node/$program.log")"
}

port() { cat "$1/$2/port" 2>/dev/null || fail "$1: no service on node $2"; }

start_services() {
  local dir=$1 pg="host=$1/pg user=shop dbname=postgres" redis=$1/redis.sock n
  start_service "$dir" price shop-price --redis "$redis" --database "$pg" &
  start_service "$dir" catalog-1 shop-catalog --redis "$redis" --database "$pg" --seed 11 &
  start_service "$dir" catalog-2 shop-catalog --redis "$redis" --database "$pg" --seed 12 &
  wait_all
  start_service "$dir" cart shop-cart --redis "$redis" --price "$(port "$dir" price)" --visits "$dir/visits"
  start_service "$dir" order shop-order --database "$pg" --journal "$dir/journal" --receipts "$dir/receipts" --cart "$(port "$dir" cart)" \
    --price "$(port "$dir" price)"
  start_service "$dir" front shop-front --catalog "$(port "$dir" catalog-1),$(port "$dir" catalog-2)" \
    --cart "$(port "$dir" cart)" --order "$(port "$dir" order)" --price "$(port "$dir" price)"
  for n in $nodes; do
    node_wait 10 curl -sf --noproxy '*' -o "$dir/$n/health" "http://127.0.0.1:$(port "$dir" $n)/health" ||
      fail "the service on node $n is not well: $(tail -3 "$dir/$n"/shop-*.log)"
  done
  start_nginx "$dir"
}

# Waits for the jobs of this shell; fails if one of them failed.
wait_all() {
  local job status rc=0
  for job in $(jobs -p); do
    wait "$job"
    status=$?
    while [ $status -gt 128 ] && kill -0 "$job" 2>/dev/null; do	# it was only a signal to this shell
      wait "$job"
      status=$?
    done
    [ $status = 0 ] || rc=1
  done
  [ $rc = 0 ] || exit 1
}

# ---- start and stop -----------------------------------------------------------------

need() {
  local missing= p
  for p in lttng-sessiond nginx redis-server redis-cli psql curl nsenter unshare setpriv taskset; do
    command -v $p >/dev/null || missing="$missing $p"
  done
  [ -x "$(pg_bin)/initdb" ] || missing="$missing initdb"
  [ -z "$missing" ] || fail "missing programs:$missing"
  [ -x "$programs/shop-front" ] || fail "$programs/shop-front is not there: make shop, or set O"
}

start_all() {
  local n
  prepare_postgres_dir "$1"
  for n in $(cat "$1/shop"); do
    node_start "$1" "$n" &
  done
  wait_all
  for n in $nodes $server_nodes; do
    [ -e "$1/$n/token" ] || node_join "$1" "$n" front || fail "$n cannot join the node front"
  done
  start_redis "$1" &
  start_postgres "$1" &
  wait_all
  start_services "$1"
}

# Prints the nodes that get a session daemon.
shop_nodes() {
  local untraced n
  untraced=" $(servers_untraced | tr '\n' ' ')"
  [ "${SHOP_HOSTS:-}" != 1 ] || { echo front; return; }
  for n in $nodes $server_nodes; do
    [[ $untraced == *" $n "* ]] || echo "$n"
  done | tr '\n' ' '
}

start() {
  local dir=$1 rc
  node_possible || exit 1
  need
  mkdir -p "$dir" || exit 1
  dir=$(cd "$dir" && pwd)
  [ ! -e "$dir/shop" ] || fail "$dir: there is a shop already, or its rest: shop.sh stop $dir"
  [ ${#dir} -le 80 ] || fail "$dir: too long a path for Unix sockets (80 bytes at most)"
  shop_nodes >"$dir/shop"
  # Waits for the end of an interrupted start, which would otherwise create files while stop removes them.
  trap 'stop "$dir"; exit 130' INT TERM
  (trap : INT TERM; start_all "$dir")
  rc=$?
  if [ $rc != 0 ]; then
    echo "shop.sh: start failed; ending what runs" >&2
    stop "$dir"
  fi
  exit $rc
}

stop() {
  local dir n rc=0
  dir=$(cd "$1" 2>/dev/null && pwd) || return 0
  [ -e "$dir/shop" ] || return 0
  node_root || exit 1
  end_servers "$dir"
  for n in $nodes $server_nodes; do
    node_stop "$dir" "$n" &
  done
  for n in $(jobs -p); do
    wait "$n" || rc=1
  done
  [ $rc = 0 ] || return 1
  [ ! -L "$dir/pg" ] || rm -rf "$(realpath "$dir/pg")"
  rm -rf "$dir/pg" "$dir/redis.sock" "$dir/journal" "$dir/visits" "$dir/receipts" "$dir/shop"
  rmdir --ignore-fail-on-non-empty "$dir"
}

# neighbours DIR N: ends those that run, then starts N processes of another application, on node catalog-1 and on one CPU, to
# which the processes of shop-catalog are bound meanwhile. They have names of their own, and end with the node.
neighbours() {
  local dir=$1 cpus cpu i file
  cpus=$(taskset -cp $$ | sed 's/.*: //')
  cpu=${cpus##*[,-]}
  [ "$2" != 0 ] || cpu=$cpus
  for file in "$dir"/catalog-1/neighbour-*.pid; do
    [ ! -e "$file" ] || { end_process "$file" shop-neighbour TERM; rm "$file"; }
  done
  for i in 1 2; do
    taskset -acp "$cpu" "$(cat "$dir/catalog-$i/shop-catalog.pid")" >/dev/null || fail "shop-catalog cannot be bound to CPU $cpu"
  done
  for i in $(seq "$2"); do
    node_run "$dir" catalog-1 "neighbour-$i" "$programs/shop-neighbour" "$cpu"
  done
}

switch_fault() {
  local on n
  case $3 in
  on) on=1 ;;
  off) on=0 ;;
  [1-9] | [1-9][0-9]) on=$3 ;;
  *) fail "on, off or a number, not $3" ;;
  esac
  case $2 in
  edge_limit|big_key|missing_index|row_lock|checkpoint) server_fault "$@"; return ;;
  esac
  fault_nodes "$2" >/dev/null || exit 1
  for n in $(fault_nodes "$2"); do
    curl -sf --noproxy '*' -X POST "http://127.0.0.1:$(port "$1" "$n")/fault?name=$2&on=$on" >/dev/null ||
      fail "the service on node $n does not switch $2"
  done
  [ "$2" != noisy_neighbour ] || neighbours "$1" $((3 * on))
}

exec 3>&-	# what goes on running must not hold a caller's pipe open

usage() { sed -n 's/^#   \(shop.sh\)/\1/p' "${BASH_SOURCE[0]}"; exit "$1"; }

cmd=$1
shift
case "$cmd:$#" in
start:1) start "$1" ;;
stop:1) stop "$1" ;;
fault:3) switch_fault "$@" ;;
nodes:1) cat "$1/shop" 2>/dev/null | tr ' ' '\n' | grep . || fail "$1: no shop" ;;
defaults:0) echo "rate=160 tracepoints=150" ;;
port:2) port "$1" "$2" ;;
load:*)
  [ $# -ge 1 ] || usage 2
  dir=$1
  shift
  p=$(port "$dir" edge) || exit 1
  exec "$programs/shop-load" --port "$p" "$@" ;;
--help:0) usage 0 ;;
*) usage 2 >&2 ;;
esac
