# SPDX-License-Identifier: GPL-3.0-or-later
# Where the time of diagnoses goes, by what their forests say: eval_time.py NAME=forest.db...
# For the newest run of each: until something was searched; each cycle of its first verdict's way, from the making of its hypotheses until they
# were settled; the final edge (and what is below it), until the verdict; and until the run ended.
import sqlite3, sys

print("| run | seconds | requests/s | until the search | cycles | final edge, and below | after the verdict | verdicts |\n|---|---|---|---|---|---|---|---|")
for argument in sys.argv[1:]:
    name, path = argument.split("=", 1)
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    run = db.execute("SELECT * FROM run ORDER BY id DESC LIMIT 1").fetchone()
    if run is None or run["ended_ns"] == 0:
        print(f"| {name} | none has ended |")
        continue
    took = lambda to, since: f"{(to - since) / 1e9:.1f}"
    verdicts = db.execute("SELECT * FROM verdict WHERE run = ? ORDER BY when_ns", [run["id"]]).fetchall()
    hypotheses = {h["id"]: h for h in db.execute("SELECT * FROM hypothesis WHERE run = ?", [run["id"]])}
    first = min((h["made_ns"] for h in hypotheses.values()), default=run["ended_ns"])
    seconds = (run["ended_ns"] - run["begun_ns"]) / 1e9
    cycles, at = [], first
    if verdicts:	# the way of the first verdict, from its root
        way, h = [], hypotheses.get(verdicts[0]["hypothesis"])
        while h is not None:
            way.insert(0, h)
            h = hypotheses.get(h["parent"])
        for h in way[1:]:
            if h["settled_ns"] >= h["made_ns"] > 0 and h["settled_ns"] < verdicts[0]["when_ns"]:
                cycles.append(f"{took(h['settled_ns'], at)} ({h['settled_traces'] or h['traces']} traces)")
                at = h["settled_ns"]
    print(f"| {name} | {seconds:.1f} | {run['requests'] / seconds:.1f} | {took(first, run['begun_ns'])} | {', '.join(cycles)} | "
          + (f"{took(verdicts[0]['when_ns'], at)} ({verdicts[0]['traces']} traces) | {took(run['ended_ns'], verdicts[-1]['when_ns'])} | {len(verdicts)} |" if verdicts
             else f"| {took(run['ended_ns'], at)} | 0 |"))
