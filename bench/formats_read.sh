#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Reading trace files to traces, compared with plain reading of the same bytes.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
DATA=$(realpath -m "${HONE_DATA:-../shared/data}")
if [ ! -d "$DATA/nezha" ]; then
	echo "formats_read: no traces at $DATA/nezha; HONE_DATA says where they are" >&2
	exit 0
fi
make -s O="$O" "$O/bench/formats_read"
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
bench/nezha_to_jaeger.py "$DATA/nezha/2023-01-29" > "$D/day.json"
gzip -dc "$DATA"/nezha/2023-01-29/*.csv.gz | awk 'NR == 1 || !/^TraceID/' > "$D/day.csv"
for f in "$D/day.json" "$D/day.csv"; do "$O/bench/formats_read" "$f"; done
"$O/bench/formats_read" "$DATA"/nezha/2023-01-29/*.csv.gz
