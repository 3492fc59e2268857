#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs all benches, one after the other. Each prints ratios within one run, and names what they compare with.
set -euo pipefail
cd "$(dirname "$0")/.."
O=${O:-$PWD/build}
export O
part() { printf '\n== %s\n' "$1"; shift; "$@"; }
for b in bench/*.c; do
  name=$(basename "$b" .c)
  case $name in analysis_calibrate|report_nezha) continue ;;	# make calibrate, eval-nezha: they measure correctness, not time
  *_program|postgres_*) continue ;; esac	# started by the benches' own scripts
  [ -e "bench/$name.sh" ] || { make -s "$O/bench/$name"; part "$name" "$O/bench/$name"; }
done
for b in bench/*.sh; do
  case $b in bench/bench.sh|bench/eval.sh) continue ;; esac	# make eval measures correctness
  part "$(basename "$b" .sh)" "$b"
done
