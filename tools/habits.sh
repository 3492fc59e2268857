#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/habits.sh FILE...: proves the habits of CONTRIBUTING.md that a compiler does not check.
#   - no basename occurs twice among the product's files (main.c excepted)
#   - a struct's tag is defined once in the product: one noun, one meaning
#   - sizeof x for an object, sizeof(type) for a type
#   - the first line of a file names its licence
set -eu
fail=0
say() {
  echo "habits: $*"
  fail=1
}
product=$(printf '%s\n' "$@" | sed 's|^\./||' | grep -vE '^(tests|bench|tools)/')
twice=$(echo "$product" | sed 's|.*/||' | grep -v '^main\.c$' | sort | uniq -d)
[ -z "$twice" ] || say "basenames used twice:" $twice
twice=$(grep -hoE '^(static )?(const )?struct [a-z_0-9]+ \{' $product | sed -E 's/.*struct ([a-z_0-9]+) .*/\1/' | sort | uniq -d)
[ -z "$twice" ] || say "struct tags defined twice:" $twice
types='\(|int64_t\[\]|struct |union |enum |unsigned|signed|int\)|char\)|char \*|short|long|float|double|bool\)|void|const |[A-Za-z_0-9]+_t[ )*]|[A-Z][a-zA-Z]*[ )]|sqlite3|json_|u_char|z_stream|GHashTable'
objects=$(grep -nE 'sizeof\(' "$@" | grep -oE '^[^:]*:[0-9]*:|sizeof\([^)]*\)' | awk '/:$/ { at = $0; next } { print at $0 }' | grep -vE "sizeof\(($types)" || true)
[ -z "$objects" ] || say "sizeof(object), write sizeof object:" "$(echo "$objects" | head -n 20)"
for f in "$@"; do
  head -n 1 "$f" | grep -q SPDX-License-Identifier || say "$f: its first line names no licence"
done
[ $fail = 0 ] && echo "habits: $# files keep them"
exit $fail
