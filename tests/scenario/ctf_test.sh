#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone analyze on folders that a real LTTng wrote: requests by libhone's context, and by a pair of events on a thread.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond
own_node
D=$(mktemp -d)
export LTTNG_HOME=$D
end() {
	local pid
	for pid in $(cat "$D/sessiond.pid" 2> /dev/null); do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	rm -rf "$D"
}
trap end EXIT

# record NAME BUFFERS CONTEXT...: records while each of two programs serves five requests
record() {
	local name=$1 buffers=$2
	shift 2
	lttng -n create "$name" --output="$D/$name" && lttng -n enable-channel -u "$buffers" --num-subbuf=8 --subbuf-size=64k -s "$name" c || return 1
	for context in "$@"; do lttng -n add-context -u -s "$name" -c c -t "$context" || return 1; done
	lttng -n enable-event -u -s "$name" -c c 'hone:*,example:*' && lttng -n start "$name" || return 1
	HONE_SAMPLE=1 "$O/bin/hone-example" 40 && HONE_SAMPLE=1 "$O/bin/hone-example" 40 || return 1
	lttng -n stop "$name" && lttng -n destroy "$name"
}
# says FOLDER FILTER WANTED [FLAGS...]: the jq filter returns WANTED on the document
says() {
	local got folder=$1 filter=$2 wanted=$3
	shift 3
	"$O/bin/hone" analyze "$folder" --json "$@" > "$D/document" || return 1
	got=$(jq -c "$filter" "$D/document") && [ "$got" = "$wanted" ] || { echo "wanted $wanted, got $got"; return 1; }
}
# checks CODE FOLDER FILTER [FLAGS...]: hone check exits with CODE, and the jq filter is true of its answer
checks() {
	local code=$1 folder=$2 filter=$3 rc=0
	shift 3
	"$O/bin/hone" check "$folder" --json "$@" > "$D/document" || rc=$?
	[ $rc = "$code" ] && jq -e "$filter" "$D/document" || { echo "exit $rc"; cat "$D/document"; return 1; }
}
refused() {
	local code=$1 words=$2 rc
	shift 2
	"$O/bin/hone" analyze "$@" > "$D/out" 2>&1
	rc=$?
	cat "$D/out"
	[ $rc = "$code" ] && grep -q -- "$words" "$D/out"
}

lttng-sessiond --no-kernel --background --pidfile="$D/sessiond.pid" --agent-tcp-port=$((20000 + $$ % 20000)) \
	2> "$D/sessiond.log" || { cat "$D/sessiond.log"; exit 1; }
check "LTTng records two programs, one folder for each" record pids --buffers-pid vtid '$app.hone:trace_id' '$app.hone:unit_id'
check "LTTng records two programs in one folder" record uid --buffers-uid vpid vtid procname '$app.hone:trace_id' '$app.hone:unit_id'
check "LTTng records without contexts" record bare --buffers-pid

for kind in pids uid; do
	check "$kind: every request is a trace" says "$D/$kind" '.source.counts.traces' 80
	check "$kind: all traces have one type" says "$D/$kind" '[.types[].type]' '["GET_SUM"]'
	check "$kind: all traces are in one group" says "$D/$kind" '[.types[0].groups[].count]' '[80]'
	check "$kind: the path leads through the other thread" says "$D/$kind" '.types[0].groups[0].path' '["hone-example/hone:request_begin(GET_SUM)","hone-example/hone:fork(sum)","hone-example/hone:unit_begin(sum)","hone-example/example:work_begin","hone-example/example:work_end","hone-example/hone:unit_end(sum)","hone-example/hone:join(sum)","hone-example/hone:request_end(GET_SUM)"]'
	check "$kind: edges add up to the mean" says "$D/$kind" '.types[0].groups[0] | ([.edges[].mean_ms] | add) - .mean_ms | fabs < 1e-6' true
	check "$kind: hone check says that the instrumentation is right" checks 0 "$D/$kind" \
	    '.mistakes == [] and .spans == 0 and .traces == 80 and .requests[0].ended == 80 and (.forks[0] | .forked == 80 and .begun == 80 and .joined == 80)'
	check "$kind: hone check names requests that do not end, as of a pair of events" checks 1 "$D/$kind" \
	    '.mistakes | length == 1 and .[0].kind == "request-open" and .[0].mapped' --correlate thread=example:work_begin..example:no_end
	check "$kind: no record was skipped" says "$D/$kind" '.source.skipped' '[]'
	check "$kind: --correlate makes a request of a pair of events on a thread" says "$D/$kind" \
	    '[.source.counts.traces, .types[0].type, .types[0].groups[0].count]' '[80,"example:work_begin",80]' \
	    --correlate thread=example:work_begin..example:work_end
done
check "fields of the events are tried as keys" says "$D/pids" '.types[0].groups[0].keys_tried > 0' true
check "the error names the missing context of the trace id" refused 1 'app.hone:trace_id' "$D/bare"
check "the error names the missing context of the thread" refused 1 'vtid' "$D/bare" --correlate thread=example:work_begin..example:work_end
check "a malformed rule is misuse: exit 2" refused 2 'thread=BEGIN..END' "$D/pids" --correlate thread=x
alone() {	# runs hone without the shared objects next to it
	mkdir "$D/bin" && cp "$O/bin/hone" "$D/bin" || return 1
	"$D/bin/hone" analyze "$D/pids" > "$D/out" 2>&1
	[ $? = 1 ] && grep "cannot be loaded: .*lib/hone/ctf.so" "$D/out"
}
check "without ctf.so the error names this file" alone
cut_short() {
	find "$D/pids" -name 'c_*' -not -name '*.idx' -size +0 | sort | head -1 | xargs -I% truncate -s 5000 %
	find "$D/pids" -name '*.idx' -delete
	"$O/bin/hone" analyze "$D/pids" --json > "$D/document"
	[ "$(jq '.source.counts.traces' "$D/document")" -ge 40 ] && jq -e '.source.skipped | length > 0' "$D/document"
}
check "a folder that was truncated is analysed, and the loss is reported" cut_short
echo "1..$N"
exit $FAILED
