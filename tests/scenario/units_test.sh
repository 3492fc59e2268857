#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `make install` for systemd: users, folders, units; both daemons run as these users with the units' restrictions,
# connect to each other, and report their state to a service manager.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond python3 systemd-analyze systemd-sysusers systemd-tmpfiles
own_node /run/hone /var/lib
chmod 1777 /dev/shm
D=$(mktemp -d)
chmod 711 "$D"
export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1
not() { ! "$@"; }
why() { tail -n 5 "$D"/*.log; }
end() {
	local pid
	for pid in ${HONED:-} ${AGENT:-} ${MANAGER:-} ${SESSIOND:-}; do
		kill -CONT "$pid" 2> /dev/null
		kill "$pid" 2> /dev/null
		wait_for 10 gone "$pid" || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
trap end EXIT

# ---- installed ------------------------------------------------------------------
P=$D/p
check "make install" make -s O="$O" PREFIX="$P" install
units=("$P/lib/systemd/system/honed.service" "$P/lib/systemd/system/hone-agent.service")
check "systemd finds nothing wrong with the units" eval \
	'found=$(systemd-analyze verify --man=no "${units[@]}" 2>&1); echo "$found"; ! grep -F "$P" <<< "$found"'
exposed() { # UNIT TENTHS: systemd's exposure level of the unit is at most TENTHS / 10
	systemd-analyze security --offline=yes --threshold="$2" --no-pager "$1"
}
check "honed is exposed to less than 2 of 10" exposed "${units[0]}" 20
check "hone-agent to less than 2.6" exposed "${units[1]}" 26
echo "# systemd is not process 1 of a test: the units are checked, but what they start is started here by hand"
mkdir -p "$D/root/etc"
getent passwd | grep -v '^hone' > "$D/root/etc/passwd"
getent group | grep -v '^hone' > "$D/root/etc/group"
check "the users are made" systemd-sysusers --root="$D/root" "$P/lib/sysusers.d/hone.conf"
chmod 644 "$D/root/etc/passwd" "$D/root/etc/group"
mount --bind "$D/root/etc/passwd" /etc/passwd && mount --bind "$D/root/etc/group" /etc/group
check "hone may trace" eval 'id -nG hone | grep -w tracing'
check "honed may not" eval '! id -nG honed | grep -w tracing'
check "the folders are made" systemd-tmpfiles --create "$P/lib/tmpfiles.d/hone.conf"

# ---- service notification ------------------------------------------------------------
cat > "$D/manager.py" <<'PYTHON'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)
PYTHON
python3 "$D/manager.py" "$D/notify" > "$D/heard" &
MANAGER=$!
wait_for 10 test -S "$D/notify"
heard() { grep -c "^$1" "$D/heard"; }
more() { [ "$(heard "$1")" -gt "$2" ]; }

bare() { # PID USER
	local s
	s=$(cat "/proc/$1/status") || return 1
	echo "$s"
	grep -q "^Uid:	$(id -u "$2")	" <<< "$s" && grep -q '^CapPrm:	0*$' <<< "$s" && grep -q '^CapBnd:	0*$' <<< "$s" &&
		grep -q '^NoNewPrivs:	1$' <<< "$s"
}
NOTIFY_SOCKET=$D/notify WATCHDOG_USEC=1000000 "$P/sbin/honed" 2> "$D/honed.log" &
HONED=$!
check "honed is ready" wait_for 20 more READY=1 0
check "as user honed, bare" bare $HONED honed
check "its database is that user's" test "$(stat -c %U /var/lib/hone/forest.db)" = honed
check "it says that it turns" wait_for 10 more WATCHDOG=1 2
kill -STOP $HONED
at=$(heard WATCHDOG=1)
sleep 3		# three times its watchdog interval
check "stopped, it says nothing" not more WATCHDOG=1 $((at + 1))	# one notification may have been in transit
kill -CONT $HONED
check "and goes on" wait_for 10 more WATCHDOG=1 $((at + 2))

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1
# As in hone-agent.service: root with three capabilities.
NOTIFY_SOCKET=$D/notify WATCHDOG_USEC=1000000 setpriv --bounding-set=-all,+setuid,+setgid,+setpcap --inh-caps=-all \
	--no-new-privs "$P/sbin/hone-agent" 2> "$D/agent.log" &
AGENT=$!
check "hone-agent is ready" wait_for 20 more READY=1 1
check "as user hone, bare" bare $AGENT hone
agent_ok() { "$P/bin/hone" agents | grep -w "$(uname -n)" | grep -w ok; }
check "honed lets it in" wait_for 20 agent_ok
check "and has measured a record with it" wait_for 30 grep 'a record costs [0-9]' "$D/agent.log"
check "nobody else is let in" bash -c "setpriv --reuid=nobody --regid=nogroup --clear-groups '$P/sbin/hone-agent' \
	-o agent.run_dir=/dev/shm/n2 -o agent.policy=/dev/shm/n2-policy 2>&1 & p=\$!; . tests/scenario/lib.sh; \
	wait_for 10 grep 'user nobody' '$D/honed.log'; rc=\$?; kill \$p; wait \$p; exit \$rc"
kill $AGENT
wait $AGENT
check "hone-agent ends by SIGTERM with 0" test $? = 0
check "what ExecStopPost runs" "$P/sbin/hone-agent" --sweep
check "leaves no folder and no table" not eval 'ls -d /run/hone/agent-* /dev/shm/hone-policy'
kill $HONED
wait $HONED
check "honed, too" test $? = 0
check "both said that they stop" test "$(heard STOPPING=1)" = 2

# ---- messages on failure ------------------------------------------------------------
mkdir -m 755 "$D/roots"
"$P/sbin/honed" -o storage.database="$D/roots/forest.db" 2> "$D/a"
check "a folder that is root's: exit 1" test $? = 1
check "and what to do" grep 'roots: honed runs as user .* give it to that user (chown)' "$D/a"
"$P/sbin/honed" -o storage.database="$D/made/here/forest.db" 2> "$D/b" &
HONED=$!
owner() { [ "$(stat -c %U "$1")" = "$2" ]; }
check "one that is missing is made, for that user" wait_for 20 owner "$D/made/here/forest.db" honed
echo "1..$N"
exit $FAILED
