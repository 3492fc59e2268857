#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The reader compared with babeltrace2 on the same live sessions: every record, every field, in order, and every loss.
# O: the folder that `make source-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond babeltrace2 perl
own_node
D=/dev/shm/test
mkdir $D
export LTTNG_HOME=$D HONE_SAMPLE=1 HONE_POLICY=$D/none LTTNG_UST_REGISTER_TIMEOUT=-1
: "${ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0}"
export ASAN_OPTIONS

end() {
	local pid
	for pid in $(jobs -p); do
		kill -CONT "$pid" 2> /dev/null
		kill "$pid" 2> /dev/null
	done
	[ -n "${SESSIOND:-}" ] && { wait_for 20 gone "$SESSIOND" || kill -9 "$SESSIOND"; }
	rm -rf "$D"
}
trap end EXIT

why() { tail -n 3 "$D/said" 2> /dev/null; }
is() { [ "$1" "$2" "$3" ] || { echo "wanted $2 $3, got $1"; return 1; }; }

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > $D/sessiond.log 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1

# ---- sessions -------------------------------------------------------------------
# session_start NAME SUBBUF_BYTES SUBBUFS TIMER_US DUMP_OPTIONS...
session_start() {
	S=$1
	mkdir $D/$S.out
	"$O/tests/scenario/source_session" "$S" $D/$S.out $D/$S.shm "$2" "$3" "$4" || exit 1
	shift 4
	rm -f $D/until
	"$O/tests/scenario/source_dump" $D/$S.out $D/$S.shm $D/until "$@" > $D/$S.ours 2> $D/said &
	DUMP=$!
}
# Stops tracing, waits until the reader has read everything, and sets its numbers as shell variables.
session_read() {
	lttng -n stop "$S" > /dev/null
	# Where the count in a packet is lower than the one before, LTTng takes that for a wrap-around and adds 2^63.
	DISCARDED=$(($(lttng -n list "$S" | sed -n 's/.*Discarded events: *//p' | head -n 1) & ~(1 << 63)))
	touch $D/until
	wait_for 30 gone $DUMP || echo "# the reader does not end"
	wait $DUMP
	sed -n "s/^records=/# $S: &/p" $D/said
	eval "$(grep '^records=' $D/said)"
}
session_end() { lttng -n destroy "$S" > /dev/null; }
program() { LD_PRELOAD=$O/lib/libhone.so "$O/tests/scenario/source_program" "$@"; }
plain() { "$O/tests/scenario/source_program" "$@"; }
# start COMMAND...: starts a program in the background; sets PID; its output is in $D/fired.$STARTED
start() {
	STARTED=$((STARTED + 1))
	LD_PRELOAD=$O/lib/libhone.so "$O/tests/scenario/source_program" "$@" > $D/fired.$STARTED &
	PID=$!
}
STARTED=0

# The records that babeltrace2 reads, in the format of source_dump.
theirs() {
	local folder
	for folder in "$1"/ust/pid/*; do	# one by one: it refuses all folders because of one whose program was killed during its start
		[ -s "$folder/metadata" ] || continue
		babeltrace2 --clock-cycles --no-delta --fields=trace:procname,trace:vpid "$folder" 2>> $D/bt.err |
			perl tests/scenario/source_babeltrace.pl
	done
}
same_as_babeltrace() {
	theirs $D/$S.out | LC_ALL=C sort > $D/$S.theirs
	LC_ALL=C sort $D/$S.ours > $D/$S.sorted
	cmp -s $D/$S.sorted $D/$S.theirs && return
	echo "$(wc -l < $D/$S.sorted) records, babeltrace2 has $(wc -l < $D/$S.theirs)"
	tail -n 3 $D/bt.err
	diff $D/$S.sorted $D/$S.theirs | head -n 6
	return 1
}
# Order, watermark and losses must be right in every run. A few late records are allowed: the machine may stop a thread
# at a critical instant.
sound() {
	is "$unordered" = 0 && is "$early" = 0 && is "$bad_losses" = 0 && is "$going_back" = 0 && is "$lost_decode" = 0 &&
		is "$late" -le "${1:-3}"
}

# ---- every kind of field, several programs and threads, enabled and disabled events
kinds() {
	session_start kinds 65536 16 100000 keep
	start 200 5000 3
	A=$PID
	"$O/tests/scenario/source_program" 200 5000 2 > $D/b & B=$!
	for _ in 1 2 3 4 5 6; do
		lttng -n disable-event -u -s kinds -c hone 'kinds:*' > /dev/null
		lttng -n enable-event -u -s kinds -c hone 'kinds:*' > /dev/null
	done
	lttng -n enable-event -u -s kinds -c hone 'hone:fork' > /dev/null
	program 300 100 1 > $D/c
	check "running programs are listed" wait_for 20 grep -q "# live.* source_program:\($A\|$B\) source_program:\($A\|$B\)" $D/said
	wait $A $B
	session_read
	check "all records and fields are those of babeltrace2" same_as_babeltrace
	check "records are in order under an exact watermark" sound
	check "no record was lost" is "$lost_ring" = 0
	check "the watermark was at most 2 s behind" is "$behind_ms" -lt 2000
	check "ended programs are not listed" is "$live" -le 3
	session_end
}

# On a busy machine LTTng sometimes records nothing of a program that ends some ms after its start; babeltrace2 does not
# find it, either. Records from the middle of a program must never be missing.
lost_whole() { # MISSING RECORDS_OF_ONE
	is $(($1 % $2)) = 0 && is "$1" -ge 0 && is "$1" -le $((2 * $2))
}
# ---- short lives: between two polls, and killed at any point ----------------------
short() {
	session_start short 65536 16 100000 keep
	TOTAL=0
	for i in $(seq 30); do
		TOTAL=$((TOTAL + $(program 5 0 1)))
	done
	session_read
	check "30 short runs: all records are those of babeltrace2" same_as_babeltrace
	check "30 short runs: every firing was delivered, except of programs that the tracer lost completely" \
		lost_whole $((TOTAL - $(grep -c kinds: $D/short.ours))) $((TOTAL / 30))
	check "30 short runs: records are in order under an exact watermark" sound
	session_end
}

# ---- hundreds of programs that live for milliseconds, ten at a time; some call exec --------------------
brief() {
	session_start brief 65536 16 100000 keep
	rm -f $D/lives
	LTTNG_UST_REGISTER_TIMEOUT=3000 LD_PRELOAD=$O/lib/libhone.so "$O/tests/scenario/source_brief" "${BRIEF_LIVES:-100}" \
		"${BRIEF_AT_ONCE:-10}" $D/lives "${BRIEF_SEED:-1}"
	sleep 6	# a program that called exec is given up after this time
	session_read
	theirs $D/brief.out > $D/brief.theirs
	python3 tests/scenario/source_brief.py $D/lives $D/brief.ours $D/said $D/brief.theirs > $D/brief.sums 2> $D/brief.missing
	sed 's/^/# /' $D/brief.sums
	eval "$(cat $D/brief.sums)"
	cat $D/brief.missing
	check "brief runs: every record in the files was delivered" is "$undelivered" = 0
	check "brief runs: every firing of an enabled tracepoint was recorded or is reported as lost" is "$unwritten" -le "$lost_ring"
	check "brief runs: the time from main() to the end of a program that ran untraced is reported as lost" is $((told + unseen)) = "$unarmed"
	check "brief runs: at most six ran untraced without a report (an exec, or a wait for the daemon of a few ms)" is "$unseen" -le 6
	check "brief runs: records are in order under an exact watermark" sound 20
	[ -z "${BRIEF_KEEP:-}" ] || cp -a $D "$BRIEF_KEEP"
	session_end
}

killed() {
	session_start killed 65536 16 100000 keep
	start 0 2000 1
	SURVIVOR=$PID
	for i in $(seq 20); do
		start 0 20 2
		sleep 0.0$((i % 10))5	# at different points of its life
		kill -9 $PID
		wait $PID
	done 2> /dev/null
	kill $SURVIVOR
	wait $SURVIVOR 2> /dev/null
	session_read
	check "20 killed programs: all records are those of babeltrace2" same_as_babeltrace
	check "20 killed programs: records are in order under an exact watermark" sound 20
	session_end
}

# ---- rings too small ----------------------------------------------------------------
lossy() {
	session_start lossy 4096 2 1000000 keep
	program 3000 0 4 > $D/a
	program 3000 0 2 > $D/b
	FIRED=$(($(cat $D/a) + $(cat $D/b)))
	session_read
	check "lossy: all records are those of babeltrace2" same_as_babeltrace
	check "lossy: records were lost" is "$lost_ring" -gt 1000
	check "lossy: firings = records + lost" is "$((records + lost_ring))" = $((FIRED + 4 * (3000 * 4 + 3000 * 2)))
	check "lossy: at least as many losses are reported as the session daemon counts" \
		is "$lost_ring" -ge "$DISCARDED"
	check "lossy: the rings were at least half full" is "$fullest" -ge 50
	check "lossy: records are in order under an exact watermark" sound
	session_end
}

# ---- little memory, few records at a time -------------------------------------------
little() {
	session_start little 65536 16 100000 keep memory=100000 records=100
	start 800 300 2
	A=$PID
	start 800 300 2
	B=$PID
	wait $A $B
	session_read
	check "little memory: all records are those of babeltrace2" same_as_babeltrace
	check "little memory: records are in order under an exact watermark" sound
	session_end
}

# ---- a frozen program delays the others only briefly---------------------------------
frozen() {
	session_start frozen 65536 16 100000 keep stall_ms=500
	start 0 200 1
	FROZEN=$PID
	start 200 5000 1
	A=$PID
	sleep 0.5
	kill -STOP $FROZEN
	wait $A
	kill -CONT $FROZEN
	sleep 0.3
	kill $FROZEN
	wait $FROZEN 2> /dev/null
	session_read
	check "frozen: all records are those of babeltrace2" same_as_babeltrace
	check "frozen: the watermark still advanced, at most 1.4 s behind" is "$behind_ms" -lt 1400
	session_end
}

# ---- a consumer daemon that hangs: the watermark advances, its records come late -----------
hung() {
	session_start hung 65536 16 100000 keep stall_ms=500
	start 0 1000 1
	sleep 0.3
	CONSUMERD=$(pgrep -P $SESSIOND -f ustconsumerd64)
	kill -STOP $CONSUMERD
	check "hung: the watermark passes its rings" wait_for 10 grep -q "# stalls [1-9]" $D/said
	sleep 0.3	# and what the program writes meanwhile
	kill -CONT $CONSUMERD
	kill $PID
	wait $PID 2> /dev/null
	session_read
	check "hung: all records are those of babeltrace2" same_as_babeltrace
	check "hung: late records are counted" is "$late" -gt 0
	check "hung: records are in order under an exact watermark" sound $records
	session_end
}

# ---- reading frees the space ----------------------------------------------------------
kib() { du -sk "$1" | cut -f1; }
space() {
	session_start space 262144 8 100000 unrelated=0
	start 60000 20 2 hot
	A=$PID
	plain 2000 0 1 > $D/b
	program 500 0 1 > $D/c
	MOST=0
	while ! gone $A; do
		NOW=$(kib $D/space.out)
		[ "$NOW" -gt $MOST ] && MOST=$NOW
		sleep 0.1
	done
	wait $A
	removed() { [ -z "$(ls -A $D/space.out/ust/pid)" ]; }
	check "folders of dead programs are removed" wait_for 10 removed
	session_read
	check "the tracer's files are bounded: they do not grow with what was read" is $MOST -lt 6000
	check "records outside of requests are counted and not delivered" is "$((records + unrelated))" -ge $(($(cat $D/fired.$STARTED) + $(cat $D/b) + $(cat $D/c)))
	check "records of requests are delivered" is "$(grep -c 'hone:fork(part)' $D/space.ours)" = 500
	check "space: records are in order under an exact watermark" sound
	session_end
}

# ---- several sessions at once, created while records are written ----------------------
more() { # NUMBER
	mkdir -p $D/many/$1/out
	"$O/tests/scenario/source_session" many$1 $D/many/$1/out $D/many/$1/shm 65536 16 100000 || exit 1
}
many() {
	S=many0
	mkdir -p $D/many
	rm -f $D/until
	"$O/tests/scenario/source_dump" $D/many follow $D/until keep > $D/many.ours 2> $D/said &
	DUMP=$!
	more 0
	start 300 3000 2
	A=$PID
	more 1
	start 250 3000 1
	B=$PID
	more 2
	wait $A $B
	for i in 1 2; do lttng -n stop many$i > /dev/null; done
	session_read
	for i in 0 1 2; do theirs $D/many/$i/out; done | LC_ALL=C sort > $D/many.theirs
	LC_ALL=C sort $D/many.ours > $D/many.sorted
	check "several sessions: all records are those of babeltrace2, of each session" cmp $D/many.sorted $D/many.theirs
	check "several sessions: there are records of each" is "$records" -gt "$(theirs $D/many/0/out | wc -l)"
	check "several sessions: records are in one order under an exact watermark" sound
	check "several sessions: each program is listed once" not_twice
	for i in 0 1 2; do lttng -n destroy many$i > /dev/null; done
}
not_twice() { ! grep '^# live' $D/said | grep -E '(source_program:[0-9]+) .*\1( |$)'; }

# ---- the libbabeltrace2 source compared with Hone's own, on the same live sessions ------
other() {
	S=many0
	mkdir -p $D/many
	rm -f $D/until
	"$O/tests/scenario/source_dump" $D/many follow $D/until keep > $D/hone.ours 2> $D/hone.said &
	HONE=$!
	"$O/tests/scenario/source_dump" $D/many follow $D/until keep reader=babeltrace2 > $D/other.ours 2> $D/said &
	DUMP=$!
	more 0
	start 300 3000 2
	A=$PID
	more 1
	start 0 2000 1
	B=$PID
	start 250 3000 1
	C=$PID
	check "babeltrace2: running programs are listed" wait_for 20 grep -q "# live.* source_program:$B" $D/said
	wait $A $C
	kill $B
	wait $B 2> /dev/null
	lttng -n stop many1 > /dev/null
	session_read
	wait_for 30 gone $HONE
	LC_ALL=C sort $D/hone.ours > $D/hone.sorted
	LC_ALL=C sort $D/other.ours > $D/other.sorted
	diff $D/hone.sorted $D/other.sorted | head -n 6
	check "babeltrace2: its records are those of Hone's own reader" cmp $D/hone.sorted $D/other.sorted
	check "babeltrace2: there are records" is "$records" -gt 1000
	check "babeltrace2: records are in order under a watermark" sound
	check "babeltrace2: the watermark was at most 5 s behind" is "$behind_ms" -lt 5000
	check "babeltrace2: no copy of a packet is left" none_left
	for i in 0 1; do lttng -n destroy many$i > /dev/null; done
}
none_left() { ! ls -d $D/many/babeltrace2-* 2> /dev/null; }

# ---- per-user buffers, which only the libbabeltrace2 source reads ---------------------------
uid() {
	S=uid0
	mkdir -p $D/uid/0
	rm -f $D/until
	lttng -n create uid0 --output=$D/uid/0/out --shm-path=$D/uid/0/shm > /dev/null
	lttng -n enable-channel -u -s uid0 --buffers-uid --switch-timer=100000 hone > /dev/null
	lttng -n add-context -u -s uid0 -c hone -t vtid -t vpid -t procname > /dev/null
	lttng -n enable-event -u -s uid0 -c hone 'kinds:*' > /dev/null
	lttng -n start uid0 > /dev/null
	"$O/tests/scenario/source_dump" $D/uid follow $D/until keep reader=babeltrace2 > $D/uid.ours 2> $D/said &
	DUMP=$!
	plain 300 1000 1 > $D/a &
	A=$!
	plain 200 1000 1 > $D/b
	wait $A
	session_read
	check "buffers of a user: every record of both programs was delivered" is "$records" = $(($(cat $D/a) + $(cat $D/b)))
	check "buffers of a user: records have the name and the pid of their program" is \
		"$(grep -o 'source_program/kinds:.* pid=[0-9]*' $D/uid.ours | sed 's/.*pid=//' | sort -u | wc -l)" = 2
	check "buffers of a user: records are in order under a watermark" sound
	lttng -n destroy uid0 > /dev/null
}

# ---- traces of other origin with LTTng-UST's layout: compared with babeltrace2 --------------------
recorded() {
	local metadata folder n=0 foreign=0
	while read -r metadata; do
		folder=$(dirname "$metadata")
		case $folder in */ust/pid/*) ;; *) foreign=$((foreign + 1)); continue ;; esac
		n=$((n + 1))
		touch $D/until
		"$O/tests/scenario/source_dump" "${folder%/ust/pid/*}" /nowhere $D/until keep > $D/recorded.ours 2> $D/said
		theirs "${folder%/ust/pid/*}" | LC_ALL=C sort > $D/recorded.theirs
		LC_ALL=C sort -o $D/recorded.ours $D/recorded.ours
		check "recorded folder $folder: the records are the expected ones" cmp $D/recorded.ours $D/recorded.theirs
	done < <(find "${HONE_DATA:-../shared/data}" -name metadata -type f 2> /dev/null)
	echo "# recorded: $n traces of our layout, $foreign of a foreign one"
}

for section in ${*:-kinds short brief killed lossy little frozen hung space many other uid recorded}; do
	$section
done
echo "1..$N"
exit $FAILED
