# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the scenarios, before all else: . "$(dirname "$0")/lib.sh". We stand at the top of the tree then, and O is the
# folder of what was built. What a machine must have, a node of one's own, checks that print TAP, waiting for what is to happen.
#
#   needs root PROGRAM...           to be root, and these programs; else the scenario is skipped
#   skip WORDS                      it is
#   own_node [PLACE...]             a node: /run/lttng, /dev/shm and PLACEs are empty, and whatever is mounted from here on
#                                   is nobody else's. The script begins anew in it
#   ahead_of_others                 from here on, what we start has the processors before whatever else works on this machine.
#                                   For scenarios that look for a planted fault by its time: on a full machine the wait
#                                   for a processor is the larger fault, and the one that is found
#   check WORDS COMMAND...          one line of TAP; a failure is explained on stderr, where prove does not hide it: by what
#                                   the command said, and by why() if the script has one
#   bail WORDS                      what all checks need is not there: that is a failed check, and the end of this scenario alone
#   wait_for SECONDS COMMAND...     until it succeeds; else what it said last, and 1
#   gone PID                        there is no such process any more (or it only waits to be reaped)
# N, FAILED: checks so far, and 1 if one has failed. ALL_TRACED: for honed, where requests are counted: however slow the
# machine, none is left out to keep within what tracing may cost.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
O=$(realpath "${O:-build}")
export O
ARGUMENTS=("$@")
# A network of our own: no port is taken by whoever else is at work here, nor by what he has just left.
if [ -z "${HONE_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare --net ip link set lo up 2> /dev/null; then
	HONE_NETWORK=$$ exec unshare --net bash -c 'ip link set lo up && exec bash "$@"' - "tests/scenario/${0##*/}" "$@"
fi
# Who asks a program that is not there gets no answer, and jq -e takes no answer for yes.
set -o pipefail

skip() {
	echo "1..0 # SKIP $*"
	exit 0
}
needs() {
	local it
	for it in "$@"; do
		if [ "$it" = root ]; then [ "$(id -u)" = 0 ]; else command -v "$it" > /dev/null; fi || skip "needs $it"
	done
}
ahead_of_others() { renice -n -10 -p $$ > /dev/null 2>&1 || true; }
own_node() {
	local place
	if [ "${HONE_NODE:-}" != "$PPID" ]; then
		HONE_NODE=$$ unshare --mount --propagation private bash "tests/scenario/${0##*/}" "${ARGUMENTS[@]}"
		exit
	fi
	for place in /run/lttng /dev/shm "$@"; do
		mkdir -p "$place" && mount -t tmpfs tmpfs "$place" || exit 1
	done
}

# What a program says last is why it failed; what it says first, what it was about.
ends_of() {
	if [ "$(wc -c < "$1")" -le 4000 ]; then
		cat "$1"
	else
		head -c 1000 "$1" && printf '\n...\n' && tail -c 3000 "$1"
	fi
}
N=0 FAILED=0
ALL_TRACED=(-o agents.budget=0% -o agents.enough=0)
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
		{ echo "$0, $N - $words: $*"; ends_of "$said"; ! declare -F why > /dev/null || why | head -c 4000; } |
			sed -e 's/^/# /' -e '$a\' >&2
	fi
	rm -f "$said"
}
bail() {
	check "$*" false
	exit 1
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
