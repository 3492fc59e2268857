#!/bin/bash
# SPDX-License-Identifier: MIT
# libhone under a real LTTng, on a private node: the records of every provider carry their request, and what must not be
# recorded is not. O: the folder that `make instrument-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond babeltrace2
own_node
D=$(mktemp -d)
export LTTNG_HOME=$D
mkfifo "$D/in" "$D/out"
: "${ASAN_OPTIONS=verify_asan_link_order=0}"
export ASAN_OPTIONS

end() {
	local pid
	for pid in ${PLAIN_PID:-} $(cat "$D/sessiond.pid" 2> /dev/null); do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	rm -rf "$D"
}
trap end EXIT

equal() { [ "$1" = "$2" ] || { echo "wanted: $2"; echo "got: $1"; return 1; }; }

# ---- recording: `flags` as the agent does, `all` without filters ---------------
session_make() {
	lttng -n create "$1" --output="$D/$1" && lttng -n enable-channel -u --buffers-pid --num-subbuf=8 --subbuf-size=64k -s "$1" c
	for context in trace_id unit_id "${@:2}"; do
		lttng -n add-context -u -s "$1" -c c -t "\$app.hone:$context"
	done
}
session_start() {
	rm -rf "$D/flags" "$D/all"
	session_make flags
	lttng -n enable-event -u -s flags -c c 'hone:*' --filter '$app.hone:sampled == 1'
	lttng -n enable-event -u -s flags -c c 'example:*' --filter '$app.hone:probed == 1'
	lttng -n enable-event -u -s flags -c c 'plain:*' --filter '$app.hone:probed == 1'
	session_make all sampled probed request_type nonsense
	lttng -n enable-event -u -s all -c c 'plain:*,example:*'
	lttng -n start flags
	lttng -n start all
} > "$D/lttng.log" 2>&1

# One line for each record: "event key=value ...", contexts without their prefix.
session_end() {
	for name in flags all; do
		lttng -n stop $name >> "$D/lttng.log" 2>&1 && lttng -n destroy $name >> "$D/lttng.log" 2>&1 &&
			session_print $name > "$D/$name.txt" 2>> "$D/lttng.log" || echo "session $name failed" > "$D/$name.txt"
	done
}
session_print() {
	babeltrace2 --no-delta --clock-seconds "$D/$1" | sed -E '
		s/^\[[^]]*\] (\([^)]*\) )?[^ ]+ ([a-z_]+:[a-z_]+):/\2/
		s/_app_hone_[a-z_]+_tag = \( "[^"]*" : container = [0-9]+ \),? ?//g
		s/_app_hone_[a-z_]+ = \{ \{ \} \}//g
		s/cpu_id = [0-9]+//; s/_app_hone_//g; s/[{},"]//g; s/ +/ /g; s/ = /=/g'
}

# have FILE REGEX: prints the number of matching lines
have() { grep -cE "$2" "$D/$1.txt"; }
# field NAME: prints it for each line of standard input
field() { sed -nE "s/.* $1=([^ ]*).*/\1/p"; }

policy() { "$O/tests/scenario/instrument_policy" "$@"; }
ask() { echo "$1" >&3; read -r -t 10 TRACE_ID UNIT_ID SAMPLED PROBED <&4; }
ask_until() { ask GET_PLAIN && [ "$SAMPLED $PROBED" = "$1" ]; }

lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) \
	2> "$D/sessiond.log" || { cat "$D/sessiond.log"; exit 1; }

# ---- a program linked with libhone ---------------------------------------------
policy GET_SUM ffffffff ffffffff 60 60
session_start
check "a program runs, sampled and probed" equal "$("$O/bin/hone-example" 5)" "5 requests served"
session_end
for event in request_begin request_end fork unit_begin unit_end join; do
	check "hone:$event is recorded once for each request" equal "$(have flags "^hone:$event ")" 5
done
check "the program's own tracepoints are recorded" equal "$(have flags '^example:work_(begin|end) ')" 10
check "every record carries trace id and unit id" equal "$(grep -cE ' trace_id=[1-9][0-9]* unit_id=[1-9][0-9]* ' "$D/flags.txt")" 40
check "five requests have five trace ids" equal "$(field trace_id < "$D/flags.txt" | sort | uniq -c | awk '{ print $1 }' | xargs)" "8 8 8 8 8"
check "each request has two units" equal "$(field unit_id < "$D/flags.txt" | sort -u | wc -l)" 10
check "the program's own tracepoints are in the worker's unit" equal \
	"$(grep ^example:work_begin "$D/flags.txt" | field unit_id)" "$(grep ^hone:unit_begin "$D/flags.txt" | field unit_id)"
check "the link of the fork is that of the join" equal \
	"$(grep -E '^hone:(fork|unit_begin|unit_end|join)' "$D/flags.txt" | field link_id | sort | uniq -c | awk '{ print $1 }' | xargs)" "4 4 4 4 4"
check "type names, status and the high half of the trace id are recorded" equal \
	"$(have flags '^hone:request_begin .*name=GET_SUM link_id=0 trace_id_high=[1-9][0-9]* probed=1 ?$') $(have flags '^hone:request_end .*name=GET_SUM status=200 ?$')" "5 5"

# ---- what must not be recorded--------------------------------------------------
# Runs the program; prints the number of records of hone:* and example:* that pass the filters. The third number is of
# example:* without a filter: it shows that recording works.
records() {
	session_start
	"$O/bin/hone-example" 5 > "$D/served"
	session_end
	echo "$(have flags ^hone:) $(have flags ^example:) $(have all ^example:)"
}
policy GET_SUM ffffffff 0 60 60
check "sampled but not probed: only hone's tracepoints are recorded" equal "$(records)" "30 0 10"
policy GET_SUM 0 ffffffff 60 60
check "not sampled: no record" equal "$(records)" "0 0 10"
policy GET_SUM ffffffff ffffffff 60 -1
check "the lease of added tracepoints has ended: only hone's are recorded" equal "$(records)" "30 0 10"
policy GET_SUM ffffffff ffffffff -1 60
check "the agent's lease has ended: no record" equal "$(records)" "0 0 10"
policy GET_OTHER ffffffff ffffffff 60 60
rm /dev/shm/hone-policy
check "without a table: no record" equal "$(records)" "0 0 10"
export HONE_SAMPLE=1
check "without a table, HONE_SAMPLE=1: only hone's tracepoints are recorded" equal "$(records)" "30 0 10"
unset HONE_SAMPLE

# ---- an unlinked program with the library preloaded; started before the sampling table
session_start
LD_PRELOAD=$O/lib/libhone.so "$O/tests/scenario/instrument_plain" < "$D/in" > "$D/out" & PLAIN_PID=$!
exec 3> "$D/in" 4< "$D/out"
ask GET_PLAIN
check "before the table exists, no request is sampled" equal "$SAMPLED $PROBED" "0 0"
FIRST="trace_id=$TRACE_ID unit_id=$UNIT_ID"
policy GET_PLAIN ffffffff ffffffff 60 60
wait_for 10 ask_until "1 1"
check "a table that is made later is found" equal "$SAMPLED $PROBED" "1 1"
LAST="trace_id=$TRACE_ID unit_id=$UNIT_ID"
ask GET_OTHER
check "a type that is not in the table is not sampled" equal "$SAMPLED $PROBED" "0 0"
policy GET_PLAIN ffffffff ffffffff 60 0.5
wait_for 10 ask_until "1 0"
check "an added tracepoint's lease that is not renewed ends" equal "$SAMPLED $PROBED" "1 0"
UNPROBED="trace_id=$TRACE_ID"
policy GET_PLAIN ffffffff ffffffff 0.5 60
wait_for 10 ask_until "0 0"
check "the agent's lease that is not renewed ends" equal "$SAMPLED $PROBED" "0 0"
exec 3>&- 4<&-
wait "$PLAIN_PID"
check "the program exits 0" equal $? 0
PLAIN_PID=
session_end
check "the step of a probed request is recorded with its ids" equal "$(have flags "^plain:step $LAST ")" 1
check "the step of a request that is not probed is not recorded" equal "$(have flags "^plain:step $UNPROBED ")" 0
check "the filter rejects steps outside of requests" equal "$(have flags 'where=outside')" 0
check "without a filter, steps outside of requests carry zeroes" equal \
	"$(have all 'where=outside')" "$(have all '^plain:step trace_id=0 unit_id=0 sampled=0 probed=0 request_type=0 .*where=outside')"
check "a request that is not sampled carries its ids" equal "$(have all "^plain:step $FIRST sampled=0 probed=0 .*where=inside")" 1
check "a sampled request carries its flags" equal "$(have all "^plain:step $LAST sampled=1 probed=1 request_type=[1-9][0-9]* .*where=inside")" 1
check "an unknown context is not recorded" equal "$(have all ' nonsense=')" 0

# ---- the same without libhone --------------------------------------------------
session_start
check "a program compiled without libhone runs" equal "$(echo GET_PLAIN | "$O/tests/scenario/instrument_plain")" "without libhone"
session_end
check "it is traced, without contexts" equal "$(have all '^plain:step ') $(have all 'trace_id=') $(have flags .)" "2 0 0"

echo "1..$N"
exit $FAILED
