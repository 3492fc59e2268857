#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Mutations: removes one mechanism at a time, and runs the test that must then fail.
#
#   tools/mutate.sh BUILD [PATCH...]	PATCH: files of tests/mutations; none: all of them
#
# A patch begins with lines of text: what the mechanism promises, and `test: ROOM/NAME`, a unit test. Everything happens in
# a copy of the tree under BUILD, never in the tree itself. A mutation is
#
#   killed	the test fails, or does not end within MUTATE_SECONDS (120)
#   survived	the test passes: nothing guards this mechanism
#   stale	the patch does not apply, or the result does not compile: the patch has to follow the code
#
# Exit 0: all were killed; 1: otherwise. Before the first mutation, the tests must pass.
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
shift
[ $# -gt 0 ] || set -- tests/mutations/*.patch
copy=$(realpath -m "$build")/mutate
survived=0 stale=0 killed=0

# What the last run compiled may have a mutation in it, and is newer than its source.
rm -rf "$copy" && mkdir -p "$copy/build" && git ls-files -z | xargs -0 cp -p --parents -t "$copy" || exit 1
# What is compiled already saves minutes.
tar -C "$build" --exclude=./mutate --exclude='*_test' -cf - . | tar -C "$copy/build" -xf - || exit 1
test_of() { sed -n 's/^test: //p; /^---/q' "$1"; }
title_of() { sed -n 1p "$1"; }
make_test() { make -s -C "$copy" CC="${CC:-cc}" CXX="${CXX:-c++}" O=build "build/tests/unit/$1_test" > "$copy/make.log" 2>&1; }
run_test() { (cd "$copy" && tools/together.pl --seconds "${MUTATE_SECONDS:-120}" "build/tests/unit/$1_test" > test.log 2>&1); }

for test in $(for patch; do test_of "$patch"; done | sort -u); do
	make_test "$test" && run_test "$test" || { echo "without a mutation, $test fails: $copy/make.log, $copy/test.log"; exit 1; }
done
for patch; do
	test=$(test_of "$patch")
	if ! patch -s -p1 -d "$copy" --dry-run < "$patch" > /dev/null; then
		verdict=stale
	else
		patch -s -p1 -d "$copy" < "$patch"
		if ! make_test "$test"; then verdict=stale
		elif run_test "$test"; then verdict=survived
		else verdict=killed
		fi
		patch -s -R -p1 -d "$copy" < "$patch"
	fi
	((++$verdict))
	printf '%-8s %-45s %s\n' $verdict "$(basename "$patch" .patch)" "$(title_of "$patch")"
done
echo "$killed killed, $survived survived, $stale stale"
[ $((survived + stale)) = 0 ]
