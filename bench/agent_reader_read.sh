#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Cost of the agent's reader compared with babeltrace2, on the same recordings, which this script makes.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
if [ "$(id -u)" != 0 ] || ! command -v lttng lttng-sessiond babeltrace2 unshare > /dev/null; then
	echo "agent_reader_read: needs root, lttng-tools and babeltrace2" >&2
	exit 1
fi
if [ "${HONE_NODE:-}" != "$PPID" ]; then
	make -s O="$O" source-scenario "$O/bench/agent_reader_read"
	HONE_NODE=$$ unshare --mount --propagation private bash "$0" "$@"
	exit
fi
mkdir -p /run/lttng && mount -t tmpfs tmpfs /run/lttng && mount -t tmpfs tmpfs /dev/shm
D=/dev/shm/bench
mkdir $D
export LTTNG_HOME=$D HONE_SAMPLE=1 HONE_POLICY=$D/none
lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > $D/sessiond.log 2>&1 &
SESSIOND=$!
trap 'kill $SESSIOND; wait $SESSIOND' EXIT
until lttng -n list > /dev/null 2>&1; do sleep 0.05; done

# measure NAME ROUNDS [hot]
measure() {
	local name=$1 i
	shift
	mkdir $D/out
	"$O/tests/scenario/source_session" bench $D/out $D/shm 1048576 8 100000
	for i in 1 2 3; do
		LD_PRELOAD=$O/lib/libhone.so "$O/tests/scenario/source_program" "$1" 5 2 ${2:-} > /dev/null &
		PIDS[i]=$!
	done
	wait "${PIDS[@]}"
	lttng -n stop bench > /dev/null
	lttng -n destroy bench > /dev/null
	"$O/bench/agent_reader_read" $D/out "$name"
	rm -rf $D/out
}
measure "one field, three contexts" 60000 hot
measure "all kinds, up to 32 fields" 8000
