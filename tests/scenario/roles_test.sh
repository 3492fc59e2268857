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

echo 1..34
check "a user that there is not is an error at start" says 1 "operators.look: nosuchuser1: there is no such user" \
	"$O/bin/honed" -n -o operators.look=nosuchuser1
check "so is a group" says 1 "agents.allow: nosuchgroup1: there is no such group" "$O/bin/honed" -n -o agents.allow=@nosuchgroup1

check "honed comes up" up
check "with empty lists nobody else can open the socket" mode honed.sock 600
check "nor the agents'" mode agents.sock 600
check "somebody else cannot ask" says 1 honed as_nobody status
check "root may" hone status
check "honed ends" down

check "with a look for $NOBODY it comes up" up -o operators.look="$NOBODY"
check "everybody can open the socket, the kernel says who it is" mode honed.sock 666
check "nobody else's agents" mode agents.sock 600
check "look: status" says 0 "" as_nobody status
check "look: history" says 0 "" as_nobody history
check "look: the audit" says 0 "" as_nobody audit
check "look is not diagnose: stop names the key, and by whom" says 1 "root can allow it: $NOBODY" as_nobody stop
check "the same in words: which key" says 1 "operators.diagnose of honed.conf" as_nobody learn --seconds 5
check "nor reset" says 1 "operators.diagnose" as_nobody report --reset
check "root may reset" says 0 "" hone report --reset --json
check "rows say who was refused what" audit \
	'[.rows[] | select(.outcome == "refused" and .uid == 65534 and .user == "'"$NOBODY"'" and .pid > 0) | .asked] |
	 any(. == "{\"ask\":\"stop\"}") and any(test("learn"))'
check "and what root did" audit 'any(.rows[]; .uid == 0 and .user == "root" and .outcome == "done" and (.asked | test("reset")))'
for _ in $(seq 40); do as_nobody stop > /dev/null 2>&1; done
check "a flood of refusals shares rows, and is counted" wait_for 30 audit \
	'[.rows[] | select(.uid == 65534)] | length <= 14 and (map(.times) | add) >= 43'
check "it ends, and another group may diagnose" down
check "a group is named with @" up -o operators.diagnose="@$GROUP"
check "of that group: stop is asked, and nothing runs" says 1 "nothing runs" as_nobody stop
check "the audit is kept from before" audit '[.rows[] | select(.outcome == "refused")] | length > 2'
check "it ends" down
check "for another user" up -o operators.look=root
check "who is in no list is told at the door" says 1 "may not ask this controller" as_nobody status
check "and has a row" wait_for 10 audit 'any(.rows[]; .uid == 65534 and .asked == "connect" and .outcome == "refused")'

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
check "while a thousand connect and say nothing, hone status answers within a second" ten_soon
check "all of them came" wait_for 60 grep -qx 2000 "$D/flood.out"
check "and with all of them there, within a second" ten_soon
bounded() { [ "$(ls "/proc/$HONED/task" | wc -l)" -lt 600 ] && [ "$(ls "/proc/$HONED/fd" | wc -l)" -lt 400 ]; }
check "what they hold of honed is bounded" bounded
lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
PIDS+=($!)
wait_for 20 lttng -n list > /dev/null
"$O/bin/hone-agent" -o agent.node=n1 -o controller.url="ipc://$D/agents.sock" > "$D/agent.log" 2>&1 &
PIDS+=($!)
connected() { hone agents --json | jq -e 'any(.agents[]; .node == "n1" and .connected)'; }
check "and an agent connects" wait_for 20 connected
exit $FAILED
