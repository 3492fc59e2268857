#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Cost of LTTng's preloaded helpers in a program with all of their tracepoints disabled, on a private node with a
# session daemon: each compared with no helper, alternately, the minimum of five. O: the folder of `make bench`.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
[ "$(id -u)" = 0 ] || { echo "$0: needs root, for a node of its own" >&2; exit 1; }
if [ "${HONE_NODE:-}" != "$PPID" ]; then
	HONE_NODE=$$ unshare --mount --propagation private bash "$0" "$@"
	exit
fi
mkdir -p /run/lttng && mount -t tmpfs tmpfs /run/lttng && mount -t tmpfs tmpfs /dev/shm
D=$(mktemp -d)
export LTTNG_HOME=$D LTTNG_UST_REGISTER_TIMEOUT=-1
trap 'kill $(cat "$D/sessiond.pid"); rm -rf "$D"' EXIT
lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) 2> "$D/sessiond.log"
P=liblttng-ust-pthread-wrapper.so.1 C=liblttng-ust-libc-wrapper.so.1 L=liblttng-ust-dl.so.1
for _ in 1 2 3 4 5; do
	for helpers in none $P $C $L $P:$C $P:$C:$L; do
		echo "$helpers $(LD_PRELOAD=${helpers#none} "$O/bench/preload_program")"
	done
done | awk '
	{ if (!($1 in seen)) order[++n] = $1; seen[$1] = 1
	  for (i = 2; i <= 5; i++) if (!(($1, i) in least) || $i < least[$1, i]) least[$1, i] = $i }
	END { printf "%-40s %18s %18s %22s %20s\n", "preloaded", "lock, unlock", "malloc, free", "dlopen, dlclose", "a request of 100 us"
	  for (k = 1; k <= n; k++) { name = order[k]; gsub(/liblttng-ust-|-wrapper|\.so\.1/, "", name); gsub(/:/, ", ", name)
	    printf "%-40s", name
	    for (i = 2; i <= 5; i++) printf i < 4 ? " %8.1f ns %5.2f x" : i == 4 ? " %10.1f us %6.2f x" : " %8.2f us %6.3f x", least[order[k], i] / (i < 4 ? 1 : 1000), least[order[k], i] / least["none", i]
	    print "" } }'
