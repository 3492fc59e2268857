# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of bench/alerts_shop.sh from what it wrote: windows and alerts by request type, the faults, and each alert that was none.
# A window belongs to a fault if it began between the switching on and the end of the alert; all others are healthy.
import collections, datetime, json, math, statistics, sys

rows = [json.loads(line) for line in open(sys.argv[1])]
marks = [r for r in rows if "mark" in r]
samples = [r for r in rows if "watched" in r]
verdicts = {r["verdict"]["round"]: r["verdict"] for r in rows if "verdict" in r}
start = next((m for m in marks if m["mark"] == "learning"), None)
if start is None or not samples:
    sys.exit("alerts_shop: nothing was measured")
window_s, fault_type = start["window_s"], start["type"]
healthy_from = next((m["t"] for m in marks if m["mark"] == "healthy"), math.inf)
faults = {m["round"]: {"on": m["t"], "off": math.inf, "ended": math.inf} for m in marks if m["mark"] == "on"}
for m in marks:
    if m["mark"] in ("off", "ended"):
        faults[m["round"]][m["mark"]] = m["t"]


def seconds(wall):
    return datetime.datetime.fromisoformat(wall.replace("Z", "+00:00")).timestamp()


def limits(n):
    """Between which the mean of a Poisson distribution lies at 95 % when it gave n; of n = 0: one-sided (Garwood, 1936)."""
    def cdf(k, mean):
        return sum(math.exp(-mean + i * math.log(mean) - math.lgamma(i + 1)) for i in range(k + 1))

    def solve(k, p):
        low, high = 1e-9, 10.0 * (k + 10)
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if cdf(k, middle) > p else (low, middle)
        return low
    return (0, solve(0, 0.05)) if n == 0 else (solve(n - 1, 0.975), solve(n, 0.025))


def fault_at(t):
    return next((n for n, f in faults.items() if f["on"] <= t < f["ended"]), None)


def phase(t):
    return "fault" if fault_at(t) is not None else "healthy" if t >= healthy_from else "learning"


def load_words(s):
    return f"{s['load']:.1f}" + (f", {s['pressure']:.0f} %" if s["pressure"] is not None else "")


# ---- windows ----
windows = {}	# (type, begin): the sample that showed it first
for s in samples:
    for w in s["watched"]:
        if w["window"] is not None:
            windows.setdefault((w["type"], seconds(w["window"])), w)
answers = collections.defaultdict(collections.Counter)	# of (type, phase)
for (name, begin), w in windows.items():
    answers[name, phase(begin)][w["answer"]] += 1

# ---- alerts ----
first = {}	# number: the sample that showed it first
newest = {}
for s in samples:
    for a in s["alerts"]:
        first.setdefault(a["number"], s)
        newest[a["number"]] = a
seen, false = {}, []
for number, a in sorted(newest.items()):
    t = first[number]["t"]
    fault = next((n for n, f in faults.items() if f["on"] <= t < f["off"] + 5 * window_s), None)
    if a["type"] == fault_type and fault is not None and fault not in seen and seconds(a["since"]) >= faults[fault]["on"] - 3 * window_s:
        seen[fault] = number
    else:
        false.append(number)


def windows_until(fault, number):
    """How many windows of the type that began since the fault was switched on, or less than half a window before, had ended."""
    return sum(name == fault_type and faults[fault]["on"] - window_s / 2 <= begin and begin + window_s <= first[number]["t"] + 0.1
               for name, begin in windows)


kinds = "inside", "outside", "rate-unknown", "few-requests", "learning"
print(f"| type | requests/s | windows judged | outside | rate unknown | few requests | alerts | in windows of faults: judged | outside | alerts |")
print("|---|" + "---|" * 9)
total = collections.Counter()
for name in sorted({n for n, _ in windows}):
    cells = []
    for p in ("healthy", "fault"):
        c = answers[name, p]
        judged = c["inside"] + c["outside"]
        alerts = sum(newest[n]["type"] == name and (phase(first[n]["t"]) == p) for n in false)
        total[p, "judged"] += judged
        total[p, "outside"] += c["outside"]
        total[p, "alerts"] += alerts
        cells += [judged, c["outside"]] + ([c["rate-unknown"], c["few-requests"]] if p == "healthy" else []) + [alerts]
    rate = statistics.median(w["per_second"] for (n, _), w in windows.items() if n == name)
    print(f"| `{name}` | {rate:.0f} | " + " | ".join(map(str, cells)) + " |")
healthy = [s for s in samples if phase(s["t"]) == "healthy"]
print()
for p in ("healthy", "fault"):
    n, k = total[p, "judged"], total[p, "alerts"]
    if n:
        low, high = limits(k)
        words = f"{k} alerts" + (f" began, one in {n / k:.0f} windows ({n / high:.0f} to {n / low:.0f}" if k else f" began, fewer than one in {n / high:.0f} windows (")
        print(f"{'Healthy' if p == 'healthy' else 'While a fault was there, other types and alerts'}: of {n} windows {total[p, 'outside']} were outside; "
              + (words.replace("windows (", "windows (95 %, Poisson)") if not k else words + "; 95 %, Poisson)") + ".")
if healthy:
    loads, pressures = [s["load"] for s in healthy], [s["pressure"] for s in healthy if s["pressure"] is not None]
    print(f"Load average in healthy time: median {statistics.median(loads):.1f}, {min(loads):.1f} to {max(loads):.1f}"
          + (f"; CPU pressure (some, 10 s): median {statistics.median(pressures):.0f} %, up to {max(pressures):.0f} %" if pressures else "") + ".")

if faults:
    print("\n| fault | alert after windows | by | load, pressure | diagnosis | seconds | place |\n|---|" + "---|" * 6)
right = late = 0
for n, f in sorted(faults.items()):
    v = verdicts.get(n) or {}
    place = "" if not v.get("from") else "right" if (v["from"], v["to"]) == (start["from"], start["to"]) else f"{v['from']} → {v['to']}"
    right += place == "right"
    if n not in seen:
        late += 1
        print(f"| {n} | none | | | | | |")
        continue
    a, count = newest[seen[n]], windows_until(n, seen[n])
    late += count > 5
    r = a["range"]
    took = f"{v['seconds']:.1f}" if v.get("seconds") is not None else ""
    print(f"| {n} | {count} | p{100 * r['quantile']:.0f} of {'excesses' if r['of'] == 'excess' else 'times'} | {load_words(first[seen[n]])} | "
          f"{v.get('state') or v.get('started') or ''} | {took} | {place} |")
if faults:
    print(f"\nSeen within 5 windows: {len(faults) - late} of {len(faults)}; the diagnosis that the alert started names the place: {right} of {len(faults)}.")
for n in false:
    a, r = newest[n], newest[n]["range"]
    print(f"Alert {n} of `{a['type']}`{', one group' if a['group'] else ''}, none of the fault's, {first[n]['t'] - start['t']:.0f} s after the start, since {a['since']}, until {a['ended']}: "
          f"p{100 * r['quantile']:.0f} of {r['of']}: {r['now_ms']:.2f} ms, usual {r['usual_ms']:.2f}, limit {r['limit_ms']:.2f}; load, pressure {load_words(first[n])}.")
