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

stage_shop && stage_honed "${ALL_TRACED[@]}" && stage_agents || bail "the stage does not come up"
"$here/shop/shop.sh" load "$stage/shop" --seconds 900 --rate 120 \
  --mix GET_PRODUCT=5,ADD_TO_CART=3,GET_HOME=1,CHECKOUT=1 --json >"$stage/load.json" 2>&1 &
load=$!
until_true 60 "requests are seen" seen

# ---- nothing yet ----
check "Hone's own programs are no requests" answers '[.types[].type] - ["GET_PRODUCT", "ADD_TO_CART", "GET_HOME", "CHECKOUT"] == []' status
check "no diagnosis: history says so, and how to begin" says 0 "No diagnosis.*hone start TYPE" hone history
check "no verdict: why says so" says 1 "no diagnosis has a verdict" hone why slowest
check "nothing learned: the space says so" says 1 "nothing has been learned" hone space stats
check "a tracepoint that was never on" says 0 "No diagnosis has ever turned it on" hone why --tracepoint shop_price:tax_rate_end
check "a request type that nobody has seen" says 1 "no request of this type.*GET_HOME" hone start GET_HOUSE
fault slow_function 8
check "where nothing is learned a diagnosis says that it explores" says 0 "nothing was learned.* explored" hone start GET_PRODUCT
check "it ends" until_ended
check "with what it has found" says 0 "GET_PRODUCT" hone forest GET_PRODUCT
fault slow_function off

# ---- learning, the space ----
check "learning says what it covers, under a version's name" says 0 "UNSEEN PLACES" \
  hone learn --seconds 5 --version 1.0 --wait
check "the version is there" says 0 "^1\.0 " hone space versions
check "how much was learned, and what was never seen" says 0 "GET_PRODUCT +nginx +[0-9]" hone space stats
check "what was learned of a type" says 0 "shop_price:tax_rate_begin" hone space show GET_PRODUCT
check "as a graph" says 0 "^digraph" hone space show GET_PRODUCT --dot -
check "the space of a type that was not learned" says 1 "NOTHING" hone space show NOTHING
check "a version is written to a file of its own" says 0 "version .* written|unnamed version written" hone space export "$stage/one.space"
check "never over another" says 1 "already exists" hone space export "$stage/one.space"

# ---- diagnoses ----
fault slow_function 8
fault lock_contention 5
check "a diagnosis begins" says 0 " started;" hone start GET_PRODUCT --k 1
check "and one of another type beside it" says 0 " started;" hone start ADD_TO_CART --strategy bisect --k 2
check "a second one of the same type does not" says 1 "under diagnosis already" hone start GET_PRODUCT
added() { hone status --json | jq -e -r '.added_names[0]' >"$stage/on"; }
check "something is turned on" until_true 90 "something is on" added
on_now() { added && says 0 "is on now" hone why --tracepoint "$(cat "$stage/on")"; }
check "why it is on" wait_for 10 on_now
check "what goes on" says 0 "diagnosis [0-9]+ of" hone status
check "the version cannot be changed meanwhile" says 1 "a diagnosis or learning is active" hone space use 1.0
check "both end" until_ended
check "the slow function is found" verdict_at GET_PRODUCT $tax
# The request has both faults: which of them has the larger share depends on the machine.
check "the lock is found, too" answers '[.runs[0].verdicts[].edge.from] | index("shop-cart/shop_cart:index_lock_begin")' forest ADD_TO_CART
before=$(hone forest GET_PRODUCT --json | jq .runs[0].run)
fault lock_contention off
fault slow_function 8
for s in hierarchical bisect exhaustive; do
  check "$s finds it" says 0 "tax_rate_end" hone start GET_PRODUCT --strategy $s --seed 7 --wait
  check "$s has the right place" verdict_at GET_PRODUCT $tax
done
# A baseline strategy: it need not find the fault, but it must end and report its result.
by_chance() { hone start GET_PRODUCT --strategy random --seed 7 --wait >"$stage/random" 2>&1; says 0 "tax_rate_end|not found: .+|search was cut" cat "$stage/random"; }
check "random comes to an end, in words" by_chance
check "one cycle alone is cut short, and says so" says 0 "effort|cut short" hone start GET_PRODUCT --k 1 --effort 1 --wait

# ---- misuse ----
check "an unknown strategy" says 2 "unknown strategy; known are flat, .* bisect" hone start GET_PRODUCT --strategy divine
check "no tracepoint a cycle" says 2 "whole number from 1 to 16" hone start GET_PRODUCT --k 0
check "half a cycle" says 2 "whole number of cycles" hone start GET_PRODUCT --effort 0.5
check "a graph and JSON at once" says 2 "cannot be combined" hone forest --dot - --json
check "a trace and a tracepoint at once" says 2 "cannot be combined" hone why slowest --tracepoint a:b
check "a run beside itself" says 2 "the same diagnosis twice" hone diff 1 1
check "a trace id that is none" says 2 "16 or 32 hex digits" hone why 0123456789abcdef0
check "a trace that nobody knows" says 1 "unknown trace" hone why 0123456789abcdef
check "a tracepoint that nobody has" says 1 "no program has this" hone why --tracepoint no:such
check "a diagnosis that was never begun" says 1 "no diagnosis 999" hone forest --run 999
check "a flag of another command" says 2 "does not apply to space" hone space stats --dot -

# ---- findings and evidence ----
ids="--run $before"
check "the tree" says 0 "isolates|bottom" hone forest $ids
hone forest $ids --json | jq -r '.runs[0].verdict.exemplars.slowest' >"$stage/trace"
check "the slowest trace of the verdict" says 0 "the slowest of the verdict of diagnosis.* GET_PRODUCT" hone why slowest GET_PRODUCT
check "that trace by its id" says 0 "tax_rate_end" hone why "$(cat "$stage/trace")"
examples_known() {
  local id
  for id in $(hone history --json | jq -r '.runs[].verdicts[].exemplars | .slowest, .fastest | select(. != null)'); do
    hone why "$id" --json | jq -e '.matches + [.live] | any(. != null)' >/dev/null || { echo "$id"; return 1; }
  done
}
check "each example that a verdict has is known" examples_known
check "the slowest of all" says 0 "usual" hone why slowest
check "who turned a tracepoint on, for what, with what outcome" says 0 "GET_PRODUCT" \
  hone why --tracepoint shop_price:tax_rate_end
check "all diagnoses" says 0 "bisect" hone history
began_by_root() {
  answers 'all(.runs[]; .by == "root")' history &&
    answers 'any(.rows[]; .outcome == "done" and .run != null and .user == "root" and (.asked | test("start")))' audit
}
check "who began them stands with them, and in the audit" began_by_root
check "the tree as a graph and as a page" says 0 "GET_PRODUCT" \
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
check "the graph is one" dot_is_valid "$stage/tree.dot"
self_contained() {
  grep -q tax_rate_end "$1" && ! grep -oiE '(src|href)="?(https?:|//|/|[a-z]+\.)[^" >]*|url\([^)]*\)|@import|<link[^>]*>' "$1"
}
check "the page needs nothing else" self_contained "$stage/tree.html"

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
check "the state fits a terminal of 80 columns" fits status
check "so does the history" fits history
check "and the life of a tracepoint" fits why --tracepoint shop_price:tax_rate_end
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
check "the controller comes back on its database" stage_honed "${ALL_TRACED[@]}"
answered >"$stage/after" 2>&1
check "and answers the same, to the byte" diff "$stage/before" "$stage/after"
check "with something in it" test "$(wc -l <"$stage/before")" -gt 500
check "the agents come back" until_true 60 "the agents" stage_ready
until_true 60 "requests are seen" seen

# ---- changes ----
fault slow_function off
hone start GET_PRODUCT --effort 1 --k 8 --wait >>"$SAID" 2>&1
check "after the fault is gone it is no verdict any more" answers \
  ".runs[0] | .state != \"active\" and ([.verdicts[] | select(.edge.from == \"$tax\")] == [])" forest GET_PRODUCT
# The diagnosis of the same request type now finds nothing, or another cause that was always there.
check "diff says so" says 0 "^(gone|moved) .*tax_rate_end" hone diff "$before" "$(newest)"
check "and that they are faster now" answers '.changes[0] | .after.mean_ms < .before.mean_ms and .mean_overlaps != true' \
  diff "$before" "$(newest)"
check "between types nothing can be compared" says 1 "." hone diff "$before" $((before + 1))

# ---- other versions of the space ----
check "what is known already is imported" says 0 "added to .*which honed searches" hone space import "$stage/one.space"
check "a version that the file does not have" says 1 "no version '0.9'.*it has: 1.0" hone space import "$stage/one.space" \
  --version 0.9
check "it is written as another version" says 0 "version 0.9" hone space merge "$stage/old.space" "$stage/one.space" --version 0.9
check "which is kept beside" says 0 "stored; honed still searches" hone space import "$stage/old.space"
check "both are there" says 0 "^0\.9 " hone space versions
check "the other one is used" says 0 "0\.9" hone space use 0.9
check "none of that name" says 1 "nope" hone space use nope
check "the version that is used is exported" says 0 "written" hone space export "$stage/two.space"
check "two versions are not merged by accident" says 1 "--version" hone space merge "$stage/both.space" \
  "$stage/one.space" "$stage/two.space"
check "but when it is said" says 0 "merged from 2 files" hone space merge "$stage/both.space" "$stage/one.space" \
  "$stage/two.space" --version 1.1
twice() {
  local one two
  one=$(hone space show GET_PRODUCT --space "$stage/one.space" --json | jq '[.types[0].graph[].count] | add')
  two=$(hone space show GET_PRODUCT --space "$stage/both.space" --json | jq '[.types[0].graph[].count] | add')
  echo "$one $two"; [ "$one" -gt 0 ] && [ "$two" = $((2 * one)) ]
}
check "merged with itself it counts all twice" twice
check "a forest is no space" says 1 "." hone space stats --space "$stage/forest.db"
cp "$stage/one.space" "$stage/new.space"
python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute("PRAGMA user_version=99"); d.commit()' "$stage/new.space"
sum=$(sha256sum <"$stage/new.space")
check "a space of a newer version is refused" says 1 "newer" hone space import "$stage/new.space"
check "and is as it was" test "$sum" = "$(sha256sum <"$stage/new.space")"

# ---- invalid databases ----
kill "$honed"; wait "$honed" 2>/dev/null; honed=
kill "$load"; wait "$load"; load=
check "no request failed meanwhile" jq -e '.all.requests > 1000 and .all.errors == 0' "$stage/load.json"
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
check "so is a space instead of a database" refuses "$stage/not.db" "." \
  -o storage.database="$stage/not.db" -o storage.space="$stage/space.db"
forest_with "$stage/whole.db" whole
cp "$stage/whole.db" "$stage/not.space"
check "and a database instead of a space" refuses "$stage/not.space" "." \
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
check "a damaged database is refused, with its page and the way out" refuses "$stage/bad.db" \
  "page $page.*hone forest --salvage|salvage.*page $page" -o storage.database="$stage/bad.db" -o storage.space="$stage/space.db"
check "salvage saves what can be saved" says 0 "recovered .*diagnoses" hone forest --salvage "$stage/bad.db" "$stage/saved.db"
check "never over another file" says 1 "saved.db" hone forest --salvage "$stage/bad.db" "$stage/saved.db"
check "the controller starts with it" stage_honed -o storage.database="$stage/saved.db"
check "and has its history" says 0 "GET_PRODUCT" hone history
echo "1..$N"
exit $FAILED
