#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Cost of the module in Redis: SET by redis-benchmark over TCP, on a server without the module; with the module and no
# tracing; with the module where each request brings a context and is recorded (hone:*, filtered as the agent does, to
# memory). All in each round, in rotated order; a ratio is between two of one round, and the printed ratio is the
# median. `time` is the processor time of Redis' main thread for each request, from the kernel's accounting: Redis does
# all work on one thread, so at saturation it determines the throughput, and other load disturbs it less than requests a
# second. `again` compares the server without the module with itself: the error of the measurement.
#
#   O=build bench/redis.sh [ROUNDS [REQUESTS]]
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
rounds=${1:-15} requests=${2:-20000}
. examples/node.sh
make -s O="$O" redis
D=$(mktemp -d -p /tmp)
trap 'node_stop "$D" redis 2> /dev/null; rm -rf "$D"' EXIT
node_start "$D" redis
port() { cat "$D/$1.port"; }
for way in without with; do
	node_free_port > "$D/$way.port"
	node_run "$D" redis $way redis-server --bind 127.0.0.1 --port "$(port $way)" --save '' --dir "$D" \
		$([ $way = without ] || echo --loadmodule "$O/lib/hone/hone_redis.so")
	node_wait 10 redis-cli -p "$(port $way)" PING > /dev/null
done
node_exec "$D" redis bash -e -c '
	lttng -n create cost --snapshot --output="$0/trace"
	lttng -n enable-channel -u --buffers-pid --num-subbuf=4 --subbuf-size=256k c
	lttng -n add-context -u -c c -t "\$app.hone:trace_id" -t "\$app.hone:unit_id"
	lttng -n enable-event -u -c c "hone:*" --filter "\$app.hone:sampled == 1"
	lttng -n start' "$D" > "$D/lttng.log"
parent=00-fedcba98765432100123456789abcdef-0000000000000007-01
state=hone=0000000000000007-00000001

used_ns() { local pid; pid=$(cat "$D/redis/$1.pid"); cut -d' ' -f1 "/proc/$pid/task/$pid/schedstat"; }
measure() {	# SERVER WORD...: prints requests a second, and ns of Redis for each
	local server=$1 before rate
	shift
	before=$(used_ns $server)
	rate=$(redis-benchmark -p "$(port $server)" -n $((requests * pipeline)) -c 20 -P $pipeline -q "$@" SET key value |
		tr '\r' '\n' | sed -n 's/.* \([0-9.]*\) requests per second.*/\1/p')
	echo "$rate $((($(used_ns $server) - before) / (requests * pipeline)))"
}
way() {
	case $1 in
	without | again) measure without ;;
	off) measure with ;;
	unsampled) measure with HONE.X $parent ${state}0 ;;
	on) measure with HONE.X $parent ${state}1 ;;
	esac
}
ways=(without off unsampled on again)
for pipeline in 1 16; do
	for round in $(seq "$rounds"); do
		for i in 0 1 2 3 4; do
			w=${ways[(i + round) % 5]}
			echo "$round $w $(way $w)"
		done
	done > "$D/rounds"
	python3 - "$D/rounds" $pipeline <<- 'EOF'
		import statistics, sys
		rounds = {}
		for line in open(sys.argv[1]):
		    n, way, rate, ns = line.split()
		    rounds.setdefault(n, {})[way] = float(rate), int(ns)
		rounds = rounds.values()
		print(f"{sys.argv[2]} at once on each of 20 connections; without the module "
		      f"{statistics.median(r['without'][1] for r in rounds) / 1000:.2f} us of Redis a request; {len(rounds)} rounds")
		print(f"{'':12}{'time':>8}{'least':>8}{'requests/s':>12}")
		for way in "again", "off", "unsampled", "on":
		    time = statistics.median(r[way][1] / r["without"][1] for r in rounds)
		    least = min(r[way][1] for r in rounds) / min(r["without"][1] for r in rounds)
		    rate = statistics.median(r[way][0] / r["without"][0] for r in rounds)
		    print(f"{way:12}{time:8.3f}{least:8.3f}{rate:12.3f}")
	EOF
done
