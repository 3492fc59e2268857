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
if [ -d "$DATA/nezha/2023-01-29" ]; then
  check "hone writes a page of a day of TrainTicket" page day "$DATA/nezha/2023-01-29"
  check "its time axis and flame graphs have the figures of the document" pictures day day
else
  echo "# SKIP real traces: $DATA/nezha is not there; HONE_DATA says where"
fi
echo "1..$N"
exit $FAILED
