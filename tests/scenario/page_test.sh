#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The pictures of a page: its script runs, and the time axis and the flame graphs that it draws have the figures of the
# document that hone prints beside the page. Of generated trace files, and of real ones from the folder HONE_DATA.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jaeger.sh"
needs node jq
DATA=$(realpath -m "${HONE_DATA:-../shared/data}")
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
# page NAME FILE...: writes the page and the document of these files
page() { "$O/bin/hone" analyze --html "$D/$1.html" --json "${@:2}" >"$D/$1.json"; }
# pictures PAGE DOCUMENT
pictures() { node tests/scenario/page_pictures.js "$D/$1.html" "$D/$2.json"; }
# fails_at TEXT COMMAND...: it fails, with a failed check of that name
fails_at() {
  ! "${@:2}" >"$D/said" || return 1
  cat "$D/said"
  grep -q "^not ok .*$1" "$D/said"
}

# A group that is a problem and one that is none, in overlapping times, so that no two figures of a bin are alike.
jaeger "$D/slow.trace" 1 120 1000 4000 LOCK
jaeger "$D/steady.trace" 100 400 1000 10
check "hone writes a page" page made "$D/slow.trace" "$D/steady.trace"
check "its type has requests in a group that is a problem, and others" jq -e '.types[0].times.bins as $b | ($b | length) > 20 and
  ([$b[][2]] | add) > 100 and ([$b[] | .[0] - .[2]] | add) > 250' "$D/made.json"
check "time axis and flame graphs have the figures of the document" pictures made made
jq '.types[0].times.bins[3][0] += 1' "$D/made.json" >"$D/bin.json"
check "a bin of another number would be found" fails_at "each bin of time" pictures made bin
jq '.types[0].times.bins[3][1] *= 1.05' "$D/made.json" >"$D/mean.json"
check "so would another mean" fails_at "the line has the mean" pictures made mean
jq '(.types[0].groups[] | select(.problem == "unpredictable") | .edges[.top].tail.slow_ms) *= 1.05' "$D/made.json" >"$D/slow.json"
check "and another time of an edge" fails_at "both totals are the sums" pictures made slow
# What a diagnosis saw below the tracepoints of an edge, put into the document and its page.
jq '(.types[0].groups[] | select(.problem == "unpredictable") | .edges[.top].below) = {run: 3, from: "shop/a:b", to: "shop/a:c", slow: 40, usual: 160, slow_from_ms: 11, slow_ms: 9, usual_ms: 6,
  confidence: 0.95, items: [
  {of: "state", name: "disk", usual_ms: 2, slow_ms: 6, low_ms: 3.5, high_ms: 4.5, p: 0.005, slow: 40, usual: 150},
  {of: "self", name: "fsync", usual_ms: 2, slow_ms: 6, low_ms: 3.5, high_ms: 4.5, p: 0.005, slow: 40, usual: 150},
  {of: "state", name: "running", usual_ms: 4, slow_ms: 3, low_ms: -1.2, high_ms: -0.8, p: 0.02, slow: 40, usual: 160}],
  stacks: [{entry: "", parent: null, usual_ms: 6, slow_ms: 9}, {entry: "main", parent: 0, usual_ms: 6, slow_ms: 9},
  {entry: "append() at dd.c:27", parent: 1, usual_ms: 2, slow_ms: 6}, {entry: "fsync", parent: 2, usual_ms: 2, slow_ms: 6},
  {entry: "<parse>", parent: 1, usual_ms: 4, slow_ms: 3}, {entry: "tiny", parent: 1, usual_ms: 0.0001, slow_ms: 0}]}' \
  "$D/made.json" >"$D/below.json"
# DOCUMENT PAGE: the page with this document, and with the script that only pages of such documents have
splice() {
  node -e 'const [document, page, script] = process.argv.slice(1).map(f => require("fs").readFileSync(f, "utf8")),
    from = page.indexOf(">", page.indexOf("id=\"document\"")) + 1, to = page.indexOf("</script", from), at = page.indexOf("try {", to) + 5;
    process.stdout.write(page.slice(0, from) + document + page.slice(to, at) + script + page.slice(at))' "$1" "$2" report/below.js
}
splice "$D/below.json" "$D/made.html" >"$D/below.html"
check "a differential flame graph and its table have the figures of the document" \
  node tests/scenario/page_pictures.js "$D/below.html" "$D/below.json" 1
jq '(.types[0].groups[].edges[].below | select(. != null).stacks[2].slow_ms) = 5' "$D/below.json" >"$D/narrow.json"
check "a box of another width would be found" fails_at "has a box as wide" pictures below narrow
if [ -d "$DATA/nezha/2023-01-29" ]; then
  check "hone writes a page of a day of TrainTicket" page day "$DATA/nezha/2023-01-29"
  check "its time axis and flame graphs have the figures of the document" pictures day day
else
  echo "# SKIP real traces: $DATA/nezha is not there; HONE_DATA says where"
fi
echo "1..$N"
exit $FAILED
