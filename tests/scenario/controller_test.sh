#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Messages and exit codes of honed and hone when something is wrong.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
D=$(mktemp -d)
export HONE_SOCKET="ipc://$D/honed.sock"
honed_pid=
end() { [ -z "$honed_pid" ] || { kill "$honed_pid"; wait "$honed_pid"; }; umount "$D/small" 2>/dev/null; rm -rf "$D"; }
trap end EXIT
# says CODE TEXT COMMAND...: the command exits with CODE and its output contains TEXT
says() {
  local code=$1 text=$2 said rc=0
  shift 2
  said=$("$@" 2>&1) || rc=$?
  echo "exit $rc: $said"
  [ $rc = "$code" ] && grep -qF -- "$text" <<<"$said"
}
up() {	# starts honed with additional arguments; waits until it answers
  "$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
    -o storage.database="${DB:-$D/forest.db}" -o storage.space="$D/space.db" "$@" >"$D/honed.log" 2>&1 &
  honed_pid=$!
  local limit=$((SECONDS + 20))
  until "$O/bin/hone" status >/dev/null 2>&1; do
    kill -0 $honed_pid 2>/dev/null && [ $SECONDS -lt $limit ] || { cat "$D/honed.log"; return 1; }
    sleep 0.02
  done
}
down() { kill "$honed_pid" && wait "$honed_pid"; local rc=$?; honed_pid=; return $rc; }
second() {	# another controller, on the database $1, which must not start
  timeout 20 "$O/bin/honed" -o controller.agents="ipc://$D/agents2.sock" -o controller.operators="ipc://$D/2.sock" \
    -o storage.database="$1" -o storage.space="$D/space2.db"
}

echo 1..23
check "without a controller hone says where it looked and how to start one" says 1 honed "$O/bin/hone" status
check "an unknown command is misuse, with the nearest one" says 2 status "$O/bin/hone" statsu
check "an unknown flag is misuse" says 2 "--frobnicate" "$O/bin/hone" status --frobnicate
check "--help prints the usage of a command" says 0 usage "$O/bin/hone" start --help
printf '[analysis]\ncv_max = 10%%\nnonsense = 1\n' >"$D/bad.conf"
check "honed -n names file, line and key" says 1 "bad.conf:3" "$O/bin/honed" -n -c "$D/bad.conf"
printf '[analysis]\ncv_max = 10%%\n' >"$D/good.conf"
check "honed -nv prints a file that it reads back" bash -c \
  "'$O/bin/honed' -nv -c '$D/good.conf' >'$D/back.conf' && '$O/bin/honed' -n -c '$D/back.conf'"
check "hone-agent -nv prints a file that it reads back" bash -c \
  "'$O/bin/hone-agent' -nv >'$D/back.conf' && '$O/bin/hone-agent' -n -c '$D/back.conf'"

check "honed starts with an empty database" up
check "hone start without an agent fails and says so" says 1 "no agent is connected" "$O/bin/hone" start GET_HOME
check "each of its flags arrives" says 1 "no agent is connected" "$O/bin/hone" start GET_HOME --strategy flat --k 2 --seed 1 --effort 3 \
	--effect 30% --causes 2 --tail p99 --no-below
check "--below and --no-below together are misused" says 2 "only one of them" "$O/bin/hone" start GET_HOME --below --no-below
check "hone learn without a request fails and says so" says 1 "nothing to learn from" "$O/bin/hone" learn --seconds 1
check "hone stop without a diagnosis fails and says so" says 1 "nothing runs" "$O/bin/hone" stop
check "hone forest without a diagnosis fails and says so" says 1 "no diagnosis" "$O/bin/hone" forest GET_HOME
check "hone status --json is valid and has its version" bash -o pipefail -c "'$O/bin/hone' status --json | jq -e '.version == 3 and .ok'"
check "a second controller on the same database is refused, with the pid of the first" says 1 "$honed_pid" second "$D/forest.db"
check "honed survives garbage on its sockets" bash -c "
  for s in agents honed; do
    head -c 4096 /dev/urandom | timeout 5 perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un(\$ARGV[0])) or die; local \$/; print S <STDIN>; close S' '$D'/\$s.sock || exit 1
  done; '$O/bin/hone' status"
check "SIGTERM ends honed: exit 0" down

head -c 8192 /dev/urandom >"$D/garbage.db"
sums=$(sha256sum "$D/garbage.db")
check "a file that is not a database is refused" says 1 "garbage.db" second "$D/garbage.db"
cp "$D/forest.db" "$D/newer.db"
perl -e 'open F, "+<", $ARGV[0]; binmode F; seek F, 60, 0; print F pack("N", 4711)' "$D/newer.db"
check "a database of a newer schema is refused, with both versions" says 1 4711 second "$D/newer.db"
check "refused files are unchanged" bash -c "echo '$sums' | sha256sum -c --quiet"

if [ "$(id -u)" = 0 ] && mkdir "$D/small" && mount -t tmpfs -o size=256k tmpfs "$D/small" 2>/dev/null; then
  dd if=/dev/zero of="$D/small/ballast" bs=1k count=256 2>/dev/null
  check "the error says that the disk is full" says 1 "no space left" second "$D/small/forest.db"
  rm "$D/small/ballast"
  DB="$D/small/forest.db" check "with free space again honed starts" up
else
  echo "ok 20 # SKIP needs root"
  echo "ok 21 # SKIP needs root"
fi
exit $FAILED
