#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The main job: faults are found, in a service, with a key that explains them, and inside a server; nothing is left
# behind.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root
ahead_of_others
export TMPDIR
TMPDIR=$(mktemp -d)
chmod 755 "$TMPDIR"
trap 'rm -rf "$TMPDIR"' EXIT
no_files() { [ -z "$(ls -A "$TMPDIR")" ]; }
# Remaining processes of this test are in its private network namespace; elsewhere they are known by their working
# folder.
in_our_network() {
  local p
  for p in /proc/[0-9]*; do
    [ "$p/ns/net" -ef /proc/self/ns/net ] && [ "${p#/proc/}" != $$ ] && [ "$(sed 's/.*) . //; s/ .*//' "$p/stat")" != $$ ] && tr '\0' ' ' <"$p/cmdline"
  done 2>/dev/null
}
no_programs() {
  local left
  if [ "${HONE_NETWORK:-}" = $$ ]; then left=$(in_our_network); else left=$(pgrep -af "$TMPDIR"); fi
  echo "$left"
  [ -z "$left" ]
}

echo 1..4
export LEARN_SECONDS=5
check "the demo finds a slow function" env DEGREE=6 examples/demo.sh slow_function
check "and an index that PostgreSQL lacks" examples/demo.sh missing_index
check "no folder is left" no_files
check "no process is left" no_programs
exit $FAILED
