#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/habits.sh FILE...: proves the habits of CONTRIBUTING.md that a compiler does not check.
#   - no basename occurs twice among the product's files (main.c excepted)
#   - a struct's tag is defined once in the product: one noun, one meaning
#   - sizeof x for an object, sizeof(type) for a type
#   - the first line of a file names its licence
#   - what decides and what answers makes no sentences: a literal of several words stands in errors
#     (err_set(), answer_refuse()) and log lines only
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
# What is left without comments, preprocessor lines, and the calls whose text is an error or a log line.
# A literal of several words is prose there, unless it is a format of json_pack() or scanf(), or the name
# of a JSON type in a refusal.
prose() {
  awk '
  function literals(code,  out) { # the code with no ";" in its literals
    out = ""
    while (match(code, /"([^"\\\n]|\\.)*"/)) {
      lit = substr(code, RSTART, RLENGTH)
      gsub(/;/, ",", lit)
      out = out substr(code, 1, RSTART - 1) lit
      code = substr(code, RSTART + RLENGTH)
    }
    return out code
  }
  function flush(  lit) {
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
    text = literals(text)
    gsub(/(answer_refuse|err_set|err_errno|err_prefix|log_line|limited_log|agent_log|assert)[ \n]*\([^;]*;/, "", text)
    while (match(text, /"([^"\\\n]|\\.)*"/)) {
      lit = substr(text, RSTART, RLENGTH)
      text = substr(text, RSTART + RLENGTH)
      if (lit ~ /[A-Za-z%] +[A-Za-z%]/ && lit !~ /^"[][ {}a-zA-Z:,*]*:[][ {}a-zA-Z:,*]*"$/ &&
          lit !~ /^"(%[a-z]+ ?)+"$/ && lit !~ /^"(a string|a whole number|a number|true or false|a list)"$/)
        print file ": " lit
    }
    text = ""
  }
  FNR == 1 { if (NR > 1) flush(); file = FILENAME }
  !/^[ \t]*#/ { text = text $0 "\n" }
  END { flush() }' "$@"
}
said=$(prose $(echo "$product" | grep -E '^(controlplane/(answers|engine|search)|agent/(link|main))/.*\.c$' | grep -vE '/(main|agent_config)\.c$'))
[ -z "$said" ] || say "prose where fields belong (text is made in cli/):" "$said"
for f in "$@"; do
  head -n 1 "$f" | grep -q SPDX-License-Identifier || say "$f: its first line names no licence"
done
[ $fail = 0 ] && echo "habits: $# files keep them"
exit $fail
