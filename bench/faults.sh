#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every planted fault, ROUNDS times (1), as the table of docs/evaluation.md. Exits 1 if a verdict missed one.
#
#   O=build bench/faults.sh [ROUNDS]      RATE, ONLY, STRATEGY, K: see examples/demo.sh
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
export O=${O:-$here/build}
rounds=${1:-1}
all=$(mktemp)
trap 'rm -f "$all"' EXIT
missed=0
for fault in $(jq -r 'keys_unsorted[]' "$here/examples/shop/faults.json"); do
  for round in $(seq "$rounds"); do
    "$here/examples/demo.sh" --json "$fault" 2>/dev/null >>"$all" || missed=1
    [ ! -t 2 ] || echo "$fault, round $round" >&2
  done
done
jq -rs --slurpfile faults "$here/examples/shop/faults.json" '
  def pct: . * 100 | round | tostring;
  def span: if (min | pct) == (max | pct) then max | pct else (min | pct) + " to " + (max | pct) end;
  "| fault | planted in | right | share of variance found | key | tracepoints turned on | cycles | seconds: median, most |",
  "|---|---|---|---|---|---|---|---|",
  (group_by(.fault)[] | "| `\(.[0].fault)` | \($faults[0][.[0].fault].service) | \(map(select(.check == "right")) | length) of \(length) | "
    + "\([.[].verdict.share // 0] | span) % | "
    + (map(.verdict.key // empty) | if length == 0 then "none" else "\(.[0].name | if startswith("node of ") then "node" else sub(".*:"; "") end), R \([.[].r] | min | . * 100 | round / 100)" end)
    + " | \([.[].tracepoints_used] | max) (\([.[] | .tracepoints_used / .tracepoints_all] | max * 1000 | round / 10) %)"
    + " | \([.[].cycles] | max) | \([.[].seconds] | sort | .[length / 2 | floor] * 10 | round / 10), \([.[].seconds] | max * 10 | round / 10) |")' "$all"
exit $missed
