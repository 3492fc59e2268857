#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/scenarios.sh OUT JOBS BESIDE SHOPS PAIRED ALONE: runs scenarios (four lists of files) under prove: those of BESIDE, JOBS at a
# time; those of SHOPS one by one, and beside them those of PAIRED one by one; then those of ALONE, which measure, one by one. SHOPS,
# PAIRED and ALONE begin when what else `make check` runs has ended (it locks the file HONE_QUIET: tools/check.sh). Failed scenarios are run once more at the end, to distinguish a
# fault from a busy machine; both results are reported. If more than AGAIN of the 60 fail, none is run again. Their
# output is in OUT/scenarios, and is printed again at the end if a check failed. TAP: the folder for tools/tap.sh; the
# second runs are in its folder "retry", so that the summary of `make check` names them: each of them deserves
# attention.
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -u
out=$1 jobs=$2 beside=$3 shops=$4 paired=$5 alone=$6 AGAIN=6
tap=${TAP:-$out/tap/scenario} first=$out/scenarios second=$out/scenarios.again state=$out/scenarios.state
export O="$out"
rm -f "$first" "$second" "$state"
: >"$second"

run() {	# REASONS OPTION... FILE...
  reasons=$1
  shift
  prove --statefile="$state" --timer -e "tools/tap.sh $tap bash" "$@" 2>>"$reasons"
}
failed() { prove --statefile="$state" --state=failed --dry; }
checks() { grep -o '^# tests/scenario/[^ ]*.sh, [0-9]* - [^:]*' "$1"; }

rc=0
[ -z "$beside" ] || run "$first" --state=save -j"$jobs" $beside || rc=1
[ -z "${HONE_QUIET:-}" ] || flock "$HONE_QUIET" true
# Two sequences side by side: that of SHOPS, and that of all others.
[ -z "$shops$paired" ] ||
  run "$first" --state=save -j2 --rules="seq={$(echo $shops | tr ' ' ,)}" --rules='seq=**' $shops $paired || rc=1
[ -z "$alone" ] || run "$first" --state=save $alone || rc=1
[ $rc = 1 ] || exit 0
were=$(failed)
if [ "$(prove --statefile="$state" --state=all --dry | wc -l)" != $(echo $beside $shops $paired $alone | wc -w) ]; then
  echo "not all of them ran"	# the output is printed below; the cause is not in a single scenario
elif [ -n "$were" ] && [ "$(echo "$were" | wc -l)" -le $AGAIN ]; then
  echo "once more, alone:" $were
  tap=$tap/retry
  run "$second" --state=failed,save && rc=0
fi
grep -h '^#' "$first" "$second"
[ $rc = 1 ] && echo "failed:" || echo "passed only alone, after:"
checks "$([ -s "$second" ] && echo "$second" || echo "$first")"
exit $rc
