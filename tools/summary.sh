#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/summary.sh FOLDER: counts the TAP below FOLDER (see tools/tap.sh) and ends with one line:
#   check: 1873 passed, 0 failed, 1 retried (kill_test.sh), 2 skipped (ganesha_test.sh: needs ...)
# Each check counts once: the files of a second run (FOLDER/.../retry) replace those of the first, and are named as
# retried. Exit code: 1 if a check failed or there are no checks.
set -u
cd "$1" || exit 1
find . -name '*.tap' | sort | awk '
  { sub(/^\.\//, ""); files[NR] = $0 }
  function name(f) { sub(/.*\//, "", f); sub(/\.tap$/, "", f); sub(/^tests_scenario_/, "", f); return f }
  function list(s, x) { return s == "" ? x : s "; " x }
  END {
    for (i = 1; i <= NR; i++)
      if (files[i] ~ /(^|\/)retry\//) {
        first = files[i]; sub(/retry\//, "", first)
        replaced[first] = 1
        retried++
        retries = list(retries, name(files[i]))
      }
    for (i = 1; i <= NR; i++) {
      if (files[i] in replaced)
        continue
      while ((getline line < files[i]) > 0) {
        if (line ~ /^not ok/ && line !~ /# *TODO/) {
          failed++
          sub(/^not ok [0-9]* *-? */, "", line)
          failures = list(failures, name(files[i]) ": " line)
        } else if (line ~ /^(ok|1\.\.0).*# *SKIP/) {
          skipped++
          why = line; sub(/.*# *SKIP */, "", why)
          skips = list(skips, name(files[i]) ": " why)
        } else if (line ~ /^ok/) {
          passed++
        }
      }
      close(files[i])
    }
    printf "check: %d passed, %d failed%s, %d retried%s, %d skipped%s\n", passed, failed, failed ? " (" failures ")" : "",
        retried, retried ? " (" retries ")" : "", skipped, skipped ? " (" skips ")" : ""
    exit failed > 0 || passed == 0
  }'
