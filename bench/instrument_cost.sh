#!/bin/bash
# SPDX-License-Identifier: MIT
# Cost of libhone in the traced program, on a private node. O: the folder that `make instrument-bench` built.
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
export LTTNG_HOME=$D
end() {
	local pid until=$((SECONDS + 20))
	pid=$(cat "$D/sessiond.pid") && kill "$pid"
	while [ $SECONDS -lt $until ] && kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
	rm -rf "$D"
}
trap end EXIT
lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) 2> "$D/sessiond.log"

# A flight recorder in memory without a reader: the disk has no effect on the program's cost.
{
	lttng -n create cost --snapshot --output="$D/trace"
	for channel in plain context whole; do
		lttng -n enable-channel -u --buffers-pid --num-subbuf=4 --subbuf-size=256k $channel
	done
	lttng -n add-context -u -c context -t '$app.hone:trace_id' -t '$app.hone:unit_id'
	lttng -n add-context -u -c whole -t vtid -t '$app.hone:trace_id' -t '$app.hone:unit_id'
	lttng -n enable-event -u -c plain bench:plain
	lttng -n enable-event -u -c whole bench:whole --filter '$app.hone:probed == 0'
	lttng -n enable-event -u -c context bench:context
	lttng -n enable-event -u -c context bench:filtered --filter '$app.hone:probed == 1'
	lttng -n enable-event -u -c context 'hone:*' --filter '$app.hone:sampled == 1'
	lttng -n start
	"$O/tests/scenario/instrument_policy" GET_ON ffffffff 0 3600 3600
} > "$D/log" 2>&1 || { cat "$D/log" >&2; exit 1; }
"$O/bench/instrument_cost" "$O/lib/libhone.so"
