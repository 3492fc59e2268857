#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Cost of Hone's two files in a PostgreSQL server: three servers side by side: unmodified; with the files and no
# tracepoint enabled; with the always-on tracepoints enabled and every statement sampled. All data is in memory, so that
# the disk does not hide the cost. pgbench's transactions on each in turn. O: the folder that `make postgres-bench`
# built. TURNS=400
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}") TURNS=${TURNS:-400}
BIN=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
[ "$(id -u)" = 0 ] || { echo "$0: needs root, for nodes of its own" >&2; exit 1; }

if [ "${HONE_NODE:-}" != "$PPID" ]; then	# for a private folder in memory
	HONE_NODE=$$ unshare --mount --propagation private bash "$0" "$@"
	exit
fi
. examples/node.sh
D=$(mktemp -d /tmp/hone-pg.XXXXXX) M=$D/memory
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$M" PATH="$BIN:$PATH" "$@"; }
end() {
	local kind
	for kind in plain off on; do as_postgres pg_ctl -D "$M/$kind" -w -m immediate stop > /dev/null 2>&1 || :; done
	node_stop "$D" node-off
	node_stop "$D" node-on
	umount "$M" && rm -rf "$D"
}
trap end EXIT
mkdir -p "$M" "$D/lib/hone" && mount -t tmpfs tmpfs "$M"
chmod 755 "$D" "$M"
cp "$O"/lib/hone/*postgres*.so "$D/lib/hone" && cp "$O/lib/libhone.so.0" "$D/lib"
node_start "$D" node-off
node_start "$D" node-on

# A flight recorder in memory without a reader: only the server's cost is measured.
on() { node_exec "$D" node-on lttng -n "$@" > /dev/null; }
on create pg --snapshot --output="$D/trace"
on enable-channel -u --buffers-pid --num-subbuf=4 --subbuf-size=64k c
on add-context -u -c c -t vtid -t '$app.hone:trace_id' -t '$app.hone:unit_id'
on enable-event -u -c c 'hone:*' --filter '$app.hone:sampled == 1'
on start

start() {	# kind [command that leads into its node]
	local kind=$1 preload=
	mkdir "$M/$kind" && chown postgres "$M/$kind"
	as_postgres initdb -D "$M/$kind" -A trust -E UTF8 --no-locale --no-sync > "$D/log" 2>&1
	cat >> "$M/$kind/postgresql.conf" << CONF
listen_addresses = ''
unix_socket_directories = '$M/$kind'
shared_buffers = 64MB
autovacuum = off
checkpoint_timeout = 1d
max_wal_size = 1GB
jit = off
CONF
	if [ "$kind" != plain ]; then
		echo "shared_preload_libraries = '$D/lib/hone/hone_postgres'" >> "$M/$kind/postgresql.conf"
		preload=liblttng-ust-fork.so.1:$D/lib/hone/libhone_postgres_waits.so
	fi
	"${@:2}" setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$M" LD_PRELOAD=$preload \
		"$BIN/pg_ctl" -D "$M/$kind" -l "$M/$kind/log" -w start > "$D/log" 2>&1 < /dev/null
	"$BIN/pgbench" -h "$M/$kind" -U postgres -i -q -s 1 postgres > "$D/log" 2>&1
}
start plain
start off node_exec "$D" node-off
start on node_exec "$D" node-on

row() {
	printf '| %s |' "$1"
	"$O/bench/postgres_pairs" "${@:2}" "host=$M/plain user=postgres dbname=postgres" \
		"host=$M/off user=postgres dbname=postgres" "host=$M/on user=postgres dbname=postgres"
}
echo "| transaction | µs (of processor) on a plain server | with Hone, off | with the always-on tracepoints |"
echo "|---|---|---|---|"
row "select-only, a context in each" select "$TURNS"
row "select-only, prepared, no context" prepared "$TURNS"
row "tpcb, a context in each of 7 statements" tpcb $((TURNS / 4))
row "a connection for each select (time)" connect $((TURNS / 4))
echo
echo "a wait that is over at once, without the waits' library: $("$O/bench/postgres_waits")"
echo "with it, off: $(LD_PRELOAD=$O/lib/hone/libhone_postgres_waits.so "$O/bench/postgres_waits")"
