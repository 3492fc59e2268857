#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Whether planted faults are found: every fault of the shop, ROUNDS times, each on its own shop (examples/demo.sh).
# Prints a table, replaces the one in docs/evaluation.md, and writes a page; each run is a line of JSON. Exits 1 if a
# target is missed. If interrupted, it reports the runs so far and does not change the docs.
#
#   O=build ROUNDS=5 bench/eval.sh [FAULT...]     writes $O/eval.jsonl, $O/eval.html, $O/eval.log
#   RATE, STRATEGY, K, ONLY, LEARN_SECONDS: see examples/demo.sh. With faults named, or any of these set, the docs stay unchanged.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
export O=${O:-$here/build}
rounds=${ROUNDS:-5}
truth=$here/examples/shop/faults.json
docs=--docs
[ -z "$*${RATE:-}${STRATEGY:-}${K:-}${ONLY:-}${LEARN_SECONDS:-}" ] || docs=
[ $# -gt 0 ] || set -- $(jq -r 'keys_unsorted[]' "$truth")
export BEFORE_SECONDS=${BEFORE_SECONDS:-5}
interrupted=
trap 'interrupted=1' INT TERM
: >"$O/eval.jsonl"
: >"$O/eval.log"
for round in $(seq "$rounds"); do
  for fault in "$@"; do
    echo "== $fault, round $round" >>"$O/eval.log"
    run=$("$here/examples/demo.sh" --json "$fault" 2>>"$O/eval.log")
    [ -z "$interrupted" ] || break 2
    jq -c --argjson round "$round" '. + {round: $round} | del(.hypotheses)' <<<"${run:-"{\"fault\": \"$fault\"}"}" >>"$O/eval.jsonl"
    echo "round $round of $rounds: $fault: $(tail -n 1 "$O/eval.jsonl" | jq -r '.check // "the run failed, see eval.log"')" >&2
  done
done
[ -z "$interrupted" ] || docs=
python3 "$here/bench/eval.py" "$O/eval.jsonl" "$truth" --html "$O/eval.html" --style "$here/report/page.css" \
  ${docs:+--docs "$here/docs/evaluation.md"}
status=$?
[ -z "$interrupted" ] || { echo "eval: interrupted after $(wc -l <"$O/eval.jsonl") runs" >&2; exit 130; }
exit $status
