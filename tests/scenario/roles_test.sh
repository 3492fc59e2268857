#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Access control: operators' roles, their audit records, and a flood of connections that send nothing.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond setpriv python3
own_node /run/hone
D=$(mktemp -d)
chmod 755 "$D"
export HONE_SOCKET="ipc://$D/honed.sock" LTTNG_HOME=$D
HONED='' PIDS=()
end() {
	for pid in ${HONED:+"$HONED"} "${PIDS[@]}"; do kill "$pid" 2> /dev/null; done
	wait
	rm -rf "$D"
}
trap end EXIT
why() { tail -n 5 "$D/honed.log"; "$D/hone" audit; }

# Other users must be able to run it, wherever it was built.
install -m 755 "$O/bin/hone" "$D/hone"
NOBODY=$(getent passwd 65534 | cut -d: -f1)
GROUP=$(id -gn "$NOBODY")
hone() { "$D/hone" "$@"; }
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$D/hone" "$@"; }
up() {
	"$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
		-o storage.database="$D/forest.db" -o storage.space="$D/space.db" "$@" >> "$D/honed.log" 2>&1 &
	HONED=$!
	wait_for 20 hone status
}
down() { kill "$HONED" && wait "$HONED"; local rc=$?; HONED=; return $rc; }
says() { # CODE TEXT COMMAND...
	local code=$1 text=$2 said rc=0
	shift 2
	said=$("$@" 2>&1) || rc=$?
	echo "exit $rc: $said"
	[ $rc = "$code" ] && grep -qF -- "$text" <<< "$said"
}
mode() { [ "$(stat -c %a "$D/$1")" = "$2" ] || { stat "$D/$1"; return 1; }; }
audit() { hone audit --json | jq -e "$1"; }

echo 1..39
check "an unknown user in operators.look is an error at start" says 1 "operators.look: nosuchuser1: there is no such user" \
	"$O/bin/honed" -n -o operators.look=nosuchuser1
check "an unknown group in agents.allow is an error at start" says 1 "agents.allow: nosuchgroup1: there is no such group" "$O/bin/honed" -n -o agents.allow=@nosuchgroup1

check "honed starts" up
check "with empty lists only honed's user can open the operators' socket" mode honed.sock 600
check "with empty lists only honed's user can open the agents' socket" mode agents.sock 600
check "with empty lists another user cannot ask" says 1 honed as_nobody status
check "root may ask" hone status
check "only honed's user can open the database" mode forest.db 600
check "honed ends" down

chmod 644 "$D/forest.db" "$D/forest.db.lock"
check "honed starts with a database that others can read" up
check "the database is private again" mode forest.db 600
check "so is its lock" mode forest.db.lock 600
check "a line in the log says so" grep -q "forest.db: other users could open it (mode 0644); its mode is 0600 now" "$D/honed.log"
down

check "honed starts with operators.look=$NOBODY" up -o operators.look="$NOBODY"
check "all users can open the operators' socket, since honed asks the kernel for the peer's user" mode honed.sock 666
check "the agents' socket is still closed for other users" mode agents.sock 600
check "the role look permits status" says 0 "" as_nobody status
check "the role look permits history" says 0 "" as_nobody history
check "the role look permits audit" says 0 "" as_nobody audit
check "the role look does not permit stop: the refusal says who can allow it" says 1 "root can allow it: $NOBODY" as_nobody stop
check "the refusal names the configuration key" says 1 "operators.diagnose of honed.conf" as_nobody learn --seconds 5
check "the role look does not permit report --reset" says 1 "operators.diagnose" as_nobody report --reset
check "root may reset the report" says 0 "" hone report --reset --json
check "the audit has a row for each refusal: user, question, key" audit \
	'[.rows[] | select(.outcome == "refused" and .uid == 65534 and .user == "'"$NOBODY"'" and .pid > 0) | .asked] |
	 any(. == "{\"ask\":\"stop\"}") and any(test("learn"))'
check "the audit has a row for what root did" audit 'any(.rows[]; .uid == 0 and .user == "root" and .outcome == "done" and (.asked | test("reset")))'
for _ in $(seq 40); do as_nobody stop > /dev/null 2>&1; done
check "a flood of refusals shares rows that count them" wait_for 30 audit \
	'[.rows[] | select(.uid == 65534)] | length <= 14 and (map(.times) | add) >= 43'
check "honed ends before the next configuration" down
check "operators.diagnose accepts a group, named with @" up -o operators.diagnose="@$GROUP"
check "a member of that group may ask stop" says 1 "nothing runs" as_nobody stop
check "the audit keeps the rows of before the restart" audit '[.rows[] | select(.outcome == "refused")] | length > 2'
check "honed ends a second time" down
check "honed starts with root in operators.look" up -o operators.look=root
check "a user in no list is refused when it connects" says 1 "may not ask this controller" as_nobody status
check "the audit has a row for this refusal" wait_for 10 audit 'any(.rows[]; .uid == 65534 and .action == "connect" and .outcome == "refused")'

# ---- a flood: a thousand silent connections to either socket ----
cat > "$D/flood.py" << 'END'
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
kept = []
for i in range(1000):
    for door in sys.argv[1:]:
        s = socket.socket(socket.AF_UNIX)
        s.connect(door)
        kept.append(s)
print(len(kept), flush=True)
time.sleep(600)
END
python3 "$D/flood.py" "$D/agents.sock" "$D/honed.sock" > "$D/flood.out" 2>&1 &
PIDS+=($!)
status_soon() { timeout 1 "$D/hone" status; }
ten_soon() { for _ in $(seq 10); do status_soon > "$D/status" || { cat "$D/status"; return 1; }; done; }
check "with 1000 silent connections being opened, hone status answers within a second" ten_soon
check "all these connections were opened" wait_for 60 grep -qx 2000 "$D/flood.out"
check "with all of them open, hone status answers within a second" ten_soon
bounded() { [ "$(ls "/proc/$HONED/task" | wc -l)" -lt 20 ] && [ "$(ls "/proc/$HONED/fd" | wc -l)" -lt 400 ]; }
check "honed's descriptors for them are bounded, and its threads do not grow" bounded
lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
PIDS+=($!)
wait_for 20 lttng -n list > /dev/null
"$O/bin/hone-agent" -o agent.node=n1 -o controller.url="ipc://$D/agents.sock" > "$D/agent.log" 2>&1 &
PIDS+=($!)
connected() { hone agents --json | jq -e 'any(.agents[]; .node == "n1" and .connected)'; }
check "an agent can still connect" wait_for 20 connected
exit $FAILED
