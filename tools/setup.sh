#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the packages that building, the demo and the tests need and that this machine lacks, and prints their names
# and the command. Starts no service. On Debian and its derivatives by apt-get; elsewhere it lists what is missing and
# exits 1.
set -eu

# Debian package : how to detect it (a header, a program, or a pkg-config name)
NEEDS='
gcc:cmd:gcc
g++:cmd:g++
libc6-dev:header:stdio.h
pkg-config:cmd:pkg-config
liblttng-ust-dev:header:lttng/tracepoint.h
liblttng-ctl-dev:header:lttng/lttng.h
lttng-tools:cmd:lttng-sessiond
libnng-dev:header:nng/nng.h
libssl-dev:header:openssl/ssl.h
libsqlite3-dev:header:sqlite3.h
libgsl-dev:header:gsl/gsl_cdf.h
libjansson-dev:header:jansson.h
libmicrohttpd-dev:header:microhttpd.h
libnghttp2-dev:header:nghttp2/nghttp2.h
libcurl4-openssl-dev:pkgconf:libcurl
libhiredis-dev:header:hiredis/hiredis.h
libpq-dev:pkgconf:libpq
librdkafka-dev:pkgconf:rdkafka
nginx:cmd:nginx
nginx-dev:glob:/usr/share/nginx/src/configure
redis-server:cmd:redis-server
postgresql:glob:/usr/lib/postgresql/*/bin/initdb
postgresql-server-dev-all:glob:/usr/include/postgresql/*/server/postgres.h
util-linux:cmd:nsenter
jq:cmd:jq
curl:cmd:curl
zlib1g-dev:header:zlib.h
libdeflate-dev:header:libdeflate.h
libelf-dev:header:gelf.h
libdw-dev:header:elfutils/libdw.h
libbpf-dev:header:bpf/libbpf.h
clang:cmd:clang
libzydis-dev:header:Zydis/Zydis.h
libbabeltrace2-dev:header:babeltrace2/babeltrace.h
'
TEST_NEEDS='
libcmocka-dev:header:cmocka.h
babeltrace2:cmd:babeltrace2
mandoc:cmd:mandoc
bpftool:cmd:bpftool
clang-format:cmd:clang-format
libclang-rt-14-dev:glob:/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
perl:cmd:prove
libdevel-nytprof-perl:glob:/usr/share/perl5/Devel/NYTProf/flamegraph.pl
binutils:cmd:nm
procps:cmd:pgrep
iproute2:cmd:ip
wrk:cmd:wrk
nodejs:cmd:node
npm:cmd:npm
python3:cmd:python3
prometheus:cmd:promtool
prometheus-alertmanager:cmd:prometheus-alertmanager
chromium:cmd:chromium
'
# For make demo APP=otel
OTEL_NEEDS='
nodejs:cmd:node
npm:cmd:npm
'
# For make ganesha
GANESHA_NEEDS='
cmake:cmd:cmake
bison:cmd:bison
flex:cmd:flex
libntirpc-dev:glob:/usr/include/ntirpc
libnfs-dev:header:nfsc/libnfs.h
liburcu-dev:header:urcu-bp.h
libacl1-dev:header:sys/acl.h
libblkid-dev:header:blkid/blkid.h
libcap-dev:header:sys/capability.h
uuid-dev:header:uuid/uuid.h
'
# For make deb; npm brings uPlot into the source package
DEB_NEEDS='
debhelper:cmd:dh
dpkg-dev:cmd:dpkg-buildpackage
chrpath:cmd:chrpath
lintian:cmd:lintian
npm:cmd:npm
'
# For make deb-check, beside those
ROOT_NEEDS='
debootstrap:cmd:debootstrap
util-linux:cmd:unshare
'
# For make qemu
QEMU_NEEDS='
ninja-build:cmd:ninja
meson:cmd:meson
flex:cmd:flex
bison:cmd:bison
libglib2.0-dev:pkgconf:glib-2.0
libpixman-1-dev:pkgconf:pixman-1
libaio-dev:header:libaio.h
fio:cmd:fio
python3:cmd:python3
'

present() {	# kind thing
  case $1 in
  cmd) command -v "$2" >/dev/null 2>&1 ;;
  pkgconf) pkg-config --exists "$2" 2>/dev/null ;;
  glob) set -- $2; [ -e "$1" ] ;;
  header) [ -e "/usr/include/$2" ] || ls /usr/include/*/"$2" >/dev/null 2>&1 ;;
  esac
}

missing=
[ "${1:-}" = tests ] && NEEDS="$NEEDS$TEST_NEEDS"
[ "${1:-}" = otel ] && NEEDS="$NEEDS$OTEL_NEEDS"
[ "${1:-}" = ganesha ] && NEEDS="$NEEDS$GANESHA_NEEDS"
[ "${1:-}" = deb ] && NEEDS="$NEEDS$DEB_NEEDS"
[ "${1:-}" = deb-check ] && NEEDS="$NEEDS$DEB_NEEDS$ROOT_NEEDS"
[ "${1:-}" = qemu ] && NEEDS="$NEEDS$QEMU_NEEDS"
for need in $NEEDS; do
  package=${need%%:*} rest=${need#*:}
  present "${rest%%:*}" "${rest#*:}" || missing="$missing $package"
done
# Packages of npm for the tests of hone-otel, of hone export and of the live page; without them those scenarios are skipped.
clients() {
  [ "$1" = tests ] || return 0
  for of in otel otel3 elastic export web; do
    "$(dirname "$0")/otel_clients.sh" "$(dirname "$0")/../tests/scenario/$of" >/dev/null || true
  done
}
[ -n "$missing" ] || { clients "${1:-}"; exit 0; }

if ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: this machine lacks (by their Debian names):$missing" >&2
  echo "setup: only Debian's package manager is known here; please install them by yours, then try again" >&2
  exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || {
    echo "setup: not root and no sudo; as root, run: apt-get install$missing" >&2
    exit 1
  }
  as_root=sudo
fi
echo "setup: installing through apt-get:$missing"
log=$(mktemp) policy=/usr/sbin/policy-rc.d ours=
end() {
  rm -f "$log"
  [ -z "$ours" ] || $as_root rm -f "$policy"
}
trap end EXIT
trap 'exit 1' INT TERM
# Debian starts the system service of a server at its installation. Only the server's programs are needed.
if [ ! -e "$policy" ]; then
  ours=yes
  $as_root sh -c "printf '#!/bin/sh\nexit 101\n' > $policy && chmod 755 $policy"
fi
if ! { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "setup: apt-get could not install:$missing" >&2
  exit 1
fi
for server in nginx redis-server postgresql; do
  case " $missing " in *" $server "*)
    echo "setup: $server was not started; where it is not wanted at the next boot: systemctl disable $server" ;;
  esac
done
clients "${1:-}"
