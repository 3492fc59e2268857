#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What holds for tracepoints of LTTng holds for spans of a Node service that Hone turns on: over TLS, only who has the role may do it, the audit says who did
# and `hone why` which span, the budgets hold, log levels say their cost first, and after a kill of either program everything is as the operator configured it.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
needs root node npm jq setpriv
ahead_of_others
HONE_OTEL_MODULES=$(tools/otel_clients.sh) || skip "needs the packages of tests/scenario/otel/package-lock.json"
export NODE_PATH=$HONE_OTEL_MODULES/node_modules OTLP_URL=http://127.0.0.1:4318
D=$(mktemp -d)
chmod 755 "$D"
export HONE_SOCKET="ipc://$D/honed.sock" PATH="$O/bin:$PATH"
honed= otel= service= watcher=
end() {
  local p
  for p in $watcher $service $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 12 "$D/otel.log" "$D/honed.log" "$D/service.log"; hone agents; hone levels; cat "$D/said" "$D/on"; }
# Another user must be able to run it, wherever it was built.
install -m 755 "$O/bin/hone" "$D/hone"
NOBODY=$(getent passwd 65534 | cut -d: -f1)
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$D/hone" "$@"; }
port=14320
tls() { echo "-o tls.ca=$D/keys/$1ca.pem -o tls.certificate=$D/keys/$1$2.pem -o tls.key=$D/keys/$1$2.key"; }
honed_up() { # SETTINGS
  honed -o controller.agents="tls://127.0.0.1:$port" $(tls "" controller) -o tls.revoked="$D/keys/revoked.pem" -o controller.operators="$HONE_SOCKET" \
    -o storage.database="$D/forest.db" -o storage.space="$D/space.db" -o operators.look="$NOBODY" -o agents.lease=2s -o learn.budget=90% \
    -o agents.budget=0% -o agents.enough=0 -o capture.wait=1s "$@" 2>> "$D/honed.log" &
  honed=$!
}
otel_up() {
  hone-otel -o controller.url="tls://localhost:$port" $(tls agents/n1/ agent) -o agent.node=n1 -o levels.err=shop:tax -o levels.info='sho*' \
    -o spans.hold=300ms -o spans.delay=700ms -o controller.retry=200ms -o listen.zipkin= -o listen.grpc= 2>> "$D/otel.log" &
  otel=$!
}
on() { [ "$(wc -l < "$D/on")" = "$1" ] || { cat "$D/on"; return 1; }; }
said() { grep -F -- "$1" "$D/said" || { cat "$D/said"; return 1; }; }
refused() { # COMMAND: nobody may not, and is told what would allow it
  ! as_nobody "$@" > "$D/said" 2>&1 && said operators.diagnose && on 0
}
level() { hone levels --json | jq -e ".services[] | select(.service == \"gated\") | $1"; }
audit() { hone audit --json > "$D/audit.json" && jq -e "$1" "$D/audit.json"; }
total() { hone tracepoints --json | jq -e ".total == $1"; }
none_on() { hone tracepoints --json | jq -e '.on == 0' && on 0; }
seen() { hone status --json | jq -e 'any(.types[]; .type == "GET /order" and .traces > 20)'; }

echo 1..29
hone keys init --host localhost --dir "$D/keys" > "$D/keys.log" && hone keys agent n1 --dir "$D/keys" >> "$D/keys.log" || bail "no keys"
honed_up -o levels.budget=0.001% -o search.budget=0.08%
otel_up
node tests/scenario/otel/gated.js "$D/on" 10 2> "$D/service.log" &
service=$!
check "over TLS, spans that are off by default are tracepoints" wait_for 60 total 8
check "and requests come" wait_for 60 seen

# ---- roles ---------------------------------------------------------------------------
check "the role look shows them" eval 'as_nobody tracepoints --json | jq -e ".total == 8" && as_nobody levels > /dev/null'
check "but turns none on: hone learn is refused" refused learn --seconds 5
check "so are hone levels" refused levels gated info --force
check "and hone start" refused start "GET /order"

# ---- log levels: the cost comes first -------------------------------------------------
check "spans have the levels of the operator's patterns" level '[.levels[] | [.level, .tracepoints]] == [["err", 2], ["info", 6]]'
check "before they were learned, their cost is not known" eval 'hone levels gated info --dry-run > "$D/said" && said "not known"'
check "and none is turned on" eval '! hone levels gated info > "$D/said" 2>&1 && said "is not known" && on 0'
learned() { hone learn --seconds 3 --wait > /dev/null; level .known; }
check "after learning it is known" wait_for 60 learned
check "what learning turned on is off" wait_for 10 on 0
priced() {
  local level core=0
  for level in err info; do
    hone levels gated $level --dry-run --json > "$D/said" && jq -e --argjson less "$core" '.change | .set == false and .after.unknown == 0 and .after.core > $less and .after.per_second > 10' "$D/said" || return 1
    core=$(jq .change.after.core "$D/said")
  done
}
check "a level says its cost before it is set, a further one more" priced
check "it changes nothing" on 0
check "over the budget it is refused, with the budget" eval '! hone levels gated err > "$D/said" 2>&1 && said "levels.budget is 0.001 %" && on 0'

# ---- leases ---------------------------------------------------------------------------
kill -9 $honed && wait $honed 2> /dev/null
honed_up -o levels.budget=50% -o search.budget=0.08%
check "within the budget the level is set" wait_for 20 hone levels gated err
check "and its spans are on" wait_for 20 on 1
check "they are those of the level" grep -qx shop:tax "$D/on"
kill -9 $honed && wait $honed 2> /dev/null
check "honed is killed: they are off with the lease" wait_for 10 on 0
honed_up -o levels.budget=50% -o search.budget=0.08%
check "the next one has them on again" wait_for 20 on 1
kill -9 $otel && wait $otel 2> /dev/null
check "hone-otel is killed: they are off with the lease" wait_for 10 on 0
otel_up
check "the next one has them on again, too" wait_for 20 on 1
check "the level is set off" hone levels gated off
check "and all are off" wait_for 20 none_on

# ---- a budget that binds --------------------------------------------------------------
wait_for 20 seen > /dev/null
watch() {
  while sleep 0.1; do
    hone agents --json | jq -c '.agents[] | [.spent_pct, .budget_pct]'
    hone status --json | jq -c '.types[] | select(.type == "GET /order") | {probed}'
  done > "$D/spent"
}
watch &
watcher=$!
read -r _ spans_before < "$D/on.made"
check "a diagnosis within a small budget finds the fault" timeout 120 hone start "GET /order" --wait
read -r _ spans_after < "$D/on.made"
kill $watcher; wait $watcher 2> /dev/null; watcher=
within() { jq -sc '{over: [.[] | arrays | select(.[0] > .[1])], spent: ([.[] | arrays | .[0]] | max), probed: ([.[] | objects | .probed] | unique)}' "$D/spent" && jq -se '([.[] | arrays] | all(.[0] <= .[1] * 1.001) and any(.[0] > 0)) and ([.[] | objects | .probed | select(. > 0)] | length > 0 and min < 1)' "$D/spent"; }
check "its cost was never over the budget, since only a share of the requests was probed" within
check "the program itself has made spans for it" test "$spans_after" -gt "$spans_before"
found() { hone forest "GET /order" --json > "$D/forest.json" && jq -e '.runs[0] | .state == "found" and .verdict.edge.from == "gated/shop:voucher_begin"' "$D/forest.json"; }
check "it has found the slow span" found

# ---- audit ----------------------------------------------------------------------------
run=$(jq .runs[0].run "$D/forest.json")
who() {
  audit '[.rows[] | select(.user == "root" and .outcome == "done") | .asked] | (any(test("\"learn\"")) and any(test("\"levels\".*gated.*err")) and any(test("\"start\"")))' &&
    jq -e '[.rows[] | select(.uid == 65534 and .outcome == "refused") | .asked] | (any(test("\"learn\"")) and any(test("\"levels\"")) and any(test("\"start\"")))' "$D/audit.json"
}
check "the audit says who turned them on, and who tried to" who
switched() { hone why --tracepoint shop:voucher_begin --json > "$D/said" && jq -e --argjson run "$run" '.on == false and ([.switched[] | select(.run == $run) | .on] | .[0] == true and .[-1] == false)' "$D/said" && none_on; }
check "hone why says which run turned a span on, and that it is off" wait_for 10 switched
exit $FAILED
