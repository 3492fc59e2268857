# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced first by every scenario: . "$(dirname "$0")/lib.sh". The current directory is then the top of the tree, and O
# is the build folder. Requirements of the machine, a private node, checks that print TAP, and waiting for a condition.
#
#   needs root PROGRAM...           skips the scenario unless it runs as root and these programs exist
#   skip TEXT                       skips the scenario
#   own_node [FOLDER...]            a private node: /run/lttng, /dev/shm and the FOLDERs are empty, and later mounts are
#                                   private. Restarts the script inside it
#   ahead_of_others                 raises the scheduling priority of all that is started from here on. For scenarios that
#                                   must find a planted fault by its latency: on a busy machine the wait for a processor is
#                                   longer than the fault and would be found instead
#   check TEXT COMMAND...           one line of TAP. A failure is explained on stderr, which prove shows: by the command's
#                                   output, and by why() if the script defines it
#   bail TEXT                       a precondition of all checks fails: one failed check, and the end of this scenario only
#   wait_for SECONDS COMMAND...     until COMMAND succeeds; at the timeout prints its last output and returns 1
#   has [OPTION] PATTERN            grep of its input, without output. It reads all of it, unlike grep -q: a program that prints more to a grep that
#                                   has ended is ended by SIGPIPE, which pipefail takes for a failure, on a busy machine now and then
#   gone PID                        the process has ended (it may still be a zombie)
#   bpf_held prog|link PID...       ids of the BPF programs or links of these processes and of all that they have started. Those of others are
#                                   none of a scenario's business: several run at a time
#   bpf_gone prog|link ID...        none of them exists
# N, FAILED: number of checks so far, and 1 if one has failed. ALL_TRACED: settings of honed for scenarios that count
# requests: no request is left out for the overhead budget, however slow the machine is,
# and no diagnosis waits up to two minutes for the outliers that a busy machine makes.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
O=$(realpath "${O:-build}")
export O
ARGUMENTS=("$@")
# An interrupt ends all that a scenario has started, too.
[ -n "${HONE_TOGETHER:-}" ] || exec tools/together.pl bash "tests/scenario/${0##*/}" "$@"
# A private network: its ports are free, also those that an earlier scenario has just closed.
if [ -z "${HONE_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare --net ip link set lo up 2> /dev/null; then
	HONE_NETWORK=$$ exec unshare --net bash -c 'ip link set lo up && exec bash "$@"' - "tests/scenario/${0##*/}" "$@"
fi
# A client that cannot connect prints nothing, and jq -e exits 0 on empty input.
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

# The last lines of a program's output say why it failed, the first lines what it was doing.
ends_of() {
	if [ "$(wc -c < "$1")" -le 4000 ]; then
		cat "$1"
	else
		head -c 1000 "$1" && printf '\n...\n' && tail -c 3000 "$1"
	fi
}
N=0 FAILED=0
ALL_TRACED=(-o agents.budget=0% -o agents.enough=0 -o capture.wait=1s)
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
# sessiond_start: starts the session daemon SESSIOND and waits until it answers. One that was killed may hold its lock for a moment: then another try.
sessiond_run() {
	lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
	SESSIOND=$!
}
sessiond_answers() {
	lttng -n list && return
	! gone "$SESSIOND" || sessiond_run
	return 1
}
sessiond_start() {
	sessiond_run
	wait_for 60 sessiond_answers > /dev/null 2>&1
}
has() { grep "$@" > /dev/null; }
gone() { ! kill -0 "$1" 2> /dev/null || [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null)" = Z ]; }
bpf_held() {
	local kind=$1 pid
	shift
	for pid in "$@"; do
		grep -hoP "^${kind}_id:\s*\K[0-9]+" "/proc/$pid/fdinfo/"* 2> /dev/null
		bpf_held "$kind" $(cat "/proc/$pid"/task/*/children 2> /dev/null)
	done
}
bpf_gone() {
	local kind=$1 id
	shift
	for id in "$@"; do bpftool "$kind" show id "$id" 2> /dev/null && return 1; done
	return 0
}
