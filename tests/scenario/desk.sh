# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced after lib.sh by scenarios with one node that look below tracepoints: its session daemon, honed, an agent, and a program. All is ended at
# the end, the program first; the folder $D stays if a check failed.
#
#   needs_below FILTER        skips the scenario unless hone-below can do here what a filter of jq asks of `hone-below --can --json`
#   desk_start OPTION...      honed has these options; sets HONED and AGENT. What the scenario starts itself is PROGRAM

needs_below() {
	local can
	[ -x "$O/lib/hone/hone-below" ] || skip "hone-below was not built: it needs clang, bpftool and libbpf"
	can=$("$O/lib/hone/hone-below" --can --json) && jq -e "$1" <<< "$can" > /dev/null || skip "hone-below cannot do that here: $can"
}
desk_end() {
	local pid
	for pid in ${PROGRAM:-} ${AGENT:-} ${HONED:-} ${SESSIOND:-}; do
		kill "$pid" 2> /dev/null
		wait_for 20 gone "$pid" > /dev/null || kill -9 "$pid"
	done
	[ $FAILED = 0 ] && rm -rf "$D" || echo "# logs: $D"
}
desk_start() {
	D=$(mktemp -d)
	export LTTNG_HOME=$D LTTNG_APP_SOCKET_TIMEOUT=1 HONE_SOCKET=ipc://$D/honed.sock
	PATH=$O/bin:$PATH
	trap desk_end EXIT
	lttng-sessiond --no-kernel --agent-tcp-port=$((20000 + $$ % 20000)) > "$D/sessiond.log" 2>&1 &
	SESSIOND=$!
	wait_for 20 lttng -n list > /dev/null 2>&1 || bail "the session daemon starts"
	honed -o storage.database="$D/f.db" -o storage.space="$D/s.db" -o controller.agents="ipc://$D/agents.sock" \
		-o controller.operators="$HONE_SOCKET" "$@" 2> "$D/honed.log" &
	HONED=$!
	wait_for 20 test -S "$D/agents.sock" || bail "honed starts"
	hone-agent -o agent.node=desk -o controller.url="ipc://$D/agents.sock" -o log.level=debug 2> "$D/agent.log" &
	AGENT=$!
}
