#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks that docs/questions.md describes every question of wire/questions.tbl.h with its fields, that hone.1 describes
# every command, and that neither describes one that does not exist.
set -u
cd "$(dirname "$0")/.." || exit 1
table=wire/questions.tbl.h page=docs/questions.md manual=cli/hone.1 bad=0
wrong() { echo "questions: $1" >&2; bad=1; }
list() { sed -n "s/^$1(\([a-z_]*\).*/\1/p" $table; }

for question in $(list QUESTION); do
	rows=$(grep "^| \`{\"ask\":\"$question\"" $page) || wrong "$page does not describe {\"ask\":\"$question\"}"
	for field in $(sed -n "s/^QUESTION($question,.*\"\([^\"]*\)\")/\1/p" $table); do
		grep -q "\"$field\":" <<<"$rows" || wrong "$page: {\"ask\":\"$question\"} without its field $field"
	done
done
for question in $(sed -n 's/^| `{"ask":"\([a-z_]*\)".*/\1/p' $page | sort -u); do
	list QUESTION | grep -qx "$question" || wrong "$page: {\"ask\":\"$question\"} does not exist"
done
diagnose=$(sed -n 's/^QUESTION(\([a-z_]*\), *DIAGNOSE.*/`\1`/p' $table)
for question in $diagnose; do
	grep '^\*\*Who may ask what' $page | grep -qF "$question" || wrong "$page: who may ask $question"
done
for command in $(list COMMAND); do
	grep -q "^\.\(SS\|B\|BR\|BI\|It\|Ic\).*\b$command\b" $manual || wrong "$manual does not describe hone $command"
done
[ $bad = 0 ] && echo "questions: $(list QUESTION | wc -l) questions and $(list COMMAND | wc -l) commands are described"
exit $bad
