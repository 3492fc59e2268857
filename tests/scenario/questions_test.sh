#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every question of an operator, on a live shop: learning, diagnoses of every kind, their hypotheses and evidence, the
# learned space, changes; before and after a restart; and files that are damaged, of a newer version, or of another
# kind.
# O: the folder that `make all` built. SAID=FILE: the output of every command, for review.
. "$(dirname "$0")/lib.sh"
needs root
ahead_of_others
here=$PWD/examples
. "$here/stage.sh"
load=
end() { [ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null; stage_down; }
trap end EXIT
why() { [ -z "$stage" ] || { tail -n 12 "$stage/honed.log"; hone history; }; }
SAID=${SAID:-/dev/null}

# The command exits with $1 and prints $2 (an extended regular expression).
says() {
  local rc=$1 words=$2 got out
  shift 2
  out=$("$@" 2>&1)
  got=$?
  printf '\n$ %s\n%s\n[%s]\n' "$*" "$out" $got >>"$SAID"
  printf 'ended with %s: %s\n' $got "$out"
  [ $got = "$rc" ] && grep -qE -e "$words" <<<"$out"
}
answers() { local filter=$1; shift; hone "$@" --json | jq -e "$filter"; }
fault() { "$here/shop/shop.sh" fault "$stage/shop" "$1" "$2"; }
seen() { answers 'any(.types[]; .type == "CHECKOUT" and .traces > 20)' status; }
ended() { answers 'all(.runs[]; .state != "active")' history; }
until_ended() { until_true 180 "no diagnosis goes on" ended; }
verdict_at() { answers ".runs[0].verdict.edge.from == \"$2\"" forest "$1"; }
newest() { hone history --limit 1 --json | jq .runs[0].run; }
tax=shop-price/shop_price:tax_rate_end
: >>"$SAID"

stage_app && stage_honed "${ALL_TRACED[@]}" && stage_agents || bail "the stage does not come up"
"$here/shop/shop.sh" load "$stage/shop" --seconds 900 --rate 120 \
  --mix GET_PRODUCT=5,ADD_TO_CART=3,GET_HOME=1,CHECKOUT=1 --json >"$stage/load.json" 2>&1 &
load=$!
until_true 60 "requests are seen" seen

# ---- nothing yet ----
check "Hone's own programs are not listed as requests" answers '[.types[].type] - ["GET_PRODUCT", "ADD_TO_CART", "GET_HOME", "CHECKOUT"] == []' status
check "hone history without a diagnosis says how to start one" says 0 "No diagnosis.*hone start TYPE" hone history
check "hone why without a verdict fails and says so" says 1 "no diagnosis has a verdict" hone why slowest
check "hone space stats without a learned space fails and says so" says 1 "nothing has been learned" hone space stats
check "hone why --tracepoint of a tracepoint that was never enabled says so" says 0 "No diagnosis has ever turned it on" hone why --tracepoint shop_price:tax_rate_end
check "hone start of an unknown type fails and names the nearest type" says 1 "no request of this type.*GET_HOME" hone start GET_HOUSE
fault slow_function 8
check "hone start without a learned space says that the diagnosis explores" says 0 "nothing was learned.* explored" hone start GET_PRODUCT
check "this diagnosis ends" until_ended
check "hone forest shows it" says 0 "GET_PRODUCT" hone forest GET_PRODUCT
fault slow_function off

# ---- learning, the space ----
check "hone learn prints coverage, under the version's name" says 0 "UNSEEN PLACES" \
  hone learn --seconds 5 --version 1.0 --wait
check "hone space versions lists the version" says 0 "^1\.0 " hone space versions
check "hone space stats prints how much was learned" says 0 "GET_PRODUCT +nginx +[0-9]" hone space stats
check "hone space show prints what was learned of a type" says 0 "shop_price:tax_rate_begin" hone space show GET_PRODUCT
check "hone space show --dot prints a graph" says 0 "^digraph" hone space show GET_PRODUCT --dot -
check "hone space show of a type that was not learned fails" says 1 "NOTHING" hone space show NOTHING
check "hone space export writes the version to a file" says 0 "version .* written|unnamed version written" hone space export "$stage/one.space"
check "hone space export does not overwrite a file" says 1 "already exists" hone space export "$stage/one.space"

# ---- diagnoses ----
fault slow_function 8
fault lock_contention 5
check "a diagnosis starts" says 0 " started;" hone start GET_PRODUCT --k 1
check "a diagnosis of another type starts beside it" says 0 " started;" hone start ADD_TO_CART --strategy bisect --k 2
check "a second diagnosis of the same type is refused" says 1 "under diagnosis already" hone start GET_PRODUCT
added() { hone status --json | jq -e -r '.added_names[0]' >"$stage/on"; }
check "a tracepoint is enabled" until_true 90 "something is on" added
on_now() { added && says 0 "is on now" hone why --tracepoint "$(cat "$stage/on")"; }
check "hone why --tracepoint says why it is enabled" wait_for 10 on_now
check "hone status shows the diagnosis" says 0 "diagnosis [0-9]+ of" hone status
check "the version of the space cannot be changed during a diagnosis" says 1 "a diagnosis or learning is active" hone space use 1.0
check "both diagnoses end" until_ended
check "the slow function is found" verdict_at GET_PRODUCT $tax
exported() {
  hone export --all --type GET_PRODUCT --json | jq -e --arg tax $tax '(.requests | length) > 10 and all(.requests[]; .type == "GET_PRODUCT" and .verdict.from == $tax and
    (([.units[].path_ms] | add) - .total_ms | fabs) < 1e-6) and any(.requests[].units[].records[]; .record == "shop_price:tax_rate_end")'
}
check "hone export has requests with the records of added tracepoints, and the verdict" exported
check "the records are events of spans" eval 'hone export --all --type GET_PRODUCT | jq -e "[.resourceSpans[].scopeSpans[].spans[].events[]?.name] | any(. == \"shop_price:tax_rate_end\")"'
# The request has both faults: which of them has the larger share depends on the machine.
check "the contended lock is found" answers '[.runs[0].verdicts[].edge.from] | index("shop-cart/shop_cart:index_lock_begin")' forest ADD_TO_CART
before=$(hone forest GET_PRODUCT --json | jq .runs[0].run)
fault lock_contention off
fault slow_function 8
# Several tracepoints a cycle: what is asked of these does not depend on how many, and they take fewer cycles.
for s in hierarchical bisect exhaustive; do
  check "strategy $s finds the fault" says 0 "tax_rate_end" hone start GET_PRODUCT --strategy $s --k 4 --seed 7 --wait
  check "strategy $s names the right place" verdict_at GET_PRODUCT $tax
done
check "a verdict below the least effect ends with 3 and says that nothing stands out" says 3 "nothing stands out: .* worth mending" \
  hone start GET_PRODUCT --strategy flat --k 8 --seed 7 --effect 100% --wait
# A baseline strategy: it need not find the fault, but it must end and report its result.
by_chance() { hone start GET_PRODUCT --strategy random --k 4 --seed 7 --wait >"$stage/random" 2>&1; says 0 "tax_rate_end|not found: .+|search was cut" cat "$stage/random"; }
check "strategy random ends with a reason" by_chance
check "a diagnosis limited to one cycle ends with that reason" says 0 "effort|cut short" hone start GET_PRODUCT --k 1 --effort 1 --wait

# ---- misuse ----
check "an unknown strategy is misuse: exit 2" says 2 "unknown strategy; known are flat, .* bisect" hone start GET_PRODUCT --strategy divine
check "no tracepoint per cycle is misuse: exit 2" says 2 "whole number from 1 to 16" hone start GET_PRODUCT --k 0
check "half a cycle is misuse: exit 2" says 2 "whole number of cycles" hone start GET_PRODUCT --effort 0.5
check "--dot - and --json together are misuse: exit 2" says 2 "cannot be combined" hone forest --dot - --json
check "a trace and a tracepoint together are misuse: exit 2" says 2 "cannot be combined" hone why slowest --tracepoint a:b
check "hone diff of a diagnosis with itself is misuse: exit 2" says 2 "the same diagnosis twice" hone diff 1 1
check "a malformed trace id is misuse: exit 2" says 2 "16 or 32 hex digits" hone why 0123456789abcdef0
check "an unknown trace fails" says 1 "unknown trace" hone why 0123456789abcdef
check "an unknown tracepoint fails" says 1 "no program has this" hone why --tracepoint no:such
check "an unknown diagnosis fails" says 1 "no diagnosis 999" hone forest --run 999
check "a flag of another command is misuse: exit 2" says 2 "does not apply to space" hone space stats --dot -

# ---- findings and evidence ----
ids="--run $before"
check "hone forest prints the tree" says 0 "isolates|bottom" hone forest $ids
hone forest $ids --json | jq -r '.runs[0].verdict.exemplars.slowest' >"$stage/trace"
check "hone why prints the slowest trace of the verdict" says 0 "the slowest of the verdict of diagnosis.* GET_PRODUCT" hone why slowest GET_PRODUCT
check "hone why prints a trace by its id" says 0 "tax_rate_end" hone why "$(cat "$stage/trace")"
examples_known() {
  local id
  for id in $(hone history --json | jq -r '.runs[].verdicts[].exemplars | .slowest, .fastest | select(. != null)'); do
    hone why "$id" --json | jq -e '.matches + [.live] | any(. != null)' >/dev/null || { echo "$id"; return 1; }
  done
}
check "every example of a verdict is a known trace" examples_known
check "hone why slowest prints the slowest trace of all" says 0 "usual" hone why slowest
check "hone why --tracepoint says who enabled it, for what, with what outcome" says 0 "GET_PRODUCT" \
  hone why --tracepoint shop_price:tax_rate_end
check "hone history lists all diagnoses" says 0 "bisect" hone history
began_by_root() {
  answers 'all(.runs[]; .by == "root")' history &&
    answers 'any(.rows[]; .outcome == "done" and .run != null and .user == "root" and (.asked | test("start")))' audit
}
check "history and audit say who started a diagnosis" began_by_root
check "hone forest writes the tree as a graph and as a page" says 0 "GET_PRODUCT" \
  hone forest $ids --dot "$stage/tree.dot" --html "$stage/tree.html"
# The subset of dot's grammar that Hone writes: statements in braces, strings in quotes.
dot_is_valid() {
  python3 - "$1" <<'PYTHON'
import re, sys
text = re.sub(r'"(?:[^"\\]|\\.)*"', 'text', open(sys.argv[1]).read())
attributes = r'(?: ?\[\w+=[\w.]+(?:, \w+=[\w.]+)*\])?'
statement = re.compile(rf'(?:(?:subgraph|digraph) \w+ {{|}}|(\w+)=\w+;|(\w+)( -> \w+)?{attributes};)')
nodes, ends, open_braces, bad = set(), set(), 0, []
for line in filter(None, map(str.strip, text.replace('#', '').split('\n'))):
    m = statement.fullmatch(line)
    if not m:
        bad.append(line)
        continue
    open_braces += line.endswith('{') - (line == '}')
    if m.group(3):
        ends |= {m.group(2), m.group(3)[4:]}
    elif m.group(2):
        nodes.add(m.group(2))
print(bad, ends - nodes, open_braces)
sys.exit(bool(bad or not ends or ends - nodes or open_braces))
PYTHON
}
check "the graph is valid in the language of dot" dot_is_valid "$stage/tree.dot"
self_contained() {
  grep -q tax_rate_end "$1" && ! grep -oiE '(src|href)="?(https?:|//|/|[a-z]+\.)[^" >]*|url\([^)]*\)|@import|<link[^>]*>' "$1"
}
check "the page loads nothing from elsewhere" self_contained "$stage/tree.html"

# The output of a command on a terminal of 80 columns.
on_terminal() {
  python3 - "$O/bin/hone" "$@" <<'PYTHON'
import fcntl, os, pty, re, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
try:
    while part := os.read(fd, 65536):
        said += part
except OSError:
    pass
said = re.sub("\x1b\\[[0-9;]*m", "", said.decode()).replace("\r", "")
print(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) or any(len(line) > 80 for line in said.split("\n")))
PYTHON
}
fits() { says 0 "." on_terminal "$@"; }
check "hone status fits a terminal of 80 columns" fits status
check "hone history fits a terminal of 80 columns" fits history
check "hone why --tracepoint fits a terminal of 80 columns" fits why --tracepoint shop_price:tax_rate_end
on_terminal forest $ids >>"$SAID" 2>&1
on_terminal why GET_PRODUCT >>"$SAID" 2>&1
on_terminal space stats >>"$SAID" 2>&1

# ---- the same after a restart ----
answered() {
  local run
  hone history --json | jq .
  for run in $(hone history --json | jq .runs[].run); do hone forest --run "$run" --json | jq .; done
  hone why --tracepoint shop_price:tax_rate_end --json | jq 'del(.on, .services)'
  hone why "$(cat "$stage/trace")" --json | jq 'del(.live)'
  hone space show GET_PRODUCT --json | jq .
  hone diff "$before" $((before + 2)) --json | jq .
}
answered >"$stage/before" 2>&1
kill "$honed"; wait "$honed" 2>/dev/null
check "the controller starts again with its database" stage_honed "${ALL_TRACED[@]}"
answered >"$stage/after" 2>&1
check "the answers are the same byte by byte" diff "$stage/before" "$stage/after"
check "the answers have more than 500 lines" test "$(wc -l <"$stage/before")" -gt 500
check "the agents connect again" until_true 60 "the agents" stage_ready
until_true 60 "requests are seen" seen

# ---- slow requests, after the fact ----
check "hone capture names the edge of slow requests, with all tracepoints" \
	answers "([.requests[] | select(.edges[0].from == \"$tax\" and .kept.added > 20)] | length) > 0 and .compared >= 3" \
	capture GET_PRODUCT --over 150 --count 10 --seconds 60
check "hone capture lists it" says 0 "GET_PRODUCT +150 ms .*ended: enough" hone capture
recorders_off() { answers '.nodes == []' capture; }
check "the flight recorders are off again" until_true 20 "recorders are off" recorders_off

# ---- changes ----
fault slow_function off
hone start GET_PRODUCT --effort 1 --k 8 --wait >>"$SAID" 2>&1
check "without the fault a new diagnosis has no such verdict" answers \
  ".runs[0] | .state != \"active\" and ([.verdicts[] | select(.edge.from == \"$tax\")] == [])" forest GET_PRODUCT
# The diagnosis of the same request type now finds nothing, or another cause that was always there.
check "hone diff reports that the finding is gone or moved" says 0 "^(gone|moved) .*tax_rate_end" hone diff "$before" "$(newest)"
check "hone diff reports that requests are faster" answers '.changes[0] | .after.mean_ms < .before.mean_ms and .mean_overlaps != true' \
  diff "$before" "$(newest)"
check "hone diff refuses diagnoses of different types" says 1 "." hone diff "$before" $((before + 1))

# ---- other versions of the space ----
check "hone space import adds to the version that is in use" says 0 "added to .*which honed searches" hone space import "$stage/one.space"
check "hone space import of a version that the file does not have fails" says 1 "no version '0.9'.*it has: 1.0" hone space import "$stage/one.space" \
  --version 0.9
check "hone space merge writes another version" says 0 "version 0.9" hone space merge "$stage/old.space" "$stage/one.space" --version 0.9
check "hone space import stores another version beside the one in use" says 0 "stored; honed still searches" hone space import "$stage/old.space"
check "hone space export writes the version in use, not the newest of the file" says 0 "version 1.0 written" hone space export "$stage/used.space"
check "hone space versions lists both" says 0 "^0\.9 " hone space versions
check "hone space use changes the version in use" says 0 "0\.9" hone space use 0.9
check "hone space stats is of the version in use" answers '.space_version.name == "0.9"' space stats
check "hone space use of an unknown version fails" says 1 "nope" hone space use nope
check "hone space export writes the version in use" says 0 "version 0.9 written" hone space export "$stage/two.space"
check "hone space merge of two versions needs --version" says 1 "--version" hone space merge "$stage/both.space" \
  "$stage/one.space" "$stage/two.space"
check "with --version it merges two versions" says 0 "merged from 2 files" hone space merge "$stage/both.space" "$stage/one.space" \
  "$stage/two.space" --version 1.1
twice() {
  local one two
  one=$(hone space show GET_PRODUCT --space "$stage/one.space" --json | jq '[.types[0].graph[].count] | add')
  two=$(hone space show GET_PRODUCT --space "$stage/both.space" --json | jq '[.types[0].graph[].count] | add')
  echo "$one $two"; [ "$one" -gt 0 ] && [ "$two" = $((2 * one)) ]
}
check "a space merged with itself counts everything twice" twice
check "a forest file is refused as a space" says 1 "." hone space stats --space "$stage/forest.db"
cp "$stage/one.space" "$stage/new.space"
python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute("PRAGMA user_version=99"); d.commit()' "$stage/new.space"
sum=$(sha256sum <"$stage/new.space")
check "a space of a newer version is refused" says 1 "newer" hone space import "$stage/new.space"
check "the refused space is unchanged" test "$sum" = "$(sha256sum <"$stage/new.space")"

# ---- invalid databases ----
kill "$honed"; wait "$honed" 2>/dev/null; honed=
kill "$load"; wait "$load"; load=
check "no request failed during the test" jq -e '.all.requests > 1000 and .all.errors == 0' "$stage/load.json"
# honed exits with 1 at once on this database and this space, and leaves the file $1 unchanged.
refuses() {
  local file=$1 words=$2 sum
  shift 2
  sum=$(sha256sum <"$file")
  says 1 "$words" timeout 10 "$O/bin/honed" -o controller.agents="ipc://$stage/x.sock" \
    -o controller.operators="ipc://$stage/y.sock" "$@" && [ "$sum" = "$(sha256sum <"$file")" ]
}
forest_with() { python3 - "$stage/forest.db" "$1" "$2" <<'PYTHON'
import sqlite3, sys
source, to = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[2])
source.backup(to)
to.execute("PRAGMA journal_mode=DELETE")
if sys.argv[3] != "whole":
    to.execute("PRAGMA user_version=%s" % sys.argv[3])
to.commit()
PYTHON
}
forest_with "$stage/new.db" 99
check "a database of a newer Hone is refused and left alone" refuses "$stage/new.db" "newer|99" \
  -o storage.database="$stage/new.db" -o storage.space="$stage/space.db"
cp "$stage/one.space" "$stage/not.db"
check "a space file is refused as a database" refuses "$stage/not.db" "." \
  -o storage.database="$stage/not.db" -o storage.space="$stage/space.db"
forest_with "$stage/whole.db" whole
cp "$stage/whole.db" "$stage/not.space"
check "a forest file is refused as a space at honed's start" refuses "$stage/not.space" "." \
  -o storage.database="$stage/whole.db" -o storage.space="$stage/not.space"
cp "$stage/whole.db" "$stage/bad.db"
# Damages a page that is in use: one in the middle of the table of hypotheses.
page=$(python3 - "$stage/bad.db" <<'PYTHON'
import random, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
size, pages = (db.execute("PRAGMA " + p).fetchone()[0] for p in ("page_size", "page_count"))
roots = {r[0] for r in db.execute("SELECT rootpage FROM sqlite_schema")}
text = open(sys.argv[1], "rb").read()
leaves = [n for n in range(2, pages + 1) if n not in roots and text[(n - 1) * size] == 13]
page = leaves[len(leaves) // 2]
with open(sys.argv[1], "r+b") as f:
    f.seek((page - 1) * size)
    f.write(bytes(random.Random(1).randrange(256) for _ in range(size)))
print(page)
PYTHON
)
check "a damaged database is refused; the error names the page and hone forest --salvage" refuses "$stage/bad.db" \
  "page $page.*hone forest --salvage|salvage.*page $page" -o storage.database="$stage/bad.db" -o storage.space="$stage/space.db"
check "hone forest --salvage recovers the diagnoses" says 0 "recovered .*diagnoses" hone forest --salvage "$stage/bad.db" "$stage/saved.db"
check "hone forest --salvage does not overwrite a file" says 1 "saved.db" hone forest --salvage "$stage/bad.db" "$stage/saved.db"
check "the controller starts with the salvaged database" stage_honed -o storage.database="$stage/saved.db"
check "the salvaged database has the history" says 0 "GET_PRODUCT" hone history
echo "1..$N"
exit $FAILED
