#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A peer that sends garbage (bad_peer.c) to a running controller and a running agent, next to a real agent with a real
# program, and operators. These must not be affected; afterwards memory, descriptors and threads are as before. TAP; a
# failure names seed and step.
# O: the folder that `make bad-peer-scenario` built; honed and hone-agent are those of $O-san, with sanitizers, if they
# are there. BAD_PEER_SECONDS (20): for each of the three parts. BAD_PEER_SEED (1), BAD_PEER_FIRST (0): the first step.
. "$(dirname "$0")/lib.sh"
needs root lttng lttng-sessiond python3 jq
: "${BAD_PEER_SECONDS:=20}" "${BAD_PEER_SEED:=1}" "${BAD_PEER_FIRST:=0}"
B=$O-san
[ -x "$B/bin/honed" ] && [ -x "$B/bin/hone-agent" ] || B=$O
# The allocator returns freed memory to the kernel, so that growth is visible.
printf 'leak:liblttng-ust\n' >"${LSAN:=$(mktemp)}"	# it leaks 48 bytes itself at a program's end
export LSAN_OPTIONS=suppressions=$LSAN:print_suppressions=0
export ASAN_OPTIONS=quarantine_size_mb=4:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
stage=$(mktemp -d "${TMPDIR:-/tmp}/hone-bad.XXXXXX")
export HONE_SOCKET="ipc://$stage/honed.sock"
. examples/node.sh
good= other= honed= tap= program=
hone() { "$O/bin/hone" "$@"; }
why() {
  grep -h -A 25 -e ERROR -e 'runtime error' "$stage"/*.log || tail -n 5 "$stage"/*.log
  cat "$stage"/play-*
  local pid
  for pid in $other $honed; do ls -l "/proc/$pid/fd"; cat "/proc/$pid/task"/*/comm; done
}
in_node() { local node=$1; shift; exec examples/node.sh exec "$stage" "$node" "$@"; }
late=$O/tests/scenario/soak_late.so
mkfifo "$stage/fifo" && head -c 10000 /dev/urandom >"$stage/rubbish"
ln -s "$O/tests/scenario/soak_program" "$stage/soak_steady"
end() {
  local pid
  for pid in $asker $program $good $other $tap $honed; do kill "$pid" 2>/dev/null; done
  node_stop "$stage" n1
  node_stop "$stage" n2
  rm -f "$LSAN"
  [ $FAILED = 0 ] && rm -rf "$stage" || echo "# logs: $stage"
}
asker=
trap end EXIT

# held PID: number of descriptors and threads; grown: resident memory in KiB
held() { echo "$(ls "/proc/$1/fd" | wc -l) $(sed -n 's/Threads:\s*//p' "/proc/$1/status")"; }
resident() { sed -n 's/VmRSS:\s*\([0-9]*\).*/\1/p' "/proc/$1/status"; }
back_to() { local now; now=$(held "$1"); echo "descriptors, threads: $now, before: $2 $3"; [ "${now% *}" -le "$2" ] && [ "${now#* }" -le "$3" ]; }
# not_grown PID BEFORE MIB: MIB bounds the memory that one peer can make the process hold or its allocator retain
not_grown() { local now; now=$(resident "$1"); echo "# $2 -> $now KiB" | tee -a "$stage/grown"; [ $((now - $2)) -le $(($3 * 1024)) ]; }

# played ROLE SOCKET: plays for BAD_PEER_SECONDS, in rounds of 100 steps
played() {
  local until=$((SECONDS + BAD_PEER_SECONDS)) first=$BAD_PEER_FIRST
  while [ $SECONDS -lt $until ]; do
    "$O/tests/scenario/bad_peer" "$1" "$2" "$BAD_PEER_SEED" $first 100 "$stage" >>"$stage/play-$1" || return 1
    first=$((first + 100))
    [ -z "${3:-}" ] || "$3" || { echo "after step $first of seed $BAD_PEER_SEED"; return 1; }
  done
}
# Asks every 100 ms; records the time of each answer in ms.
ask() {
  local began
  while :; do
    began=${EPOCHREALTIME/./}
    timeout 20 "$O/bin/hone" status --json >"$stage/status" 2>&1 || echo "failed: $(head -c 300 "$stage/status")" >>"$stage/asked"
    echo "$(((${EPOCHREALTIME/./} - began) / 1000))" >>"$stage/asked"
    sleep 0.1
  done
}
traces() { hone agents --json | jq -e --arg n "$1" 'any(.agents[]; .node == $n and .connected and .tracer_ok)'; }
connected() { hone agents --json | jq -e --arg n "$1" 'any(.agents[]; .node == $n and .connected and .tracer_ok and .programs > 0)'; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "WORK" and .traces > 20)'; }
alive() { ! gone "$1"; }
# Each question was answered, 19 of 20 within 1 s: with sanitizers and other load the machine itself is sometimes slow.
prompt() {
  sort -n "$stage/asked" | tail -n 3
  ! grep -v -E '^[0-9]+$' "$stage/asked" && [ "$(sort -n "$stage/asked" | awk '{ m[NR] = $1 } END { print m[int(NR * 0.95)] }')" -lt 1000 ]
}
one_hello() { [ "$(grep -c "^hello good" "$stage/taps")" = 1 ]; }

# ---- a bad agent, a bad operator ----------------------------------------------------
"$B/bin/honed" -o controller.agents="ipc://$stage/agents.sock" -o controller.operators="$HONE_SOCKET" \
  -o storage.database="$stage/forest.db" -o storage.space="$stage/space.db" -o agents.enough=0 -o analysis.memory_max=16MiB \
  -o analysis.report_max=2MiB -o analysis.patience=1s -o controller.silent_after=2s -o controller.mailbox_max=4MiB \
  >"$stage/honed.log" 2>&1 &
honed=$!
wait_for 30 hone status >/dev/null || bail "honed does not come up"
"$O/tests/scenario/soak_tap" "$stage/tap.sock" "$stage/agents.sock" >"$stage/taps" 2>"$stage/tap.log" &
tap=$!
node_start "$stage" n1 && node_start "$stage" n2 || bail "no nodes"
in_node n1 "$O/bin/hone-agent" -o agent.node=good -o controller.url="ipc://$stage/tap.sock" \
  -o agent.run_dir=/dev/shm/hone-agent >"$stage/good.log" 2>&1 &
good=$!
wait_for 30 traces good
in_node n1 "$stage/soak_steady" steady "$stage/ends-good" "$late" &
program=$!
check "a well-behaved agent connects" wait_for 30 connected good
check "its requests are seen" wait_for 30 seen
# The baseline is taken after the first 100 steps, when caches and pools are full.
"$O/tests/scenario/bad_peer" agent "$stage/agents.sock" 77 0 100 "$stage" >"$stage/play-first"
"$O/tests/scenario/bad_peer" operator "$stage/honed.sock" 77 0 100 "$stage" >>"$stage/play-first"
wait_for 20 eval 'hone status >/dev/null'
sleep 4
before=$(held $honed) resident=$(resident $honed)
ask &
asker=$!
check "a malicious agent plays all its cases" played agent "$stage/agents.sock"
check "the controller still runs after the malicious agent" alive $honed
check "a malicious operator plays all its cases" played operator "$stage/honed.sock"
check "the controller still runs after the malicious operator" alive $honed
kill $asker; wait $asker 2>/dev/null; asker=
check "hone status was always answered, 19 of 20 times within a second" prompt
check "the well-behaved agent is still connected" connected good
check "the well-behaved agent was never disconnected" one_hello
check "the controller has as many descriptors and threads as before" wait_for 30 back_to $honed $before
check "the controller's memory is bounded" not_grown $honed "$resident" 192
check "hone stop ends what the malicious operator started" wait_for 20 eval 'hone stop; hone status --json | jq -e .quiet'
kill $program; wait $program; program=
sleep 2
kill $good; check "the well-behaved agent exits 0" wait $good; good=
kill $honed; check "the controller exits 0, without a report of the sanitizers" wait $honed; honed=
kill $tap; wait $tap; tap=
check "every lost record of the well-behaved agent was reported" python3 tests/scenario/soak.py lost "$stage/taps" "$stage/ends-good"

# ---- a bad controller ---------------------------------------------------------------
on() { node_exec "$stage" n2 lttng -n list "$(node_exec "$stage" n2 lttng -n list 2>/dev/null |
  sed -n 's/^ *[0-9]*) \(hone-[^ ]*\).*/\1/p' | head -n 1)" 2>/dev/null |
  sed -n "s/^ *\([A-Za-z_0-9]*:[^ ]*\) .*\[enabled\].*/\1/p" | grep -v '^hone:'; }
nothing_on() { local l; l=$(on); echo "$l"; [ -z "$l" ]; }
held_up() { alive $other && alive $program; }
: >"$stage/ends2"
in_node n2 "$stage/soak_steady" steady "$stage/ends2" "$late" &
program=$!
in_node n2 "$B/bin/hone-agent" -o agent.node=n2 -o controller.url="ipc://$stage/bad.sock" -o agent.run_dir=/dev/shm/hone-agent \
  -o tracer.idle_session=1s -o controller.retry=50ms -o controller.refused=50ms -o controller.silence=1s >"$stage/other.log" 2>&1 &
other=$!
good_controller() {
  "$B/bin/honed" -o controller.agents="ipc://$stage/bad.sock" -o controller.operators="$HONE_SOCKET" \
    -o storage.database="$stage/forest2.db" -o storage.space="$stage/space2.db" >>"$stage/honed2.log" 2>&1 &
  honed=$!
}
good_controller
check "an agent connects to a well-behaved controller" wait_for 60 connected n2
kill $honed; wait $honed; honed=
"$O/tests/scenario/bad_peer" controller "$stage/bad.sock" 77 0 20 "$stage" >>"$stage/play-first"
good_controller
wait_for 60 connected n2
# unchanged for 100 looks, 2 s or more
settled() { local now; now=$(held "$1"); [ "$now" = "$last" ] && same=$((same + 1)) || same=0; last=$now; [ $same -ge 100 ]; }
last= same=0
wait_for 30 settled $other
before=$(held $other) resident=$(resident $other)
kill $honed; wait $honed; honed=
check "a malicious controller plays all its cases" played controller "$stage/bad.sock" held_up
check "the agent and the traced program still run" held_up
good_controller
check "the agent connects to the well-behaved controller again" wait_for 60 connected n2
check "requests are seen again" wait_for 30 seen
check "all tracepoints that the malicious controller added are off" wait_for 30 nothing_on
# The program may write on another processor for the first time: one more ring, so two more descriptors.
check "the agent has as many descriptors and threads as before" wait_for 30 back_to $other $((${before% *} + 2 * $(nproc))) ${before#* }
check "the agent's memory is bounded" not_grown $other "$resident" 192
kill $program; check "the traced program exits 0" wait $program; program=
kill $other; check "the agent exits 0, without a report of the sanitizers" wait $other; other=
kill $honed; check "the second controller exits 0, without a report of the sanitizers" wait $honed; honed=
sed 's/^/# /' "$stage"/play-* | awk '{ k = $2; c[k] += $9; f[k] += $11; a[k] += $14 }
  END { for (k in c) print "# " k " " c[k] " connections, " f[k] " frames, answered " a[k] " times" }'
cat "$stage/grown"
echo "# hone status: $(wc -l <"$stage/asked") times, longest $(sort -n "$stage/asked" | tail -n 1) ms"
echo "1..$N"
exit $FAILED
