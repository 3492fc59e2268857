#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A news site: eight processes on three nodes (README.md draws them).
#
#   news.sh start DIR                start the site in DIR (created if missing)
#   news.sh stop DIR                 end everything, and remove what start created
#   news.sh fault DIR NAME on|off|N  switch a fault (README.md lists them)
#   news.sh load DIR [ARG...]        users: news-load with these arguments
#   news.sh nodes DIR                names of the nodes
#   news.sh defaults                 the demo's requests per second, and how many tracepoints there are, for eval
#
# The programs are in $O/examples/news; O defaults to the folder build beside examples. Any number of sites can run side
# by side, each in its own DIR. Root is required, for the nodes.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../node.sh"
programs=${O:-$here/../../build}/examples/news
nodes="edge index store"

fail() { echo "news.sh: $*" >&2; exit 1; }
usage() { sed -n 's/^#   \(news.sh\)/\1/p' "${BASH_SOURCE[0]}"; exit "$1"; }

# run DIR NODE LABEL PROGRAM ARG...
run() { node_run "$1" "$2" "$3" "$programs/$4" "$1" "${@:5}"; }

healthy() { [ -s "$1/port" ] && curl -sf --noproxy '*' -o /dev/null "http://127.0.0.1:$(cat "$1/port")/health"; }

# Programs wait for those that they connect to, so the order is free; the gate is ready last.
start_programs() {
  local n
  for n in $nodes; do
    node_start "$1" "$n" || return 1
  done
  run "$1" store kv news-kv
  run "$1" edge ads news-ads
  for n in 0 1 2; do
    run "$1" "$([ $n = 2 ] && echo store || echo index)" "shard-$n" news-shard $n
  done
  run "$1" edge desk news-desk
  run "$1" index find news-find
  run "$1" edge gate news-gate
  node_wait 30 healthy "$1" || { tail -n 3 "$1"/*/*.log >&2; return 1; }
  run "$1" edge stall news-stall "$(cat "$1/edge/desk.pid")"
}

start() {
  local dir=$1
  node_possible || exit 1
  [ -x "$programs/news-gate" ] || fail "$programs/news-gate is not there: make news, or set O"
  mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
  [ ! -e "$dir/site" ] || fail "$dir: there is a site already, or its rest: news.sh stop $dir"
  [ ${#dir} -le 80 ] || fail "$dir: too long a path for Unix sockets (80 bytes at most)"
  echo "$nodes" >"$dir/site"
  # Waits for the end of an interrupted start, which would otherwise create files while stop removes them.
  trap 'stop "$dir"; exit 130' INT TERM
  (trap : INT TERM; start_programs "$dir") && exit 0
  echo "news.sh: start failed; ending what runs" >&2
  stop "$dir"
  exit 1
}

stop() {
  local dir n rc=0
  dir=$(cd "$1" 2>/dev/null && pwd) || return 0
  [ -e "$dir/site" ] || return 0
  node_root || exit 1
  for n in $nodes; do
    node_stop "$dir" "$n" || rc=1
  done
  [ $rc = 0 ] || return 1
  rm -f "$dir"/*.sock "$dir/port" "$dir/switches" "$dir/site"
  rmdir --ignore-fail-on-non-empty "$dir"
}

switch_fault() {
  local on=$3
  case $on in
  on) on=1 ;;
  off) on=0 ;;
  [1-9] | [1-9][0-9]) ;;
  *) fail "on, off or a number, not $on" ;;
  esac
  curl -sf --noproxy '*' -o /dev/null -X POST "http://127.0.0.1:$(cat "$1/port")/fault?name=$2&on=$on" ||
    fail "no fault $2; there are $(sed -n 's/^FAULT(\([a-z]*\),.*/\1/p' "$here/faults.tbl.h" | tr '\n' ' ')"
}

exec 3>&-	# what goes on running must not hold a caller's pipe open
cmd=${1:-}
[ $# = 0 ] || shift
case "$cmd:$#" in
start:1) start "$1" ;;
stop:1) stop "$1" ;;
fault:3) switch_fault "$@" ;;
nodes:1) cat "$1/site" 2>/dev/null | tr ' ' '\n' | grep . || fail "$1: no site" ;;
defaults:0) echo "rate=120 tracepoints=100" ;;
load:*)
  [ $# -ge 1 ] || usage 2
  port=$(cat "$1/port") || exit 1
  shift
  exec "$programs/news-load" --port "$port" "$@" ;;
--help:0) usage 0 ;;
*) usage 2 >&2 ;;
esac
