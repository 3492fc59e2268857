#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests of programs that know nothing of Hone, from what the kernel sees: three services whose threads block, and three event loops, are
# recorded while 10,000 requests go through them; each graph is compared with what the services did. Then hone analyze makes of a recording what it
# makes of every trace.
# Services of several network namespaces with the same addresses and ports are recorded together.
# O: the folder of `make all kernel-requests-scenario`.
. "$(dirname "$0")/lib.sh"
needs root jq
B=$O/lib/hone/hone-below S=$O/tests/scenario H=$O/bin/hone
[ -x "$B" ] || skip "hone-below was not built: it needs clang and libbpf"
"$B" --can --json | jq -e .waits > /dev/null || skip "BPF is not permitted here"
D=$(mktemp -d)
PIDS=()
trap 'kill "${PIDS[@]}" 2> /dev/null; wait; rm -rf "$D"' EXIT
why() { tail -n 20 "$D"/*.log 2> /dev/null; }

echo 1..39
RECORD=(kernel record)
# run NAME KIND CLIENTS REQUESTS FLAG...: the services serve so many requests while hone, with the words of RECORD, records them
run() {
	local name=$1 kind=$2 clients=$3 requests=$4 work record
	shift 4
	rm -f "$D/in" "$D/out" && mkfifo "$D/in"
	"$S/kernel_requests_work" "$kind" "$clients" "$requests" "$D/$name.truth" < "$D/in" > "$D/out" 2> "$D/$name.work.log" &
	work=$!
	PIDS+=($work)
	exec 9> "$D/in"
	wait_for 60 grep -q ready "$D/out" || bail "the services do not begin"
	"$H" "${RECORD[@]}" --seconds 100 --pid $work --json "$@" "$D/$name" > "$D/$name.json" 2> "$D/$name.log" &
	record=$!
	PIDS+=($record)
	wait_for 60 grep -q "recording .*the kernel" "$D/$name.log" || bail "hone ${RECORD[*]} does not begin"
	sleep 1
	echo go >&9
	wait_for 120 grep -q done "$D/out" || bail "the services do not end"
	exec 9>&-
	wait $work
	kill -INT $record
	wait $record
	"$S/kernel_requests_truth" "$D/$name" "$D/$name.truth" $([ "$name" = all ] && echo all) > "$D/$name.found" 2> "$D/$name.compare.log"
	cat "$D/$name.found" >> "$D/$name.compare.log"
}
# at_least WHAT SHARE NAME: so many of its requests
at_least() { awk -v what="$1" -v share="$2" '{ for (i = 1; i < NF; i += 2) n[$i] = $(i + 1) } END { exit !(n["requests"] > 0 && n[what] >= share * n["requests"]) }' "$D/$3.found"; }
none() { awk -v what="$1" '{ for (i = 1; i < NF; i += 2) n[$i] = $(i + 1) } END { exit !(n["requests"] > 0 && n[what] == 0) }' "$D/$2.found"; }

for kind in blocking epoll; do
	run $kind $kind 8 10000 --texts
	check "$kind: nothing is lost" jq -e '.ok and .lost == 0' "$D/$kind.json"
	check "$kind: 10,000 requests were served" grep -q "^requests 10000 " "$D/$kind.found"
	check "$kind: at least 99.9 % of the graphs are exact" at_least exact 0.999 $kind
	check "$kind: none is wrong that seems to be right" none unmarked $kind
done
run all blocking 4 2000
check "rule all: at least 99.9 % of the graphs are exact where threads block" at_least exact 0.999 all

# ---- several network namespaces
# namespace: one that lives as long as its process, $ns, with so few ports for clients that two of them must use the same ones
namespace() {
	unshare -n sleep 1000 &
	ns=$!
	PIDS+=($ns)
	wait_for 10 sh -c "! [ /proc/$ns/ns/net -ef /proc/self/ns/net ]" || bail "no network namespace"
	in_net $ns ip link set lo up
	in_net $ns sysctl -qw net.ipv4.ip_local_port_range="40000 40023"
}
in_net() { nsenter -t "$1" -n "${@:2}"; }
# pair: two namespaces $front and $back, joined by a cable, with the addresses of the services
pair() {
	namespace && front=$ns
	namespace && back=$ns
	ip link add hone0 netns $front type veth peer name hone0 netns $back || return 1
	in_net $front ip addr add 10.77.0.2/24 dev hone0
	in_net $back ip addr add 10.77.0.3/24 dev hone0
	in_net $back ip addr add 10.77.0.4/24 dev hone0
	in_net $front ip link set hone0 up
	in_net $back ip link set hone0 up
}
# together NAME COMMAND...: several commands of services, each one word, which are recorded together
together() {
	local name=$1 n=0 works=() record
	shift
	for command in "$@"; do
		rm -f "$D/in$n" && mkfifo "$D/in$n"
		$command < "$D/in$n" > "$D/out$n" 2> "$D/$name.work$n.log" &
		works+=($!)
		eval "exec $((7 + n))> '$D/in$n'"
		wait_for 60 grep -q ready "$D/out$n" || bail "the services do not begin"
		n=$((n + 1))
	done
	PIDS+=("${works[@]}")
	"$H" kernel record --seconds 100 --pid "$(IFS=,; echo "${works[*]}")" --json --texts "$D/$name" > "$D/$name.json" 2> "$D/$name.log" &
	record=$!
	PIDS+=($record)
	wait_for 60 grep -q "recording the kernel" "$D/$name.log" || bail "hone kernel record does not begin"
	sleep 1
	for i in $(seq 0 $((n - 1))); do echo go >&$((7 + i)); done
	for i in $(seq 0 $((n - 1))); do wait_for 120 grep -q done "$D/out$i" || bail "the services do not end"; done
	exec 7>&- 8>&-
	wait "${works[@]}"
	kill -INT $record
	wait $record
	cat "$D/$name".truth? > "$D/$name.truth"
	"$S/kernel_requests_truth" "$D/$name" "$D/$name.truth" > "$D/$name.found" 2> "$D/$name.compare.log"
	cat "$D/$name.found" >> "$D/$name.compare.log"
}
in_ns() { echo "nsenter -t $1 -n $S/kernel_requests_work blocking 8 2000 $2 $3"; }
namespace && one=$ns
namespace && two=$ns
together loopback "$(in_ns $one "$D/loopback.truth0" 1000000)" "$(in_ns $two "$D/loopback.truth1" 5000000)"
check "two namespaces: nothing is lost" jq -e '.ok and .lost == 0' "$D/loopback.json"
check "two namespaces: 4,000 requests were served" grep -q "^requests 4000 " "$D/loopback.found"
check "two namespaces: at least 99.9 % of the graphs are exact, though both have the same addresses and ports" at_least exact 0.999 loopback
check "two namespaces: none is wrong that seems to be right" none unmarked loopback
of_pair() { echo "$S/kernel_requests_work blocking 8 2000 $1 $2 /proc/$front/ns/net /proc/$back/ns/net"; }
pair || bail "no network between namespaces"
one=$(of_pair "$D/cable.truth0" 1000000)
together cable "$one"
check "a network between namespaces: 2,000 requests were served" grep -q "^requests 2000 " "$D/cable.found"
check "a network between namespaces: at least 99.9 % of the graphs are exact" at_least exact 0.999 cable
check "a network between namespaces: none is wrong that seems to be right" none unmarked cable
one=${one//cable/both}
pair || bail "no network between namespaces"
together both "$one" "$(of_pair "$D/both.truth1" 5000000)"
check "two such networks with the same addresses: that messages are ambiguous is counted" grep -q "^[0-9]* ambiguous$" "$D/both.compare.log"
check "two such networks with the same addresses: none is wrong that seems to be right" none unmarked both

# ---- what hone makes of it
"$H" analyze "$D/blocking" --json --samples --html "$D/page.html" > "$D/document.json" 2> "$D/analyze.log"
check "hone analyze knows the recording" jq -e '.source.counts.traces == 10000 and .source.failed == []' "$D/document.json"
check "the request type is the address and the path, without ids" jq -e '.types | length == 1 and .[0].type == "127.0.0.2:8001 GET /front/{id}"' "$D/document.json"
check "the paths go through the services" jq -e '[.types[].groups[].path[]? | tostring] | any(contains("stock/hone:unit_begin"))' "$D/document.json"
check "single requests have their graphs" jq -e '.requests | length == 100 and all(.units[0].service == "front" and .lossy == false)' "$D/document.json"
check "a call is a unit that its caller waits for" jq -e '[.requests[].units[] | select(.parent != null)] | length > 50 and all(.joined and .end_ms != null)' "$D/document.json"
check "units say what their threads waited for" jq -e '[.requests[].units[].waits_ms.network // 0] | add > 0' "$D/document.json"
check "there is a page" grep -q "GET /front/{id}" "$D/page.html"
"$H" analyze "$D/epoll" --dot "$D/graph.dot" > "$D/text" 2>> "$D/analyze.log"
check "--dot writes the graphs" grep -q 'r0_0 \[label="front' "$D/graph.dot"
check "the text shows them as other traces" grep -q "10,000 requests of 1 type" "$D/text"
"$H" analyze "$D/blocking" --gateway 127.0.0.1:9 > "$D/none" 2>&1
check "a gateway that sends nothing begins no request" [ $? = 1 ]
"$H" analyze "$D/blocking" --gateway 127.0.0.0/8,x > "$D/bad" 2>&1
check "a gateway that is no address is refused" [ $? = 2 ]

# ---- what the kernel did for each of them: a service writes one line for each request, sends to those that it calls and to its caller, and
# receives from those that it calls
# owns NAME RECEIVED: of all spans that are annotated, this is so; of event loops what is received is not known to belong to one request, and the loop
# may find meanwhile that a connection is closed
owns() {
	jq -e --arg received "$2" '
		(.spans | group_by(.parent) | map({key: (.[0].parent // ""), value: length}) | from_entries) as $below
		| [.spans[] | select(.not_attributed == null) | ($below[.span] // 0) as $n | (.summary | map({key: .name, value: .count}) | from_entries) as $calls
			| select($calls.write != 1 or $calls.sendto != $n + 1 or
				($received == "all" and ($calls.recvfrom // 0) != $n))] as $wrong
		| [.counts.annotated, .counts.not_attributed, ($wrong | length), $wrong[0]] | debug
		| .[0] > 500 and .[2] == 0' "$D/$1.json"
}
RECORD=(annotate)
run live blocking 4 500 --texts --events sched,net,syscalls
check "annotate live: no span is without its thread" jq -e '.counts.traces == 500 and .counts.annotated == .counts.spans - (.counts.not_attributed.lossy // 0)' "$D/live.json"
check "annotate live: at least 99 % of the requests are annotated" jq -e '(.counts.not_attributed.lossy // 0) < 0.01 * .counts.spans' "$D/live.json"
check "annotate live: each request has the system calls that its service made for it" owns live all
run loops epoll 4 500 --texts --events sched,net,syscalls
check "annotate live: requests of event loops have their sends and their write, and no other ones" owns loops none
"$H" annotate "$D/live/kernel" --json > "$D/again.json" 2>> "$D/analyze.log"
check "annotate of the recording: the same" cmp <(jq -S . "$D/live.json") <(jq -S . "$D/again.json")
"$H" annotate "$D/live/kernel" --limit 1 --calls sendto --html "$D/annotated.html" > "$D/text" 2>> "$D/analyze.log"
check "its text says which request it is" grep -q "GET /[a-z]*/{id}  span" "$D/text"
check "there is a page of it" grep -q "sendto" "$D/annotated.html"
"$H" annotate "$D/live/kernel" --gateway 127.0.0.1:9 > "$D/none" 2>&1
check "a gateway that sends nothing begins no request to annotate" [ $? = 1 ]
"$H" annotate "$D/live/kernel" --spans "$D/live.json" --rule all > "$D/bad" 2>&1
check "a rule for messages and spans of a file contradict each other" [ $? = 2 ]

export XDG_DATA_HOME="$D"
"$H" baseline save before "$D/blocking" > /dev/null 2>> "$D/analyze.log"
check "a baseline is made of it" "$H" analyze "$D/epoll" --baseline before
exit $FAILED
