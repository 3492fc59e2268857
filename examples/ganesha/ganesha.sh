#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# nfs-ganesha, an NFS server that brings its own LTTng-UST tracepoints, on a separate node (../node.sh).
#
#   ganesha.sh get                     fetch its source by Debian's package manager
#   ganesha.sh build                   build the parts that are needed: NFSv4, local file systems, tracepoints
#   ganesha.sh start DIR [mem]         serve DIR/share, with 200 files in it, on a free port; creates DIR
#                                      mem: files in memory, read and written by separate threads, up to 1 ms later
#   ganesha.sh load DIR [ARG...]       users: ganesha-load with these arguments
#   ganesha.sh fault DIR on|off|N      another server holds leases on 20 files; its clients take N ms to write back (40)
#   ganesha.sh exec DIR CMD...         run CMD in the node
#   ganesha.sh stop DIR                end everything, and remove what start created
#
# HONE_GANESHA: the folder for source and build (build-ganesha beside O, which is build if not set).
# start needs root, for the node. It uses no port below 1024 and no rpcbind, and writes nothing outside of DIR.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../node.sh"
. "$here/../debian.sh"
O=${O:-$here/../../build}
place=${HONE_GANESHA:-${O%/}-ganesha}
programs=$O/examples/ganesha
version=4.3-2

fail() { echo "ganesha.sh: $*" >&2; exit 1; }

# ---- the program -------------------------------------------------------------

get() { debian_source nfs-ganesha "$place" "$version" || exit 1; }

# Debian builds the package without tracepoints, so it is built here with them, and without the parts that need other daemons.
# NTIRPC_LTTNG: Debian's libntirpc has no tracepoints. The linker would drop liblttng-ust, since only
# libganesha_trace.so names it as a dependency; but the inline code of the tracepoints calls functions in it.
configure() {
  local link="-Wl,--no-as-needed -llttng-ust -llttng-ust-common -ldl -lacl" off= f
  for f in FSAL_CEPH FSAL_RGW FSAL_GLUSTER FSAL_GPFS FSAL_LUSTRE FSAL_LIZARDFS FSAL_KVSFS FSAL_PROXY_V4 \
      FSAL_PROXY_V3 FSAL_XFS FSAL_NULL GSS NFSIDMAP DBUS 9P RQUOTA NLM NFSACL3 RADOS_RECOV ADMIN_TOOLS \
      GUI_ADMIN_TOOLS; do
    off="$off -DUSE_$f=OFF"
  done
  nice -n 19 cmake -S "$place/source/src" -B "$place/server" -DCMAKE_BUILD_TYPE=Release -DUSE_LTTNG=ON -DUSE_FSAL_VFS=ON \
    -DUSE_SYSTEM_NTIRPC=ON -DNTIRPC_LTTNG="$(ls /usr/lib/*/libntirpc.so | head -1)" $off \
    -DRADOS_URLS=OFF -DRPCBIND=OFF -D_MSPAC_SUPPORT=OFF \
    -DCMAKE_PROJECT_INCLUDE="$(realpath "$here/fsal_mem.cmake")" \
    -DCMAKE_SHARED_LINKER_FLAGS="$link" -DCMAKE_MODULE_LINKER_FLAGS="$link" -DCMAKE_EXE_LINKER_FLAGS="$link"
}

# The server loads its FSALs from one folder.
plugins() {
  mkdir -p "$place/server/plugins" && ln -sf ../FSAL/FSAL_VFS/vfs/libfsalvfs.so ../FSAL/FSAL_MEM/libfsalmem.so "$place/server/plugins"
}

built() { [ -e "$place/built" ]; }

build() {
  ! built || { echo "ganesha: built already: $place/server"; return 0; }
  [ -d "$place/source" ] || fail "no source in $place: ganesha.sh get"
  echo "ganesha: building in $place/server (minutes; the log is build.log)"
  mkdir -p "$place/server"
  { configure && nice -n 19 make -C "$place/server" -j2 ganesha.nfsd fsalvfs fsalmem ganesha_trace && plugins; } \
    >"$place/server/build.log" 2>&1 || fail "$(tail -15 "$place/server/build.log")"
  touch "$place/built"
}

# ---- the server ------------------------------------------------------------------

configuration() {
  cat <<E
NFS_CORE_PARAM {
	Bind_Addr = 127.0.0.1;
	NFS_Port = $2;
	Protocols = 4;
	Enable_UDP = false;
	Enable_RQUOTA = false;
	Plugins_Dir = $place/server/plugins;
}
NFSv4 {
	Graceless = true;
	RecoveryRoot = $1/recovery;
	Only_Numeric_Owners = true;
}
MEM {
	Async_Threads = 8;
	Inode_Size = 16384;
}
EXPORT {
	Export_Id = 1;
	Path = $1/share;
	Pseudo = /share;
	Access_Type = RW;
	Squash = No_Root_Squash;
	SecType = none, sys;
	FSAL { $3 }
}
E
}

make_share() {
  local n
  mkdir -p "$1/share" "$1/recovery"
  [ "$2" != mem ] || return 0	# there the users make them
  # Separate files: the server keeps files open that were written, and no lease can be taken on an open file.
  for (( n = 0; n < 100; n++ )); do head -c 16384 /dev/zero | tee "$1/share/f$n" >"$1/share/w$n" || return 1; done
}

answers() { "$programs/ganesha-load" -m -p "$2" -c 1 -r 1000 -s 0.001 127.0.0.1 /share >"$1/answers.log" 2>&1; }

serves() { answers "$@" || ! kill -0 "$(cat "$1/nfs/server.pid")"; }

start() {
  local dir port fsal="Name = VFS;"
  [ "${2:-}" != mem ] || fsal="Name = MEM; Async_Type = random; Async_Delay = 1000;"
  node_root || exit 1
  built || fail "$place: not built: make ganesha"
  mkdir -p "$1" || exit 1
  dir=$(cd "$1" && pwd)
  [ ! -e "$dir/port" ] || fail "$dir: there is a server already, or its rest: ganesha.sh stop $dir"
  port=$(node_free_port)
  echo "$port" >"$dir/port"
  place=$(cd "$place" && pwd)
  make_share "$dir" "${2:-}" && configuration "$dir" "$port" "$fsal" >"$dir/ganesha.conf" && node_start "$dir" nfs || exit 1
  # The tracepoints are in a library that must be preloaded.
  node_run "$dir" nfs server env LD_LIBRARY_PATH="$place/server/MainNFSD" \
    LD_PRELOAD="$place/server/tracing/libganesha_trace.so" LTTNG_UST_REGISTER_TIMEOUT=-1 \
    "$place/server/ganesha.nfsd" -F -f "$dir/ganesha.conf" -L "$dir/ganesha.log" -p "$dir/ganesha.pid" -N NIV_EVENT
  node_wait 10 test -s "$dir/nfs/server.pid" && node_wait 30 serves "$dir" "$port" && answers "$dir" "$port" &&
    return 0
  tail -n 15 "$dir/answers.log" "$dir/nfs/server.log" "$dir/ganesha.log" >&2
  stop "$dir"
  fail "the server does not answer"
}

load() {
  local dir=$1
  shift
  exec "$programs/ganesha-load" -p "$(cat "$dir/port")" "$@" 127.0.0.1 /share
}

lease_ready() { grep -qs 'leases held' "$1/lease.log" || ! kill -0 "$2"; }

fault() {
  local dir pid n=$2
  dir=$(cd "$1" && pwd) || exit 1
  pid=$(cat "$dir/lease.pid" 2>/dev/null)
  if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = ganesha-lease ]; then
    kill "$pid"
    node_wait 5 lease_gone "$pid" || fail "pid $pid does not end"
  fi
  rm -f "$dir/lease.pid"
  [ "$n" != off ] || return 0
  [ "$n" != on ] || n=40
  setsid "$programs/ganesha-lease" -w "$n" "$dir"/share/f{0..19} </dev/null >"$dir/lease.log" 2>&1 &
  echo $! >"$dir/lease.pid"
  node_wait 10 lease_ready "$dir" $! && kill -0 $! || fail "$(cat "$dir/lease.log")"
}

lease_gone() { ! kill -0 "$1" || [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat")" = Z ]; }

stop() {
  local dir
  [ -d "$1" ] || return 0
  dir=$(cd "$1" && pwd)
  fault "$dir" off
  node_stop "$dir" nfs || exit 1
  rm -rf "$dir"/{share,recovery,ganesha.conf,ganesha.log,ganesha.pid,port,answers.log,lease.log}
  rmdir "$dir" 2>/dev/null || :
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  cmd=$1
  case "$cmd:$#" in
  get:1|build:1|start:[23]|stop:2|load:[2-9]|load:1[0-9]|fault:3) shift; exec 3>&-; "$cmd" "$@" ;;
  exec:[3-9]|exec:[1-9][0-9]) dir=$2; shift 2; node_enter "$dir" nfs "$@" ;;
  *) sed -n 's/^#   \(ganesha.sh\)/\1/p' "$0" >&2; exit 2 ;;
  esac
fi
