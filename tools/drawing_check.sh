#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares the drawing of processes, the first block of docs/architecture.md, with the code, in both directions:
#   processes: PROGRAM ..., the names that processes give themselves (prctl), and the programs of lib/hone
#   sockets: the names of the default addresses of honed (controlplane/honed/config.tbl.h)
#   frames: wire/kinds.tbl.h
# Usage: drawing_check.sh FILE PROGRAM ...
set -eu
file=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```/ { if (n++) exit; next } n' "$file" >"$work/drawing"
{
  printf '%s\n' "$@"
  grep -rhoE --include='*.c' 'PR_SET_NAME, "hone[^"]*"' agent controlplane cli | sed 's/.*"\(.*\)"/\1/'
  grep -rhoE --include=Makefile --include='*.mk' 'O/lib/hone/hone-[a-z]+' . | sed 's|.*/||'
} | sort -u >"$work/processes"
grep -oE '(^|[^a-z])hone(d|-[a-z]+)?' "$work/drawing" | sed 's/^[^h]*//' | sort -u >"$work/processes.drawn"
grep -oE 'ipc:///run/hone/[a-z.]+' controlplane/honed/config.tbl.h | sed 's|.*/||' | sort -u >"$work/sockets"
grep -oE '[a-z]+\.sock' "$work/drawing" | sort -u >"$work/sockets.drawn"
sed -n 's/^KIND(\([A-Z]*\),.*/\1/p' wire/kinds.tbl.h | sort -u >"$work/frames"
# LTTng-UST and JSON are other words in capitals
grep -oE '\b[A-Z]{3,}\b' "$work/drawing" | grep -vxE 'UST|JSON' | sort -u >"$work/frames.drawn"
fail=0
for what in processes sockets frames; do
  [ -s "$work/$what" ] || { echo "drawing_check: the code has no $what: the search for them is wrong"; fail=1; }
  for name in $(comm -23 "$work/$what" "$work/$what.drawn"); do
    echo "drawing_check: $file: the drawing lacks $name ($what)"
    fail=1
  done
  for name in $(comm -13 "$work/$what" "$work/$what.drawn"); do
    echo "drawing_check: $file: the drawing has $name, which is not among the $what of the code"
    fail=1
  done
done
[ $fail = 0 ] && echo "docs: the drawing in architecture.md has the processes, sockets and frames of the code"
exit $fail
