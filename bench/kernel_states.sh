#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Whether state patterns name the shop's faults: a baseline of the healthy shop is recorded, then for each fault a healthy window and one with the
# fault; each is compared with the baseline. Nothing of the shop is instrumented for that: only the kernel is recorded. Prints a table:
#
#	OPERATION, STATE	whether the first finding is of the operation of the fault, and of its state
#	RANK			the place of the first finding of that operation and state among all; -: there is none
#	OTHERS			findings of other operations
#	MACHINE			so many times as long as usual the threads of all services waited for a processor
#	OUTSIDE			share of the operations outside of their limits
#
#   O=build bench/kernel_states.sh [--json] [--again FOLDER | --keep FOLDER] [FAULT...]
#   --keep: keeps recordings and comparisons in this folder; --again: compares those of a folder again, nothing is recorded
#   RATE (120 requests/s), BASELINE (two recordings of 20 s), WINDOW (8 s), ROUNDS (1). Root. Exits 1 if a fault is missed or a healthy window has a finding.
set -euo pipefail
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
export O
json='' keep='' again=''
while [[ ${1:-} == --* ]]; do
  case $1 in
  --json) json=1 ;;
  --keep) keep=$2; shift ;;
  --again) again=$2; shift ;;
  *) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
  esac
  shift
done

# FAULT OPERATION STATE: what the kernel sees of it. The operation is a service and how its requests begin.
truth='
slow_function    shop-price:GET./quote     timer
lock_contention  shop-cart:POST./add       lock
journal_fsync    shop-cart:POST./add       lock
slow_disk        shop-order:POST./place    timer
slow_node        shop-catalog:GET./(featured|product) timer
input_dependent  shop-catalog:GET./search  timer
cpu_function     shop-price:GET./quote     running
noisy_neighbour  shop-catalog:GET./search  ready
page_cache       shop-order:GET./history   disk
small_pool       shop-order:GET./history   timer
big_key          shop-cart:POST./add       thread
row_lock         shop-order:POST./place    timer
'
[ $# -gt 0 ] || set -- $(awk '{ print $1 }' <<< "$truth")
for fault in "$@"; do
  grep -q "^$fault " <<< "$truth" || { echo "kernel_states: no fault $fault" >&2; exit 2; }
done

# Ports are of a network of its own, so that several can run side by side.
if [ -z "$again" ] && [ -z "${HONE_NETWORK:-}" ]; then
  HONE_NETWORK=$$ exec unshare --net bash -c 'ip link set lo up && exec "$@"' - "bench/$(basename "$0")" ${json:+--json} ${keep:+--keep "$keep"} "$@"
fi
folder=${again:-${keep:-$(mktemp -d "$O/kernel-states.XXXXXX")}}
mkdir -p "$folder"
folder=$(realpath "$folder")
export XDG_DATA_HOME=$folder/data
shop() { examples/shop/shop.sh "$1" "$folder/shop" "${@:2}"; }
load=''
end() {
  local rc=$?
  trap - EXIT INT TERM
  [ -z "$load" ] || { kill "$load" 2> /dev/null; wait "$load" 2> /dev/null; } || true
  [ -n "$again" ] || shop stop || rc=1
  [ -n "$again$keep" ] || rm -rf "$folder"
  exit $rc
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

rounds=${ROUNDS:-1}
record() { nice -n -10 "$O/bin/hone" kernel record --texts --seconds "$2" "$folder/$1" > "$folder/$1.log" 2>&1 || { tail -n 3 "$folder/$1.log" >&2; return 1; }; }
if [ -z "$again" ]; then
  shop start
  examples/shop/shop.sh load "$folder/shop" --seconds 3600 --rate "${RATE:-120}" --seed 7 > "$folder/load.log" 2>&1 &
  load=$!
  sleep 2
  for part in 1 2; do
    record "baseline-$part" "${BASELINE:-20}"
  done
  for round in $(seq "$rounds"); do
    for fault in "$@"; do
      record "healthy-$fault-$round" "${WINDOW:-8}"
      shop fault "$fault" on
      sleep 1
      record "$fault-$round" "${WINDOW:-8}"
      shop fault "$fault" off
      sleep 2
      echo "round $round of $rounds: $fault" >&2
    done
  done
fi

memory=${MEMORY:-2048}
"$O/bin/hone" baseline save --states healthy "$folder"/baseline-? --memory "$memory" > "$folder/baseline.txt" 2> "$folder/baseline.log" ||
  { cat "$folder/baseline.log" >&2; exit 1; }
for round in $(seq "$rounds"); do
  for fault in "$@"; do
    for window in "$fault-$round" "healthy-$fault-$round"; do
      "$O/bin/hone" analyze --baseline healthy "$folder/$window" --memory "$memory" --json > "$folder/$window.json" 2> "$folder/$window.err" ||
        { cat "$folder/$window.err" >&2; exit 1; }
      expected=none:none:none
      [[ $window == healthy-* ]] || expected=$(awk -v f="$fault" '$1 == f { print $2 ":" $3 }' <<< "$truth")
      jq -c --arg window "$window" --arg expected "$expected" '
        ($expected | split(":")) as [$service, $how, $state] |
        def right: startswith($service + " ") and test(" " + $how + "( |$)");
        [.operations[] | .name as $name | .findings[] | {name: $name, right: ($name | right), state, more, measure, excess_ns, operations, of, usual, mean}] as $all |
        {window: $window, state: $state, healthy: ($service == "none"), requests, compared, outside,
         operation_right: ($all[0].right // false), state_right: (($all[0].right // false) and $all[0].state == $state and $all[0].more),
         rank: ([$all | to_entries[] | select(.value.right and .value.state == $state and .value.more) | .key + 1] | first),
         machine, findings: ($all | length), others: ([$all[] | select(.right | not)] | length), first: $all[0]}' "$folder/$window.json"
    done
  done
done > "$folder/results.jsonl"

if [ -n "$json" ]; then
  jq -s . "$folder/results.jsonl"
else
  {
    echo "WINDOW|OPERATION|STATE|RANK|FINDINGS|OTHERS|MACHINE|OUTSIDE|FIRST FINDING"
    jq -r 'select(.compared > 0) | [.window, (if .healthy then "" elif .operation_right then "right" else "wrong" end),
      (if .healthy then "" elif .state_right then "right" else "wrong" end), (if .healthy then "" else (.rank // "-" | tostring) end), .findings, .others, (.machine * 10 | round / 10),
      "\(.outside * 1000 / .compared | round / 10) % of \(.compared)",
      (.first | if . then "\(.name | .[0:44]) \(.state) \(if .more then "more" else "less" end) \(.usual / 1e4 | round / 100) to \(.mean / 1e4 | round / 100) ms" else "" end)] | join("|")' "$folder/results.jsonl"
  } | column -t -s '|'
  jq -rs '[.[] | select(.healthy)] as $h | [.[] | select(.healthy | not)] as $f |
    "\nfaults: operation right \([$f[] | select(.operation_right)] | length), state right \([$f[] | select(.state_right)] | length) of \($f | length)",
    "healthy windows: \([$h[] | select(.findings > 0)] | length) of \($h | length) with findings, \(1000 * ([$h[].outside] | add) / ([$h[].compared] | add) | round / 10) % of \([$h[].compared] | add) operations outside"' "$folder/results.jsonl"
fi
jq -es 'all(.[]; if .healthy then .findings == 0 else .state_right end)' "$folder/results.jsonl" > /dev/null
