#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hone analyze and hone baseline on trace files: generated with a known fault, and real ones from the folder HONE_DATA.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jaeger.sh"
DATA=$(realpath -m "${HONE_DATA:-../shared/data}")
D=$(mktemp -d)
export XDG_DATA_HOME=$D/home
honed_pid=
trap '[ -z "$honed_pid" ] || kill "$honed_pid"; rm -rf "$D"' EXIT
hone() { "$O/bin/hone" "$@"; }
# says CODE TEXT COMMAND...: the command exits with CODE and its output contains TEXT
says() {
  local code=$1 text=$2 said rc=0
  shift 2
  said=$("$@" 2>&1) || rc=$?
  echo "exit $rc: $said"
  [ $rc = "$code" ] && grep -qF -- "$text" <<<"$said"
}
# is FILTER ARGUMENT...: the jq filter is true of the document of hone analyze --json ARGUMENT...
is() {
  local filter=$1
  shift
  hone analyze --json "$@" >"$D/said.json" || return 1
  jq -e "$filter" "$D/said.json" >"$D/jq.txt" || { cat "$D/jq.txt"; jq -c 'del(.types)' "$D/said.json"; return 1; }
}
# the document without its time of creation and its files
same() { cmp <(jq -S 'del(.made, .source)' "$1") <(jq -S 'del(.made, .source)' "$2"); }

jaeger "$D/all.json" 1 200 1000 4000
jaeger "$D/steady.json" 1 200 1000 10
TOP='.problems[0] as $p | .types[0].groups[] | select(.group == $p.group) | . as $g | .edges[$g.top]'

# ---- findings
check "the document has its name and version" is '.document == "hone.analysis" and .version == 1' "$D/all.json"
check "the planted edge carries the variance, in the service that is slow" \
  is "$TOP | .owner_service == \"cart\" and .share > 0.9 and .low <= .share and .share <= .high" "$D/all.json"
check "its key explains it" is '.types[0].groups[0].keys | any(.name | test("items")) and all(.p < 0.01)' "$D/all.json"
check "without the edge's variance requests would be predictable" is '.types[0].groups[0].what_if | .then.cv < 0.05 and .now.cv > 0.2' "$D/all.json"
check "shares add up to 1, edges to the mean, and steps end at it" is '.types[0].groups[0] |
  ((.edges | map(.share) | add) - 1 | fabs) < 1e-6 and ((.edges | map(.mean_ms) | add) - .mean_ms | fabs) < 1e-6 and
  (.steps[-1].first_ms - .mean_ms | fabs) < 1e-6' "$D/all.json"
check "exemplars are requests of the file" is '.types[0].groups[0].exemplars |
  .slowest.total_ms > .median.total_ms and .median.total_ms > .fastest.total_ms and (.slowest.trace | length) >= 16' "$D/all.json"
check "predictable requests are not listed as problems" is '.problems == [] and .types[0].groups[0].problem == "none"' "$D/steady.json"
check "the text names the same edge" says 0 "HOME of front is unpredictable" hone analyze "$D/all.json"
check "the text says which requests are predictable" says 0 "no problem" hone analyze "$D/steady.json"

# ---- command line
hone analyze --json "$D/all.json" >"$D/once.json"
hone analyze --json "$D/all.json" >"$D/again.json"
check "the same input and seed give the same document" same "$D/once.json" "$D/again.json"
gzip -k "$D/all.json"
hone analyze --json "$D/all.json.gz" >"$D/gz.json"
check "a gzip file is recognized and read" same "$D/once.json" "$D/gz.json"
hone analyze --json - <"$D/all.json" >"$D/stdin.json"
check "- reads standard input" same "$D/once.json" "$D/stdin.json"
hone analyze --json - <"$D/all.json.gz" >"$D/stdin.json"
check "standard input may be gzip" same "$D/once.json" "$D/stdin.json"
mkdir "$D/parts"
jaeger "$D/parts/1.json" 1 100 1000 4000
jaeger "$D/parts/2.json" 101 200 1000 4000
check "several files are one window" is '.types[0].count == 200 and .source.counts.files == 2' "$D/parts/1.json" "$D/parts/2.json"
hone analyze --json "$D/parts/1.json" "$D/parts/2.json" >"$D/two.json"
hone analyze --json "$D/parts" >"$D/folder.json"
check "a folder stands for its files, sorted by name" same "$D/two.json" "$D/folder.json"
check "--format names the format" is '.types[0].count == 200' --format jaeger "$D/all.json"
check "--type chooses requests by name" is '.types[0].count == 200' --type 'HO*' "$D/all.json"
check "--type without a matching request fails with a message" says 1 "none is of a type that matches" hone analyze --type NONE "$D/all.json"
check "--ignore excludes waits" is '.problems == [] and .types[0].groups[0].ignored_mean_ms > 1' --ignore 'cart/*' "$D/all.json"
check "--bin separates requests by their bin" is '.types[0].groups | length == 2 and all(.path | any(test("items.*50")))' \
  --bin '*unit_begin(get).items=50' "$D/all.json"
check "--cv sets the threshold" is '.problems == []' --cv 300% "$D/all.json"
check "--min-traces sets the least number of traces of a group" is '.problems == [] and .types[0].groups[0].problem == "unsure"' --min-traces 201 "$D/all.json"
check "--confidence sets the width of intervals" bash -o pipefail -c "
  w() { '$O/bin/hone' analyze --json --confidence \$1 '$D/all.json' | jq '.types[0].groups[0] | .cv_high - .cv_low'; }
  jq -en \"\$(w 99%) > \$(w 80%)\""
check "--samples prints single requests" is '.types[0].groups[0] | (.samples | length) >= 200 and
  (.samples[0].keys | length) == (.sample_keys | length)' --samples "$D/all.json"
check "without --samples no single request is printed" is '.types[0].groups[0] | has("samples") | not' "$D/all.json"

# ---- bad input
check "no file is misuse: exit 2" says 2 "needs a file" hone analyze
check "an unknown flag is misuse: exit 2" says 2 "--frob" hone analyze --frob "$D/all.json"
check "an impossible value is misuse: exit 2" says 2 "must be" hone analyze --confidence 3 "$D/all.json"
check "an unknown format is misuse: exit 2" says 2 "unknown format" hone analyze --format word "$D/all.json"
check "a malformed rule is misuse: exit 2" says 2 "nonsense" hone analyze --bin nonsense "$D/all.json"
check "the error names a missing file" says 1 "$D/missing" hone analyze "$D/missing"
head -c 4096 /dev/urandom >"$D/garbage"
check "the error names a file that is no trace file" says 1 "$D/garbage" hone analyze "$D/garbage"
: >"$D/empty"
check "an empty file fails: no trace could be analysed" says 1 "no trace could be analysed" hone analyze "$D/empty"
check "the other files are analysed, and the unreadable one is counted" is '.types[0].count == 200 and (.source.failed | length) == 1' "$D/garbage" "$D/all.json"
head -c 60000 "$D/all.json" >"$D/cut.json"
check "of a truncated file the complete traces are used, and the truncation is counted with its place" is "
  .types[0].count > 50 and (.source.skipped | any(.count > 0 and (.file | endswith(\"cut.json\")) and .offset > 0))" "$D/cut.json"
head -c $(($(stat -c %s "$D/all.json.gz") / 2)) "$D/all.json.gz" >"$D/cut.json.gz"
check "a truncated gzip file is handled in the same way" is '.types[0].count > 0 and (.source.skipped | length) > 0' "$D/cut.json.gz"
check "a full output device is an error: exit 1" says 1 "standard output" bash -c "'$O/bin/hone' analyze --json '$D/all.json' >/dev/full"

# ---- interrupted
# Ctrl-C while the progress bar is shown: the line is cleared, and the signal ends the process. script provides the
# terminal.
interrupts() {
  local pid
  mkfifo "$D/fifo"
  TERM=xterm script -qefc "echo \$\$ >'$D/pid'; exec '$O/bin/hone' analyze - <'$D/fifo'" "$D/typescript" </dev/null >/dev/null &
  exec 9>"$D/fifo"
  cat "$D/all.json" >&9
  wait_for 20 grep -q traces "$D/typescript" || return 1
  pid=$(cat "$D/pid") && kill -INT "$pid" && wait_for 20 gone "$pid" || return 1
  exec 9>&-
  wait
  grep -aq $'\r\033\\[K$' "$D/typescript"
}
if command -v script >/dev/null; then
  check "Ctrl-C ends hone at once and leaves a clean line" interrupts
fi
check "a reader that closes the pipe gets no error message" bash -c "
  '$O/bin/hone' analyze --json --samples '$D/all.json' 2>'$D/err' | head -c 1 >/dev/null; [ ! -s '$D/err' ]"

# ---- baselines
check "a baseline is saved" says 0 "" hone baseline save healthy "$D/steady.json"
check "the list of baselines has it" bash -o pipefail -c "'$O/bin/hone' baseline list --json | jq -e '.[0].name == \"healthy\"'"
check "baseline show prints the document" bash -o pipefail -c "'$O/bin/hone' baseline show healthy --json | jq -e '.types[0].count == 200'"
check "an analysis is compared with a baseline" is '.baseline.name == "healthy"' --baseline healthy "$D/all.json"
check "a document in a file can be the baseline" is '.baseline != null' --baseline "$D/once.json" "$D/all.json"
check "the error names a missing baseline" says 1 "nobody" hone analyze --baseline nobody "$D/all.json"
check "a name cannot leave the folder of baselines" says 1 "letters" hone baseline save ../x "$D/steady.json"
check "a failed analysis does not replace a baseline" bash -o pipefail -c "
  ! '$O/bin/hone' baseline save healthy '$D/garbage' && '$O/bin/hone' baseline show healthy --json | jq -e '.types[0].count == 200'"
check "a baseline can be deleted" says 0 "" hone baseline delete healthy
check "it cannot be deleted a second time" says 1 "no such baseline" hone baseline delete healthy
check "an unknown word after baseline is misuse: exit 2" says 2 "save, list, show or delete" hone baseline frob

# ---- pictures
check "--html writes a page that contains the document and loads nothing from elsewhere" bash -c "
  '$O/bin/hone' analyze --html '$D/page.html' '$D/all.json' && grep -q 'hone.analysis' '$D/page.html' &&
  ! grep -E '(src|href)=\"?(http|//)' '$D/page.html'"
check "with --json and --html, single requests are only in the page" is '.types[0].groups[0] | has("samples") | not' \
  --html "$D/page.html" "$D/all.json"
check "the error names a page that cannot be written" says 1 "$D/no/page.html" hone analyze --html "$D/no/page.html" "$D/all.json"

# ---- live, of a controller that has no records yet
export HONE_SOCKET=ipc://$D/honed.sock
"$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" \
  -o storage.database="$D/forest.db" -o storage.space="$D/space.db" >"$D/honed.log" 2>&1 &
honed_pid=$!
check "honed answers" wait_for 20 hone status
check "hone report --json of honed is a document" bash -o pipefail -c "'$O/bin/hone' report --json | jq -e '.document == \"hone.analysis\" and .source.live and .types == []'"
check "the text says since when requests were counted" says 0 "live since" hone report
check "the report of honed can be reset, compared and saved" bash -o pipefail -c "
  '$O/bin/hone' report --reset --baseline '$D/once.json' --json | jq -e '.baseline.types_vanished == [\"HOME\"]' &&
  '$O/bin/hone' baseline save live && '$O/bin/hone' baseline show live --json | jq -e .source.live"
check "hone report of an unknown type fails with a message" says 1 "no request of any type has been seen" hone report NOBODY

# ---- real traces
if [ -d "$DATA/nezha" ]; then
  check "a day of TrainTicket is analysed" is '(.types | map(.count) | add) > 4000 and (.problems | length) > 0' "$DATA"/nezha/2023-01-29/*.csv.gz
  check "every group's shares add up to 1" jq -e '[.types[].groups[] | select(.cv > 0) |
    ((.edges | map(.share) | add) - 1 | fabs) < 1e-6] | all' "$D/said.json"
  check "every group's edges add up to its mean" jq -e '[.types[].groups[] |
    ((.edges | map(.mean_ms) | add) - .mean_ms | fabs) < 1e-6 * (1 + .mean_ms)] | all' "$D/said.json"
  check "all requests are in a group or counted as others" jq -e '[.types[] | (.groups | map(.count) | add // 0) + .other.traces == .count] | all' "$D/said.json"
  check "an X-Trace report of HDFS is analysed" is '.source.counts.traces >= 1' "$DATA/xtrace"/*.json
else
  echo "# SKIP real traces: $DATA/nezha is not there; HONE_DATA says where"
fi

# ---- hone check on files
# checked CODE FILTER ARGUMENT...: hone check --json ARGUMENT... exits with CODE, and the jq filter is true of its answer
checked() {
  local code=$1 filter=$2 rc=0
  shift 2
  hone check --json "$@" >"$D/said.json" || rc=$?
  echo "exit $rc"
  [ $rc = "$code" ] && jq -e "$filter" "$D/said.json" >"$D/jq.txt" || { jq -c .mistakes "$D/said.json"; return 1; }
}
jaeger "$D/locked.json" 1 200 1000 4000 LOCK
jq -c '(.data[:60][].spans[] | select(.spanID == "a4") | .references[].spanID) = "ff"' "$D/locked.json" >"$D/orphans.json"
jq -c 'del(.data[:60][].spans[] | select(.spanID == "a2") | .duration)' "$D/locked.json" >"$D/open.json"
check "hone check FILE says that right spans are right" checked 0 '.mistakes == [] and .spans == 800 and .traces == 200 and .seconds == null and
  (.requests | length) == 1 and (.forks | length) == 3 and all(.forks[]; .forked == 200 and .begun == 200 and .ended == 200)' "$D/locked.json"
check "spans whose parent is not there are named, with their place" checked 1 '.mistakes | length == 1 and .[0].kind == "fork-unseen" and
  .[0].at == "cart/hone:unit_begin(lock)" and .[0].count == 60 and .[0].of == 200' "$D/orphans.json"
check "spans without an end are named, with their place" checked 1 '[.mistakes[] | {kind, at, count}] == [{"kind": "unit-open",
  "at": "cart/hone:unit_begin(get)", "count": 60}]' "$D/open.json"
check "--type selects the requests" checked 1 '.requests == [] and .mistakes == []' --type OTHER "$D/open.json"
check "standard input is a file, too" checked 0 '.traces == 200' - <"$D/locked.json"
check "the text says what to do with spans" says 1 "-> end the span on every way out" hone check "$D/open.json"
check "a file without traces: exit 1, and the error says so" says 1 "there is no trace to check" hone check /dev/null
check "--seconds is for live requests: exit 2" says 2 "--seconds" hone check "$D/open.json" --seconds 3
check "--map is for files: exit 2" says 2 "--map" hone check GET --map x.map

echo "1..$N"
exit $FAILED
