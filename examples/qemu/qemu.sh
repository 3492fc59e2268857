#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# QEMU's storage daemon, a block device over NBD with 919 LTTng-UST tracepoints of its own, on a separate node (../node.sh).
#
#   qemu.sh get                     fetch its source by Debian's package manager
#   qemu.sh build                   build the storage daemon and qemu-img with tracepoints
#   qemu.sh start DIR               serve a disk of 256 MiB in DIR on a Unix socket, behind a throttle; creates DIR
#   qemu.sh load DIR SECONDS        a user: 20 random reads and 16 random writes a second of 4 KiB, one at a time
#   qemu.sh fault DIR on|off|N      the throttle lets N writes a second pass (18)
#   qemu.sh exec DIR CMD...         run CMD in the node
#   qemu.sh stop DIR                end everything, and remove what start created
#
# HONE_QEMU: the folder for source and build (build-qemu beside O, which is build if not set).
# start needs root, for the node. It writes nothing outside of DIR.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../node.sh"
. "$here/../debian.sh"
O=${O:-$here/../../build}
place=${HONE_QEMU:-${O%/}-qemu}
daemon=$place/server/storage-daemon/qemu-storage-daemon

fail() { echo "qemu.sh: $*" >&2; exit 1; }

# ---- the program -------------------------------------------------------------

get() { debian_source qemu "$place" || exit 1; }

# Debian builds it without LTTng. Only the block tools are built, without what needs other libraries.
build() {
  [ ! -e "$place/built" ] || { echo "qemu: built already: $place/server"; return 0; }
  [ -d "$place/source" ] || fail "no source in $place: qemu.sh get"
  echo "qemu: building in $place/server (minutes; the log is build.log)"
  mkdir -p "$place/server" && cd "$place/server" || exit 1
  { nice -n 19 ../source/configure --target-list= --disable-system --disable-user --enable-tools --disable-docs --disable-gtk \
      --disable-vnc --disable-guest-agent --disable-curl --disable-install-blobs --enable-linux-aio \
      --enable-trace-backends=ust --disable-werror --meson=/usr/bin/meson &&
    nice -n 19 ninja qemu-img storage-daemon/qemu-storage-daemon; } >build.log 2>&1 || fail "$(tail -15 build.log)"
  touch "$place/built"
}

# ---- the server ------------------------------------------------------------------

serves() { "$place/server/qemu-img" info "nbd+unix:///vol?socket=$1/nbd.sock" >/dev/null 2>&1 || ! kill -0 "$(cat "$1/disk/server.pid")"; }

start() {
  local dir
  node_root || exit 1
  [ -e "$place/built" ] || fail "$place: not built: make qemu"
  mkdir -p "$1" || exit 1
  dir=$(cd "$1" && pwd)
  [ ! -e "$dir/disk.qcow2" ] || fail "$dir: there is a server already, or its rest: qemu.sh stop $dir"
  place=$(cd "$place" && pwd)
  daemon=$place/server/storage-daemon/qemu-storage-daemon
  "$place/server/qemu-img" create -q -f qcow2 "$dir/disk.qcow2" 256M && node_start "$dir" disk || exit 1
  node_run "$dir" disk server env LTTNG_UST_REGISTER_TIMEOUT=-1 "$daemon" --object throttle-group,id=limit \
    --blockdev driver=file,node-name=file,filename="$dir/disk.qcow2",cache.direct=on,aio=native \
    --blockdev driver=qcow2,node-name=disk,file=file \
    --blockdev driver=throttle,node-name=throttle,throttle-group=limit,file=disk \
    --nbd-server addr.type=unix,addr.path="$dir/nbd.sock",max-connections=16 \
    --export type=nbd,id=export,node-name=throttle,name=vol,writable=on \
    --chardev socket,path="$dir/monitor.sock",server=on,wait=off,id=monitor --monitor chardev=monitor
  node_wait 10 test -s "$dir/disk/server.pid" && node_wait 30 serves "$dir" && serves "$dir" && return 0
  tail -n 15 "$dir/disk/server.log" >&2
  stop "$dir"
  fail "the server does not answer"
}

load() {
  local dir
  dir=$(cd "$1" && pwd) || exit 1
  exec fio --name=user --ioengine=nbd --uri="nbd+unix:///vol?socket=$dir/nbd.sock" --rw=randrw --bs=4k --size=64m --iodepth=1 \
    --rate_iops=20,16 --rate_process=poisson --time_based --runtime="$2" --randrepeat=1 --output-format=terse
}

# The monitor answers in lines of JSON.
tell() {
  python3 - "$1/monitor.sock" "$2" <<'P'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
s.connect(sys.argv[1])
f = s.makefile("rw")
f.readline()
for command in ({"execute": "qmp_capabilities"}, json.loads(sys.argv[2])):
    f.write(json.dumps(command) + "\n")
    f.flush()
    answer = {"event": ""}
    while "event" in answer:
        answer = json.loads(f.readline())
    if "error" in answer:
        sys.exit("qemu: " + answer["error"]["desc"])
P
}

fault() {
  local n=$2
  case $n in on) n=18 ;; off) n=0 ;; esac
  tell "$1" "{\"execute\": \"qom-set\", \"arguments\": {\"path\": \"/objects/limit\", \"property\": \"limits\",
    \"value\": {\"iops-total\": 0, \"iops-write\": $n}}}" || exit 1
}

stop() {
  local dir
  [ -d "$1" ] || return 0
  dir=$(cd "$1" && pwd)
  node_stop "$dir" disk || exit 1
  rm -f "$dir"/{disk.qcow2,nbd.sock,monitor.sock}
  rmdir "$dir" 2>/dev/null || :
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  cmd=$1
  case "$cmd:$#" in
  get:1|build:1|start:2|stop:2|load:3|fault:3) shift; exec 3>&-; "$cmd" "$@" ;;
  exec:[3-9]|exec:[1-9][0-9]) dir=$2; shift 2; node_enter "$dir" disk "$@" ;;
  *) sed -n 's/^#   \(qemu.sh\)/\1/p' "$0" >&2; exit 2 ;;
  esac
fi
