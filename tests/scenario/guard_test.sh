#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The guardian under a real LTTng: it is killed, stopped, killed together with its agent; the agent hangs, and
# continues. The agent is started by root and drops to an ordinary user, next to programs of other users.
# O: the folder that `make agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond setpriv
own_node /run/hone
chmod 1777 /dev/shm
D=$(mktemp -d)
chmod 711 "$D"
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1
URL=ipc://$D/controller.sock
EPOCH=0
mkfifo "$D/say"
exec 9<> "$D/say"

not() { ! "$@"; }
why() { echo "--- agent"; tail -n 8 "$D/agent.log"; echo "--- controller"; tail -n 5 "$D/controller.log"; }

# ---- private users of this node -------------------------------------------------
HONE=64321 OTHER=64322
getent passwd | grep -v '^hone:' > "$D/passwd"
getent group | grep -v '^hone:\|^tracing:' > "$D/group"
printf 'hone:x:%s:%s::%s:/bin/false\nother:x:%s:%s::/:/bin/false\n' $HONE $HONE "$D" $OTHER $OTHER >> "$D/passwd"
printf 'hone:x:%s:\ntracing:x:64323:\nother:x:%s:\n' $HONE $OTHER >> "$D/group"
chmod 644 "$D/passwd" "$D/group"
mount --bind "$D/passwd" /etc/passwd && mount --bind "$D/group" /etc/group || exit 1
chgrp $HONE /run/hone && chmod 1775 /run/hone	# as in units/hone.tmpfiles
# An installation that every user can run.
mkdir -p "$D/p/bin" "$D/p/lib/hone" "$D/state"
cp "$O/bin/hone-agent" "$D/p/bin/"
cp -P "$O"/lib/libhone.so* "$D/p/lib/"
cp "$O/lib/hone/hone-cost" "$D/p/lib/hone/"
cp "$O/tests/scenario/agent_program" "$D/p/bin/"
chmod 1777 "$D/state"
export LD_LIBRARY_PATH=$D/p/lib

# ---- the node -------------------------------------------------------------------
daemon_start() {
	lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
	SESSIOND=$!
	wait_for 20 lttng -n list > /dev/null 2>&1
}
program_start() { # NAME USER: a process of that name; its state is in $D/state/NAME
	cp "$D/p/bin/agent_program" "$D/p/bin/$1"
	setpriv --reuid="$2" --regid="$2" --clear-groups "$D/p/bin/$1" "$D/state/$1" 1000 2>> "$D/$1.log" 9>&- &
	eval "PROGRAM_$1=$!"
	wait_for 20 test -s "$D/state/$1"
}
word() { od -An -t d8 -w8 -j $(($2 * 8)) -N 8 "$D/state/$1" | tr -d ' '; }
ON=0 OFF_NS=4 REQUESTS=6 PROBED=7	# see agent_program.h
is() { [ "$(word "$1" "$2")" "$3" "$4" ] || { echo "$1 $2 is $(word "$1" "$2")"; return 1; }; }
both() { is one "$@" && is two "$@"; }
probed_more() { local a=$1 b=$2; is one $PROBED -gt $((a + 50)) && is two $PROBED -gt $((b + 50)); }

agent_start() {
	"$D/p/bin/hone-agent" -o agent.node=n1 -o "controller.url=$URL" -o controller.silence=2s -o controller.refused=500ms \
		-o controller.retry=200ms -o agent.hang=2s -o log.level=debug "$@" 2>> "$D/agent.log" 9>&- &
	AGENT=$!
}
guardian() { pgrep -x hone-guard -P "$AGENT"; }
MARK=0 SAID=0
mark() { MARK=$(wc -l < "$D/controller.log") SAID=$(wc -l < "$D/agent.log"); }
after() { tail -n +$((MARK + 1)) "$D/controller.log" | grep -E "$1" > /dev/null; }
told() { tail -n +$((SAID + 1)) "$D/agent.log" | grep -q -E "$1"; }
want() { EPOCH=$((EPOCH + 1)); mark; echo "want $EPOCH $*" >&9; wait_for 20 after "^done $EPOCH"; }
sessions() { lttng -n list 2> /dev/null | grep -c ') hone-n1-'; }
no_session() { [ "$(sessions)" = 0 ]; }
# only the sessions of that agent, after its cost measurement
alone() { [ "$(lttng -n list 2> /dev/null | grep -o ') hone-n1-[0-9]*[-a-z]*' | sed 's/-s$//' | sort -u)" = ") hone-n1-$AGENT" ]; }
no_folder() { [ -z "$(ls /run/hone/agent-n1 2> /dev/null)" ]; }
# PID LINE...: all of these lines are in the process's status
bare() { # PID UID
	local s
	s=$(cat "/proc/$1/status") || return 1
	echo "$s"
	grep -q "^Uid:	$2	$2	$2	$2$" <<< "$s" && grep -q '^CapPrm:	0*$' <<< "$s" && grep -q '^CapEff:	0*$' <<< "$s" &&
		grep -q '^CapBnd:	0*$' <<< "$s" && grep -q '^NoNewPrivs:	1$' <<< "$s"
}
# CLOCK_MONOTONIC in ns, in steps of 10 ms
now() { sed 's/\.//; s/ .*/0000000/' /proc/uptime; }
since_ms() { echo $((($(date +%s%N) - $1) / 1000000)); }
controller_start() {
	"$O/tests/scenario/agent_controller" "$URL" "$D/journal" < "$D/say" >> "$D/controller.log" 9>&- &
	CONTROLLER=$!
	wait_for 20 test -S "$D/controller.sock" && chmod 777 "$D/controller.sock"
}
end() {
	local pid
	for pid in ${CONTROLLER:-} ${AGENT:-} ${PROGRAM_one:-} ${PROGRAM_two:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

: > "$D/agent.log"
daemon_start || bail "no session daemon"
program_start one 0
program_start two $OTHER
controller_start
agent_start

# ---- an ordinary user -------------------------------------------------------------
check "programs of all users are told of, with their tracepoints" wait_for 20 after '^programs 2 names 300: .*one\([0-9]*\)=150'
check "the agent is user hone, without capabilities" bare $AGENT $HONE
check "in the group that may trace" grep -q '^Groups:.* 64323' /proc/$AGENT/status
check "so is its guardian" bare "$(guardian)" $HONE
check "neither can be looked into by that user" not setpriv --reuid=$HONE --regid=$HONE --clear-groups \
	cat "/proc/$AGENT/maps" "/proc/$(guardian)/maps"
check "the table of rates is root's, so that all programs believe it" test "$(stat -c %u:%a /dev/shm/hone-policy)" = 0:644
check "its folder is its own" test "$(stat -c %u:%a /run/hone/agent-n1)" = $HONE:700
a=$(word one $PROBED) b=$(word two $PROBED)
check "a state holds" want 600000 agentp:ev000
check "on, in programs of both users" both $ON -eq 1
check "and probed in both" wait_for 10 probed_more "$a" "$b"
check "records arrive" wait_for 10 after 'ticks [1-9][0-9]* gaps 0'
check "what a record costs is measured" wait_for 30 grep -q 'a record costs [0-9]' "$D/agent.log"

# ---- the guardian dies ------------------------------------------------------------
wait_for 10 alone	# its cost measurement has ended
first=$(guardian)
another() { local g; g=$(guardian) && [ "$g" != "$1" ]; }
mark
began=$(date +%s%N)
kill -9 "$first"
check "a killed guardian is followed by another" wait_for 20 another "$first"
check "within a second" test "$(since_ms "$began")" -lt 1000
check "the log has it" told 'the guardian was killed'
second=$(guardian)
check "it is as bare" bare "$second" $HONE
kill -9 "$second"
check "so is that one" wait_for 20 another "$second"
kill -STOP "$(guardian)"
third=$(guardian)
check "one that is stopped is replaced" wait_for 20 another "$third"
check "nothing was touched meanwhile" both $ON -eq 1
killed=$(now)
kill -9 $AGENT
check "then the agent is killed: all is off" wait_for 20 both $ON -eq 0
check "within a second" eval 'is one $OFF_NS -lt $((killed + 1000000000)) && is two $OFF_NS -lt $((killed + 1000000000))'
echo "# off after $((($(word one $OFF_NS) - killed) / 1000000)) ms, to 10 ms"
wait $AGENT 2> /dev/null
check "no session stays" wait_for 10 no_session
check "nor a folder" wait_for 10 no_folder

# ---- the agent hangs --------------------------------------------------------------
mark
agent_start
check "the next agent takes the table over" wait_for 20 told 'tracing: session'
want 600000 agentp:ev000
wait_for 30 told 'a record costs'
wait_for 10 alone
mark
stopped=$(now)
kill -STOP $AGENT
check "an agent that is stopped: all is off" wait_for 10 both $ON -eq 0
check "within what agent.hang says, and a second" is one $OFF_NS -lt $((stopped + 3000000000))
echo "# off after $((($(word one $OFF_NS) - stopped) / 1000000)) ms"
check "not before it" is one $OFF_NS -gt $((stopped + 1900000000))
check "its session is ended" wait_for 10 no_session
check "its guardian says so" wait_for 10 told 'hone-guard warning: the agent .* has not moved for [2-9]\.'
check "and stays" test -n "$(guardian)"
mark
kill -CONT $AGENT
check "it goes on: with a new session" wait_for 20 told 'tracing: session'
check "and says why" told 'did not move for 2 s, and its guardian ended the session'
check "what is wanted is on again" wait_for 20 both $ON -eq 1
check "no session but its own" wait_for 10 alone
mark
guard=$(guardian)
kill -STOP "$guard"
kill -STOP $AGENT
names() { lttng -n list 2> /dev/null | grep -o "hone-n1-$AGENT[^ ]*" | sort -u; }
before=$(names)
sleep 6		# three times agent.hang, as if the machine were suspended
kill -CONT $AGENT
kill -CONT "$guard"
wait_for 10 after '^status'
check "both stopped at once, as by a suspended machine: the session stays" eval '[ -n "$before" ] && [ "$(names)" = "$before" ]'
check "the guardian stays" test "$(guardian)" = "$guard"
check "nobody is blamed" not told 'has not moved'
check "and it is still on" both $ON -eq 1

# ---- both die ---------------------------------------------------------------------
both_die() { # neither runs between the two kills
	local guard
	guard=$(guardian)
	kill -STOP "$guard"
	kill -9 $AGENT "$guard"
	wait $AGENT 2> /dev/null
}
sweep() { "$D/p/bin/hone-agent" --sweep -o agent.node=n1 "$@" 2>> "$D/agent.log"; }
check "--sweep beside a living agent" sweep
check "touches nothing of it" both $ON -eq 1
check "nor its table" test -e /dev/shm/hone-policy
want 3000 agentp:ev000
both_die
check "agent and guardian killed at once: its sessions stay" not no_session
silent() { local n r; n=$(word one $PROBED) r=$(word one $REQUESTS); wait_for 10 is one $REQUESTS -gt $((r + 100)); is one $PROBED -eq "$n"; }
check "but silent, by its lease" wait_for 10 silent
check "--sweep ends it" sweep
check "off" both $ON -eq 0
check "nothing is left" no_session
check "no folder, no table" test -z "$(ls -d /run/hone/agent-n1 /dev/shm/hone-policy* /dev/shm/lttng-ust-[0-9]* 2> /dev/null | grep -v wait)"
mark
agent_start
want 600000 agentp:ev000
both_die
check "both killed again" not no_session
mark
agent_start -o agent.user=root
check "the next agent is root, and ends what hone left" wait_for 20 told 'tracing: session'
check "root without capabilities" bare $AGENT 0
check "what is wanted is on" wait_for 20 both $ON -eq 1
check "programs of all users are told of" wait_for 20 after '^programs 2 names 300: '
wait_for 30 told 'a record costs'
check "no session but its own" wait_for 10 alone
both_die
mark
agent_start
check "hone again, after root left something" wait_for 20 told 'tracing: session'
check "it has ended that" wait_for 20 alone
check "and the folder is its own" test "$(stat -c %u /run/hone/agent-n1)" = $HONE
check "on again" wait_for 20 both $ON -eq 1

# ---- the end ----------------------------------------------------------------------
wait_for 30 told 'a record costs'
kill $AGENT
wait $AGENT
check "SIGTERM: exit 0" test $? = 0
check "all is off" both $ON -eq 0
check "no session, no folder" test -z "$(lttng -n list 2> /dev/null | grep hone-n1; ls -d /run/hone/agent-n1 2> /dev/null)"
check "root's table stays, and silent" silent
check "until somebody sweeps" eval 'sweep && not test -e /dev/shm/hone-policy'
mark
setpriv --bounding-set=-all,+setuid,+setgid,+setpcap --inh-caps=-all --no-new-privs "$D/p/bin/hone-agent" -o agent.node=n1 \
	-o "controller.url=$URL" 2>> "$D/agent.log" 9>&- &
AGENT=$!
check "as its unit starts it, root with three capabilities: it becomes hone" wait_for 20 told 'runs as user hone'
check "and traces" wait_for 20 told 'tracing: session'
check "bare" bare $AGENT $HONE
check "what is wanted is on" wait_for 20 both $ON -eq 1
kill $AGENT
wait $AGENT
check "SIGTERM: exit 0" test $? = 0
check "no session" wait_for 10 no_session
"$D/p/bin/hone-agent" -o agent.user=no-such-user 2> "$D/a"
check "a user that is not there: exit 1" test $? = 1
check "and its name" grep -q 'there is no user no-such-user' "$D/a"
"$D/p/bin/hone-agent" --guard 2> /dev/null
check "nobody else starts a guardian: exit 2" test $? = 2
echo "1..$N"
exit $FAILED
