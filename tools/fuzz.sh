#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs fuzz targets, as many at a time as there are processors, and prints a table of what each has tried. The first
# target that finds a fault ends the run; its output and the input that caused it are printed.
#
#   tools/fuzz.sh SECONDS FOLDER TARGET...      seeds: tests/fuzz/corpus/TARGET; new inputs are kept in FOLDER
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -eu
if [ "$1" != one ]; then
  seconds=$1 kept=$2
  shift 2
  printf '%-22s %8s %12s %10s %9s %10s\n' target seconds inputs 'a second' kept 'most MiB'
  printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$0" one "$seconds" "$kept"
  exit
fi
seconds=$2 kept=$3 target=$4 name=${4##*/}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mkdir -p "$kept/$name"
if ! "$target" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=20 -print_final_stats=1 "$kept/$name" \
    $(ls -d "tests/fuzz/corpus/$name" 2>/dev/null) >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "fuzz: $name has found something; the input that did it is named above" >&2
  exit 255	# makes xargs start no further target
fi
awk -v name="$name" -v seconds="$seconds" '
  /^stat::number_of_executed_units/ { inputs = $2 }
  /^stat::average_exec_per_sec/ { rate = $2 }
  /^stat::new_units_added/ { kept = $2 }
  /^stat::peak_rss_mb/ { most = $2 }
  END { printf "%-22s %8d %12d %10d %9d %10d\n", name, seconds, inputs, rate, kept, most; exit inputs == 0 }' "$log"
