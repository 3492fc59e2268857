#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Nodes on one machine. A node is a mount namespace with an empty /run/lttng and
# a separate, empty /dev/shm, a home folder and an LTTng session daemon: programs in
# different nodes trace as if on different machines. Nodes share the network,
# the processes and all other files. Any number runs side by side.
#
#   node.sh start DIR NAME                 create the node; its files are in DIR/NAME
#   node.sh exec DIR NAME CMD...           run CMD in the node
#   node.sh run DIR NAME LABEL CMD...      the same, in the background: DIR/NAME/LABEL.pid, .log
#   node.sh join DIR NAME OTHER            another name for an existing node, with its own files in DIR/NAME
#   node.sh pids DIR NAME                  the processes that run in the node
#   node.sh stop DIR NAME                  end all processes of the node and remove DIR/NAME
#
# NODE_CLOCKS="NAME=SECONDS...": CLOCK_MONOTONIC of these nodes is ahead of the machine's by SECONDS
# (negative: behind; not below 0), as if they had been booted at another time. Made by a time namespace.
#
# Root is required: only root may mount. Sourced, it gives node_start, node_exec,
# node_run and node_stop instead.

node_fail() { echo "node.sh: $*" >&2; return 1; }

node_root() {
  [ "$(id -u)" = 0 ] ||
    node_fail "only root can make nodes (each is a mount namespace): run this as root, e.g. with sudo"
}

# Whether nodes can be made here; says what is missing. Without a mount at / (a plain chroot) the mounts of a node would not stay in it.
node_possible() {
  local why
  node_root || return 1
  if [ ! -e /proc/self/mountinfo ]; then
    node_fail "no nodes can be made, /proc is not mounted: mount -t proc proc /proc"
  elif ! grep -q '^[0-9]* [0-9]* [^ ]* [^ ]* / ' /proc/self/mountinfo; then
    node_fail "no nodes can be made in a plain chroot, where / is not a mount point; before it: mount --bind FOLDER FOLDER, then chroot FOLDER"
  elif [ ! -d /dev/shm ]; then
    node_fail "no nodes can be made, the folder /dev/shm is not there: mkdir -m 1777 /dev/shm"
  elif ! why=$(unshare -m --propagation private true 2>&1); then
    node_fail "no nodes can be made, $why; a container needs CAP_SYS_ADMIN, e.g. docker run --privileged"
  fi
}

# node_wait SECONDS CMD...: repeats CMD until it succeeds; 1 if it does not in time.
node_wait() {
  local n=$(( $1 * 50 )); shift
  until "$@" 2>/dev/null; do
    [ $(( n-- )) -gt 0 ] || return 1
    sleep 0.02
  done
}

# Prints a TCP port of 127.0.0.1 that is free at the moment.
node_free_port() {
  local port
  while :; do
    port=$(( 10000 + (RANDOM * 32768 + RANDOM) % 20000 ))
    grep -qs ":$(printf '%04X' $port) " /proc/net/tcp /proc/net/tcp6 || break
  done
  echo $port
}

# Prints the ids of the processes that see the /run/lttng of this node.
node_pids() {
  local token
  token=$(cat "$1/$2/token" 2>/dev/null) || return 0
  grep -ls -- "$token " /proc/[0-9]*/mountinfo | cut -d/ -f3
}

# Prints the seconds that NODE_CLOCKS gives for a node, or an empty text.
node_clock() {
  local word
  for word in ${NODE_CLOCKS:-}; do
    [ "${word%%=*}" != "$1" ] || echo "${word#*=}"
  done
}

# The mounts have a unique name. It identifies the processes of the node when it is stopped, no matter how they
# were started.
node_start() {
  local dir=$1/$2 token ready clock
  node_possible || return 1
  if [ -e "$dir/token" ]; then
    node_fail "$dir: there is such a node already, or its rest: node.sh stop $1 $2"
    return 1
  fi
  mkdir -p "$dir/home" || return 1
  dir=$(cd "$dir" && pwd)
  token=hone-node-$BASHPID-$RANDOM$RANDOM
  echo "$token" >"$dir/token"
  rm -f "$dir/ready"
  mkfifo "$dir/ready" || return 1
  clock=$(node_clock "$2")
  [ -z "$clock" ] || echo "$clock" >"$dir/clock"
  setsid ${clock:+unshare --time --monotonic "$clock" --boottime "$clock" --fork} \
    unshare -m --propagation private bash -c '
    echo $$ >"$1/holder.pid"
    mkdir -p /run/lttng && mount -t tmpfs "$2" /run/lttng && mount -t tmpfs "$2" /dev/shm ||
      { echo no >"$1/ready"; exit 1; }
    echo yes >"$1/ready"
    exec sleep infinity' node "$dir" "$token" </dev/null >"$dir/node.log" 2>&1 &
  disown	# killed by node_stop: nothing that a shell need tell of
  read -r -t 30 ready <>"$dir/ready"
  rm -f "$dir/ready"
  if [ "$ready" != yes ]; then
    node_fail "$dir: no mount namespace: $(cat "$dir/node.log")"
    node_stop "$1" "$2"
    return 1
  fi
  # Returns when the daemon accepts connections. A frozen program may delay a
  # command by one second, instead of five.
  LTTNG_APP_SOCKET_TIMEOUT=1 node_exec "$1" "$2" lttng-sessiond --no-kernel --background \
    --pidfile "$dir/sessiond.pid" --agent-tcp-port "$(node_free_port)" </dev/null >"$dir/sessiond.log" 2>&1 &&
    node_wait 10 test -s "$dir/sessiond.pid" && return 0
  node_fail "$dir: no session daemon: $(cat "$dir/sessiond.log")"
  node_stop "$1" "$2"
  return 1
}

node_join() {
  mkdir -p "$1/$2/home" && cp "$1/$3/token" "$1/$3/holder.pid" "$1/$2" || return 1
  [ ! -e "$1/$3/clock" ] || cp "$1/$3/clock" "$1/$2"
}

# Replaces this process by CMD, in the node.
node_enter() {
  local dir=$1/$2 holder time
  node_root || exit 1
  shift 2
  holder=$(cat "$dir/holder.pid" 2>/dev/null) || { node_fail "$dir: no such node"; exit 1; }
  dir=$(cd "$dir" && pwd)
  [ -e "$dir/clock" ] && time=--time || time=
  # -r: a mount namespace is entered at its own root, which in a chroot is outside of it
  exec nsenter -t "$holder" -m -r $time --wd="$PWD" env HOME="$dir/home" LTTNG_HOME="$dir/home" "$@"
}

node_exec() { (node_enter "$@"); }

# In a new process session, so that the end of the caller's terminal does not end it.
node_run() {
  local dir=$1 name=$2 label=$3
  shift 3
  (node_enter "$dir" "$name" setsid bash -c 'echo $$ >"$1"; shift; exec "$@"' node \
    "$(cd "$dir/$name" && pwd)/$label.pid" "$@") </dev/null >>"$dir/$name/$label.log" 2>&1 &
}

node_gone() { [ -z "$(node_pids "$1" "$2")" ]; }

node_only_holder() { [ "$(node_pids "$1" "$2")" = "$(cat "$1/$2/holder.pid")" ]; }

# Ends the holder last, so that the session daemon can still remove its files in the node's mounts.
node_stop() {
  local dir=$1/$2 pid holder
  node_root || return 1
  [ -e "$dir/token" ] || return 0
  holder=$(cat "$dir/holder.pid" 2>/dev/null)
  for pid in $(node_pids "$1" "$2"); do
    [ "$pid" = "$holder" ] || kill -TERM "$pid" 2>/dev/null
  done
  node_wait 5 node_only_holder "$1" "$2" || :
  for pid in $(node_pids "$1" "$2"); do
    kill -KILL "$pid" 2>/dev/null
  done
  if ! node_wait 5 node_gone "$1" "$2"; then
    node_fail "$dir: these do not end:" $(node_pids "$1" "$2")
    return 1
  fi
  rm -rf "$dir"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  cmd=$1
  case "$cmd:$#" in
  start:3|pids:3|stop:3|join:4) ;;
  exec:[4-9]*|exec:[1-9][0-9]*) cmd=enter ;;
  run:[5-9]*|run:[1-9][0-9]*) ;;
  *)
    sed -n 's/^#   \(node.sh\)/\1/p' "$0" >&2
    exit 2 ;;
  esac
  [ $cmd = enter ] || exec 3>&-	# what goes on running must not hold a caller's pipe open
  shift
  "node_$cmd" "$@"
fi
