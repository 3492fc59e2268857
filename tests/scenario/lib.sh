# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the scenarios: checks that print TAP, and waiting for what is to happen.
#
#   check WORDS COMMAND...          one line of TAP; a failure is explained by what the command said, and by why() if
#                                   the script has one
#   wait_for SECONDS COMMAND...     until it succeeds; else what it said last, and 1
#   gone PID                        there is no such process any more (or it only waits to be reaped)
# N, FAILED: checks so far, and 1 if one has failed.

# Who asks a program that is not there gets no answer, and jq -e takes no answer for yes.
set -o pipefail

N=0 FAILED=0
check() {
	local words=$1 said
	shift
	N=$((N + 1))
	said=$(mktemp -p /tmp)
	if "$@" > "$said" 2>&1; then
		echo "ok $N - $words"
	else
		FAILED=1
		echo "not ok $N - $words"
		{ echo "$*"; cat "$said"; ! declare -F why > /dev/null || why; } | head -c 4000 | sed 's/^/# /'
	fi
	rm -f "$said"
}
wait_for() {
	local until=$((SECONDS + $1)) said rc=0
	shift
	said=$(mktemp -p /tmp)
	until "$@" > "$said" 2>&1; do
		[ $SECONDS -lt $until ] || { rc=1; break; }
		sleep 0.02
	done
	[ $rc = 0 ] || cat "$said"
	rm -f "$said"
	return $rc
}
gone() { ! kill -0 "$1" 2> /dev/null || [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null)" = Z ]; }
