#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Requests that wait for a thread: the verdict says what that did meanwhile, though of other request types only a few are sampled usually.
# In the second example another type holds the event loop (fault loop), then a process stands still at times (fault stop).
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root
ahead_of_others
export APP=news
here=$PWD/examples
. "$here/stage.sh"
load=
end() { [ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null; stage_down; }
trap end EXIT
why() { hone forest; hone status; stage_logs; }

seen() { hone status --json | jq -e '[.types[] | select(.traces > 20) | .type] | sort == ["PUBLISH", "READ", "SEARCH"]'; }
few_are_sampled() { hone status --json | jq -e '.types[] | select(.type == "PUBLISH") | .sampled < 0.5'; }
fault() { "$here/news/news.sh" fault "$stage/news" "$@"; }
newest() { hone forest READ --json | jq -e ".runs[0] | $1"; }
# Beside other work requests wait for other reasons, too: a run that is unsure is repeated once.
diagnosed() {
  local again
  for again in no yes; do
    timeout 150 "$O/bin/hone" start READ --wait && newest '.state == "found"' && return
    newest '.state == "unsure"' || return
  done
  return 1
}
waited_for() { newest "[.verdicts[].waited | select(. != null)] | any($1)"; }

echo 1..8
stage_app && stage_honed -o agents.enough=2 && stage_agents || bail "the stage does not come up"
"$here/news/news.sh" load "$stage/news" --seconds 900 --rate 120 >"$stage/load.log" 2>&1 &
load=$!
check "the three request types are traced" until_true 20 "types" seen
check "the space is learned" hone learn --seconds 8 --wait
check "few requests of a type that is not diagnosed are sampled" until_true 30 "few" few_are_sampled
fault loop on
check "a wait for an event loop is found" diagnosed
check "it is said which other requests held it" waited_for '.cause == "occupied" and .type == "PUBLISH" and .share_low > 0.25'
fault loop off
fault stop on
check "a wait for a process that is stopped at times is found" diagnosed
check "it is said that it stood still" waited_for '.cause == "still" and .service == "news-desk"'
fault stop off
check "nothing that was added is on" until_true 30 "nothing is added" stage_nothing_added
