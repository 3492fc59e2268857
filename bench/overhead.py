# SPDX-License-Identifier: GPL-3.0-or-later
# The table of bench/overhead.sh from the measurements of its rounds: medians of ratios within a round, each with the
# middle 95 % of 10,000 resamplings of the rounds (percentile bootstrap, Efron 1979), and the CPU time by component.
import json, random, statistics, sys

path, rate, hosts = sys.argv[1:]
words = {"none": "no tracing", "plain": "plain LTTng, same tracepoints", "idle": "Hone, idle", "diagnosis": "Hone, in a diagnosis",
         "diagnoses": "Hone, in four at once"}
rounds = {}
for line in open(path):
    row = json.loads(line)
    rounds.setdefault(row["round"], {})[row["way"]] = row
rounds = [r for r in rounds.values() if len(r) == len(words)]
chance = random.Random(1)


def interval(values):
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(10000))
    return medians[249], medians[9749]


def change(of, against, what):
    ratios = [r[of][what] / r[against][what] for r in rounds]
    low, high = interval(ratios)
    return "%+6.1f %% (%+.1f to %+.1f)" % tuple(100 * (x - 1) for x in (statistics.median(ratios), low, high))


print(f"{len(rounds)} rounds; the shop on {hosts} node{'s' * (hosts != '1')}; p50 and p99 at {rate} requests/s; in brackets: 95 % intervals")
print("%-30s %12s %28s %28s %28s" % ("", "requests/s", "throughput", "p50", "p99"))
for way in words:
    base = statistics.median(r[way]["throughput"] for r in rounds)
    if way == "none":
        p50, p99 = (statistics.median(r[way][p] for r in rounds) for p in ("p50", "p99"))
        print("%-30s %12.1f %28s %28s %28s" % (words[way], base, "", "%.2f ms" % p50, "%.2f ms" % p99))
    else:
        print("%-30s %12.1f %28s %28s %28s" % (words[way], base, *(change(way, "none", w) for w in ("throughput", "p50", "p99"))))
print("%-30s %12s %28s %28s %28s" % ("Hone idle beside plain LTTng", "", *(change("idle", "plain", w) for w in ("throughput", "p50", "p99"))))
print("\nwhere a full machine's CPU time went, us a request (medians)")
parts = ("application", "agents", "daemons", "honed")
print("%-30s" % "" + "".join("%14s" % p for p in parts))
for way in words:
    print("%-30s" % words[way] + "".join("%14.1f" % statistics.median(1000 * r[way]["cpu_ms"][p] / r[way]["requests"] for r in rounds) for p in parts))
errors = sum(row["errors"] for r in rounds for row in r.values())
print(f"\nrequests that failed: {errors}")
sys.exit(errors > 0)
