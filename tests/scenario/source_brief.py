# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of each number of source_brief's programs.

    source_brief.py LIVES OURS SAID THEIRS

LIVES: what the programs said; OURS: records that source_dump delivered, SAID: the losses that it told; THEIRS: records that
babeltrace2 found in the same files. Prints one line of numbers, as shell variables, and a line for each life that misses any:
  lives, again (lives after an exec), fired, armed   numbers whose tracepoint was armed
  unarmed      lives no number of which was armed: LTTng let the program go on untraced
  unwritten    numbers that were armed and are not in the files; unwritten_whole: lives all of whose are not
  told         of the unarmed and of those who miss a number: lives of which every moment, from main() on, is in told losses
  unseen       of those not told: lives over within BRIEF_NS of which nothing shows. After an exec: the daemon refuses one while
               the folder of the life before is there, and may take that away after the end of both. After a wait of
               REGISTER_NS for the daemon: it may never have made a folder
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
    for f, t in losses:     # in order of their beginnings
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
