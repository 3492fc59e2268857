#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Debian's nginx with Hone's module, on a private node, in front of an upstream that returns the context that it
# received: traces are complete for every kind of request, and nginx keeps serving on any input. O: the folder that
# `make nginx` built.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond babeltrace2 nginx curl jq python3
MODULE=$O/lib/hone/ngx_http_hone_module.so
. examples/node.sh
NODE=examples/node.sh
[ -e "$MODULE" ] && [ -e "$O/tests/scenario/instrument_policy" ] || skip "needs nginx' module: make nginx instrument-scenario (nginx-dev)"
D=$(mktemp -d)
chmod 755 "$D"
end() {
	[ -z "${UPSTREAM:-}" ] || kill "$UPSTREAM" 2> /dev/null
	$NODE stop "$D" n
	rm -rf "$D"
}
trap end EXIT
trap 'exit 1' INT TERM

PORT=$(node_free_port) H2=$(node_free_port) SELF=$(node_free_port) UP=$(node_free_port) DEAD=$(node_free_port)
U=http://127.0.0.1:$PORT
mkdir -p "$D/www/dir" "$D/cache"
echo hello > "$D/www/hello.txt"
echo index > "$D/www/dir/index.html"
echo '<!--#include virtual="/api/one-slow" --> and <!--#include virtual="/api/two-slow" -->' > "$D/www/page.shtml"
head -c 6000000 /dev/zero > "$D/www/large.bin"

# conf WORKERS [MORE]: nginx.conf, with MORE in http {}
conf() {
	cat <<- EOF
	load_module $MODULE;
	daemon off; worker_processes $1; user www-data; pid $D/nginx.pid; error_log $D/error.log info;
	worker_shutdown_timeout 10s;
	events { worker_connections 512; }
	http {
		access_log $D/access.log; log_not_found off;
		$(for t in client_body proxy fastcgi uwsgi scgi; do echo "${t}_temp_path $D/$t;"; done)
		limit_req_zone all zone=limit:1m rate=10r/s;
		proxy_cache_path $D/cache keys_zone=cache:1m;
		upstream back { server 127.0.0.1:$UP max_fails=0; keepalive 8; }
		upstream two  { server 127.0.0.1:$DEAD max_fails=0; server 127.0.0.1:$UP max_fails=0; }
		upstream pair { server 127.0.0.1:$UP max_fails=0; server 127.0.0.1:$UP max_fails=0; }
		upstream none { server 127.0.0.1:$DEAD max_fails=0; }
		upstream self { server 127.0.0.1:$SELF; keepalive 8; }
		keepalive_requests 100000; client_max_body_size 20m;
		hone on;
		proxy_set_header traceparent \$hone_traceparent;
		proxy_set_header tracestate  \$hone_tracestate;
		proxy_http_version 1.1;
		proxy_set_header Connection "";
		${2:-}
		server {
			listen 127.0.0.1:$PORT;
			listen 127.0.0.1:$H2 http2;
			root $D/www;
			location / { }
			location /api { proxy_pass http://back; }
			location /trust { hone_trust on; hone_type TRUST; proxy_pass http://back; }
			location /deep { hone_type DEEP; proxy_pass http://self; }
			location /two { proxy_pass http://two; }
			location /none { proxy_pass http://none; }
			location /again { proxy_next_upstream http_503; proxy_pass http://pair; }
			location /named { set \$to 127.0.0.1:$UP; proxy_pass http://\$to; }
			location /hang { proxy_read_timeout 200ms; proxy_pass http://back; }
			location /limit { limit_req zone=limit burst=50; proxy_pass http://back; }
			location /auth { auth_request /api/check; proxy_pass http://back; }
			location /mirror { mirror /api/mirror-slow; proxy_pass http://back; }
			location /page.shtml { ssi on; ssi_types *; }
			location /cache { proxy_cache cache; proxy_cache_valid 200 1m; proxy_pass http://back; }
			location /stream { proxy_buffering off; proxy_request_buffering off; proxy_pass http://back; }
			location /accel { proxy_pass http://back; }
			location = /inner/x { internal; alias $D/www/hello.txt; }
			location /fail { error_page 404 = @fallback; }
			location @fallback { proxy_pass http://back; }
			location /rate { alias $D/www/large.bin; limit_rate 30m; }
			location /off { hone off; proxy_pass http://back; }
			location /off/trust { hone off; hone_trust on; proxy_pass http://back; }
			location /kinds { hone_type "\$arg_kind"; return 200 "\$hone_trace_id\n"; }
			location /return { return 204; }
			location /deny { deny all; }
		}
		server {
			listen 127.0.0.1:$SELF;
			hone_trust on; hone_type SELF;
			location / { proxy_pass http://back; }
		}
	}
	EOF
}
in_node() { $NODE exec "$D" n "$@"; }
# Each nginx writes and removes the same pid file. So one is up when the file has the pid of the process that was begun here, and that
# process is ended, whoever else may still be there.
nginx_up() { [ -s "$D/n/nginx.pid" ] && [ "$(cat "$D/nginx.pid")" = "$(cat "$D/n/nginx.pid")" ]; }
nginx_start() {	# [HONE_SAMPLE [CONF [PRELOAD]]]
	rm -f "$D/n/nginx.pid"
	$NODE run "$D" n nginx env HONE_SAMPLE=${1:-1} LD_PRELOAD="${3-liblttng-ust-fork.so.1}" nginx -c "$D/${2:-nginx}.conf"
	wait_for 20 nginx_up || { cat "$D/n/nginx.log"; bail "nginx starts"; }
}
free() { ! (exec 3<> "/dev/tcp/127.0.0.1/$PORT") 2> /dev/null; }
nginx_stop() {	# until the process has ended and its port is free, so that the next nginx is not mistaken for it
	local pid it
	pid=$(cat "$D/n/nginx.pid")
	kill -QUIT "$pid"
	wait_for 20 gone "$pid" && wait_for 20 free && return
	for it in "$pid" $(pgrep -P "$pid"); do tail -n +1 "/proc/$it"/{status,wchan,task/*/syscall}; done 2> /dev/null | sed "s/^/# /"
	bail "nginx ends"
}
answers() { curl -fs -o /dev/null "$1"; }
workers() { pgrep -P "$(cat "$D/nginx.pid")" -f 'worker process' | sort; }

session_start() {
	{
		in_node lttng -n create "$1" --output="$D/$1" && in_node lttng -n enable-channel -u --buffers-pid --num-subbuf=16 --subbuf-size=256k c
		in_node lttng -n add-context -u -c c -t '$app.hone:trace_id' -t '$app.hone:unit_id' -t vpid
		in_node lttng -n enable-event -u -c c 'hone:*' --filter '$app.hone:sampled == 1'
		in_node lttng -n enable-event -u -c c 'nginx:*' && in_node lttng -n start
	} > "$D/lttng.log" 2>&1
}
session_end() {	# NAME [KILLED PIDS]: writes the traces to NAME.json
	in_node lttng -n destroy "$1" >> "$D/lttng.log" 2>&1
	python3 tests/scenario/nginx_peer.py traces "$D/$1" "${@:2}" > "$D/$1.json"
}
# traces FILTER: on traces.json; $t are the traces
jqt() { jq -e --arg type "${2:-}" "[.traces[] | select(.type == \$type or \$type == \"\")] as \$t | $1" "$D/$SESSION.json"; }
why() { [ ! -s "$D/error.log" ] || grep -v '\[info\]\|\[notice\]' "$D/error.log" | tail -n 5; }

# ---- nginx -t ----------------------------------------------------------------------------
conf 2 > "$D/nginx.conf"
check "nginx accepts the configuration" nginx -q -t -c "$D/nginx.conf"
refused() {	# TEXT DIRECTIVES: nginx -t refuses these in http {}, with this message
	conf 1 "$2" > "$D/wrong.conf"
	! nginx -t -c "$D/wrong.conf" > "$D/said" 2>&1 && grep -q "$1" "$D/said" || { cat "$D/said"; return 1; }
}
check "the directive hone accepts only on and off" refused 'it must be "on" or "off"' 'server { hone maybe; }'
check "hone_type needs a name" refused '"hone_type" directive needs a name' 'hone_type "";'
check "hone_type accepts at most 63 bytes" refused 'is longer than 63 bytes' "hone_type $(printf 'x%.0s' {1..64});"
check "hone_type may occur once" refused 'is duplicate' 'hone_type a; hone_type b;'
check "hone_type accepts only variables that nginx knows" refused 'unknown "nonsense" variable' 'hone_type $nonsense;'
check "hone is not allowed in an upstream" refused 'directive is not allowed here' 'upstream x { hone on; }'
check "hone_trust takes one argument" refused 'invalid number of arguments' 'hone_trust on off;'

# ---- the page's settings -------------------------------------------------------------------
page() { sed -n '/^```nginx/,/^```/{/^```/d;p}' docs/nginx.md | sed "s|/usr/local/lib/hone|$O/lib/hone|"; }
{
	page | sed '/^http {/,$d'
	echo "daemon off; user www-data; pid $D/nginx.pid; error_log $D/error.log info; events { }"
	page | sed -n '/^http {/,$p'
	echo "access_log off; $(for t in client_body proxy fastcgi uwsgi scgi; do echo "${t}_temp_path $D/$t;"; done)"
	echo "server { listen 127.0.0.1:$PORT; location / { proxy_pass http://127.0.0.1:$UP; } } }"
} > "$D/page.conf"
check "the documentation has four lines for nginx.conf" bash -c '[ "$(grep -c ";" <<< "$1")" = 4 ]' - "$(page)"

# ---- each kind of request--------------------------------------------------------------------------
$NODE start "$D" n || exit 1
python3 tests/scenario/nginx_peer.py upstream "$UP" 2> "$D/upstream.log" &
UPSTREAM=$!
wait_for 20 answers "http://127.0.0.1:$UP/" || exit 1
SESSION=each
session_start each
nginx_start
wait_for 20 answers "$U/api" || { cat "$D/n/nginx.log"; exit 1; }

got() { curl -s "$U$1" "${@:2}"; }
leave() { (exec 3<> "/dev/tcp/127.0.0.1/$PORT" && printf 'GET %s HTTP/1.1\r\nHost: x\r\n\r\n' "$1" >&3) }	# without waiting for the answer
got_each() {
	got /hello.txt; got /dir/; got /missing; got /deny; got /return; got /hello.txt -X BREW
	got /api/a; got /api/b -d some=body; got /api/c --data-binary @"$D/www/large.bin"; got /api/d -I
	got /api/chunks; got /deep/x; got /two/x; got /none/x; got /again/once; got /named/x; got /hang/x
	got /auth/x; got /mirror/x; got /page.shtml; got /cache/x; got /cache/x; got /fail/x; got /accel/x
	got /stream/chunks --data-binary @"$D/www/large.bin"; got /stream/x -H 'Transfer-Encoding: chunked' -d abc
	got /off/x; got '/kinds?kind=RED'; got /api/cut; got /rate; leave /api/slow; got /api/big --limit-rate 40M
	python3 tests/scenario/nginx_peer.py streams "$H2" /api/slow-stream 9 > "$D/streams"
	curl -s --http2-prior-knowledge "http://127.0.0.1:$H2/hello.txt" -d abc
	printf 'GET /api/p%d HTTP/1.1\r\nHost: x\r\n\r\n' 1 2 3 | sed '$!b' > "$D/pipe"
	printf 'GET /hello.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >> "$D/pipe"
	python3 tests/scenario/nginx_peer.py raw "$PORT" < "$D/pipe" | grep -c '^HTTP/1.1 200'
	printf 'GET / HTTP/1.1\r\nHo st: x\r\n\r\n' | python3 tests/scenario/nginx_peer.py raw "$PORT" | head -n 1
	printf 'nonsense\r\n\r\n' | python3 tests/scenario/nginx_peer.py raw "$PORT" | head -n 1
	got "/limit/[1-8]" --parallel --parallel-immediate
}
got_each > "$D/got" 2>&1
nginx_stop
session_end each

check "all traces are complete: spans are nested and ended, every unit belongs to a trace" jqt '.faults == {}'
check "there are over 45 traces" jqt '$t | length > 45'
type_has() { jqt "\$t | length > 0 and all($2)" "$1"; }
check "a static file has spans for its phases" jqt '($t | any(.spans | has("log"))) and ($t | all(.spans | has("access") and has("content")))' "GET /"
check "a request's type has its method and location, not text that a client made up" \
	jqt '[$t[].type] | index("OTHER /") != null and all(test("BREW|hello") | not)'
check "the recorded status is the one that the client got" jqt '[$t[].status] | contains([200, 404, 403, 204, 502, 504, 499])'
check "a request that was passed on has one fork, and a join if an answer came" \
	jqt '[$t[] | select(.status == 200)] | length > 10 and all((.forks | length) == 1 and .forks == .joins)' "GET /api"
check "the upstream got the trace id and the link of the fork" bash -c '
	grep -o "00-[0-9a-f]\{32\}-[0-9a-f]\{16\}-01" "$1" | sort -u | while IFS=- read _ trace link _; do
		jq -e --arg t "${trace:16}" --arg l "$link" "any(.traces[]; .trace == \$t and (.forks | index(\$l) != null))" "$2" ||
			echo "$trace $link"; done | grep -v true | { ! grep .; }' - "$D/got" "$D/each.json"
check "an nginx behind nginx is another unit of the same trace" type_has DEEP '.units == 2 and (.begun - .forks == []) and
	(.joins | length) == 2'
check "each attempt is a fork, and the one that was answered is joined" type_has "GET /two" \
	'(.forks | length) == 2 and (.joins | length) == 1 and (.spans.connect | map(.connected)) == [0, 1]'
check "an answer that is followed by another attempt is joined, too" jqt '[$t[] | select(.status == 200)] |
	length > 0 and all((.forks | length) >= 2 and (.joins | length) >= 1)' "GET /again"
check "without an answer there is no join" type_has "GET /none" '.status == 502 and .joins == []'
check "after a timeout there is no join; the wait for the header is a span" type_has "GET /hang" \
	'.status == 504 and .joins == [] and .spans.header[0].ms >= 150'
check "an upstream whose name comes from the request is traced" type_has "GET /named" \
	'(.joins | length) == 1 and .fork_names == ["upstream"] and (.spans | has("upstream"))'
check "a subrequest is a unit that the request waits for" type_has "GET /auth" '.units == 2 and .spans.access[0].ms > 0 and
	(.fork_names | sort) == ["back", "back", "subrequest"] and (.joins | length) == 3'
check "a mirror is a unit that the request does not wait for" jqt '$t | length > 0 and all(.ms < 350 and .units == 2)' "GET /mirror"
check "subrequests of includes run in parallel" type_has "GET /page.shtml" '.units == 3 and .ms < 750 and .ms > 390'
check "an answer from the cache has no fork" jqt '[$t[].forks | length] | sort == [0, 1]' "GET /cache"
check "an error page from an upstream is joined" type_has "GET /fail" '.status == 200 and (.joins | length) == 1'
check "X-Accel-Redirect has a second content phase" type_has "GET /accel" '.status == 200 and (.spans.content | length) >= 2'
check "waiting in limit_req is in the span preaccess" jqt '[$t[].spans.preaccess[0]] | map(.ms) | max > 100'  "GET /limit"
check "this span has the field waits" jqt '[$t[].spans.preaccess[0]] | map(.waits) | max == 1' "GET /limit"
check "reading a body is a span with its bytes" jqt 'any($t[].spans.read_body[]?; .received > 6000000 and .in_file == 1)' "POST /api"
check "an answer in pieces is joined at its last piece" \
	jqt 'any($t[]; .spans.body[]?.ms > 30 and (.joins | length) == 1)' "GET /api"
check "the time that the client takes to read is the span send" type_has "GET /rate" \
	'.spans.send[0].ms > 50 and .spans.send[0].sent > 6000000'
check "a client that disconnects: status 499 and no join" jqt 'any($t[]; .status == 499 and .joins == [])' "GET /api"
check "HTTP/2: streams of one connection are served in parallel" bash -c '[ "$(sort "$1" | uniq -c | tr -s " ")" = " 9 200" ]' - "$D/streams"
check "HTTP/2: each stream is a request" jqt '[$t[] | select(.spans.content[0].requests > 1 and .ms > 390 and .ms < 3000)] | length >= 8' "GET /api"
check "with hone off there is no request" jqt '[$t[].type] | index("GET /off") == null'
check "hone_type sets a request's type" jqt '$t | length == 1' RED

SESSION=page
session_start page
nginx_start 1 page
wait_for 20 answers "$U/x"
nginx_stop
session_end page
check "the settings in the documentation are sufficient" jqt '.faults == {} and ($t | length > 0 and
	all(.type == "GET /" and (.forks | length) == 1 and .forks == .joins))'
nginx_start 1 page ""
check "without liblttng-ust-fork nginx serves and passes contexts on" wait_for 20 bash -o pipefail -c '
	curl -fs "$1/x" | jq -e ".traceparent | length == 1"' - "$U"
nginx_stop

# ---- others' contexts --------------------------------------------------------------------------
SESSION=others
session_start others
nginx_start
wait_for 20 answers "$U/api"
P=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
context() { got "$1" -H "traceparent: $P" -H "tracestate: a=1" -H "tracestate: hone=b7ad6b7169203331-52e9781a3 , b=2" | jq -c "$2"; }
equal() { [ "$1" = "$2" ] || { echo "wanted: $2"; echo "got: $1"; return 1; }; }
check "a foreign trace id is kept" equal "$(context /api '.traceparent[0][0:36]')" "\"${P:0:36}\""
check "foreign members of tracestate are passed on after ours; Hone's member of an untrusted client is not" \
	equal "$(context /api '.tracestate[0] | sub("^hone=[0-9a-f]{16}-[0-9a-f]{8}1"; "ours")')" '"ours,a=1,b=2"'
check "a trusted client's member of Hone decides what is sampled" equal "$(context /trust '.tracestate[0][22:]')" '"52e9781a3,a=1,b=2"'
MANY=$(printf 'k%03d=v,' {1..600}) M=$(printf 'k%03d=v,' {1..68})	# 4,200 bytes; the 68 that fit in 480
check "this holds behind 4 KiB of other members; as many as fit in 480 bytes are passed on" \
	equal "$(got /trust -H "traceparent: $P" -H "tracestate: ${MANY}hone=b7ad6b7169203331-52e9781a3" | jq -c '.tracestate[0][22:]')" \
	"\"52e9781a3,${M%,}\""
M=$(printf 'k%03d=v,' {1..146})
check "with hone off and a trusted client, Hone's member and as many others as fit in 1,024 bytes are passed on" \
	equal "$(got /off/trust -H "traceparent: $P" -H "tracestate: ${MANY}hone=b7ad6b7169203331-52e9781a3" | jq -c '.tracestate[0]')" \
	"\"${M}hone=b7ad6b7169203331-52e9781a3\""
check "with hone off, traceparent is passed on unchanged" equal "$(context /off '.traceparent[0]')" "\"$P\""
check "with hone off, Hone's member of an untrusted client is removed" equal "$(context /off '.tracestate[0]')" '"a=1,b=2"'
check "nginx still serves after hundreds of malformed contexts" python3 tests/scenario/nginx_peer.py hostile "$PORT" 1 400
check "nginx still serves after malformed contexts over HTTP/2" bash -o pipefail -c 'for p in 0 "" $(printf "0%.0s" {1..900}) '"${P:0:54}"' "'"$P"', '"$P"'"; do
	curl -fs --http2-prior-knowledge "$1" -H "traceparent: $p" -H "tracestate: $p" | jq -e ".traceparent | length == 1" || exit; done' \
	- "http://127.0.0.1:$H2/trust"
check "requests with 400 made-up types are served" bash -c 'curl -fs "$1/kinds?kind=K[1-400]" > /dev/null' - "$U"
nginx_stop
session_end others
check "the traces of these requests are complete" bash -c 'jq -e ".faults | with_entries(select(.key | test(\"nobody made|0 request\") | not)) == {}" "$1" ||
	jq -c .faults "$1"' - "$D/others.json"
check "each worker records at most 256 types, and one for the others" \
	jqt '[$t[].type // "" | select(test("^K"))] | length <= 512 and ($t | any(.type == "(others)"))'

# ---- workers that come and go ------------------------------------------------------------------
SESSION=going
session_start going
nginx_start
wait_for 20 answers "$U/api"
load() { curl -s -o /dev/null -w '%{http_code}\n' --retry 2 --retry-all-errors "$U/api/load[1-400]" >> "$D/codes"; }
for i in 1 2; do load & LOADS="${LOADS:-} $!"; done
FIRST=$(workers)
kill -HUP "$(cat "$D/nginx.pid")"
others_work() { [ "$(workers | wc -l)" -ge 2 ] && [ -z "$(comm -12 <(workers) <(echo "$FIRST"))" ]; }
check "a reload under load replaces all workers" wait_for 30 others_work
KILLED=$(workers | head -n 1)
kill -KILL "$KILLED"
one_more() { [ "$(workers | wc -l)" = 2 ] && ! workers | has -x "$KILLED"; }
check "a killed worker is replaced" wait_for 20 one_more
wait $LOADS
NEW=$(workers | comm -23 - <(echo "$FIRST"))
cp "$MODULE" "$D/module.so" && sed -i "s|^load_module .*|load_module $D/module.so;|" "$D/nginx.conf"
FIRST=$(workers)
kill -HUP "$(cat "$D/nginx.pid")"
check "a reload with another copy of the module, as after an upgrade, replaces all workers" wait_for 30 others_work
check "the new workers serve requests" answers "$U/api"
check "no request of the load failed" bash -c '[ "$(sort -u "$1")" = 200 ]' - "$D/codes"
for i in {1..20}; do answers "$U/api/after"; done
nginx_stop
session_end going "$KILLED"
check "all traces are complete, except for those of the killed worker" jqt '.faults == {} and .lost <= 4'
check "every worker was traced, with its own pid" jqt '[$t[].pid] | unique | length >= 4'
check "LTTng discarded no record" bash -c '! babeltrace2 "$1" 2>&1 > /dev/null | grep -i discarded' - "$D/going"

# ---- nothing left --------------------------------------------------------------------------------
SESSION=quiet
conf 2 > "$D/nginx.conf"
session_start quiet
nginx_start 0
wait_for 20 answers "$U/api"
check "a context says that a request is not sampled" bash -c \
	'[[ $(curl -s "$1" | jq -r ".traceparent[0], .tracestate[0]" | tr "\n" " ") =~ -00\ hone=.*0\ $ ]]' - "$U/api"
check "a request with a subrequest is served without being sampled" bash -c 'curl -fs "$1" > /dev/null' - "$U/auth/x"
nginx_stop
session_end quiet
check "requests that are not sampled have no records" jqt '$t == []'

# ---- what a client chooses ---------------------------------------------------------------------
in_node "$O/tests/scenario/instrument_policy" "GET /api" 33333333 0 600 600 # of five requests one is sampled
nginx_start 0
wait_for 20 answers "$U/api"
# sampled LEAST MOST [CURL OPTION]...: of 400 requests so many are sampled, as the upstream sees it
sampled() {
	local n
	n=$(curl -fs "$U/api?[1-400]" "${@:3}" | jq -r '.traceparent[0]' | grep -c -- '-01$')
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ] || { echo "$n of 400"; return 1; }
}
check "of requests with a trace id that the client chose, no more and no fewer are sampled than the rate says" sampled 40 120 -H "traceparent: $P"
check "and as many of the others" sampled 40 120
in_node rm /dev/shm/hone-policy
nginx_stop
check "the error log has only the errors that the test caused" bash -c '! grep "\[\(emerg\|alert\|crit\)\]" "$1" | \
	grep -v "exited on signal 9"' - "$D/error.log"
check "no file stays in /dev/shm" bash -c '! "$@" find /dev/shm -name "hone*" | grep .' - "$PWD/examples/node.sh" exec "$D" n
echo "1..$N"
exit $FAILED
