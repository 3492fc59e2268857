#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone analyze on real traces, from the start of the process to its end; the best of several runs, and the peak memory.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
DATA=$(realpath -m "${HONE_DATA:-../shared/data}")
if [ ! -d "$DATA/nezha" ]; then
	echo "report_analyze: no traces at $DATA/nezha; HONE_DATA says where they are" >&2
	exit 0
fi
make -s O="$O" "$O/bin/hone" "$O/bench/report_analyze"
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
day=("$DATA"/nezha/2023-01-29/*.csv.gz)
# copy N: another copy of the day, with other trace ids
copy() {
	for f in "${day[@]}"; do
		gzip -dc "$f" | awk -F, -v OFS=, -v n="$1" 'NR > 1 { $1 = sprintf("%02x", n) substr($1, 3) } 1'
	done | awk 'NR == 1 || !/^TraceID/' | gzip -1 > "$D/$1.csv.gz"
}
for n in 1 2 3 4 5 6 7 8; do copy $n; done
run() { "$O/bench/report_analyze" "$O/bin/hone" "$@"; }
run 5 "TrainTicket, a day (CSV)" "${day[@]}" | tee "$D/day"
bench/nezha_to_jaeger.py "$DATA/nezha/2023-01-29" > "$D/day.json"
run 5 "the same (Jaeger JSON)" "$D/day.json"
rm "$D/day.json"
run 2 "the same 8 times, other ids" "$D"/*.csv.gz
run 10 "HDFS, 2,483 events (X-Trace)" "$DATA"/xtrace/upload.json
rate=$(awk 'NR == 1 { for (i = 2; i <= NF; i++) if ($i == "traces/s") print $(i - 1) }' "$D/day")
# for comparison, on this data and a similar machine: CRISP 491 to 664 traces/s, tprof 5
awk -v r="$rate" 'BEGIN { printf "%.0f to %.0f times the traces/s of CRISP (491 to 664), %.0f times those of tprof (5)\n", r / 664, r / 491, r / 5 }'
