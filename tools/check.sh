#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/check.sh FOLDER "STAGE: MAKE-ARGUMENTS" ...: runs the stages one after the other with make, and continues when
# one fails, so that one run shows all failures; only a failed stage named "build" ends it. Stages whose tests write TAP
# (tools/tap.sh) leave it in FOLDER/STAGE; any other stage counts as one check. Ends with the line of tools/summary.sh.
#
# Stages that begin with "& " compute and need no quiet machine: they run one after the other beside the stages that
# follow the first of them, with a lower priority (not the lowest: that has no time at all on a busy machine). Their output is printed at the end. While
# they run, the file HONE_QUIET is locked: tests that measure wait for it (tools/scenarios.sh).
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -u
folder=$1
shift
rm -rf "$folder" && mkdir -p "$folder" || exit 1
export HONE_QUIET="$folder/quiet"

stage() {	# "NAME: MAKE-ARGUMENTS" [COMMAND...]: the command starts make
  name=${1%%: *} arguments=${1#*: }
  shift
  echo "== $name"
  begun=$(date +%s)
  if eval "$* ${MAKE:-make} --no-print-directory TAP='$folder/$name' $arguments"; then word=ok; else word='not ok'; fi
  echo "== $name: $word, $(($(date +%s) - begun)) s"
  if [ "$word" = 'not ok' ] && ! grep -rqs '^not ok' "$folder/$name"; then
    echo "not ok - $arguments" >"$folder/$name.tap"
  elif [ ! -d "$folder/$name" ]; then
    echo "$word - $arguments" >"$folder/$name.tap"
  fi
  [ "$word" = ok ]
}
beside() {	# all stages with "& "
  all=0
  for it in "$@"; do
    case $it in '& '*) stage "${it#& }" nice -n 5 || all=1 ;; esac
  done
  return $all
}

failed=0 background=
for it in "$@"; do
  case $it in
  '& '*)
    [ -z "$background" ] || continue
    { flock 9 && beside "$@" 9>&-; } 9>"$HONE_QUIET" >"$folder/beside" 2>&1 &
    background=$!
    ;;
  *)
    stage "$it" || failed=1
    [ "$name$word" != 'buildnot ok' ] || break
    ;;
  esac
done
if [ -n "$background" ]; then
  wait "$background" || failed=1
  cat "$folder/beside"
fi
tools/summary.sh "$folder" || failed=1
exit $failed
