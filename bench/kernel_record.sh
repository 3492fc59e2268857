#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What hone kernel record costs; see kernel_record.py. O: the folder of `make bench`.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
export O
"$O/lib/hone/hone-below" --can --json 2>/dev/null | grep -q '"waits": true' || { "$O/lib/hone/hone-below" --can || true; exit 0; }
make -s "$O/bench/below_cost_program"
programs="switch paced requests"
command -v nginx > /dev/null && command -v wrk > /dev/null && programs="$programs nginx"
bench/kernel_record.py "${1:-10}" "${2:-1.2}" $programs
