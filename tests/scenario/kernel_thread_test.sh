#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone analyze --thread on public recordings of the kernel (folder HONE_DATA): states and critical path add up, and the page draws them.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs node jq tar
DATA=$(realpath -m "${HONE_DATA:-../shared/data}")/kernel
[ -d "$DATA" ] || skip "real recordings: $DATA is not there; HONE_DATA says where"
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
for f in many-threads lttng-tracefile-rotation; do tar xzf "$DATA/$f.tar.gz" -C "$D" || bail "$f can be unpacked"; done
# said NAME ARGUMENT...: the document of a call, and its exit status
said() { "$O/bin/hone" analyze "${@:2}" --json --samples >"$D/$1.json" 2>"$D/$1.err"; }

check "a thread is found by its name" said made "$D/many-threads" --thread multithread --html "$D/made.html"
check "its states add up to its time" jq -e '.threads | length == 1 and all(([.states[].ms] | add) as $sum | $sum - .ms | fabs < 1e-6)' "$D/made.json"
check "and so does its critical path" jq -e '.threads | all(([.path.states[].ms] | add) as $sum | $sum - .ms | fabs < 1e-6)' "$D/made.json"
check "it waits for the threads that it makes" jq -e '.threads[0].path.chains[0] | .chain == [{"thread": "multithread", "state": "thread"},
  {"thread": "fluffy", "state": "running"}] and .share > 0.6' "$D/made.json"
check "the segments of the path have no gap" jq -e '.threads[0].path.timeline | .left_out == 0 and
  ([.segments as $s | range(1; $s | length) | select($s[. - 1][0] + $s[. - 1][1] != $s[.][0])] | length == 0)' "$D/made.json"
check "the page draws each segment" node tests/scenario/thread_page.js "$D/made.html" "$D/made.json"
check "a thread is found by its id" said id "$D/many-threads" --thread 2673
check "with the same answer" cmp <(jq -S 'del(.threads[].path.timeline)' "$D/made.json") <(jq -S 'del(.threads[].path.timeline)' "$D/id.json")
check "the answer is the same each time" cmp <("$O/bin/hone" analyze "$D/many-threads" --thread lttng-consumerd --json) \
  <("$O/bin/hone" analyze "$D/many-threads" --thread lttng-consumerd --json)
absent() { ! said absent "$D/many-threads" --thread nobody && grep -q 'no thread has the id or name nobody.*multithread (2673)' "$D/absent.err"; }
check "of an unknown thread it names some that there are" absent
check "text is for people" grep -q '^ 260 ms   64 %  5,528  thread -> fluffy: running' <("$O/bin/hone" analyze "$D/many-threads" --thread multithread | sed 's/→/->/')
# A recording without interrupts: nobody is said to wake.
check "without interrupts on record, waits are unknown" said plain "$D/lttng-tracefile-rotation" --thread bash
check "and that is said" jq -e '.odd.without_context > 1000 and (.threads[0].states | all(.state | IN("unknown", "running", "ready")))' "$D/plain.json"
echo "1..$N"
exit "$FAILED"
