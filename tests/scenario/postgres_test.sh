#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A PostgreSQL server with Hone's two files, on a private node: exactly the work of each statement carries its context,
# in whichever way the context was given and the statement ended. O: the build folder.
. "$(dirname "$0")/lib.sh"
BIN=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
needs root lttng-sessiond babeltrace2 setpriv psql "$BIN/initdb"
if [ ! -e "$O/lib/hone/hone_postgres.so" ]; then
	skip "hone_postgres.so was not built: are the server's headers there?"
fi
own_node
D=$(mktemp -d /tmp/hone-pg.XXXXXX)
export LTTNG_HOME=$D PGDATA=$D/data PGHOST=$D/run PGUSER=postgres

as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$D/home" PATH="$BIN:$PATH" "$@"; }
end() {
	local pid
	as_postgres pg_ctl -w -m immediate stop > /dev/null 2>&1
	pid=$(cat "$D/sessiond.pid" 2> /dev/null) && kill "$pid" && wait_for 20 gone "$pid"
	rm -rf "$D"
}
trap end EXIT
why() { tail -n 20 "$D/data/log" 2> /dev/null; }

equal() { [ "$1" = "$2" ] || { echo "wanted: $2"; echo "got: $1"; return 1; }; }

# Laid out as by `make install`, in a folder that the user postgres can read.
chmod 755 "$D"
mkdir -p "$D/lib/hone" "$D/run" "$D/home" "$D/data"
cp "$O"/lib/hone/*postgres*.so "$D/lib/hone" && cp "$O/lib/libhone.so.0" "$D/lib"
chown postgres "$D/run" "$D/home" "$D/data"

lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) \
	2> "$D/sessiond.log" || { cat "$D/sessiond.log"; exit 1; }
{
	lttng -n create pg --output="$D/trace" && lttng -n enable-channel -u --buffers-pid --num-subbuf=8 --subbuf-size=64k -s pg c
	lttng -n add-context -u -s pg -c c -t vpid -t '$app.hone:trace_id' -t '$app.hone:unit_id'
	lttng -n enable-event -u -s pg -c c 'hone:*' --filter '$app.hone:sampled == 1'
	lttng -n enable-event -u -s pg -c c 'postgres:*'
	lttng -n start pg
	"$O/tests/scenario/instrument_policy" SELECT ffffffff ffffffff 3600 3600
} > "$D/lttng.log" 2>&1 || { cat "$D/lttng.log"; exit 1; }

as_postgres initdb -A trust -E UTF8 --no-locale --no-sync > "$D/initdb.log" 2>&1 || { cat "$D/initdb.log"; exit 1; }
cat >> "$PGDATA/postgresql.conf" << CONF
listen_addresses = ''
unix_socket_directories = '$D/run'
shared_buffers = 32MB
autovacuum = off
autovacuum_naptime = 1s
wal_writer_delay = 10s
jit = off
CONF
as_postgres pg_ctl -w -l "$D/data/log" start > /dev/null	# without Hone's files

# ---- the page's five lines, unchanged except for the folder ---------------------
sed -n '/^```sh$/,/^```$/{/^```/!p}' docs/postgres.md | sed "s|/usr/local/lib|$D/lib|g" > "$D/five"
check "the documentation has five lines" equal "$(wc -l < "$D/five")" 5
as_postgres bash -e "$D/five" > "$D/five.log" 2>&1
check "the five lines work" equal "$? $(grep -c '(1 row)' "$D/five.log")" "0 1"
[ $FAILED = 0 ] || { sed 's/^/# /' "$D/five.log"; echo "1..$N"; exit 1; }

sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 postgres "$@" 2>> "$D/psql.log"; }
client() { python3 tests/scenario/postgres_client.py "$D/run/.s.PGSQL.5432" "$@"; }
# Each check has its own trace: its number is both trace id and link.
ctx() { printf "/*traceparent='00-0af7651916cd43dd%016x-%016x-01',tracestate='hone%%3D%016x-123456783'*/" "$1" "$1" "$1"; }
setting() { printf "00-0af7651916cd43dd%016x-%016x-01 hone=%016x-123456783" "$1" "$1" "$1"; }
stranger() { printf "/*traceparent='00-0af7651916cd43dd%016x-%016x-01'*/" "$1" "$1"; }
backend() { sql -c "select pid from pg_stat_activity where query like '%$1%' and state = 'active' and pid <> pg_backend_pid()"; }
waiting() { [ "$(sql -c "select wait_event from pg_stat_activity where query like '%$1%' and pid <> pg_backend_pid()")" = "$2" ]; }

sql << 'SQL'
create table goods as select i, i * 2 as price, 0 as stock from generate_series(1, 100000) i;
create table log (x int);
create table plain (x int);
vacuum analyze;
create function total() returns bigint language plpgsql as $$ begin return (select sum(price) from goods where i < 100); end $$;
create function brave() returns int language plpgsql as $$ begin
	begin perform 1 / (i - 50) from goods where i < 100; exception when division_by_zero then null; end;
	return (select count(*) from log);
end $$;
create function put_off() returns trigger language plpgsql as $$ begin perform total(); return null; end $$;
create constraint trigger later after insert on log deferrable initially deferred for each row execute function put_off();
SQL
check "the server works as without the module" equal "$?" 0

# ---- valid and invalid positions of a context ------------------------------------
sql -c "select count(*) from goods $(ctx 1)" > /dev/null
sql -c "$(ctx 2) select 1" > /dev/null
sql -c "select 1 $(ctx 3);" > /dev/null
sql -c "select '$(ctx 4 | sed "s/'/''/g")'" -c "select \$\$$(ctx 4)\$\$" -c "select 1 -- $(ctx 4)" -c "select 1 /* $(ctx 4) */" \
	-c "select 1 $(ctx 4) + 1" > /dev/null
sql -c "select 1 $(stranger 5)" > /dev/null
for bad in "traceparent='00-0af7651916cd43dd0000000000000004-0000000000000004'" "traceparent=''" "tracestate='x'" \
	"traceparent='ff-0af7651916cd43dd0000000000000004-0000000000000004-01'" \
	"traceparent='00-0af7651916cd43dd0000000000000004-0000000000000000-01'" "traceparent='$(printf '%03000d' 4)'"; do
	sql -c "select 1 /*$bad*/" > /dev/null || echo "refused: $bad" >> "$D/refused"
done
check "a malformed context is not an error" test ! -e "$D/refused"
client "Q select 1 $(ctx 6)" "Q select 1 $(ctx 6)" > /dev/null
sql -c "update goods set stock = 1 where i = 7 $(ctx 7)"
sql -c "select 1; select 2 $(ctx 8)" > /dev/null
PGOPTIONS='-c hone.requests=on' sql -c "select 'by itself'" > /dev/null

# ---- prepared statements, pipelines, portals --------------------------------------
RUN="B - -|E - 0"
extended() { local IFS='|'; client $1; }
extended "P - select 1 $(ctx 20)|$RUN|S" > "$D/said"
check "an unnamed prepared statement is answered" equal "$(cat "$D/said")" "SELECT 1, I"
extended "P s select 2 $(ctx 21)|S|B - s|E - 0|S|Q set hone.context = '$(setting 22)'|B - s|E - 0|S|B - s|E - 0|S" > "$D/said"
check "a named prepared statement is answered" equal "$(tail -1 "$D/said")" "SELECT 1, I"
extended "Q set hone.context = '$(setting 23)'|Q select 1|Q begin|Q set hone.context = ''|Q rollback|Q select 2" > "$D/said"
check "the setting hone.context follows the client's transactions" equal "$(cat "$D/said" | xargs)" "SET, I SELECT 1, I BEGIN, T SET, T ROLLBACK, I SELECT 1, I"
extended "Q begin|Q set local hone.context = '$(setting 24)'|Q commit $(ctx 25)|Q select 1|Q set hone.context = 'nonsense'|Q select 1" > "$D/said"
extended "P - select 1 $(ctx 26)|$RUN|P - select total() $(ctx 27)|$RUN|P - select 3|$RUN|S" > "$D/said"
check "a pipeline is answered" equal "$(cat "$D/said")" "SELECT 1, SELECT 1, SELECT 1, I"
extended "Q begin|P - select i from goods $(ctx 28)|B c -|E c 2|S|E c 2|S|Q commit $(ctx 29)" > "$D/said"
check "a portal that is fetched in pieces is answered" equal "$(cat "$D/said" | xargs)" "BEGIN, T s, T s, T COMMIT, I"
extended "Q begin|Q declare d cursor for select i from goods $(ctx 30)|Q fetch 2 from d $(ctx 31)|Q fetch 2 from d|Q commit" > "$D/said"
check "a cursor is answered" equal "$(tail -1 "$D/said")" "COMMIT, I"
extended "P t select * from log $(ctx 32)|S|Q alter table log add y int|B - t|E - 0|S" > "$D/said"
extended "P - insert into log values (1) $(ctx 33)|$RUN|P - insert into nowhere values (1) $(ctx 34)|$RUN|S|P - select 1 $(ctx 35)|$RUN|S" > "$D/said"
check "an error ends a pipeline" equal "$(cat "$D/said" | xargs)" "INSERT 0 1, !42P01, I SELECT 1, I"
extended "P - prepare p as select total()|$RUN|P - execute p $(ctx 36)|$RUN|S" > "$D/said"

# ---- nested statements-------------------------------------------------------------
sql -c "select total() $(ctx 40)" > /dev/null
sql -c "insert into log values (2) $(ctx 41)"
sql -c "select brave() $(ctx 42)" > /dev/null
sql -c "set parallel_setup_cost = 0" -c "set parallel_tuple_cost = 0" -c "set min_parallel_table_scan_size = 0" \
	-c "select count(*) from goods where price > 5 $(ctx 43)" > /dev/null

# ---- errors -------------------------------------------------------------------------
sql -c "select 1 / (i - 500) from goods $(ctx 50)" > /dev/null
sql -c "select nothing from goods $(ctx 51)" > /dev/null
sql -c "selec 1 $(ctx 52)" > /dev/null
sql -c "set statement_timeout = 1000" -c "select pg_sleep(60) $(ctx 53)" > /dev/null
sql -c "select pg_sleep(60), 'to_cancel' $(ctx 54)" > /dev/null & PID=$!
wait_for 10 waiting to_cancel PgSleep && sql -c "select pg_cancel_backend($(backend to_cancel))" > /dev/null
wait $PID
sql -c "select pg_sleep(60), 'to_terminate' $(ctx 55)" > /dev/null & PID=$!
wait_for 10 waiting to_terminate PgSleep && sql -c "select pg_terminate_backend($(backend to_terminate))" > /dev/null
wait $PID
sql -c "select 1 / 0 $(stranger 56)" > /dev/null
check "the client gets its error as without the module" equal "$(client "Q select 1 / 0 $(ctx 57)")" "!22012, I"

# ---- waits ----------------------------------------------------------------------------
mkfifo "$D/holder"
sql < "$D/holder" > /dev/null & PID=$!
exec 5> "$D/holder"
echo "begin; update goods set stock = 2 where i = 8; select pg_advisory_lock(1);" >&5
held() { [ "$(sql -c "select count(*) from pg_locks where locktype = 'advisory' and granted")" = 1 ]; }
wait_for 10 held
sql -c "update goods set stock = 3 where i = 8 $(ctx 60)" & WAITER=$!
long() { [ "$(sql -c "select 1 from pg_stat_activity where wait_event = 'transactionid' and clock_timestamp() - query_start > '1500 ms'")" = 1 ]; }
wait_for 10 long
check "one session waits for the other's lock" equal $? 0
echo "commit;" >&5
exec 5>&-
wait $WAITER $PID
sql -c "checkpoint $(ctx 61)"
sql -c "update goods set stock = 4 where i = 9 $(ctx 62)"
sql -c "update goods set stock = 5 where i = 9 $(ctx 63)"
sql -c "select i from goods where price = 500 $(ctx 64)" > /dev/null
sql -c "create index on goods (price)" -c "select i from goods where price = 500 $(ctx 65)" > /dev/null
sql -c "set work_mem = '64kB'" -c "select count(*) from (select * from goods order by stock, price limit 90000) s $(ctx 66)" > /dev/null
seq 1000 | sql -c "copy plain from stdin $(ctx 67)"
vacuumed() { [ "$(sql -c "select count(*) from pg_stat_user_tables where last_autovacuum is not null or last_autoanalyze is not null")" != 0 ]; }
sql -c "alter system set autovacuum = on" -c "select pg_reload_conf()" > /dev/null	# until now only this test wrote to the log
wait_for 60 vacuumed
check "autovacuum runs" equal $? 0

# ---- a backend that is killed takes the others with it ----------------------------------
sql -c "select pg_sleep(60), 'to_kill' $(ctx 70)" > /dev/null & PID=$!
wait_for 10 waiting to_kill PgSleep && kill -9 "$(backend to_kill)"
wait $PID
wait_for 20 sql -c "select 1" > /dev/null
check "the server starts again after a crash" equal "$(sql -c "select 'here' $(ctx 71)")" here

as_postgres pg_ctl -w -m fast stop > /dev/null
lttng -n stop pg >> "$D/lttng.log" 2>&1 && lttng -n destroy pg >> "$D/lttng.log" 2>&1
babeltrace2 --no-delta --clock-seconds "$D/trace" 2> "$D/babeltrace.log" | sed -E '
	s/^\[([^]]*)\] (\([^)]*\) )?[^ ]+ ([a-z_]+:[a-z_]+):/\1 \3/
	s/_app_hone_[a-z_]+_tag = \( "[^"]*" : container = [0-9]+ \),? ?//g
	s/_app_hone_[a-z_]+ = \{ \{ \} \}//g
	s/cpu_id = [0-9]+//; s/_app_hone_//g; s/[{},"]//g; s/ +/ /g; s/ = /=/g' > "$D/records"
[ -z "${KEEP:-}" ] || cp "$D/records" "$KEEP"
python3 tests/scenario/postgres_read.py < "$D/records" > "$D/read"
why() { grep -E "^(($TRACE) (units|shape|ns)|broken)" "$D/read" | cut -c 1-600; }
TRACE=-

shape() { TRACE=$1; equal "$(sed -n "s/^$1 shape //p" "$D/read")" "$2"; }
part() { TRACE=$1; grep -qE "^$1 shape .*$2" "$D/read"; }
units() { TRACE=$1; equal "$(sed -n "s/^$1 units //p" "$D/read")" "$2"; }
ns() { local n; n=$(sed -n "s/^$1 ns .*\b$2=\([0-9]*\).*/\1/p" "$D/read"); echo "${n:-0}"; }
last() { sed -n "s/^$1 last .*\b$2=\([^ ]*\).*/\1/p" "$D/read"; }
failed() { TRACE=$1; equal "$(last "$1" statement_end.failed)" "$2"; }

QUERY='executor_start executor_run executor_finish executor_close'
check "no id outside of units, no end without a begin, no span left open" equal "$(grep -c ^broken "$D/read")" 0
check "over 3000 records were read" test "$(wc -l < "$D/records")" -gt 3000
check "the statement in the documentation is a unit of its trace" shape 9532127138774266268 "SELECT{statement{plan $QUERY commit}}"
check "a context in a comment at the end is found" shape 1 "SELECT{statement{plan $QUERY commit}}"
check "a context in a comment at the beginning is found" shape 2 "SELECT{statement{plan $QUERY commit}}"
check "a context before the semicolon is found" shape 3 "SELECT{statement{plan $QUERY commit}}"
check "a context in a literal, a dollar quote, a line comment, a nested comment or the middle is ignored" units 4 ""
check "a foreign context makes a request that keeps the trace id" shape 5 "request SELECT{statement{plan $QUERY commit}}"
check "a link begins one unit, however often it is sent" units 6 1
check "update: the commit waits for the write-ahead log's file" shape 7 \
	"UPDATE{statement{plan $QUERY commit{wait_wal_write wait_wal_sync}}}"
check "two statements in one text are one unit" shape 8 \
	"SELECT{statement{plan $QUERY plan $QUERY commit}}"
check "hone.requests: a statement without a context is a request" equal \
	"$(grep -cE '^[0-9]{6,} shape request SELECT\{statement\{plan '"$QUERY"' commit\}\}' "$D/read")" 1

check "extended protocol: from parse to sync is one unit" shape 20 "SELECT{statement{plan $QUERY commit}}"
check "the context of a named statement counts when its text arrives" shape 21 "SELECT{statement{commit}}"
check "hone.context applies to the next statement" shape 22 "SELECT{statement{$QUERY commit}}"
check "hone.context applies once, also when a rollback restores it" units 23 1
check "set local hone.context ends with the transaction" units 24 ""
check "a commit is a unit" shape 25 "COMMIT{statement{utility commit}}"
check "pipeline: the first statement is a unit" shape 26 "SELECT{statement{plan executor_start executor_run}}"
check "pipeline: the second statement is a unit, and the third is not part of it" shape 27 "SELECT{statement{executor_finish executor_close plan executor_start executor_run{plan $QUERY}}}"
check "portal in pieces: the first piece is a unit" shape 28 "SELECT{statement{plan executor_start executor_run}}"
check "portal in pieces: its spans are closed in the unit that closes it" shape 29 "COMMIT{statement{utility executor_finish executor_close commit}}"
check "declare is a unit" shape 30 "DECLARE{statement{utility{plan executor_start}}}"
check "fetch is a unit, and the next fetch has no context" shape 31 "FETCH{statement{utility{executor_run}}}"
check "a text that is analysed again is no new unit" units 32 1
check "failing pipeline: the statement before the error is a unit" units 33 1
check "failing pipeline: the statement whose analysis fails is not seen" units 34 ""
check "failing pipeline: the statement after it is a unit" shape 35 "SELECT{statement{plan $QUERY commit}}"
check "execute has the context of its own text" part 36 'EXECUTE\{statement\{utility\{plan executor_start executor_run\{'

check "statements of a function are spans and no units" shape 40 \
	"SELECT{statement{plan executor_start executor_run{plan $QUERY} executor_finish executor_close commit}}"
check "a deferred trigger runs in the unit that commits" part 41 \
	'INSERT\{statement\{plan executor_start executor_run .*executor_close .*executor_run\{.*commit\{wait_wal_write wait_wal_sync\}\}\}'
check "after an error that was caught all spans are closed" part 42 "commit"
failed_commands() { TRACE=42; equal "$(sed -n 's/^42 shape //p' "$D/read" | grep -o executor_run | wc -l)" 3; }
check "what ran before that error is recorded" failed_commands
workers() {
	local forks joins units
	TRACE=43
	forks=$(grep -cE '^[^ ]+ hone:fork .*trace_id=43 ' "$D/records") joins=$(grep -cE '^[^ ]+ hone:join .*trace_id=43 ' "$D/records")
	units=$(sed -n 's/^43 units //p' "$D/read")
	echo "$forks forks, $joins joins, $units units"
	[ "$units" -ge 2 ] && [ "$joins" = $((units - 1)) ] && [ "$forks" -ge "$joins" ]
}
check "parallel workers are units that the leader joins" workers
check "the spans of a worker are in its unit" part 43 'worker\{executor_start executor_run'

check "an error in the executor closes its span" shape 50 \
	"SELECT{statement{plan executor_start executor_run}}"
check "the unit's end says that the statement failed" failed 50 1
check "a statement on an unknown table fails before it is seen" units 51 ""
check "a text that is not SQL fails before it is seen" units 52 ""
for t in 53:timeout 54:cancel 55:termination; do
	check "${t#*:}: all spans are closed" part ${t%:*} 'SELECT\{statement\{plan executor_start executor_run\{wait_timeout\+?\}\}\}$'
	check "${t#*:}: the unit's end says that the statement failed" failed ${t%:*} 1
	check "${t#*:}: no unit stays open" equal "$(grep -c "^${t%:*} open" "$D/read")" 0
done
check "a request with a foreign context ends with status 1" equal "$(last 56 request_end.status)" 1
check "an error in the planner closes its span" shape 57 "SELECT{statement{plan}}"

check "a wait for a row lock is a span inside executor_run" part 60 \
	'UPDATE\{statement\{plan executor_start executor_run\{wait_lock\+?\} executor_finish executor_close commit\{wait_wal_write wait_wal_sync\}\}\}$'
lock_share() { TRACE=60; [ "$(ns 60 wait_lock)" -gt 1450000000 ] && [ $(($(ns 60 wait_lock) * 10)) -gt $(($(ns 60 statement) * 7)) ]; }
check "this wait is most of the statement's time" lock_share
check "the wait for a checkpoint in another process is a span" part 61 'CHECKPOINT\{statement\{utility\{wait_ipc\+?\} commit\}\}$'	# one or more waits
pages() { TRACE=6[23]; [ "$(last 62 executor_run_end.wal_fpi)" -ge 1 ] && [ "$(last 63 executor_run_end.wal_fpi)" = 0 ]; }
check "after a checkpoint full page images are logged once" pages
blocks() { TRACE=6[45]; [ "$(last 64 executor_run_end.hit)" -gt 400 ] && [ "$(($(last 65 executor_run_end.hit) + $(last 65 executor_run_end.read)))" -lt 20 ]; }
check "without an index more blocks are read" blocks
check "a sort beyond work_mem has waits for temporary files" part 66 'executor_run\{wait_temp\+'
check "copy is a unit" part 67 'COPY\{statement\{utility'
check "the unit of a killed backend stays open" equal "$(grep -c '^70 open' "$D/read")" 1
check "units after the crash are in order" shape 71 "SELECT{statement{plan $QUERY commit}}"

echo "1..$N"
exit $FAILED
