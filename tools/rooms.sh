#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Proves that includes and calls run one way. Usage: rooms.sh OBJECTS room "rooms that it may use" ...
#   includes: a file of a room includes only its own headers and those of the rooms it may use
#   calls: what a room's archive leaves undefined is defined in it, in those rooms, or outside of Hone
set -eu
objects=$1
shift
fail=0
all=
for arg in "$@"; do all="$all ${arg%%:*}"; done
archive() { echo "$objects/lib/lib$(echo "$1" | tr / _).a"; }
files() { find "$1" -name '*.[ch]' -not -path '*/cost/*'; }	# also of rooms inside it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for r in $all; do
  mkdir -p "$(dirname "$work/$r")"
  nm -g --defined-only "$(archive "$r")" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$work/$r.defines"
done
for arg in "$@"; do
  room=${arg%%:*} uses=${arg#*:}
  allowed="$room $uses"
  for f in $(files "$room"); do
    for inc in $(sed -n 's/^[[:space:]]*#[[:space:]]*include "\([^"]*\)\/[^"]*".*/\1/p' "$f" | sort -u); do
      case " $allowed instrument " in
      *" $inc "* | *" ${inc%/*} "*)
        if [ "$inc" = instrument ] && ! grep -q 'include "instrument/policy.h"' "$f"; then
          echo "rooms: $f includes $inc/, which $room may not use"
          fail=1
        fi ;;
      *)
        echo "rooms: $f includes $inc/, which $room may not use"
        fail=1 ;;
      esac
    done
  done
  nm -g --undefined-only "$(archive "$room")" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u >"$work/$room.needs"
  for other in $all; do
    case " $allowed " in *" $other "*) continue ;; esac
    calls=$(comm -12 "$work/$room.needs" "$work/$other.defines" | while read -r s; do
      mine=0
      for r in $allowed; do grep -qx "$s" "$work/$r.defines" && mine=1; done
      [ $mine = 1 ] || echo "$s"
    done)
    [ -z "$calls" ] || {
      echo "rooms: $room calls into $other:" $calls
      fail=1
    }
  done
done
# a foreign library belongs behind a door: only files named role_foreign.c include it
for pair in nng:nng/ sqlite:sqlite3.h lttng:lttng/lttng.h openssl:openssl/ libelf:gelf.h; do
  for f in $(grep -l "#include <${pair#*:}" $(for r in $all; do files "$r" | grep "\.c$"; done) 2>/dev/null || true); do
    case $f in
    *_"${pair%%:*}".c) ;;
    *)
      echo "rooms: $f includes <${pair#*:}...>, but is no door to it (role_${pair%%:*}.c)"
      fail=1 ;;
    esac
  done
done
[ $fail = 0 ] && echo "rooms: $(echo "$all" | wc -w) rooms; includes and calls run one way, foreign libraries stay behind their doors"
exit $fail
