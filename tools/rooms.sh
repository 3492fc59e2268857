#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks that includes and calls run one way. Usage: rooms.sh OBJECTS "room:rooms that it may use" ...
#   includes: a file of a room includes only headers of its room and of the rooms that it may use
#   calls: a symbol that a room's archive leaves undefined is defined in that archive, in those rooms, or outside of Hone
#   circles: no two files of a room depend on each other, by includes or calls, directly or not. NAME.c and NAME.h count
#	as one file. A circle is an error in the rooms that WITHOUT_CIRCLES names, and is listed in the others.
set -eu
objects=$1
shift
fail=0
all=
for arg in "$@"; do all="$all ${arg%%:*}"; done
archive() { echo "$objects/lib/lib$(echo "$1" | tr / _).a"; }
is_room() { case " $all " in *" $1 "*) return 0 ;; esac; return 1; }
files() {	# also of folders in it, if they are no rooms
  find "$1" -name '*.[ch]' -not -path '*/cost/*' | while read -r f; do
    [ "${f%/*}" = "$1" ] || ! is_room "${f%/*}" || continue
    echo "$f"
  done
}
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
      within=$inc	# a folder in a room is a part of it, if it is no room
      is_room "$inc" || within=${inc%/*}
      case " $allowed instrument " in
      *" $inc "* | *" $within "*)
        if [ "$inc" = instrument ] && ! grep -qE 'include "instrument/(policy|context_place|via)\.h"' "$f"; then
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
# FILE: on each line two files of the room, of which the first depends on the second
depends() {
  for f in "$1"/*.[ch]; do
    name=${f##*/}
    name=${name%.*}
    sed -n 's/^[[:space:]]*#[[:space:]]*include "\(.*\)\/\([^"/]*\)\.h".*/\1 \2/p' "$f" |
      awk -v room="$1" -v name="$name" '$1 == room { print name, $2 }'
  done
  nm -A -g "$(archive "$1")" 2>/dev/null | awk '
    { split($1, at, ":"); sub(/\.o$/, "", at[2]) }
    $(NF - 1) == "U" { needs[at[2] " " $NF] = 1; next }
    { where[$NF] = at[2] }
    END { for (n in needs) { split(n, w, " "); if (w[2] in where) print w[1], where[w[2]] } }'
}
# prints the groups of files that depend on each other, one group a line
circles() {
  depends "$1" | awk '
    $1 != $2 { reach[$1, $2] = 1; files[$1] = files[$2] = 1 }
    END {
      for (k in files) for (i in files) if ((i, k) in reach) for (j in files) if ((k, j) in reach) reach[i, j] = 1
      for (i in files) if ((i, i) in reach && !(i in done)) {
        group = ""
        for (j in files) if ((i, j) in reach && (j, i) in reach) { group = group " " j; done[j] = 1 }
        print group
      }
    }'
}
circular=0
for room in $all; do
  found=$(circles "$room")
  [ -n "$found" ] || {
    case " ${WITHOUT_CIRCLES-} " in *" $room "*) ;; *) echo "rooms: $room has no circle of files: add it to WITHOUT_CIRCLES in the Makefile" ;; esac
    continue
  }
  circular=$((circular + 1))
  echo "$found" | sed "s|^|rooms: circle of files in $room:|"
  case " ${WITHOUT_CIRCLES-} " in *" $room "*) fail=1 ;; esac
done
# an external library is wrapped: only files named ROLE_LIBRARY.c include its headers
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
[ $fail = 0 ] && echo "rooms: $(echo "$all" | wc -w) rooms; includes and calls run one way, foreign libraries stay behind their doors, $circular have circles of files"
exit $fail
