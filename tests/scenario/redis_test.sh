#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Redis module in Debian's redis-server, on a private node. Next to it a server without the module, which gives the
# expected replies, and a replica without it. O: the folder that `make redis` built.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond babeltrace2 redis-server python3
. examples/node.sh
D=$(mktemp -d -p /tmp)
MODULE=$O/lib/hone/hone_redis.so
end() { node_stop "$D" redis > /dev/null 2>&1; rm -rf "$D"; }
trap end EXIT

drive() { timeout 120 python3 tests/scenario/redis_drive.py "$@"; }
read -r PARENT STATE <<< "$(drive contexts)"
ask() { local server=$1; shift; redis-cli -s "$D/$server" "$@"; }
wrapped() { local server=$1; shift; ask "$server" HONE.X "$PARENT" "$STATE" "$@"; }
says() { local got; got=$("${@:2}" 2>&1); [ "$got" = "$1" ] || { echo "$got instead of $1"; return 1; }; }
pid() { cat "$D/redis/$1.pid"; }
up() { wait_for 20 says PONG ask "$1" PING; }
why() { tail -qn 1 "$D"/redis/*.log; }

# server NAME OPTION...: in addition to the environment's options. Each server has its own data folder.
server() {
	mkdir -p "$D/$1.data"
	node_run "$D" redis "$1" env ${HONE_SAMPLE:+HONE_SAMPLE=$HONE_SAMPLE} redis-server --port 0 --unixsocket "$D/$1" --dir "$D/$1.data" --save '' \
		--enable-debug-command yes --enable-module-command yes "${@:2}"
	up "$1"
}

# traced NAME COMMAND...: writes its records as text to D/NAME.txt; always-on and added tracepoints, with Hone's
# filters.
traced() {
	local name=$1 rc
	shift
	node_exec "$D" redis bash -e -c '
		lttng -n create $0 --output="$1/$0" && lttng -n enable-channel -u --buffers-pid --num-subbuf=16 --subbuf-size=256k -s $0 c
		lttng -n add-context -u -s $0 -c c -t vpid -t "\$app.hone:trace_id" -t "\$app.hone:unit_id"
		lttng -n enable-event -u -s $0 -c c "hone:*" --filter "\$app.hone:sampled == 1"
		lttng -n enable-event -u -s $0 -c c "redis:*"
		lttng -n start $0' "$name" "$D" >> "$D/lttng.log" 2>&1 || { tail "$D/lttng.log"; return 1; }
	"$@"
	rc=$?
	node_exec "$D" redis bash -c 'lttng -n stop $0; lttng -n destroy $0' "$name" >> "$D/lttng.log" 2>&1
	babeltrace2 "$D/$name" > "$D/$name.txt" 2>> "$D/lttng.log" || return 1
	return $rc
}
shows() { drive trace "${@:2}" < "$D/$1.txt"; }
count() { grep -c -- " $2[: ]" "$D/$1.txt"; }

node_start "$D" redis || exit 1
PORT=$(node_free_port)

# ---- the five lines of docs/redis.md -------------------------------------------------
printf 'loadmodule %s\n' "$MODULE" > "$D/redis.conf"
node_run "$D" redis w redis-server "$D/redis.conf" --port "$PORT" --bind 127.0.0.1 --unixsocket "$D/w" --dir "$D" --save '' \
	--enable-debug-command yes --enable-module-command yes --repl-diskless-sync-delay 0
check "the server starts with the module" up w
check "the server's log names the module" grep -q "Module 'hone' loaded from $MODULE" "$D/redis/w.log"
check "a server without the module starts" server p
check "MODULE LIST has the module" eval "ask w MODULE LIST | grep -x hone"
check "COMMAND INFO has the wrapper" eval "ask w COMMAND INFO HONE.X | grep -ix hone.x && [ -z \"\$(ask p COMMAND INFO HONE.X)\" ]"
check "a wrapped command is executed" says OK wrapped w SET greeting hello
check "its effect is visible" says hello ask w GET greeting

# ---- replies -------------------------------------------------------------------------
check "over 250 commands: replies with and without the wrapper are identical, in RESP2 and RESP3" traced replies drive replies "$D/w" "$D/p"
check "their units are complete and in order" shows replies whole
check "malformed contexts and incomplete wrappers: replies are the same as without" traced hostile drive hostile "$D/w" "$D/p"
check "their units are complete" shows hostile whole
check "ten clients with 100 commands each, in one round of the event loop: each gets its own replies" traced many drive many "$D/w" 10
check "each command is a unit with its own link" shows many many 10
check "all these units are complete" shows many whole
check "COMMAND GETKEYS of a wrapped command names its keys" says "a b" eval "ask w COMMAND GETKEYS HONE.X x y MSET a 1 b 2 | xargs"
check "while no client is served, no unit is open" traced idle sleep 0.3
check "records of that time belong to no request" eval "grep -q ' redis:cron' $D/idle.txt && ! grep ' redis:.*_app_hone_unit_id = { [1-9]' $D/idle.txt"

# ---- times, sizes ----------------------------------------------------------------------
check "clients that wait for other clients are served" traced wait drive wait "$D/w"
check "their records say for whom they waited, and how long" shows wait wait
check "commands without the wrapper are served until the module stops watching the event loop" traced alone drive alone "$D/w"
check "these commands do not count as waits of later ones" eval "grep -q ' redis:queue' $D/alone.txt && ! grep -E ' redis:queue.*behind_us = [0-9]{7,}' $D/alone.txt"
check "commands behind a blocking command are served" traced unblocked drive unblocked "$D/w"
check "these commands have no unit, which would be too long; others have one" shows unblocked unblocked
check "keys are looked up without changing the counts of hits and misses" traced sizes drive sizes "$D/w" "$D/p"
check "their types and sizes are recorded, in each database" shows sizes sizes
lateness() {	# mean difference between the module's span and Redis' own time of the same commands, us
	ask w CONFIG RESETSTAT
	traced late bash -c 'for i in $(seq 300); do echo "HONE.X $0 $1 LPUSH many 1"; done | redis-cli -s "$2" > /dev/null' "$PARENT" "$STATE" "$D/w" || return
	ask w INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_lpush:calls=300,usec=\([0-9]*\),.*/\1/p' > "$D/theirs"
	python3 - "$D/late.txt" "$(cat "$D/theirs")" <<- 'EOF'
		import re, sys
		begun, spans = None, []
		for line in open(sys.argv[1]):
		    h, m, s, event = re.match(r"\[(\d+):(\d+):([\d.]+)\] \S+ \S+ (\S+):", line).groups()
		    at = (int(h) * 60 + int(m)) * 60 + float(s)
		    if event == "redis:command_begin" and "lpush" in line: begun = at
		    if event == "redis:command_end" and "lpush" in line: spans.append((at - begun) * 1e6)
		spans.sort()
		print(f"{len(spans)} spans, median {spans[len(spans) // 2]:.1f} us; by Redis' clock mean {int(sys.argv[2]) / 300:.1f} us")
		sys.exit(len(spans) != 300 or spans[150] > int(sys.argv[2]) / 300 + 50)
	EOF
}
check "a command's span is as long as Redis says that it took, within 50 us (median of 300)" lateness

used() { ask w INFO memory | tr -d '\r' | sed -n 's/^used_memory://p'; }
leak() {
	local before
	redis-benchmark -s "$D/w" -c 4 -n 2000 -r 1000 -q HONE.X "$PARENT" "$STATE" SET key:__rand_int__ x
	ask w FLUSHALL
	before=$(used)
	redis-benchmark -s "$D/w" -c 4 -n 20000 -r 1000 -q HONE.X "$PARENT" "$STATE" SET key:__rand_int__ x
	ask w FLUSHALL
	echo "$before, then $(used)"
	[ $(($(used) - before)) -lt 200000 ]
}
check "20,000 requests with every record enabled leave no memory allocated" traced leak leak

# ---- inside a request: scripts, and what the server does on its behalf -------------------
inside() {	# NAME EVENT NUMBER NAME_OF_UNIT: the unit has NUMBER records of EVENT
	local n
	n=$(grep "^.* $2:" "$D/$1.txt" | grep -vc '_app_hone_unit_id = { 0 }')
	[ "$n" = "$3" ] || { echo "$n of $2"; grep -c . "$D/$1.txt"; return 1; }
}
script() {
	wrapped w EVAL 'for i = 1, 3 do redis.call("HONE.X", "x", "y", "INCR", "n") end; return redis.call("GET", "n")' 0
	wrapped w FLUSHALL
	wrapped w DEBUG RELOAD
	wrapped w BGSAVE && wait_for 10 eval "ask w INFO persistence | has rdb_bgsave_in_progress:0"
	wrapped w BGREWRITEAOF && wait_for 10 eval "ask w INFO persistence | has aof_rewrite_in_progress:0"
}
check "scripts, FLUSHALL, DEBUG RELOAD, BGSAVE and BGREWRITEAOF run in the wrapper" traced inside script
check "a script's calls are in its unit" inside inside redis:call 4
check "both flushes are recorded, since a reload flushes, too" inside inside redis:flush_begin 2
check "the loading is recorded" inside inside redis:load_end 1
check "each fork is recorded" inside inside redis:fork 2
check "these units are complete" shows inside whole
no_child() { [ "$(grep -o 'vpid = [0-9]*' "$D/inside.txt" | sort -u)" = "vpid = $(pid w)" ]; }
check "the child of a fork, without LTTng's preload, writes no record in its parent's name" no_child

# ---- permissions, memory, another's server -------------------------------------------------
evict() {
	local i value
	value=$(head -c 10000 /dev/zero | tr '\0' x)
	sleep 0.3	# the module checks ten times a second whether a tracepoint is enabled
	ask w CONFIG SET maxmemory-policy allkeys-lru maxmemory "$(($(ask w INFO memory | tr -d '\r' | sed -n 's/^used_memory://p') + 500000))"
	for i in $(seq 100); do echo "HONE.X $PARENT $STATE SET big$i $value"; done | ask w | grep -c OK
	ask w CONFIG SET maxmemory 0
}
check "commands that cause evictions run in the wrapper" traced evict evict
check "an evicted key is recorded in the request that caused it" grep -q ' redis:evicted: .*_app_hone_unit_id = { [1-9]' "$D/evict.txt"
check "the end of the command has the number of evicted keys" grep -q ' redis:command_end: .*name = "set", .*evicted = [1-9]' "$D/evict.txt"
ask w FLUSHALL > /dev/null

# ---- from a client without Hone ----------------------------------------------------------------
HONE_SAMPLE=1 server s --loadmodule "$MODULE"
check "a foreign traceparent begins a request" traced other ask s HONE.X "$PARENT" "" GET x
check "it has the command's type and the foreign trace id" eval "grep 'hone:request_begin.*trace_id = { 81985529216486895 }.*name = \"redis.get\"' $D/other.txt"
check "the request ends" eval "grep 'hone:request_end.*name = \"redis.get\"' $D/other.txt"

# ---- I/O threads ---------------------------------------------------------------------------------
server t --loadmodule "$MODULE" --io-threads 3 --io-threads-do-reads yes
check "with I/O threads, each of eight clients gets its own replies" traced threads drive many "$D/t" 8
check "with I/O threads each command is a unit" shows threads many 8
check "with I/O threads all units are complete" shows threads whole

# ---- replication, append-only file: only commands without a wrapper -----------------------------
server r --replicaof 127.0.0.1 "$PORT"
check "a replica without the module connects" wait_for 20 eval "ask r INFO replication | has master_link_status:up"
ask w CONFIG SET appendonly yes > /dev/null
wait_for 20 eval "ask w INFO persistence | has aof_rewrite_in_progress:0"
change() {
	local i
	for i in 1 2 3 4 5; do
		wrapped w SET "k$i" "$i" EX 1000; wrapped w RPUSH l "$i" "$i"; wrapped w SPOP nothing; wrapped w INCR n
		wrapped w EVAL 'redis.call("SET", KEYS[1], "x"); redis.call("HONE.X", "a", "b", "LPUSH", "from-script", "1")' 1 "s$i"
	done
	printf "HONE.X $PARENT $STATE %s\r\n" MULTI "SET in multi" "LPUSH l multi" EXEC MULTI "SET in discarded" DISCARD | ask w
}
check "changes in the wrapper, without it, in scripts and in transactions are made" change
same() { [ "$(ask w DEBUG DIGEST)" = "$(ask "$1" DEBUG DIGEST)" ] && [ "$(ask "$1" DBSIZE)" -gt 10 ]; }
check "the replica has the same data" wait_for 20 same r
check "the replica never received the wrapper and refused no command" eval "! ask r INFO commandstats | grep -i 'hone\|rejected_calls=[1-9]\|failed_calls=[1-9]'"
check "the append-only file does not contain the wrapper" eval "! grep -rai 'hone.x' $D/appendonlydir"
cp -r "$D/appendonlydir" "$D/a.files"
mkdir -p "$D/a.data" && mv "$D/a.files" "$D/a.data/appendonlydir"
server a --appendonly yes
check "a server without the module reads the append-only file and has the same data" same a
ask w CONFIG SET appendonly no > /dev/null
check "a replica refuses commands that write, as without the module" eval "server q --loadmodule $MODULE --replicaof 127.0.0.1 $PORT &&
	wait_for 20 eval 'ask q INFO replication | has master_link_status:up' && [ \"\$(wrapped q SET k v)\" = \"\$(ask r SET k v)\" ] && says 1 wrapped q GET k1"

# ---- cluster: keys on the node that has them ----------------------------------------------------------
server c1 --loadmodule "$MODULE" --cluster-enabled yes --cluster-port "$(node_free_port)"
server c2 --cluster-enabled yes --cluster-port "$(node_free_port)"
for i in c1 c2; do ask $i CLUSTER ADDSLOTSRANGE 0 8000 > /dev/null; done
cluster() {
	local k
	for k in a b c d e; do says "$(ask c2 SET $k v)" wrapped c1 SET $k v || return; done
	wrapped c1 MGET b c | has ^CROSSSLOT
}
check "in a cluster, commands are routed by their own keys" cluster

# ---- the module comes and goes --------------------------------------------------------------------------
# Both in one connection, so that no program's start lies between them.
unload_at_once() { printf 'HONE.X %s %s PING\nMODULE UNLOAD hone\n' "$PARENT" "$STATE" | ask w | grep timer; }
check "the module cannot be unloaded while it watches the event loop" traced loop unload_at_once
check "a second after the last request the module can be unloaded" wait_for 10 says OK ask w MODULE UNLOAD hone
check "afterwards the wrapper is an unknown command" eval "wrapped w PING | has 'unknown command'"
check "the module can be loaded again" says OK ask w MODULE LOAD "$MODULE"
check "then a wrapped command is executed" traced again wrapped w SET k v
check "its unit is complete" shows again whole
check "the module takes no arguments" eval "ask p MODULE LOAD $MODULE nonsense | has ERR"
check "a client that disconnects during its command leaves the server unchanged" traced dies drive dies "$D/w"
check "the unit of that command is complete" shows dies dies
check "SHUTDOWN in the wrapper ends the server" eval "wrapped w SHUTDOWN NOSAVE; wait_for 10 gone $(pid w)"
check "no log has a crash, a failed assertion or a signal" eval "grep -q 'ready to exit' $D/redis/w.log && ! grep -i 'crash\|assert\|signal' $D/redis/*.log"
echo "1..$N"
exit $FAILED
