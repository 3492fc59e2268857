#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hone-below costs: the programs of bench/below_cost_program.c without it and with it, alternately.

    attached   it follows another process: nothing of this program is recorded, but each switch of the machine is looked at
    probed     it has a USDT probe of this program on, which the program passes 40,000 times a second, and records each hit
    timed      it has probes at the begin and the end of a function of this program on, which is called 2,000 times a second, and records
               each hit
    followed   it records all threads of this program at all times, more than in a diagnosis, where only probed requests are
    edge       it records an edge of each request: the hand-over to another thread and back, and the sleep, but not the computing

Each ratio is the mean of PAIRS of neighbouring runs of SECONDS seconds, with its 95 % interval (Student's t of their logarithms).
    O=build bench/below_cost.py [PAIRS [SECONDS]]       MODES="paced edge": only these programs
"""
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.5
O = os.environ.get('O', 'build')
MODES = os.environ.get('MODES', 'probe function switch paced requests edge').split()
T95 = {3: 3.182, 5: 2.571, 7: 2.365, 9: 2.262, 11: 2.201, 15: 2.131, 19: 2.093, 29: 2.045}    # by degrees of freedom
PROBES = {'probed': ('--all', '--probes', 'usdt.*'), 'timed': ('--all', '--probes', 'func.work')}
HOW = {'probe': (('probed', False),), 'function': (('timed', False),), 'edge': (('edge', False),)}    # whether another process is observed
WHAT = ('operations per second', 'processor time of one', 'time of one')


class Helper:
    """hone-below, from when it observes until close(). pid None: there is none."""

    def __init__(self, pid, more=('--all',)):
        self.process = None
        if pid is None:
            return
        self.process = subprocess.Popen([O + '/lib/hone/hone-below', '--pid', str(pid), '--seconds', '600', '--json', *more],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if 'observing' in line:
                break
        else:
            sys.exit('below_cost: hone-below does not observe; hone-below --can says why')
        self.begun = time.monotonic(), self.cpu()

    def cpu(self):
        """Seconds of processor time of it and its children."""
        with open('/proc/%d/stat' % self.process.pid) as f:
            mine = sum(int(x) for x in f.read().rsplit(')', 1)[1].split()[11:15])
        for task in os.listdir('/proc/%d/task' % self.process.pid):
            with open('/proc/%d/task/%s/children' % (self.process.pid, task)) as f:
                for child in f.read().split():
                    with open('/proc/%s/stat' % child) as g:
                        mine += sum(int(x) for x in g.read().rsplit(')', 1)[1].split()[11:15])
        return mine / os.sysconf('SC_CLK_TCK')

    def close(self):
        """(part of one processor that it took, records lost), or None."""
        if self.process is None:
            return None
        part = (self.cpu() - self.begun[1]) / (time.monotonic() - self.begun[0])
        self.process.send_signal(signal.SIGINT)
        out = self.process.communicate(timeout=60)[0]
        return part, json.loads(out)['lost']


def run(program, pid, more=('--all',)):
    """One measurement: the three figures, and what the helper took."""
    helper = Helper(pid, more)
    program.stdin.write('\n')
    program.stdin.flush()
    figures = [float(x) for x in program.stdout.readline().split()]
    return figures, helper.close()


def interval(ratios):
    logs = [math.log(r) for r in ratios]
    mean, n = statistics.mean(logs), len(logs)
    t = T95[max((d for d in T95 if d <= n - 1), default=3)]
    half = t * statistics.stdev(logs) / math.sqrt(n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def main():
    idle = subprocess.Popen(['sleep', '3600'])
    print('%-9s %-9s %-24s %s' % ('program', 'hone-below', 'ratio to without', '95 % interval'))
    try:
        for mode in MODES:
            program = subprocess.Popen([O + '/bench/below_cost_program', mode, str(SECONDS)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            run(program, None)
            for how, other in HOW.get(mode, (('attached', True), ('followed', False))):
                pid = idle.pid if other else program.pid
                more = PROBES.get(how, () if how == 'edge' else ('--all',))
                ratios, taken, base = ([], [], []), [], []
                for i in range(PAIRS):
                    both = [run(program, p, more) for p in ((None, pid) if i % 2 == 0 else (pid, None))]
                    (without, _), (with_it, took) = both if i % 2 == 0 else reversed(both)
                    base.append(without)
                    taken.append(took)
                    for k in range(3):
                        ratios[k].append(with_it[k] / without[k])
                if how in PROBES:
                    cost = [1000 * without[1] * (ratios[1][i] - 1) for i, without in enumerate(base)]
                    print('%-9s %-9s  a pass costs %.0f ns of processor time (median; %.0f to %.0f)' % (
                        mode, how, statistics.median(cost), min(cost), max(cost)))
                for k in range(3):
                    print('%-9s %-9s  %-24s %.3f (%.3f to %.3f)' % ((mode, how, WHAT[k]) + interval(ratios[k])))
                print('%-9s %-9s  %.0f operations per second without it; it took %.1f %% of a processor, and lost %d records' % (
                    mode, how, statistics.median(b[0] for b in base), 100 * statistics.median(t[0] for t in taken),
                    sum(t[1] for t in taken)))
            program.stdin.close()
            program.wait()
    finally:
        idle.kill()
        idle.wait()


main()
