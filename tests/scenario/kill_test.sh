#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# honed killed with -9 at the critical points of a diagnosis: before each write to its database, after each sync, before
# and after each message that enables or disables tracepoints. At every point the database is intact and contains all
# enabled tracepoints, none stays enabled, and a new controller continues from there.
# O: the folder that `make all` built. KILL_POINTS: number of points, spread over all by KILL_SEED (6, 1), or "all".
. "$(dirname "$0")/lib.sh"
needs root
here=$PWD/examples
. "$here/stage.sh"
load=
end() { [ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null; stage_down; }
trap end EXIT
why() { stage_logs; }
TYPE=GET_PRODUCT LEASE=2s
quiet() { hone status --json | jq -e .quiet; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "GET_PRODUCT" and .traces > 20)'; }
ended() { gone "$honed" || hone forest $TYPE --json | jq -e '.runs[0].state != "active"'; }

# honed with the shim preloaded; killed at point $1 of a diagnosis (0: never); lists the points in $2
shimmed() {
  LD_PRELOAD=$O/tests/scenario/kill_shim.so KILL_AT=$1 KILL_COUNT=$2 "$O/bin/honed" \
    -o controller.agents="ipc://$stage/agents.sock" -o controller.operators="$HONE_SOCKET" -o agents.lease=$LEASE \
    -o storage.database="$stage/forest.db" -o storage.space="$stage/space.db" >>"$stage/honed.log" 2>&1 &
  honed=$!
}
# Runs a diagnosis, one tracepoint a cycle, until it or honed ends.
diagnosis() {
  until_true 60 "requests are seen, or honed is dead" eval 'gone "$honed" || seen' || return 1
  gone "$honed" || hone start $TYPE --k 1 --seed 1 >/dev/null 2>&1 || wait_for 10 gone "$honed" || return 1
  until_true 180 "the diagnosis or honed has ended" ended
}
finish() { kill "$honed" 2>/dev/null; wait "$honed" 2>/dev/null; honed=; }

# Every enabled tracepoint must be recorded as enabled in the database, and the database must be intact.
remembered() {
  python3 - "$stage/forest.db" <<PYTHON
import shutil, sqlite3, sys, os, tempfile
added = """$(cat "$stage/added")""".split("\n")
with tempfile.TemporaryDirectory() as folder:        # a copy, so that only honed itself recovers the database
    for end in ("", "-wal"):
        if os.path.exists(sys.argv[1] + end):
            shutil.copy(sys.argv[1] + end, folder + "/forest.db" + end)
    db = sqlite3.connect(folder + "/forest.db")
    whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    broken = db.execute("PRAGMA foreign_key_check").fetchall()
    known = {row[0] for row in db.execute('SELECT tracepoint FROM switched WHERE "on" = 1')}
forgotten = [a for a in added if a and a.split(" ", 1)[1] not in known]
print(whole, broken, forgotten)
sys.exit(whole != "ok" or bool(broken) or bool(forgotten))
PYTHON
}

# Kills at point $1 and checks; what is wrong is in $trouble.
try() {
  trouble=
  shimmed "$1" /dev/null
  diagnosis || trouble="the diagnosis did not begin or end"
  # Without the rules of flight recorders, which are providers: the search has not decided about them.
  stage_added | grep -v ':\*$' >"$stage/added"
  if ! gone "$honed"; then finish; return 2; fi		# the diagnosis ended before that point
  wait "$honed" 2>/dev/null; honed=
  remembered >"$stage/remembered" 2>&1 || trouble="$trouble; database: $(tail -n 1 "$stage/remembered")"
  until_true 10 "nothing is added" stage_nothing_added || trouble="$trouble; still on: $(stage_added | tr '\n' ' ')"
  stage_honed "${ALL_TRACED[@]}" || { trouble="$trouble; no new controller"; return 1; }
  hone forest --json | jq -e 'all(.runs[]; .state != "active" and all(.hypotheses[]; .state != "probing" and
    .state != "open"))' >/dev/null || trouble="$trouble; a diagnosis that nobody runs is active"
  finish
  [ -z "$trouble" ]
}

stage_app && stage_honed "${ALL_TRACED[@]}" && stage_agents || bail "the stage does not come up"
"$here/shop/shop.sh" load "$stage/shop" --seconds 7200 --rate 200 --json >"$stage/load.json" 2>&1 &
load=$!
until_true 60 "requests are seen" seen
hone learn --seconds 5 --wait >/dev/null || bail "nothing is learned"
"$here/shop/shop.sh" fault "$stage/shop" slow_function 6
finish

shimmed 0 "$stage/points"
check "a diagnosis that is not interrupted ends" diagnosis
finish
total=$(wc -l <"$stage/points")
check "it passes at least 20 points at which it can be killed" [ "$total" -ge 20 ]
if [ "${KILL_POINTS:=6}" = all ]; then
  chosen=$(seq 1 "$total")
else
  chosen=$(shuf --random-source=<(yes "${KILL_SEED:-1}") -i 1-"$total" -n "$KILL_POINTS" | sort -n)
fi
passed=0
for at in $chosen; do
  try "$at"
  rc=$?
  # The number of points varies at random between diagnoses.
  if [ $rc = 2 ]; then
    echo "# point $at of $total: this time it ended before"
    at=$(((at + 1) / 2))
    try "$at"
    rc=$?
  fi
  case $rc in
  0) passed=$((passed + 1)) ;;
  2) echo "# point $at of $total: this time it ended before" ;;
  *) check "killed at point $at ($(sed -n "${at}p" "$stage/points"))$trouble" false ;;
  esac
done
check "killed at $passed points of $total: the forest is consistent after each, and no added tracepoint stayed enabled" \
  [ "$passed" -ge $(($(echo "$chosen" | wc -w) * 2 / 3)) ]
stage_honed "${ALL_TRACED[@]}"
until_true 60 "the agents" stage_ready
until_true 60 "requests are seen" seen
check "afterwards the fault is found" hone start $TYPE --wait
check "the verdict names the right place" bash -o pipefail -c "'$O/bin/hone' forest $TYPE --json |
  jq -e '.runs[0].verdict.edge.from == \"shop-price/shop_price:tax_rate_end\"'"
kill "$load" 2>/dev/null; wait "$load"; load=
check "no request failed during the test" jq -e '.all.requests > 1000 and .all.errors == 0' "$stage/load.json"
echo "1..$N"
exit $FAILED
