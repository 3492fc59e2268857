#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Agents over tls:// with credentials made by `hone keys`: an accepted agent works as over a local socket, a refused one
# gets the reason, a revoked one is disconnected within seconds, and a peer that only holds connections does not block
# others.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root
here=$PWD/examples
. "$here/stage.sh"
. "$here/node.sh"
load= stranger= flood=
end() {
  local pid
  for pid in $load $stranger $flood; do { kill "$pid"; wait "$pid"; } 2>/dev/null; done
  [ -z "$stage" ] || "$here/node.sh" stop "$stage" stranger
  stage_down
}
trap end EXIT
not() { ! "$@"; }
why() { hone status; hone forest; stage_logs; }

# ---- agents with credentials------------------------------------------------------------
keys() { hone keys "$1" --dir "$stage/keys" "${@:2}"; }
# start_agent URL NODE FOLDER: starts an agent as that node with the credentials in FOLDER; sets $started to its pid
start_agent() {
  "$here/node.sh" exec "$1" "$2" "$O/bin/hone-agent" -o agent.node="${4:-$2}" -o controller.url="$url" \
    -o agent.run_dir=/dev/shm/hone-agent -o tls.ca="$3/ca.pem" -o tls.certificate="$3/agent.pem" -o tls.key="$3/agent.key" \
    >>"$stage/agent-${4:-$2}.log" 2>&1 &
  started=$!
}
start_stranger() { # KEYS NAME
  start_agent "$stage" stranger "$1" "$2"
  stranger=$started
}
end_stranger() { kill "$stranger"; wait "$stranger" 2>/dev/null; stranger=; }
connected() { hone agents --json | jq -e --arg n "$1" 'any(.agents[]; .node == $n and .connected)'; }
out() { hone agents --json | jq -e --arg n "$1" 'any(.agents[]; .node == $n and .connected) | not'; }
refused() { hone agents --json | jq -e --arg w "$1" 'any(.refused[]; .words | contains($w))'; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "GET_PRODUCT" and .traces > 20)'; }
something_added() { [ "$(hone status --json | jq .added)" -gt 0 ]; }
logged() { grep -F -e "$2" "$stage/$1.log"; }

echo 1..26
stage_app && "$here/node.sh" start "$stage" stranger || bail "the stage does not come up"
port=$(node_free_port)
url=tls://localhost:$port

check "hone keys init makes a CA and the controller's keys" keys init --host localhost
check "a second hone keys init overwrites no key" not keys init
for node in $nodes stranger; do keys agent "$node" || exit 1; done >"$stage/keys.log"
check "hone keys init makes the folder, and the one that it is in" hone keys init --dir "$stage/foreign/keys"
hone keys agent stranger --dir "$stage/foreign/keys" >>"$stage/keys.log"
check "hone keys add makes the three files that a node needs" \
  test "$(ls "$stage/keys/agents/cart" | tr '\n' ' ')" = "agent.key agent.pem ca.pem "
check "hone keys show lists the certificates" bash -o pipefail -c "'$O/bin/hone' keys show --dir '$stage/keys' --json |
  jq -e '[.keys[] | select(.state == \"valid\" and .in_use)] | length == $(($(echo "$nodes" | wc -w) + 3))'"
check "honed does not listen on TCP without TLS" not "$O/bin/honed" -n -o controller.agents=tcp://127.0.0.1:$port
check "hone-agent does not connect to TCP without TLS" not "$O/bin/hone-agent" -n -o agent.node=n -o controller.url=tcp://127.0.0.1:$port
check "without keys honed does not listen for other machines, and says why" bash -c "
  '$O/bin/honed' -o controller.agents=$url -o controller.operators='$HONE_SOCKET' -o storage.database='$stage/forest.db' \
    -o storage.space='$stage/space.db' -o tls.ca='$stage/no.pem' 2>&1 | grep 'there is no CA; hone keys init'"

stage_honed -o controller.agents="tls://127.0.0.1:$port" -o tls.ca="$stage/keys/ca.pem" \
  -o tls.certificate="$stage/keys/controller.pem" -o tls.key="$stage/keys/controller.key" \
  -o tls.revoked="$stage/keys/revoked.pem" || bail "no controller"
for node in $nodes; do
  start_agent "$stage/shop" "$node" "$stage/keys/agents/$node"
  stage_agent_pids+=($started)
  [ "$node" != price ] || agent_price=$started
done

# ---- accepted -------------------------------------------------------------------------
check "all agents connect and report their programs" stage_agents_known
"$here/shop/shop.sh" load "$stage/shop" --seconds 900 --rate 100 --json >"$stage/load.json" 2>&1 &
load=$!
until_true 60 "requests are seen" seen
check "it learns" hone learn --seconds 5 --wait
"$here/shop/shop.sh" fault "$stage/shop" slow_function 8
check "a diagnosis begins" hone start GET_PRODUCT --k 1
check "it enables a tracepoint" until_true 90 "something is added" something_added
check "hone stop ends it" bash -c "'$O/bin/hone' stop"
check "afterwards all added tracepoints are off on the nodes" until_true 30 "nothing is added" stage_nothing_added

# ---- refused --------------------------------------------------------------------------
start_stranger "$stage/foreign/keys/agents/stranger" stranger
check "an agent with a certificate of another CA is refused: honed logs the reason" until_true 30 "words" \
  logged honed "our certificate is of another CA than its own"
check "hone agents has the reason" refused "is of another CA"
check "the agent logs the reason" until_true 30 "words" logged agent-stranger "of another CA"
end_stranger
start_stranger "$stage/keys/agents/stranger" cart
check "an agent with the keys of another node is refused: honed logs the reason" until_true 30 "words" \
  logged honed "hone:agent:stranger may speak for node stranger only, not for cart"
check "hone agents has the reason of this refusal" refused "may speak for node stranger only"
check "the agent logs the reason of this refusal" until_true 30 "words" logged agent-cart "may speak for node stranger only"
end_stranger
check "the agent of that node is still connected" connected cart

# ---- revoked, and renewed ---------------------------------------------------------------
keys revoke cart >>"$stage/keys.log"
check "5 s after hone keys revoke the agent is disconnected" until_true 5 "it is out" out cart
check "the other agents stay connected" connected price
keys agent cart --again >>"$stage/keys.log"
check "with new keys the agent connects without a restart" until_true 60 "it is back" connected cart

# ---- peers that only hold connections--------------------------------------------------------
python3 - "$port" <<'P' &
import select, socket, sys, time
def dial():
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", int(sys.argv[1])))
    return s
held = [dial() for _ in range(300)]
while True:
    gone = select.select(held, [], [], 1)[0]
    for s in gone:
        try:
            s.recv(100)
        except BlockingIOError:
            continue
        except OSError:
            pass
        held.remove(s)
        s.close()
    time.sleep(0.05)
    held += [dial() for _ in range(300 - len(held))]
P
flood=$!
held() { [ "$(grep -c ":$(printf '%04X' "$port") 0*:0* 0A\|:$(printf '%04X' "$port") [0-9A-F:]* 01" /proc/net/tcp)" -gt 8 ]; }
before=$(wc -l <"$stage/honed.log")
until_true 30 "300 want connections, and some hold theirs" held
kill "$agent_price"; wait "$agent_price" 2>/dev/null
until_true 30 "price is gone" out price
start_agent "$stage/shop" price "$stage/keys/agents/price"
stage_agent_pids+=($started)
check "with 300 silent connections an agent can connect" until_true 60 "price is back" connected price
check "no agent was disconnected" bash -c "
  ! tail -n +$((before + 1)) '$stage/honed.log' | grep 'agent [a-z]* disconnected' | grep -v 'agent price'"
kill "$flood"; wait "$flood" 2>/dev/null; flood=
kill "$load"; wait "$load"; load=
exit $FAILED
