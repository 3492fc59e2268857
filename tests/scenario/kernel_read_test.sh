#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone kernel read on recordings that other tracers made, of this machine and from the folder HONE_DATA, compared with what babeltrace2
# says of them; and what it writes.
. "$(dirname "$0")/lib.sh"
needs root babeltrace2 jq
own_node
DATA=$(realpath -m "${HONE_DATA:-../shared/data}")
D=$(mktemp -d)
instance=
end() {
	if [ -n "$instance" ]; then
		echo 0 > "$instance/events/enable"
		rmdir "$instance"
	fi
	for place in full tracefs; do mountpoint -q "$D/$place" && umount "$D/$place"; done
	rm -rf "$D"
}
trap end EXIT

reads() { "$O/bin/hone" kernel read "$@" --json > "$D/read.json"; }
is() { jq -e "$1" "$D/read.json" > /dev/null || { cat "$D/read.json"; return 1; }; }
# events FOLDER PATTERN: how many babeltrace2 prints whose name matches
events() { babeltrace2 "$1" 2> /dev/null | grep -cE "(^|[ :])($2): \{"; }
# agree FOLDER: hone and babeltrace2 count the same
agree() {
	local all switches
	all=$(babeltrace2 "$1" 2> /dev/null | wc -l)
	switches=$(events "$1" sched_switch)
	echo "babeltrace2: $all events, $switches switches"
	reads "$1" && is ".events == $all and .kinds.switch == $switches and .kinds.switch > 0"
}
# written FOLDER: what hone writes of it is read by babeltrace2, and by hone as the same
written() {
	local before after
	reads "$1" --write "$D/own" || return 1
	before=$(jq -c '[.kinds, .first_ns, .last_ns, .threads, .hosts]' "$D/read.json")
	is ".written.events == $(babeltrace2 "$D/own" | wc -l)" || return 1
	reads "$D/own" || return 1
	after=$(jq -c '[.kinds, .first_ns, .last_ns, .threads, .hosts]' "$D/read.json")
	rm -rf "$D/own"
	[ "$before" = "$after" ] || { echo "$before"; echo "$after"; return 1; }
}
again() { ! "$O/bin/hone" kernel read "$1" --write "$D/twice" 2> "$D/err" && grep -q "not an empty folder" "$D/err"; }
full() {
	mkdir "$D/full" && mount -t tmpfs -o size=256k tmpfs "$D/full" || return 1
	! "$O/bin/hone" kernel read "$1" --write "$D/full/own" 2> "$D/err" || return 1
	cat "$D/err"
	grep -q "No space left on device" "$D/err" && babeltrace2 "$D/full/own" > /dev/null
}

for name in many-threads lttng-tracefile-rotation perf-taskset2; do
	if tar -xzf "$DATA/kernel/$name.tar.gz" -C "$D" 2> /dev/null; then
		check "$name: babeltrace2 counts the same" agree "$D/$name"
		check "$name: as a recording of Hone it is the same" written "$D/$name"
	else
		echo "# SKIP $name: $DATA/kernel is not there; HONE_DATA says where"
	fi
done

if perf record -q -a -e sched:sched_switch,sched:sched_waking,sched:sched_process_fork,sched:sched_process_exit \
	-o "$D/perf.data" bash -c 'for i in 1 2 3 4 5; do sleep 0.02; done' > "$D/perf.log" 2>&1 &&
	perf data convert --to-ctf "$D/perf" -i "$D/perf.data" >> "$D/perf.log" 2>&1; then
	check "perf on this machine: babeltrace2 counts the same" agree "$D/perf"
	check "perf: threads that exit have ended" is '.kinds.exit >= 5 and .kinds.fork >= 5'
	check "perf: as a recording of Hone it is the same" written "$D/perf"
	mkdir -p "$D/twice/x"
	check "a folder with files is not written to" again "$D/perf"
else
	echo "# SKIP perf: $(tail -n 1 "$D/perf.log")"
fi
[ ! -d "$D/many-threads" ] || check "a full disk is told, and what was written can be read" full "$D/many-threads"

mkdir "$D/tracefs"
if mount -t tracefs none "$D/tracefs" 2> /dev/null && mkdir "$D/tracefs/instances/hone_test_$$" 2> /dev/null; then
	instance=$D/tracefs/instances/hone_test_$$
	for event in sched/sched_switch sched/sched_waking sched/sched_process_fork sched/sched_process_exit task/task_newtask; do
		echo 1 > "$instance/events/$event/enable"
	done
	for i in 1 2 3 4 5; do sleep 0.02; done
	echo 0 > "$instance/tracing_on"
	cat "$instance/trace" > "$D/machine.txt"
	check "ftrace on this machine is read" reads "$D/machine.txt"
	check "each of its lines" is ".events == $(grep -vc '^#\|^CPU:' "$D/machine.txt") and .kinds.switch == $(grep -c ' sched_switch: ' "$D/machine.txt")"
	check "none is odd but for threads without a process" is '[.oddities[] | select(.kind != "no_process" and .kind != "lost" and .kind != "switch")] == []'
	check "its host is the file's name" is '.hosts == ["machine"]'
	gzip "$D/machine.txt"
	check "compressed, too" reads "$D/machine.txt.gz"
else
	echo "# SKIP ftrace: tracefs cannot be mounted"
fi
echo "1..$N"
exit $FAILED
