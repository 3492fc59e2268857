# SPDX-License-Identifier: GPL-3.0-or-later
# The results of bench/eval.sh as a table: Markdown (or JSON) on standard output and, if a document is given, in place of
# the one between the application's two marks in it; and a page. Exit 1: a target is missed.
import argparse, html, json, os, secrets, statistics, sys

RIGHT, AN_END = 0.95, 0.95	# targets: shares of runs
TRACEPOINTS = {"shop": 0.03, "otel": 0.05}	# target: median share of all tracepoints, where these are a hundred or more
BELOW = "state", "function", "holder"	# what is judged below the tracepoints, where faults.json has it
OUTCOMES = "right", "wrong", "not found", "unsure", "failed"

args = argparse.ArgumentParser()
args.add_argument("app")
args.add_argument("runs")
args.add_argument("truth")
for name in ("--docs", "--html", "--style"):
    args.add_argument(name)
args.add_argument("--json", action="store_true")
args = args.parse_args()
MARKS = [f"<!-- make eval APP={args.app}: {where} here -->" for where in ("from", "to")]
truth = json.load(open(args.truth))
runs = [json.loads(line) for line in open(args.runs)]


def judge(run):
    """Adds what examples/judge.jq says of the run, and figures."""
    judged, verdict = run.get("judged") or {}, run.get("verdict")
    run["outcome"] = judged.get("outcome", "failed")
    for part in ("service", "either", "both", "named"):
        run[part] = judged.get(part)
    run["key_right"] = judged.get("key")
    run.update((f"below_{part}", (judged.get("below") or {}).get(part)) for part in BELOW)
    key, few = verdict and verdict["key"], verdict and verdict.get("few")
    run["key"] = key["name"] if key and key["name"] else few["has"]["key"] if few else None
    others = run.get("others") or {}
    before, during = others.get("before_p50_ms"), others.get("during_p50_ms")
    run["slower"] = during / before if before and during else None
    run["on"] = run["tracepoints_used"] / run["tracepoints_all"] if run.get("tracepoints_all") else None


def causes(fault):
    want = truth[fault]
    return want.get("causes") or ([want] if "from" in want else [])


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
    wanted = [k for c in causes(rows[0]["fault"]) for k in (c["key"] if isinstance(c["key"], list) else [c["key"]]) if k]
    found = sum(bool(r["key_right"]) for r in rows) if wanted else sum(bool(r["key"]) for r in rows)
    if not names:
        return "none" if not wanted else f"none, expected {' or '.join(sorted({short_key(k) for k in wanted}))}"
    return f"{', '.join(names)}: {found} of {len(rows)}"


def share_words(rows):
    share, low, high = (median([r["verdict"][k] for r in rows if r.get("verdict")]) for k in ("share", "share_low", "share_high"))
    return "" if share is None else f"{share:.0%} ({words('%.0f', low, 100)} to {words('%.0f', high, 100)})".replace("%", " %")


HEAD = ["fault", "planted in", *OUTCOMES[:4], "seconds", "slowest", "right service", "either end", "both ends", "also named", "key",
        "right state", "right function", "right holder", "share (95 %)", "cycles", "tracepoints enabled", "of all", "others' p50"]
NUMBERS = [2, 3, 4, 5, 6, 7, 17, 18, 19, 20]


def count(rows, part):
    return f"{sum(bool(r[part]) for r in rows)} of {len(rows)}"


def row(fault, rows):
    placed = bool(causes(fault))
    seconds = [r["seconds"] for r in rows if r.get("seconds") is not None]
    return [f"`{fault}`", ", ".join(c["service"] for c in causes(fault)) or "nothing",
            *(sum(r["outcome"] == o for r in rows) or "" for o in OUTCOMES[:4]),
            words("%.1f", median(seconds)), words("%.1f", max(seconds, default=None)),
            *(count(rows, w) if placed else "" for w in ("service", "either", "both")),
            count(rows, "named") if truth[fault].get("names") else "",
            key_words(rows), *(count(rows, f"below_{p}") if p in (truth[fault].get("below") or {}) else "" for p in BELOW),
            share_words(rows), span([r.get("cycles") for r in rows]), span([r.get("tracepoints_used") for r in rows]),
            words("%.1f %%", median(r["on"] for r in rows), 100), words("%.2f", median(r["slower"] for r in rows))]


def share_of(n, of):
    return f"{n} of {of}, {n / of:.0%}".replace("%", " %")


def targets():
    """(text, target reached), of all runs."""
    placed = [r for r in runs if causes(r["fault"])]
    healthy = [r for r in runs if truth[r["fault"]].get("plant") == []]
    n, on = len(placed), median(r["on"] for r in runs)
    right, service, either, both = (sum(bool(ok(r)) for r in placed) for ok in (
        lambda r: r["outcome"] == "right", lambda r: r["service"], lambda r: r["either"], lambda r: r["both"]))
    yield f"right in {share_of(right, n)} of the runs with a fault (target: 95 %)", right >= RIGHT * n
    if healthy:
        found = sum(r["outcome"] == "wrong" for r in healthy)
        yield f"of healthy runs {found} of {len(healthy)} \"found\" (target: none)", found == 0
    yield f"right service in {service} of {n} runs (target: all)", service == n
    yield f"an end of the right edge in {share_of(either, n)} (target: 95 %), both ends in {both}", either >= AN_END * n
    if args.app in TRACEPOINTS:
        yield (f"tracepoints enabled, median: {words('%.1f', on, 100)} % of {span([r.get('tracepoints_all') for r in runs])} (target: at most {TRACEPOINTS[args.app] * 100:.0f} %)",
               on is not None and on <= TRACEPOINTS[args.app])


def markdown(table, reached):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *("| " + " | ".join(map(str, r)) + " |" for r in table), ""]
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
    return [r.get("round", ""), r["outcome"], edge, r["key"] or "", share, r.get("cycles", ""), r.get("tracepoints_used", ""),
            words("%.1f", r.get("seconds")), words("%.2f", r["slower"])]


def page(by_fault, table, reached):
    nonce = secrets.token_urlsafe(16)
    head = "<thead><tr>" + cells(HEAD, "th", NUMBERS) + "</tr></thead>"
    body = "".join("<tr>" + cells(r, "td", NUMBERS) + "</tr>" for r in table)
    notes = "".join(f'<p class="{"soft" if ok else "note"}">{"Reached" if ok else "Missed"}: {html.escape(what)}.</p>' for what, ok in reached)
    each = "".join(
        f"<h3><code>{fault}</code>, {truth[fault]['type']}</h3><div class=wide><table><thead><tr>"
        + cells(["round", "outcome", "edge, or why there is none", "key", "share", "cycles", "on", "s", "others"], "th", (0, 5, 6, 7, 8))
        + "</tr></thead><tbody>" + "".join("<tr>" + cells(run_row(r), "td", (0, 5, 6, 7, 8)) + "</tr>" for r in rows) + "</tbody></table></div>"
        for fault, rows in by_fault.items())
    style = open(args.style).read() if args.style else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-{nonce}'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Does Hone find what was planted?</title><style nonce="{nonce}">{style}</style></head><body>
<header id="head"><p class="over">hone, make eval APP={html.escape(args.app)}</p><h1>Does Hone find what was planted?</h1></header>
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


def as_json():
    """What the table says, for programs."""
    def fault_json(fault, rows):
        seconds = [r["seconds"] for r in rows if r.get("seconds") is not None]
        return {"fault": fault, "runs": len(rows), **{o.replace(" ", "_"): sum(r["outcome"] == o for r in rows) for o in OUTCOMES},
                "named": sum(bool(r["named"]) for r in rows) if truth[fault].get("names") else None,
                "below": {p: sum(bool(r[f"below_{p}"]) for r in rows) for p in truth[fault].get("below") or {}} or None,
                "seconds_median": median(seconds), "seconds_max": max(seconds, default=None),
                "checks": [(r.get("judged") or {}).get("check") for r in rows]}
    return {"app": args.app, "faults": [fault_json(f, rows) for f, rows in by_fault.items()],
            "targets": [{"text": what, "reached": ok} for what, ok in reached]}


if not runs:
    sys.exit("eval: no run has ended")
for run in runs:
    judge(run)
by_fault = {fault: [r for r in runs if r["fault"] == fault] for fault in truth}
by_fault = {fault: rows for fault, rows in by_fault.items() if rows}
table, reached = [row(fault, rows) for fault, rows in by_fault.items()], list(targets())
part = markdown(table, reached)
print(json.dumps(as_json(), indent=1) if args.json else part, end="\n" if args.json else "")
if args.docs:
    replace_part(args.docs, part)
if args.html:
    with open(args.html, "w") as f:
        f.write(page(by_fault, table, reached))
sys.exit(not all(ok for _, ok in reached))
