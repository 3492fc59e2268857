#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that turn against the agent through their own ring buffers, under a real LTTng: one writes an impossible
# position, one shortens the files, which ends LTTng's consumer daemon, and must not end the agent. And a user without a
# traced program says again and again that requests of hers are not recorded.
# O: the folder that `make agent-scenario` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond setpriv
own_node /run/hone
D=$(mktemp -d)
chmod 711 "$D"
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1
URL=ipc://$D/controller.sock
OTHER=64322
STRANGER=64323
mkfifo "$D/say"
exec 9<> "$D/say"
why() { echo "--- agent"; tail -n 8 "$D/agent.log"; echo "--- controller"; tail -n 5 "$D/controller.log"; }

restart() { # programs register again 5 s later
	local consumers
	consumers=$(pgrep -P $SESSIOND)
	kill $SESSIOND
	wait_for 20 gone $SESSIOND || kill -9 $SESSIOND
	[ -z "$consumers" ] || kill -9 $consumers 2> /dev/null
	sessiond_start
	mark
}
# The program and libhone are copied to where every user can run them.
mkdir -p "$D/p/bin" "$D/p/lib" "$D/state"
cp -P "$O"/lib/libhone.so* "$D/p/lib/"
chmod 1777 "$D/state" /dev/shm
export LD_LIBRARY_PATH=$D/p/lib
program_start() { # NAME USER
	cp "$O/tests/scenario/agent_program" "$D/p/bin/$1"
	setpriv --reuid="$2" --regid="$2" --clear-groups "$D/p/bin/$1" "$D/state/$1" 1000 2>> "$D/$1.log" 9>&- &
	eval "PROGRAM_$1=$!"
	wait_for 60 test -s "$D/state/$1"
}
MARK=0
mark() { MARK=$(wc -l < "$D/controller.log"); }
after() { tail -n +$((MARK + 1)) "$D/controller.log" | grep -E "$1" > /dev/null; }
not_after() { ! after "$1"; }
agent_lives() { ! gone $AGENT; }
end() {
	local pid
	for pid in ${CONTROLLER:-} ${AGENT:-} ${PROGRAM_good:-} ${PROGRAM_jam:-} ${PROGRAM_cut:-} ${PROGRAM_unlisted:-} ${KNOCKER:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

sessiond_start || bail "no session daemon"
program_start good 0
program_start jam $OTHER
program_start cut $OTHER
"$O/tests/scenario/agent_controller" "$URL" "$D/journal" < "$D/say" >> "$D/controller.log" 9>&- &
CONTROLLER=$!
wait_for 60 test -S "$D/controller.sock"
# Somebody else's folder is where its table of rates has to be.
setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups mkdir -p /dev/shm/hone-policy/in_the_way
"$O/bin/hone-agent" -o agent.node=n1 -o agent.users="root, $OTHER" -o "controller.url=$URL" -o controller.retry=200ms -o log.level=debug 2>> "$D/agent.log" 9>&- &
AGENT=$!
wait_for 60 after '^programs 3 names'
echo "want 1 600000" >&9
check "the agent starts, though another user's folder is in the place of its table" test -f /dev/shm/hone-policy
check "programs of two users are traced" wait_for 60 after '^records [1-9]'

# ---- users that are not listed -------------------------------------------------------
check "they are those of listed users" wait_for 60 after '^programs 3 names 450'
program_start unlisted $STRANGER
check "the agent says how many programs are not read, since their users are not listed" \
	wait_for 60 grep -q "agent.users does not list, which are not read: 1$" "$D/agent.log"
check "and reads the others" after '^records [1-9]'
check "it is not listed" not_after '^programs 4'
kill $PROGRAM_unlisted && wait $PROGRAM_unlisted 2> /dev/null

# ---- knocks of a stranger ------------------------------------------------------------
knock_as() { # USER
	cp "$O/tests/scenario/hostile_knock" "$D/p/bin/knock"
	setpriv --reuid="$1" --regid="$1" --clear-groups "$D/p/bin/knock" /dev/shm/hone-policy 9>&- &
	KNOCKER=$!
}
mark
knock_as $STRANGER
check "the agent names a user without a traced program who says that requests are not recorded" \
	wait_for 60 grep -q "process $KNOCKER of user $STRANGER reports untraced requests" "$D/agent.log"
# Losses of the one second that strangers have are told, on a busy machine late; then none for 3 s, though the stranger goes on.
no_loss() { mark; sleep 3; not_after '^loss' && after '^records [1-9]'; }
check "no loss is told of the other users' requests" wait_for 60 no_loss
check "their records arrive" after '^records [1-9]'
check "the stranger still knocks" kill -0 $KNOCKER
kill $KNOCKER && wait $KNOCKER 2> /dev/null
mark
knock_as $OTHER
check "the same of a user who has traced programs is a loss" wait_for 60 after '^loss'
kill $KNOCKER && wait $KNOCKER 2> /dev/null
KNOCKER=

# ---- an impossible position --------------------------------------------------------
mark
kill -USR2 "$PROGRAM_jam"
check "a program that writes an impossible position is in quarantine, with pid and user" \
	wait_for 60 after "trouble \"ring-positions \" of jam\($PROGRAM_jam\) user $OTHER$"
check "it is not listed any more" wait_for 60 after '^programs 2 names'
check "no queue was full meanwhile" not_after 'fill (0\.[6-9]|1)'
mark
check "records of the others arrive" wait_for 60 after '^records [1-9]'
mark
kill -9 "$PROGRAM_jam" && wait "$PROGRAM_jam" 2> /dev/null
# LTTng 2.13 closes sub-buffer after sub-buffer up to that position when the program ends.
check "the agent names it as what makes the consumer daemon take a whole core" \
	wait_for 60 after "trouble \"consumer-broken \" of jam\($PROGRAM_jam\) user $OTHER$"
restart
check "the trouble ends with a restart of the session daemon" wait_for 60 after 'tracer ok .*trouble " "'

# ---- a shortened file ----------------------------------------------------------------
wait_for 60 after '^programs 2 names'
mark
kill -USR1 "$PROGRAM_cut"
check "a program that shortens its ring buffers is in quarantine, with pid and user" \
	wait_for 60 after "trouble \"(ring-damaged|consumer-broken) \" of cut\($PROGRAM_cut\) user $OTHER$"
check "the agent names it as what ended the consumer daemon" \
	wait_for 60 after "tracer down .*trouble \"consumer-broken \" of cut\($PROGRAM_cut\) user $OTHER$"
check "the agent lives" agent_lives
check "its log names the program" grep -q "cut ($PROGRAM_cut) of user $OTHER is not traced any more: ring-damaged" "$D/agent.log"
kill -9 "$PROGRAM_cut" && wait "$PROGRAM_cut" 2> /dev/null
restart
check "after a restart of the session daemon the same agent traces again" wait_for 60 after 'tracer ok .*trouble " "'
check "records arrive again" wait_for 60 after '^records [1-9]'
check "the agent lives still" agent_lives
echo "1..$N"
exit $FAILED
