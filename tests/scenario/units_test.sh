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
units=("$P/lib/systemd/system/honed.service" "$P/lib/systemd/system/hone-agent.service" "$P/lib/systemd/system/hone-otel.service")
check "systemd-analyze verify finds no error in the units" eval \
	'found=$(systemd-analyze verify --man=no "${units[@]}" 2>&1); echo "$found"; ! grep -F "$P" <<< "$found"'
exposed() { # UNIT TENTHS: systemd's exposure level of the unit is at most TENTHS / 10
	systemd-analyze security --offline=yes --threshold="$2" --no-pager "$1"
}
check "systemd-analyze security rates honed under 2.0 of 10" exposed "${units[0]}" 20
check "systemd-analyze security rates hone-agent under 2.6 of 10" exposed "${units[1]}" 26
check "systemd-analyze security rates hone-otel under 2.0 of 10" exposed "${units[2]}" 20
limit() { "$O/bin/honed" -nv -c /dev/null | sed -n "s/^$1 = //p"; }
files_fit() {
	local files=$(($(limit connections_max) + 8 * $(limit strangers_max) + 100)) most
	most=$(sed -n 's/^LimitNOFILE=//p' "${units[0]}")
	echo "$files files, LimitNOFILE=$most"
	[ "$files" -gt 500 ] && [ "$files" -le "$most" ]
}
check "honed may have as many open files as its default limits permit connections" files_fit
echo "# systemd is not process 1 of a test: the units are checked, but what they start is started here by hand"
mkdir -p "$D/root/etc"
getent passwd | grep -v '^hone' > "$D/root/etc/passwd"
getent group | grep -v '^hone' > "$D/root/etc/group"
check "systemd-sysusers makes the users" systemd-sysusers --root="$D/root" "$P/lib/sysusers.d/hone.conf"
chmod 644 "$D/root/etc/passwd" "$D/root/etc/group"
mount --bind "$D/root/etc/passwd" /etc/passwd && mount --bind "$D/root/etc/group" /etc/group
check "user hone is in group tracing" eval 'id -nG hone | grep -w tracing'
check "user honed is not in group tracing" eval '! id -nG honed | grep -w tracing'
check "systemd-tmpfiles makes the folders" systemd-tmpfiles --create "$P/lib/tmpfiles.d/hone.conf"

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
check "honed notifies that it is ready" wait_for 20 more READY=1 0
check "honed runs as user honed, without capabilities" bare $HONED honed
check "the database belongs to user honed" test "$(stat -c %U /var/lib/hone/forest.db)" = honed
check "honed sends watchdog notifications" wait_for 10 more WATCHDOG=1 2
kill -STOP $HONED
at=$(heard WATCHDOG=1)
sleep 3		# three times its watchdog interval
check "a stopped honed sends none" not more WATCHDOG=1 $((at + 1))	# one notification may have been in transit
kill -CONT $HONED
check "a continued honed sends them again" wait_for 10 more WATCHDOG=1 $((at + 2))

lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
SESSIOND=$!
wait_for 20 lttng -n list > /dev/null 2>&1
# As in hone-agent.service: root with five capabilities.
NOTIFY_SOCKET=$D/notify WATCHDOG_USEC=1000000 setpriv --bounding-set=-all,+setuid,+setgid,+setpcap,+bpf,+perfmon --inh-caps=-all \
	--no-new-privs "$P/sbin/hone-agent" 2> "$D/agent.log" &
AGENT=$!
check "hone-agent notifies that it is ready" wait_for 20 more READY=1 1
check "hone-agent runs as user hone, without capabilities" bare $AGENT hone
agent_ok() { "$P/bin/hone" agents | grep -w "$(uname -n)" | grep -w ok; }
check "honed accepts the agent" wait_for 20 agent_ok
check "the agent has measured what a record costs" wait_for 30 grep 'a record costs [0-9]' "$D/agent.log"
check "an agent of another user is refused" bash -c "setpriv --reuid=nobody --regid=nogroup --clear-groups '$P/sbin/hone-agent' \
	-o agent.run_dir=/dev/shm/n2 -o agent.policy=/dev/shm/n2-policy 2>&1 & p=\$!; . tests/scenario/lib.sh; \
	wait_for 10 grep 'user nobody' '$D/honed.log'; rc=\$?; kill \$p; wait \$p; exit \$rc"
kill $AGENT
wait $AGENT
check "SIGTERM ends hone-agent: exit 0" test $? = 0
check "the command of ExecStopPost exits 0" "$P/sbin/hone-agent" --sweep
check "it leaves no folder and no table of rates" not eval 'ls -d /run/hone/agent-* /dev/shm/hone-policy'
kill $HONED
wait $HONED
check "SIGTERM ends honed: exit 0" test $? = 0
check "both notified that they are stopping" test "$(heard STOPPING=1)" = 2

# ---- messages on failure ------------------------------------------------------------
mkdir -m 755 "$D/roots"
"$P/sbin/honed" -o storage.database="$D/roots/forest.db" 2> "$D/a"
check "a database folder that belongs to root: exit 1" test $? = 1
check "the error says what to do" grep 'roots: honed runs as user .* give it to that user (chown)' "$D/a"
"$P/sbin/honed" -o storage.database="$D/made/here/forest.db" 2> "$D/b" &
HONED=$!
owner() { [ "$(stat -c %U "$1")" = "$2" ]; }
check "a missing database folder is made for user honed" wait_for 20 owner "$D/made/here/forest.db" honed
echo "1..$N"
exit $FAILED
