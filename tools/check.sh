#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/check.sh FOLDER "STAGE: MAKE-ARGUMENTS" ...: runs the stages one after the other with make, and continues when
# one fails, so that one run shows all failures; only a failed stage named "build" ends it. Stages whose tests write TAP
# (tools/tap.sh) leave it in FOLDER/STAGE; any other stage counts as one check. Ends with the line of tools/summary.sh.
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -u
folder=$1
shift
rm -rf "$folder" && mkdir -p "$folder" || exit 1
failed=0
for stage in "$@"; do
  name=${stage%%: *} arguments=${stage#*: }
  echo "== $name"
  begun=$(date +%s)
  if eval "${MAKE:-make} --no-print-directory TAP='$folder/$name' $arguments"; then word=ok; else word='not ok' failed=1; fi
  echo "== $name: $word, $(($(date +%s) - begun)) s"
  if [ "$word" = 'not ok' ] && ! grep -rqs '^not ok' "$folder/$name"; then
    echo "not ok - $arguments" >"$folder/$name.tap"
  elif [ ! -d "$folder/$name" ]; then
    echo "$word - $arguments" >"$folder/$name.tap"
  fi
  [ "$name$word" != 'buildnot ok' ] || break
done
tools/summary.sh "$folder" || failed=1
exit $failed
