#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone map check against a running program, and hone analyze --map of its recording by a real LTTng: requests on one
# thread, and requests that move between threads under changing ids.
# O: the folder that `make all agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond babeltrace2 jq
own_node
D=$(mktemp -d)
export LTTNG_HOME=$D
end() {
	local pid
	for pid in ${program:-} $(cat "$D/sessiond.pid" 2> /dev/null); do
		kill -CONT "$pid" 2> /dev/null
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	rm -rf "$D"
}
trap end EXIT
hone() { "$O/bin/hone" "$@"; }

cat > "$D/broker.map" << 'MAP'
[program]
service = map_program

[request call]
begin = broker:call_begin
end = broker:call_end
correlate = thread
type_field = op
nested = no

[request job]
begin = broker:queued
begin_id = job
end = broker:done
end_id = task
correlate = field
type = JOB
step = broker:started job -> task
step = broker:written task
MAP

# says EXIT TEXT COMMAND...: the command exits with EXIT, and one line contains TEXT
says() {
	local code=$1 words=$2 said rc=0
	shift 2
	said=$("$@" 2>&1) || rc=$?
	echo "exit $rc: $said"
	[ $rc = "$code" ] && grep -qF -- "$words" <<< "$said"
}
# with SED EXIT TEXT: the mapping, edited by SED, is checked against the program
with() {
	sed "$1" "$D/broker.map" > "$D/edited.map"
	says "$2" "$3" hone map check "$D/edited.map"
}

echo 1..30
echo render > "$D/control"
lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) \
	2> "$D/sessiond.log" || { cat "$D/sessiond.log"; exit 1; }
"$O/tests/scenario/map_program" "$D/control" &
program=$!
listed() { lttng -n list -u | has broker:done; }
wait_for 10 listed || bail "the program is not traceable"

# ---- the file against the program ----
lttng -n list -u -f > "$D/listed"
all=$(grep -c '(type: tracepoint)$' "$D/listed")
check "a mapping that fits the program has no errors" says 0 "no errors, compared with $all tracepoints of map_program (process $program)" hone map check "$D/broker.map"
check "an unknown tracepoint is reported with the nearest name" with 's/broker:done/broker:donne/' 1 \
	'edited.map:14: end: the program has no tracepoint broker:donne; did you mean broker:done?'
check "a pattern without a match is reported" with 's/broker:call_end/broker:call_e*x/' 1 \
	'edited.map:6: end: broker:call_e*x describes no tracepoint of the program'
check "an unknown field is reported with the nearest name" with 's/type_field = op/type_field = opp/' 1 \
	'edited.map:8: type_field: broker:call_begin has no field opp; did you mean op?'
check "an unknown field of an id is reported with the nearest name" with 's/started job/started jb as job/' 1 \
	'edited.map:18: step: broker:started has no field jb; did you mean job?'
check "a type that is a number is reported, but is no error" with 's/type_field = op/type_field = bytes/' 0 \
	'edited.map:8: note: type_field: bytes is a number'
check "an id whose fields have different types is reported" with 's/^step = broker:written task/step = broker:call_end op as task/' 1 \
	'edited.map:19: step: field op is a text, and id task was a number before: they are never equal'
check "two rules that begin with the same tracepoint are reported" with 's/begin = broker:queued/begin = broker:call_*/' 1 \
	'edited.map:12: begin: broker:call_begin begins [request call] in line 5 already'
check "a program that does not run is reported with those that do" with 's/map_program/mop_program/' 1 \
	'no running program named mop_program has tracepoints; found: map_program'
check "an unknown key is reported with its line" with 's/correlate = thread/corelate = thread/' 1 \
	'edited.map:7: no key "corelate"; did you mean correlate?'
check "a listing that LTTng wrote before can stand for the program" says 0 "no errors, compared with $all tracepoints" hone map check "$D/broker.map" --events "$D/listed"
check "--json has the same result" eval 'hone map check "$D/broker.map" --json | jq -e ".ok and .wrong == 0 and .program.pid == '$program' and .program.tracepoints == '$all'"'
check "--json has each error with its line" eval 'sed "s/broker:done/broker:x/; s/type_field = op/type_field = x/" "$D/broker.map" > "$D/edited.map"
	hone map check "$D/edited.map" --json > "$D/said"; [ $? = 1 ] && jq -e "(.ok | not) and .wrong == 2 and [.said[].line] == [8, 14]" "$D/said"'
check "hone map show describes the mapping in sentences" says 0 'broker:started belongs to it if field job matches; from then on field task is an id of it, too' hone map show "$D/broker.map"
for map in examples/*/*.map; do
	says 0 "no errors; not compared with a program" hone map check "$map" --no-program || { FAILED=1; echo "# $map"; }
done > "$D/maps" 2>&1
check "the mappings in the repository are valid" eval 'cat "$D/maps"; ! grep -q "^# " "$D/maps"'

# ---- what was recorded ----
# recorded NAME BUFFERS CONTEXT...: records about 1 s of the program, until 100 jobs are done
recorded() {
	local name=$1 buffers=$2 context
	shift 2
	lttng -n create "$name" --output="$D/$name" && lttng -n enable-channel -u "$buffers" --num-subbuf=8 --subbuf-size=64k -s "$name" c || return 1
	for context in "$@"; do lttng -n add-context -u -s "$name" -c c -t "$context" || return 1; done
	lttng -n enable-event -u -s "$name" -c c 'broker:*' && lttng -n start "$name" || return 1
	enough() { lttng -n rotate "$name" > /dev/null 2>&1; [ "$(babeltrace2 "$D/$name" 2> /dev/null | grep -c broker:done)" -ge 100 ]; }
	wait_for 30 enough
	lttng -n stop "$name" && lttng -n destroy "$name"
}
check "LTTng records the program with buffers for each process" recorded pid --buffers-pid vtid
check "LTTng records the program with buffers for each user" recorded uid --buffers-uid vpid vtid procname

# The expected values by an independent method: jobs queued, started and done in the trace, and calls that begin and
# end.
counted() {
	babeltrace2 --fields=trace "$1" 2> /dev/null | tr -d ',"' | awk '
		{ for (i = 1; i < NF; i++) if ($(i + 1) == "=") f[$i] = $(i + 2) }
		/broker:queued:/ { queued[f["job"]] = 1 }
		/broker:started:/ && f["job"] in queued { task[f["task"]] = 1 }
		/broker:done:/ && f["task"] in task { jobs++; delete task[f["task"]] }
		/broker:call_begin:/ { open[f["vtid"]] = 1 }
		/broker:call_end:/ && open[f["vtid"]] { calls++; open[f["vtid"]] = 0 }
		END { print jobs + 0, calls + 0 }'
}
for kind in pid uid; do
	read -r jobs calls <<< "$(counted "$D/$kind")"
	analysed() { hone analyze "$D/$kind" --map "$D/broker.map" --json > "$D/document" && jq -cS "$1" "$D/document"; }
	is() { local got; got=$(analysed "$2") && [ "$got" = "$1" ] || { echo "wanted $1, got $got"; return 1; }; }
	check "$kind: there are jobs and calls ($jobs, $calls)" [ "$jobs" -ge 50 -a "$calls" -ge 50 ]
	check "$kind: each job and each call is a request" is "{\"JOB\":$jobs,\"SEARCH\":$calls}" '[.types[] | {(.type): .count}] | add'
	check "$kind: all jobs take the same path" is 1 '[.types[] | select(.type == "JOB").groups[]] | length'
	check "$kind: their path has the steps of all threads" is '["queued","started","load_begin","load_end","decode_begin","decode_end","render_begin","render_end","encode_begin","encode_end","store_begin","store_end","written","done"]' \
		'.types[] | select(.type == "JOB").groups[0].path | map(split(":")[1]) | map(select(startswith("request_") | not))'
	# without the wait for a worker, which the fault keeps busy
	check "$kind: the slow step makes jobs unpredictable" is '["map_program/broker:render_begin","map_program/broker:render_end"]' \
		'[.types[] | select(.type == "JOB").groups[0].edges | map(select(.from | endswith(":queued") | not)) | max_by(.share) | .from, .to]'
done
check "without a mapping hone analyze says what to do" says 1 '--map FILE' hone analyze "$D/pid"

# ---- when LTTng does not answer ----
sessiond=$(cat "$D/sessiond.pid")
kill -STOP "$sessiond"
check "hone map check ends after --timeout if lttng list does not answer" says 1 'lttng list: no answer' timeout 20 "$O/bin/hone" map check "$D/broker.map" --timeout 1
kill -CONT "$sessiond"
check "afterwards lttng list answers again" says 0 'no errors' hone map check "$D/broker.map"
exit $FAILED
