#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Delay from a tracepoint that fires to its record at the controller, under the demo's load: read from `hone status`
# after one demo, by the oldest record of each batch (so no record took longer).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
O=${O:-$here/build}
DELAY_TO=$(mktemp) && export DELAY_TO
trap 'rm -f "$DELAY_TO"' EXIT
O=$O "$here/examples/demo.sh" >/dev/null
jq -r '.delay | "batches \(.batches)  p50 \(.p50_ms * 10 | round / 10) ms  p99 \(.p99_ms * 10 | round / 10) ms; wanted: p99 under 1000 ms"' "$DELAY_TO"
