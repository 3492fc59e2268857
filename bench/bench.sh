#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All that is measured, one after the other. What each prints is a ratio in one run against something named.
set -euo pipefail
cd "$(dirname "$0")/.."
O=${O:-$PWD/build}
export O
part() { printf '\n== %s\n' "$1"; shift; "$@"; }
for b in bench/*.c; do
  name=$(basename "$b" .c)
  case $name in analysis_calibrate|report_nezha) continue ;;	# make calibrate, eval-nezha: they measure truth, not time
  *_program|postgres_*) continue ;; esac	# measured by others
  [ -e "bench/$name.sh" ] || { make -s "$O/bench/$name"; part "$name" "$O/bench/$name"; }
done
for b in bench/*.sh; do
  case $b in bench/bench.sh|bench/eval.sh) continue ;; esac	# make eval: truth, again
  part "$(basename "$b" .sh)" "$b"
done
