# SPDX-License-Identifier: GPL-3.0-or-later
# The results of bench/eval.sh as a table: Markdown on standard output and, if a document is given, in place of the one
# between the two marks in it; and a page. Exit 1: a target is missed.
import argparse, html, json, os, secrets, statistics, sys

MARKS = "<!-- make eval: from here -->", "<!-- make eval: to here -->"
AN_END, TRACEPOINTS = 0.95, 0.03	# the issue's targets: share of runs, median share of all tracepoints

args = argparse.ArgumentParser()
args.add_argument("runs")
args.add_argument("truth")
for name in ("--docs", "--html", "--style"):
    args.add_argument(name)
args = args.parse_args()
truth = json.load(open(args.truth))
runs = [json.loads(line) for line in open(args.runs)]


def judge(run):
    """Which parts of the verdict are right: the service of either end, either end, both."""
    want, verdict = truth[run["fault"]], run.get("verdict")
    edge = verdict["edge"] if verdict else {"from": "", "to": ""}
    ends = [edge["from"] in want["from"], edge["to"] in want["to"]]
    run["both"], run["either"] = all(ends), any(ends)
    run["service"] = want["service"] in (edge["from"].split("/")[0], edge["to"].split("/")[0])
    key = verdict and verdict["key"]
    run["key"] = key["name"] if key and key["name"] else None
    run["key_right"] = want["key"] is None or bool(run["key"]) and (run["key"] + " of ").startswith(want["key"] + " of ")
    others = run.get("others") or {}
    before, during = others.get("before_p50_ms"), others.get("during_p50_ms")
    run["slower"] = during / before if before and during else None
    run["on"] = run["tracepoints_used"] / run["tracepoints_all"] if run.get("tracepoints_all") else None


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def words(form, value, times=1):
    return "" if value is None else form % (value * times)


def span(values, form="%d"):
    values = [v for v in values if v is not None]
    return "" if not values else form % values[0] if min(values) == max(values) else f"{form % min(values)} to {form % max(values)}"


def short_key(name):
    return "node" if name.startswith("node") else name.split(":")[-1]


def key_words(rows):
    names = sorted({short_key(r["key"]) for r in rows if r["key"]})
    expected = truth[rows[0]["fault"]]["key"]
    found = sum(r["key_right"] for r in rows) if expected else sum(bool(r["key"]) for r in rows)
    if not names:
        return "none" if not expected else f"none, expected {short_key(expected)}"
    return f"{', '.join(names)}: {found} of {len(rows)}"


def share_words(rows):
    share, low, high = (median([r["verdict"][k] for r in rows if r.get("verdict")]) for k in ("share", "share_low", "share_high"))
    return "" if share is None else f"{share:.0%} ({words('%.0f', low, 100)} to {words('%.0f', high, 100)})".replace("%", " %")


HEAD = ["fault", "planted in", "right service", "either end", "both ends", "key", "share (95 %)", "cycles", "tracepoints enabled",
        "of all", "seconds", "others' p50"]


def row(fault, rows):
    n = len(rows)
    return [f"`{fault}`", truth[fault]["service"], *(f"{sum(r[w] for r in rows)} of {n}" for w in ("service", "either", "both")),
            key_words(rows), share_words(rows), span([r.get("cycles") for r in rows]), span([r.get("tracepoints_used") for r in rows]),
            words("%.1f %%", median(r["on"] for r in rows), 100), words("%.1f", median(r.get("seconds") for r in rows)),
            words("%.2f", median(r["slower"] for r in rows))]


def targets():
    """(text, target reached), of all runs."""
    n, on = len(runs), median(r["on"] for r in runs)
    service, either, both = (sum(r[w] for r in runs) for w in ("service", "either", "both"))
    return [(f"right service in {service} of {n} runs (target: all)", service == n),
            (f"an end of the right edge in {either} of {n}, {either / n:.0%} (target: 95 %), both ends in {both}".replace("%", " %").replace("  %", " %"),
             either >= AN_END * n),
            (f"tracepoints enabled, median: {words('%.1f', on, 100)} % of {span([r.get('tracepoints_all') for r in runs])} (target: at most 3 %)",
             on is not None and on <= TRACEPOINTS)]


def markdown(table, reached):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *("| " + " | ".join(r) + " |" for r in table), ""]
    lines += [f"{'Reached' if ok else '**Missed**'}: {what}." for what, ok in reached]
    slower = median(r["slower"] for r in runs)
    if slower is not None:
        lines.append(f"While a diagnosis ran, requests of other types took {slower:.2f} times what they took before it (median of the runs' p50).")
    return "\n".join(lines) + "\n"


def cells(values, tag, numeric=()):
    return "".join(f"<{tag}{' class=n' if i in numeric else ''}>{html.escape(str(v)).replace('`', '')}</{tag}>" for i, v in enumerate(values))


def run_row(r):
    v = r.get("verdict")
    edge = f"{v['edge']['from']} → {v['edge']['to']}" if v else r.get("reason") or "the run failed"
    share = f"{v['share']:.2f} ({v['share_low']:.2f} to {v['share_high']:.2f})" if v and None not in (v["share_low"], v["share_high"]) else ""
    found = "both ends" if r["both"] else "an end" if r["either"] else "service" if r["service"] else "missed"
    return [r["round"], found, edge, r["key"] or "", share, r.get("cycles", ""), r.get("tracepoints_used", ""),
            words("%.1f", r.get("seconds")), words("%.2f", r["slower"])]


def page(by_fault, table, reached):
    nonce = secrets.token_urlsafe(16)
    head = "<thead><tr>" + cells(HEAD, "th", range(7, 12)) + "</tr></thead>"
    body = "".join("<tr>" + cells(r, "td", range(7, 12)) + "</tr>" for r in table)
    notes = "".join(f'<p class="{"soft" if ok else "note"}">{"Reached" if ok else "Missed"}: {html.escape(what)}.</p>' for what, ok in reached)
    each = "".join(
        f"<h3><code>{fault}</code>, {truth[fault]['type']}</h3><div class=wide><table><thead><tr>"
        + cells(["round", "found", "edge, or why there is none", "key", "share", "cycles", "on", "s", "others"], "th", (0, 5, 6, 7, 8))
        + "</tr></thead><tbody>" + "".join("<tr>" + cells(run_row(r), "td", (0, 5, 6, 7, 8)) + "</tr>" for r in rows) + "</tbody></table></div>"
        for fault, rows in by_fault.items())
    style = open(args.style).read() if args.style else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-{nonce}'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Does Hone find what was planted?</title><style nonce="{nonce}">{style}</style></head><body>
<header id="head"><p class="over">hone, make eval</p><h1>Does Hone find what was planted?</h1></header>
<main>{notes}<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>
<h2>Every run</h2>{each}</main></body></html>
"""


def replace_part(path, part):
    text = open(path).read()
    if any(text.count(m) != 1 for m in MARKS):
        sys.exit(f"eval: {path}: '{MARKS[0]}' and '{MARKS[1]}' are not there once each")
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    with open(path + ".new", "w") as f:
        f.write(before + MARKS[0] + "\n\n" + part + "\n" + MARKS[1] + after)
    os.replace(path + ".new", path)


if not runs:
    sys.exit("eval: no run has ended")
for run in runs:
    judge(run)
by_fault = {fault: [r for r in runs if r["fault"] == fault] for fault in truth}
by_fault = {fault: rows for fault, rows in by_fault.items() if rows}
table, reached = [row(fault, rows) for fault, rows in by_fault.items()], targets()
part = markdown(table, reached)
print(part, end="")
if args.docs:
    replace_part(args.docs, part)
if args.html:
    with open(args.html, "w") as f:
        f.write(page(by_fault, table, reached))
sys.exit(not all(ok for _, ok in reached))
