# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples memory, descriptors and threads of processes each second, and judges whether they grew.

    soak.py sample OUT NAME=PID... shm:NAME=FOLDER... file:NAME=PATH...
        appends a line a second to OUT until SIGTERM: time, name, then anonymous and resident KiB, descriptors and threads
        of a process; KiB, files of a folder; KiB of a file
    soak.py judge SAMPLES PHASES MINUTES
        prints a table of SAMPLES. PHASES: lines "NAME BEGAN ENDED" (seconds): base, load, end. Exit 1 when a process of
        ours has grown.
    soak.py lost TAPS ENDS-NODE...
        checks that each missing number was reported as a loss. TAPS: output of soak_tap; ENDS: output of soak_program.
        Numbers of a thread may be missing from the middle, from the end, or from the beginning up to all of them; in the
        last case the program was not traced yet. LTTng lets a program continue untraced if its session daemon has not
        registered it within three seconds. All numbers of soak_untraced must be missing.

Flat means (defined before anything was measured):
  - the maximum of descriptors and of threads in the phase `end` is at most that in `base`, with the same programs running;
  - the median of anonymous memory in `end` exceeds that in `base` by at most 1 MiB plus SLOPE_MAX for each minute between
    them (for a load of less than ten minutes by at most QUICK_MAX, since buffers still grow to their size);
  - for a load of ten minutes or more: the upper end of the 95 % confidence interval of the slope of anonymous memory over
    the second half of the load is below SLOPE_MAX (Theil 1950 and Sen 1968, on medians of thirty seconds);
  - every missing number was reported as a loss.
LTTng's own daemons are shown, not judged.
"""
import math, os, signal, sys, time

SLOPE_MAX = 64        # KiB a minute
SLACK = 1024          # KiB
BLOCK_S = 30
QUICK_MAX = 32 * 1024 # KiB
BRIEF_NS = 1_000_000_000


def process(pid):
    with open(f"/proc/{pid}/status") as f:
        status = dict(line.split(":", 1) for line in f if ":" in line)
    kib = lambda key: int(status.get(key, "0 kB").split()[0])
    return [kib("RssAnon"), kib("VmRSS"), len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])]


def folder(path):
    size = files = 0
    for where, _, names in os.walk(path):
        for name in names:
            try:
                size += os.lstat(os.path.join(where, name)).st_blocks * 512
                files += 1
            except OSError:
                pass        # removed meanwhile
    return [size // 1024, files]


def sample(out, things):
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    with open(out, "a", buffering=1) as f:
        while going:
            now = time.time()
            for thing in things:
                name, where = thing.split("=", 1)
                try:
                    what = folder(where) if name.startswith("shm:") else \
                        [os.stat(where).st_size // 1024] if name.startswith("file:") else process(where)
                    print(f"{now:.1f}", name, *what, file=f)
                except (OSError, KeyError):
                    print(f"{now:.1f}", name, "gone", file=f)
            time.sleep(max(0, now + 1 - time.time()))


def median(values):
    values = sorted(values)
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2 if n else math.nan


def slope(points):
    """The slope of (seconds, KiB) points in KiB a minute, with its confidence interval."""
    blocks = {}
    for t, v in points:
        blocks.setdefault(int(t // BLOCK_S), []).append(v)
    at = sorted((b, median(v)) for b, v in blocks.items())
    n = len(at)
    if n < 8:
        return None
    slopes = sorted((v2 - v1) / (b2 - b1) * 60 / BLOCK_S for i, (b1, v1) in enumerate(at) for b2, v2 in at[i + 1:])
    wide = 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, int((len(slopes) - wide) / 2))
    high = min(len(slopes) - 1, math.ceil((len(slopes) + wide) / 2))
    return median(slopes), slopes[low], slopes[high]


def judge(samples, phases, minutes):
    rows, gone = {}, set()
    for line in open(samples):
        t, name, *rest = line.split()
        if rest == ["gone"]:
            gone.add(name)
        else:
            rows.setdefault(name, []).append((float(t), [int(x) for x in rest]))
    spans = {}
    for line in open(phases):
        name, began, ended = line.split()
        spans[name] = (float(began), float(ended))
    within = lambda name, span, column: [v[column] for t, v in rows[name] if span[0] <= t <= span[1]]
    apart = (sum(spans["end"]) - sum(spans["base"])) / 2 / 60
    half = (sum(spans["load"]) / 2, spans["load"][1])
    grown = []
    print(f"{'':22} {'memory, KiB':>21} {'most':>8}  {'KiB/min in the 2nd half':>24} {'descriptors':>12} {'threads':>8}")
    for name in rows:
        ours = not any(w in name for w in ("sessiond", "consumerd"))
        base, end = median(within(name, spans["base"], 0)), median(within(name, spans["end"], 0))
        most = max(v[0] for _, v in rows[name])
        if ":" in name:
            files = lambda span: "%d files" % max(within(name, spans[span], 1)) if name.startswith("shm:") else ""
            print(f"{name:22} {base:9.0f} -> {end:8.0f} {most:8}  {files('base'):>12} -> {files('end')}")
            continue
        s = slope([(t, v[0]) for t, v in rows[name] if half[0] <= t <= half[1]])
        fds = [max(within(name, spans[p], 2)) for p in ("base", "end")]
        threads = [max(within(name, spans[p], 3)) for p in ("base", "end")]
        words = "%.1f [%.1f, %.1f]" % s if s else "-"
        print(f"{name:22} {base:9.0f} -> {end:8.0f} {most:8}  {words:>24} {fds[0]:4} -> {fds[1]:4} {threads[0]:3} -> {threads[1]}")
        if not ours:
            continue
        if fds[1] > fds[0]:
            grown.append(f"{name}: descriptors {fds[0]} -> {fds[1]}")
        if threads[1] > threads[0]:
            grown.append(f"{name}: threads {threads[0]} -> {threads[1]}")
        if not end <= (base + SLACK + SLOPE_MAX * apart if minutes >= 10 else QUICK_MAX):
            grown.append(f"{name}: memory {base:.0f} -> {end:.0f} KiB in {apart:.1f} min")
        if minutes >= 10 and not (s and s[2] < SLOPE_MAX):
            grown.append(f"{name}: {words} KiB/min")
    grown += [f"{name}: gone" for name in gone if not name.startswith(("shm:", "file:"))]
    for words in grown:
        print("GROWN", words)
    return 1 if grown else 0


def lost(taps, ends):
    lives, losses, gaps, bad, records = {}, {}, [], [], 0
    for line in open(taps):
        kind, *rest = line.split()
        if kind == "life":
            lives.setdefault((rest[2], rest[3]), []).append([int(x) for x in rest[4:]])
        elif kind == "loss":
            losses.setdefault(rest[0], []).append((int(rest[3]), int(rest[4]), int(rest[2])))
        elif kind == "gap":
            gaps.append(rest)
        elif kind == "records":
            records = int(rest[0])
        elif kind != "hello":
            bad.append(line.strip())
    ended_well, began_ns = [], {}
    for path in ends:
        for line in open(path):
            name, pid, tid, n, began, ended = line.split()
            ended_well.append((path.rsplit("-", 1)[1], name, (pid, tid), int(n), int(began), int(ended)))
            began_ns.setdefault((pid, tid), []).append((int(began), int(ended)))
    told = lambda node, a, b: any(f <= b and t >= a for f, t, _ in losses.get(node, []))

    def since(g):
        """When the gap began. If first numbers are missing, the start of the thread; after a crash, a time before it."""
        if g[4] != "1":
            return int(g[6])
        return min((b for b, e in began_ns.get((g[2], g[3]), []) if b <= int(g[7]) <= e), default=int(g[7]) - BRIEF_NS)

    silent = [f"gap {' '.join(g)}" for g in gaps if not told(g[0], since(g), int(g[7]))]
    threads = explained = whole = 0
    for node, name, which, n, began, ended in ended_well:
        if n == 0:
            continue
        threads += 1
        mine = [last for last, f, t in lives.get(which, []) if f <= ended and t >= began]
        if name == "soak_untraced" and mine:
            bad.append(f"{name} {which}: traced, and should not be")
        if any(last >= n for last in mine):
            continue
        whole += not mine
        explained += told(node, began, ended)
        if not told(node, began, ended):
            silent.append(f"{node} {name} {which}: {n} from {began} to {ended}, arrived {mine}")
    print(f"{records} records; {threads} threads ended well, {explained} of them in a loss that was told;")
    print(f"{len(gaps)} gaps; told losses: " + (", ".join(f"{n}: {len(l)} ({sum(c for *_, c in l)} records)"
        for n, l in sorted(losses.items())) or "none") + f"; silent losses: {len(silent)};")
    print(f"LTTng did not trace {sum(g[4] == '1' for g in gaps)} beginnings and {whole} whole lives")
    for words in (bad + silent)[:20]:
        print("SILENT", words)
    if any(name == "soak_untraced" for _, name, *_ in ended_well) and whole == 0:
        print("nobody lived untraced: this shows nothing")
        return 1
    return 1 if bad or silent or records == 0 or threads == 0 else 0


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    sys.exit({"sample": lambda: sample(args[0], args[1:]), "judge": lambda: judge(args[0], args[1], float(args[2])),
        "lost": lambda: lost(args[0], args[1:])}[verb]())
