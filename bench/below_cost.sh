#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The overhead of looking below the tracepoints; see below_cost.py. O: the folder of `make bench`.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
export O
"$O/lib/hone/hone-below" --can >/dev/null 2>&1 || { "$O/lib/hone/hone-below" --can || true; exit 0; }
make -s "$O/bench/below_cost_program"
bench/below_cost.py "$@"
