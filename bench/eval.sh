#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Whether planted faults are found: every fault of an example application, ROUNDS times, each on an application of its own
# (examples/demo.sh, judged by examples/judge.jq). Prints a table, replaces the one in docs/evaluation.md, and writes a page;
# each run is a line of JSON. Exits 1 if a target is missed. If interrupted, it reports the runs so far and does not change
# the docs.
#
#   O=build APP=shop ROUNDS=5 bench/eval.sh [--json] [FAULT...]     writes $O/eval-APP.jsonl, .html, .log
#   --json: prints JSON instead of the table
#   RATE, STRATEGY, K, ONLY, LEARN_SECONDS: see examples/demo.sh. With faults named, or any of these set, the docs stay unchanged.
#   SAVE_TO=FOLDER: each run's logs and databases, in FOLDER/FAULT-ROUND; bench/eval_time.py says from them where the time went.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
export O=${O:-$here/build} APP=${APP:-shop}
rounds=${ROUNDS:-5}
truth=$here/examples/$APP/faults.json
[ -e "$truth" ] || { echo "eval: there is no application $APP" >&2; exit 2; }
json=
[ "${1:-}" != --json ] || { json=--json; shift; }
docs=--docs
[ -z "$*${RATE:-}${STRATEGY:-}${K:-}${ONLY:-}${LEARN_SECONDS:-}" ] || docs=
[ $# -gt 0 ] || set -- $(jq -r 'keys_unsorted[]' "$truth")
export BEFORE_SECONDS=${BEFORE_SECONDS:-5}
out=$O/eval-$APP
interrupted=
trap 'interrupted=1' INT TERM
: >"$out.jsonl"
: >"$out.log"
for round in $(seq "$rounds"); do
  for fault in "$@"; do
    echo "== $fault, round $round" >>"$out.log"
    run=$(SAVE_TO=${SAVE_TO:+$SAVE_TO/$fault-$round} "$here/examples/demo.sh" --json "$fault" 2>>"$out.log")
    [ -z "$interrupted" ] || break 2
    jq -c --argjson round "$round" '. + {round: $round} | del(.hypotheses)' <<<"${run:-"{\"fault\": \"$fault\"}"}" >>"$out.jsonl"
    echo "round $round of $rounds: $fault: $(tail -n 1 "$out.jsonl" | jq -r '.judged.check // "the run failed, see '"$out"'.log"')" >&2
  done
done
[ -z "$interrupted" ] || docs=
python3 "$here/bench/eval.py" "$APP" "$out.jsonl" "$truth" $json --html "$out.html" --style "$here/report/page.css" \
  ${docs:+--docs "$here/docs/evaluation.md"}
status=$?
[ -z "$interrupted" ] || { echo "eval: interrupted after $(wc -l <"$out.jsonl") runs" >&2; exit 130; }
exit $status
