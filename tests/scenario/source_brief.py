# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts for each number that the programs of source_brief recorded.

    source_brief.py LIVES OURS SAID THEIRS

LIVES: the output of the programs; OURS: the records that source_dump delivered; SAID: the losses that it reported; THEIRS:
the records that babeltrace2 found in the same files. A life is the time of a program from main() to its end or exec. Prints
one line of numbers, as shell variables, and a line for each life with a missing number:
  lives, again (lives after an exec), fired, armed   numbers whose tracepoint was armed
  unarmed      lives without an armed number: LTTng let the program continue untraced
  unwritten    armed numbers that are not in the files; unwritten_whole: lives with all their numbers unwritten
  told         lives, unarmed or with a missing number, that reported losses cover completely, from main() on
  unseen       unarmed lives that are not told and shorter than BRIEF_NS, after an exec or after a wait of REGISTER_NS for
               the daemon. After an exec the daemon refuses a life while the folder of the previous one exists, and may
               remove that folder after the end of both. After such a wait it may never have created a folder
  undelivered  numbers in the files that were not delivered
"""
import re, sys

BRIEF_NS = 100_000_000
REGISTER_NS = 3_000_000_000


def records(path):
    found = set()
    for line in open(path, errors="replace"):
        m = re.search(r"kinds:hot.* pid=(\d+) .* n=(\d+)", line)
        if m:
            found.add((int(m[1]), int(m[2])))
    return found


def covered(losses, begin, end):
    for f, t in losses:     # ordered by beginning
        if f <= begin <= t:
            begin = t
    return begin >= end


def main(lives_path, ours_path, said_path, theirs_path):
    ours, theirs = records(ours_path), records(theirs_path)
    losses = [(int(m[2]), int(m[3])) for m in re.finditer(r"^# loss \d+: (\d+) from (-?\d+) to (-?\d+)", open(said_path).read(), re.M)]
    losses.sort()
    sums = dict.fromkeys("lives again fired armed unarmed unwritten unwritten_whole told unseen undelivered".split(), 0)
    for line in open(lives_path):
        pid, born, main_ns, ended, first, last, first_armed, armed = (int(x) for x in line.split())
        sums["lives"] += 1
        sums["again"] += first > 1
        sums["fired"] += last - first + 1
        sums["armed"] += armed
        sums["unarmed"] += armed == 0
        mine = {(pid, n) for n in range(first, last + 1)}
        must = {(pid, n) for n in range(first_armed, first_armed + armed)}
        unwritten = must - theirs
        told = covered(losses, main_ns, ended)
        sums["unwritten"] += len(unwritten)
        sums["unwritten_whole"] += armed > 0 and unwritten == must
        sums["told"] += told and (armed == 0 or len(unwritten) > 0)
        sums["unseen"] += (armed == 0 and not told and ended - main_ns < BRIEF_NS and
            (first > 1 or main_ns - born >= REGISTER_NS))
        sums["undelivered"] += len((mine & theirs) - ours)
        if unwritten or armed == 0 or (mine & theirs) - ours:
            print(f"# pid {pid} from {first}: {len(mine)} fired, {armed} armed, {len(unwritten)} of these unwritten, "
                f"{len((mine & theirs) - ours)} undelivered; main() after {(main_ns - born) / 1e6:.1f} ms, ended after "
                f"{(ended - born) / 1e6:.1f} ms; {'told' if told else 'untold'}", file=sys.stderr)
    print(*(f"{k}={v}" for k, v in sums.items()), f"never_fired={len(ours - theirs)}")


main(*sys.argv[1:])
