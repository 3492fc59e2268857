#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An unmodified PostgreSQL is learned and diagnosed by the USDT probes that it ships (examples/postgres/postgres.map): now and then another
# client holds the row that statements update. What its processes did meanwhile, and in which functions, is told, too. No probe is on
# before, between and after. O: the folder of `make all`.
. "$(dirname "$0")/lib.sh"
BIN=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
needs root lttng-sessiond setpriv bpftool psql "$BIN/initdb"
[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang, bpftool and libbpf"
"$O/lib/hone/hone-below" --can --json | jq -e .probes > /dev/null || skip "no probes here: $("$O/lib/hone/hone-below" --can | tail -n 1)"
own_node /run/hone
ahead_of_others
D=$(mktemp -d /tmp/hone-probes.XXXXXX)
chmod 755 "$D"
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1 PGDATA=$D/data PGHOST=$D/run PGUSER=postgres HONE_SOCKET=ipc://$D/honed.sock
PATH=$O/bin:$PATH
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$D/home" PATH="$BIN:$PATH" "$@"; }
end() {
	local pid
	for pid in ${HOLDER:-} ${LOAD:-} ${AGENT:-} ${HONED:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	as_postgres pg_ctl -w -m immediate stop > /dev/null 2>&1
	pid=$(cat "$D/sessiond.pid" 2> /dev/null) && kill "$pid" && wait_for 20 gone "$pid"
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT
why() {
	hone forest UPDATE --json | jq -c '.runs[0].verdicts[].below | {top, functions, places: [.places[]?.place]}'
	hone status; hone agents; hone forest UPDATE; tail -n 12 "$D/agent.log" "$D/honed.log"
	jq -c '[.lost, [.probes[] | [.name, .hits, .failed]]]' "$D"/*.json; cat "$D/few.log"
}

mkdir "$D/run" "$D/home" "$D/data" "$D/maps"
chown postgres "$D/run" "$D/home" "$D/data"
as_postgres initdb -A trust --no-sync > "$D/initdb.log" 2>&1 || bail "initdb"
# Its own file and name: whoever runs a file that is probed passes the probes, and all processes of a name are followed.
cp "$BIN/postgres" "$D/pg-probed"
sed 's/^service = .*/service = pg-probed/' examples/postgres/postgres.map > "$D/maps/postgres.map"
printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$D/run'" "autovacuum = off" "fsync = off" >> "$PGDATA/postgresql.conf"
as_postgres pg_ctl -w -p "$D/pg-probed" -l "$D/data/log" start > /dev/null || bail "the server starts"
SERVER=$(head -n 1 "$PGDATA/postmaster.pid")
psql -q postgres -c 'create table goods (i int primary key, stock int)' -c 'insert into goods select i, 0 from generate_series(1, 100) i'
lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) 2> "$D/sessiond.log" ||
	bail "the session daemon starts"

# One client: several would wait for each other, too, in other places each time.
echo "update goods set stock = stock + 1 where i = 1" > "$D/update.sql"
"$BIN/pgbench" -n -c 1 -R 200 -T 600 -f "$D/update.sql" postgres > "$D/load.log" 2>&1 &
LOAD=$!
# The client sleeps, not the server.
while sleep 0.15; do printf 'begin;\nupdate goods set stock = 0 where i = 1;\n\\! sleep 0.06\ncommit;\n'; done | psql -q postgres > /dev/null 2>&1 &
HOLDER=$!

honed_start() {
	rm -f "$D/agents.sock"
	honed -o storage.database="$D/f.db" -o storage.space="$D/s.db" -o controller.agents="ipc://$D/agents.sock" \
		-o controller.operators="$HONE_SOCKET" "${ALL_TRACED[@]}" -o search.budget=20% -o learn.budget=50% -o search.probes=functions 2>> "$D/honed.log" &
	HONED=$!
}
honed_start
wait_for 20 test -S "$D/agents.sock" || bail "honed starts"
hone-agent -o agent.node=db -o controller.url="ipc://$D/agents.sock" -o maps.folder="$D/maps" -o log.level=debug 2> "$D/agent.log" &
AGENT=$!

connected() { hone agents --json | jq -e 'any(.agents[]; .connected and .tracer_ok and .programs > 0)'; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "UPDATE" and .traces > 50)'; }
helper() { pgrep -r R,S,D -P "$(pgrep -P "$AGENT" -x hone-starter)" -x hone-below; }
links() { cat /proc/"$(helper)"/fdinfo/* 2> /dev/null | grep -c uprobe_multi; }
attached() { [ "$(links)" -gt 0 ]; }
nothing_attached() { [ "$(links)" = 0 ]; }
held() { grep -hoP '^prog_id:\s*\K[0-9]+' "/proc/$1/fdinfo/"* 2> /dev/null; }
programs_gone() { local it; for it in $programs; do bpftool prog show id "$it" && return 1; done; return 0; }
# The wait itself, or the part of it in which the process sleeps: it releases the lock of the table of locks before. What it passes first when it
# wakes depends on the others, so the wait may be two edges, and two verdicts.
verdict_is_the_wait() {
	hone forest UPDATE --json | jq -e '.runs[0] | {state, words, edges: [.verdicts[].edge | map_values(ltrimstr("pg-probed/usdt.postgresql:"))]} | debug |
		.state == "found" and all(.edges[]; (.from | . == "lock__wait__start" or . == "lwlock__release") and
			(.to | . == "lock__wait__done" or . == "lwlock__acquire" or . == "lwlock__wait__start"))' &&
		hone forest UPDATE | has 'usdt.postgresql:lock__wait__start'
}

backend() { pgrep -P "$SERVER" -f ': postgres postgres' | head -n 1; } # of pgbench, which began first
# As on Linux 6.1: a link for each place, 8 at a time. The kernel counts the hits; stacks of all waits, 16 KiB each, may be lost on a busy machine.
one_by_one() { # PATTERN TRUTH
	"$O/lib/hone/hone-below" --without uprobe_multi --pid "$(backend)" --all --seconds 3 --json \
		--probes "usdt.postgresql:$1" > "$D/few.json" 2> "$D/few.log"
	jq -e "([.probes[] | select(.failed == null)] | $2) and all(.probes[].failed; . == null or test(\"places that can be probed at a time here\"))" "$D/few.json"
}
check "without links to many places some are probed all the same" wait_for 60 one_by_one 'transaction__*' 'length == 3 and any(.hits > 20)'
check "at most 8 at a time, and of the others that is said" wait_for 60 one_by_one '*' 'length == 8'
check "an agent knows the server, which has no LTTng" wait_for 60 connected
check "its statements are requests, of a type by their first word" wait_for 60 seen
types() { hone status --json | jq -e '[.types[].type] | index("UPDATE") != null and index("BEGIN") != null and index("COMMIT") != null and all(test("^[A-Z_]+$"))'; }
check "and of no other" wait_for 60 types
check "all probes are learned" hone learn --seconds 5 --wait
# What is rare may have passed no learned request yet.
learned() { hone space show UPDATE > "$D/space.log" && grep -q usdt.postgresql:lock__wait__start "$D/space.log" || { hone learn --seconds 5 --wait; false; }; }
check "the learned space has the probes inside a statement" wait_for 60 learned
below() { hone forest UPDATE --json | jq -e "any(.runs[0].verdicts[].below; $1)"; }
waited() { below '.top == "thread" and (.places[0].place | test("epoll_wait|WaitEventSetWait"))'; }
timed() { below 'any(.functions[]; .of_edge != null and .of_edge > 0.7)'; }
check "a diagnosis ends" hone start UPDATE --wait --timeout 60
check "its verdict is the wait for the row's lock" verdict_is_the_wait
check "its process waited for another one" waited
# Nearly all of the edge is the wait; a slow request whose records of functions were lost counts as one without a call of them.
check "in functions that were timed" timed
check "the mapping's probes are on while requests are sampled" wait_for 30 attached
kill $HONED
wait_for 20 gone $HONED
# By reading its code from the file, not from a mapping into which the kernel has written breakpoints.
twice() {
	"$O/lib/hone/hone-below" --pid "$(backend)" --all --seconds 3 --json --probes 'usdt.postgresql:query__start' > "$D/twice.json" 2> "$D/few.log"
	jq -e 'any(.probes[]; .failed == null and .hits > 20)' "$D/twice.json"
}
check "what is probed can be probed by another one, too" wait_for 30 twice
check "when the controller is gone, no probe is on" wait_for 60 nothing_attached
check "when the controller is back, they are on again" eval 'honed_start && wait_for 60 attached'
programs=$(held "$(helper)")
kill -9 $AGENT
check "when the agent is killed, none of its programs is left" eval '[ -n "$programs" ] && wait_for 30 programs_gone'
check "the server is still the same process" eval '[ "$(cat /proc/$SERVER/comm)" = pg-probed ]'
check "the server's log has no error" eval '! grep -E "ERROR|FATAL|PANIC" "$D/data/log"'
echo "1..$N"
exit $FAILED
