#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A short `make overhead`: all its measurements work, and the shop answers every request in every mode. One round is too
# short to judge the values. O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root
renice -n 5 $$ > /dev/null	# it saturates the machine, so other work takes precedence; with 19 it would have none of a busy one
said=$(mktemp) D=$(mktemp -d)
trap 'rm -rf "$said" "$D"' EXIT
why() { cat "$said"; }
check "the benchmark runs five configurations, and no request fails" bash -c "SHOP_HOSTS=1 O='$O' TMPDIR='$D' bench/overhead.sh 1 2 100 1 >'$said' 2>&1"
for way in "no tracing" "plain LTTng, same tracepoints" "Hone, idle" "Hone, in a diagnosis" "Hone, in four at once"; do
  check "$way: its throughput and CPU time are printed" bash -c "[ \$(grep -cE '^$way +[0-9]' '$said') = 2 ]"
done
# CPU us a request of: application, agents, daemons, honed
part() { awk -v way="$1" -v column="$2" 'index($0, way) == 1 { value = $(NF - 4 + column) } END { print value }' "$said"; }
check "without tracing no daemon and no agent uses CPU time" awk "BEGIN { exit !($(part "no tracing" 2) == 0 && $(part "no tracing" 4) == 0) }"
check "with Hone the daemons and the agent use CPU time" awk "BEGIN { exit !($(part "Hone, idle" 2) > 0 && $(part "Hone, in four at once" 4) > 0) }"
check "with plain LTTng the daemons use CPU time and there is no agent" \
  awk "BEGIN { exit !($(part "plain LTTng" 3) > 0 && $(part "plain LTTng" 2) == 0) }"
check "the benchmark leaves no file" test -z "$(ls -A "$D")"
echo "1..$N"
exit $FAILED
