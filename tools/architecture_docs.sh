#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of rooms and of threads in docs/architecture.md, generated from the Makefile and from the calls of
# pthread_create().
# Usage: architecture_docs.sh FILE "room:rooms that it uses" ... -- "program:its room" ...
# Writes FILE to standard output with both tables regenerated. The purpose of each room and thread is kept from FILE; a
# row without a purpose is an error: add it to FILE.
set -eu
file=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
while [ "$1" != -- ]; do echo "$1"; shift; done >"$work/rooms"
shift
printf '%s\n' "$@" >"$work/programs"
while IFS=: read -r room _; do
  for f in "$room"/*.c; do
    tr '\n' ' ' <"$f" | grep -o 'pthread_create([^;]*' |
      sed 's/^pthread_create([^,]*,[^,]*,[[:space:]]*\([a-z_]*\),.*/\1/' | sort -u | sed "s|^|$room $f |"
  done
done <"$work/rooms" >"$work/threads"
awk -F'|' -v rooms="$work/rooms" -v programs="$work/programs" -v threads="$work/threads" '
  function trim(s) { gsub(/^ +| +$/, "", s); return s }
  function text(key) { if (!(key in is)) { print "architecture_docs: no text for " key > "/dev/stderr"; failed = 1 } return is[key] }
  function in_programs(room,   p, list, i, n, used) {
    for (i = 1; i <= nprograms; i++) {
      used = " " of[program[i]] " " uses[of[program[i]]] " "
      if (index(used, " " room " ")) list = list (list == "" ? "" : ", ") "`" program[i] "`"
    }
    return list
  }
  function print_rooms(   line, i, w) {
    print "| room | uses | what it is |\n|---|---|---|"
    for (i = 1; i <= nrooms; i++)
      printf "| `%s/` | %s | %s |\n", room[i], uses[room[i]], text("`" room[i] "/`")
  }
  function print_threads(   line, w, key) {
    print "| process | thread | what it does |\n|---|---|---|"
    while ((getline line < threads) > 0) {
      split(line, w, " ")
      key = "`" w[3] "()` in `" w[2] "`"
      printf "| %s | %s | %s |\n", in_programs(w[1]), key, text(key)
    }
  }
  BEGIN {
    while ((getline line < rooms) > 0) { room[++nrooms] = substr(line, 1, index(line, ":") - 1); uses[room[nrooms]] = substr(line, index(line, ":") + 1) }
    while ((getline line < programs) > 0) { split(line, w, ":"); program[++nprograms] = w[1]; of[w[1]] = w[2] }
  }
  NR == FNR { if (NF >= 5) { is[trim($2)] = trim($4); is[trim($3)] = trim($4) } next }
  /^<!-- end of what make docs makes -->/ { made = 0 }
  !made { print }
  /^<!-- rooms, made by make docs/ { made = 1; print_rooms() }
  /^<!-- threads, made by make docs/ { made = 1; print_threads() }
  END { exit failed }' "$file" "$file"
