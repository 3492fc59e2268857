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

OPTIONS=(-o agent.node=n1 -o "controller.url=$URL" -o controller.silence=2s -o controller.refused=500ms
	-o controller.retry=200ms -o agent.hang=2s -o log.level=debug)
agent_start() {
	"$D/p/bin/hone-agent" "${OPTIONS[@]}" "$@" 2>> "$D/agent.log" 9>&- &
	AGENT=$!
}
# Its parent KEEPER never asks for its status, like the first process of many containers.
unreaped_start() {
	bash -c '"$@" & echo $! > "$0"; exec sleep 600' "$D/pid" "$D/p/bin/hone-agent" "${OPTIONS[@]}" 2>> "$D/agent.log" 9>&- &
	KEEPER=$!
	wait_for 20 test -s "$D/pid"
	AGENT=$(cat "$D/pid")
}
zombie() { grep -q '^State:	Z' "/proc/$1/status"; }
guardian() { pgrep -x hone-guard -P "$AGENT"; }
MARK=0 SAID=0
mark() { MARK=$(wc -l < "$D/controller.log") SAID=$(wc -l < "$D/agent.log"); }
after() { tail -n +$((MARK + 1)) "$D/controller.log" | grep -E "$1" > /dev/null; }
told() { tail -n +$((SAID + 1)) "$D/agent.log" | has -E "$1"; }
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
	for pid in ${CONTROLLER:-} ${KEEPER:-} ${AGENT:-} ${PROGRAM_one:-} ${PROGRAM_two:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

: > "$D/agent.log"
sessiond_start || bail "no session daemon"
program_start one 0
program_start two $OTHER
controller_start
agent_start

# ---- an ordinary user -------------------------------------------------------------
check "programs of all users are reported with their tracepoints" wait_for 20 after '^programs 2 names 300: .*one\([0-9]*\)=150'
check "the agent runs as user hone, without capabilities" bare $AGENT $HONE
check "the agent is in the group that may trace" grep -q '^Groups:.* 64323' /proc/$AGENT/status
check "its guardian runs as user hone, without capabilities" bare "$(guardian)" $HONE
check "the user hone cannot read the memory maps of either process" not setpriv --reuid=$HONE --regid=$HONE --clear-groups \
	cat "/proc/$AGENT/maps" "/proc/$(guardian)/maps"
check "the table of rates belongs to root, so programs of all users trust it" test "$(stat -c %u:%a /dev/shm/hone-policy)" = 0:644
check "the agent's folder belongs to user hone" test "$(stat -c %u:%a /run/hone/agent-n1)" = $HONE:700
a=$(word one $PROBED) b=$(word two $PROBED)
check "a desired state is confirmed" want 600000 agentp:ev000
check "the tracepoint is enabled in programs of both users" both $ON -eq 1
check "requests are probed in programs of both users" wait_for 10 probed_more "$a" "$b"
check "records arrive" wait_for 10 after 'ticks [1-9][0-9]* gaps 0'
check "the agent measures what a record costs" wait_for 30 grep -q 'a record costs [0-9]' "$D/agent.log"

# ---- the guardian dies ------------------------------------------------------------
wait_for 10 alone	# its cost measurement has ended
first=$(guardian)
another() { local g; g=$(guardian) && [ "$g" != "$1" ]; }
mark
began=$(date +%s%N)
kill -9 "$first"
check "a killed guardian is replaced" wait_for 20 another "$first"
check "the new guardian starts within a second" test "$(since_ms "$began")" -lt 1000
check "the log says that the guardian was killed" told 'the guardian was killed'
second=$(guardian)
check "the second guardian has no capabilities" bare "$second" $HONE
kill -9 "$second"
check "the second guardian is replaced, too" wait_for 20 another "$second"
kill -STOP "$(guardian)"
third=$(guardian)
check "a guardian that is stopped is replaced" wait_for 20 another "$third"
check "meanwhile the tracepoints stay enabled" both $ON -eq 1
killed=$(now)
kill -9 $AGENT
check "the agent is killed after three guardians: the tracepoints are disabled" wait_for 20 both $ON -eq 0
check "this takes less than a second" eval 'is one $OFF_NS -lt $((killed + 1000000000)) && is two $OFF_NS -lt $((killed + 1000000000))'
echo "# off after $((($(word one $OFF_NS) - killed) / 1000000)) ms, to 10 ms"
wait $AGENT 2> /dev/null
check "the guardian leaves no session" wait_for 10 no_session
check "the guardian leaves no folder" wait_for 10 no_folder

# ---- the agent hangs --------------------------------------------------------------
mark
agent_start
check "the next agent uses the same table of rates" wait_for 20 told 'tracing: session'
want 600000 agentp:ev000
wait_for 30 told 'a record costs'
wait_for 10 alone
mark
stopped=$(now)
kill -STOP $AGENT
check "the agent is stopped: the tracepoints are disabled" wait_for 10 both $ON -eq 0
check "this takes at most agent.hang plus a second" is one $OFF_NS -lt $((stopped + 3000000000))
echo "# off after $((($(word one $OFF_NS) - stopped) / 1000000)) ms"
check "it does not happen before agent.hang" is one $OFF_NS -gt $((stopped + 1900000000))
check "the guardian ends the agent's session" wait_for 10 no_session
check "the guardian logs why" wait_for 10 told 'hone-guard warning: the agent .* has not moved for [2-9]\.'
check "the guardian keeps running" test -n "$(guardian)"
mark
kill -CONT $AGENT
check "an agent that continues makes a new session" wait_for 20 told 'tracing: session'
check "it logs why it needs a new one" told 'did not move for 2 s, and its guardian ended the session'
check "the desired tracepoints are enabled again" wait_for 20 both $ON -eq 1
check "only the agent's own session exists" wait_for 10 alone
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
check "agent and guardian are stopped together, as by a suspended machine: the session stays" eval '[ -n "$before" ] && [ "$(names)" = "$before" ]'
check "the guardian is the same process" test "$(guardian)" = "$guard"
check "the guardian does not report that the agent hangs" not told 'has not moved'
check "the tracepoints are still enabled" both $ON -eq 1

# ---- both die ---------------------------------------------------------------------
both_die() { # neither runs between the two kills
	local guard
	guard=$(guardian)
	kill -STOP "$guard"
	kill -9 $AGENT "$guard"
	wait $AGENT 2> /dev/null
}
sweep() { "$D/p/bin/hone-agent" --sweep -o agent.node=n1 "$@" 2>> "$D/agent.log"; }
check "--sweep exits 0 while an agent runs" sweep
check "--sweep leaves a running agent's tracepoints enabled" both $ON -eq 1
check "--sweep leaves a running agent's table of rates" test -e /dev/shm/hone-policy
want 3000 agentp:ev000
both_die
check "agent and guardian are killed at once: their sessions stay" not no_session
silent() { local n r; n=$(word one $PROBED) r=$(word one $REQUESTS); wait_for 10 is one $REQUESTS -gt $((r + 100)); is one $PROBED -eq "$n"; }
check "at the end of the lease no request is probed" wait_for 10 silent
check "--sweep exits 0 after the agent was killed" sweep
check "--sweep disables the tracepoints" both $ON -eq 0
check "--sweep leaves no session" no_session
check "--sweep leaves no folder and no table of rates" test -z "$(ls -d /run/hone/agent-n1 /dev/shm/hone-policy* /dev/shm/lttng-ust-[0-9]* 2> /dev/null | grep -v wait)"
mark
unreaped_start
want 600000 agentp:ev000
both_die
check "an agent that nobody waits for is killed: it is a zombie with the name of an agent" wait_for 10 zombie "$AGENT"
check "its sessions stay" not no_session
check "--sweep exits 0 beside a zombie" sweep
check "--sweep disables the tracepoints of a zombie" both $ON -eq 0
check "--sweep leaves no session of a zombie" no_session
mark
agent_start
want 600000 agentp:ev000
LTTNG_HOME=$D/state setpriv --reuid=$HONE --regid=$HONE --groups 64323 \
	lttng -n create "hone-n1-$(cat "$D/pid")" --no-output > /dev/null
check "a session of the zombie exists again" not alone
check "a running agent ends a session that a zombie left" wait_for 20 alone
check "its own tracepoints stay enabled" both $ON -eq 1
kill -9 "$KEEPER" && wait "$KEEPER" 2> /dev/null
both_die
check "agent and guardian are killed again: their sessions stay" not no_session
mark
agent_start -o agent.user=root
check "the next agent runs as root and removes what user hone left" wait_for 20 told 'tracing: session'
check "it has no capabilities" bare $AGENT 0
check "it enables the desired tracepoints" wait_for 20 both $ON -eq 1
check "it reports programs of all users" wait_for 20 after '^programs 2 names 300: '
wait_for 30 told 'a record costs'
check "only its own session exists" wait_for 10 alone
both_die
mark
agent_start
check "the next agent runs as user hone again and starts" wait_for 20 told 'tracing: session'
check "it removes what root left" wait_for 20 alone
check "its folder belongs to user hone" test "$(stat -c %u /run/hone/agent-n1)" = $HONE
check "it enables the desired tracepoints again" wait_for 20 both $ON -eq 1

# ---- the end ----------------------------------------------------------------------
wait_for 30 told 'a record costs'
kill $AGENT
wait $AGENT
check "SIGTERM: exit 0" test $? = 0
check "SIGTERM: the tracepoints are disabled" both $ON -eq 0
check "SIGTERM: no session and no folder stays" test -z "$(lttng -n list 2> /dev/null | grep hone-n1; ls -d /run/hone/agent-n1 2> /dev/null)"
check "SIGTERM: no request is probed, though the table of root stays" silent
check "SIGTERM: the socket beside the table is removed" test -z "$(ls /dev/shm/hone-policy-* /dev/shm/hone-policy.* 2> /dev/null)"
check "--sweep removes the table" eval 'sweep && not test -e /dev/shm/hone-policy'
mark
setpriv --bounding-set=-all,+setuid,+setgid,+setpcap --inh-caps=-all --no-new-privs "$D/p/bin/hone-agent" -o agent.node=n1 \
	-o "controller.url=$URL" 2>> "$D/agent.log" 9>&- &
AGENT=$!
check "an agent that starts as root with three capabilities, as in its unit, becomes user hone" wait_for 20 told 'runs as user hone'
check "it traces" wait_for 20 told 'tracing: session'
check "it has no capabilities left" bare $AGENT $HONE
check "it enables the desired tracepoints" wait_for 20 both $ON -eq 1
kill $AGENT
wait $AGENT
check "SIGTERM of that agent: exit 0" test $? = 0
check "SIGTERM of that agent: no session stays" wait_for 10 no_session
"$D/p/bin/hone-agent" -o agent.user=no-such-user 2> "$D/a"
check "an unknown user in agent.user: exit 1" test $? = 1
check "the error names that user" grep -q 'there is no user no-such-user' "$D/a"
for key in run_dir policy; do
	"$D/p/bin/hone-agent" -o agent.$key=/proc/no/such/folder 2> "$D/a"
	check "a folder that cannot be made for agent.$key: exit 1" test $? = 1
	check "the error names agent.$key" grep -q "agent.$key in hone-agent.conf: /proc" "$D/a"
done
"$D/p/bin/hone-agent" --guard 2> /dev/null
check "--guard without an agent: exit 2" test $? = 2
echo "1..$N"
exit $FAILED
