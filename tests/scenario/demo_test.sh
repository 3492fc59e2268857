#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The main job: two faults, one with a key that explains it, are found; and nothing is left behind.
# O: the folder that `make all` built.
set -u
cd "$(dirname "$0")/../.." || exit 1
export O=$(realpath "${O:-build}")
if [ "$(id -u)" != 0 ]; then
  echo "1..0 # SKIP needs root"
  exit 0
fi
export TMPDIR
TMPDIR=$(mktemp -d)
chmod 755 "$TMPDIR"
trap 'rm -rf "$TMPDIR"' EXIT
. tests/scenario/lib.sh
no_files() { [ -z "$(ls -A "$TMPDIR")" ]; }
no_programs() { ! pgrep -af "$O/(bin|examples/shop)/" && ! pgrep -af "$TMPDIR"; }

echo 1..4
check "the demo finds a slow function" examples/demo.sh slow_function
check "the demo finds a pool that is too small, and the key that says so" examples/demo.sh small_pool
check "no folder is left" no_files
check "no process is left" no_programs
exit $FAILED
