#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs programs to be followed by kernel events (hone-agent.conf(5), [kernel]): the servers of tests/scenario/kernel_live.c with an
agent that follows them and with one that does not, alternately.

Each figure is the processor time of the server for a request. The ratio is the mean of PAIRS of neighbouring runs of SECONDS seconds, with its
95 % interval (Student's t of their logarithms). Needs root, lttng-sessiond, and a build with `make all scenario`.
    O=build bench/kernel_cost.py [PAIRS [SECONDS [PAUSE_US]]]		PAUSE_US: mean pause of each of the 8 clients between two requests
"""
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

O = os.path.realpath(os.environ.get('O', 'build'))
ROLES = ('back', 'middle', 'front')
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 15: 2.131, 19: 2.093}


def arguments():
    given = sys.argv[1:] + ['8', '4', '20000'][len(sys.argv) - 1:]
    return int(given[0]), float(given[1]), given[2]


def cpu_ns(pid):
    total = 0
    for task in os.listdir('/proc/%d/task' % pid):
        try:
            with open('/proc/%d/task/%s/schedstat' % (pid, task)) as f:
                total += int(f.read().split()[0])
        except OSError:
            pass    # it has ended
    return total


def family(pid):
    """The process and all below it."""
    found = [pid]
    for task in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/children' % (pid, task)) as f:
            for child in f.read().split():
                found += family(int(child))
    return found


def wait_for(what, seconds, condition):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            sys.exit('kernel_cost: ' + what + ': not within %d s' % seconds)
        time.sleep(0.05)


def ask(words):
    out = subprocess.run([O + '/bin/hone', *words, '--json'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(out.stdout) if out.returncode == 0 and out.stdout else None


def agent_of():
    answer = ask(['agents'])
    return answer['agents'][0] if answer and answer['agents'] and answer['agents'][0]['connected'] else None


def run(servers, folder, follow, seconds):
    """Processor time for each server, then of the agent with hone-below, ns; requests; kernel events a second."""
    agent = subprocess.Popen([O + '/bin/hone-agent', '-o', 'agent.node=bench', '-o', 'controller.url=ipc://' + folder + '/agents.sock',
                              '-o', 'kernel.services=' + ('kl-front,kl-middle,kl-back' if follow else '')], stderr=subprocess.DEVNULL)
    try:
        if follow:
            wait_for('the servers are followed', 20, lambda: ((agent_of() or {}).get('kernel') or {}).get('processes') == 3)
        else:
            wait_for('the agent connects', 20, lambda: agent_of() is not None)
        time.sleep(1.5)
        before = [cpu_ns(s.pid) for s in servers] + [sum(cpu_ns(p) for p in family(agent.pid))]
        requests = answered(folder)
        time.sleep(seconds)
        after = [cpu_ns(s.pid) for s in servers] + [sum(cpu_ns(p) for p in family(agent.pid))]
        requests = answered(folder) - requests
        kernel = (agent_of() or {}).get('kernel') or {}
        return [b - a for a, b in zip(before, after)], requests, kernel.get('events_per_second', 0)
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()


def answered(folder):
    with open(folder + '/answered', 'rb') as f:
        return int.from_bytes(f.read(8), 'little')


def interval(ratios):
    logs = [math.log(r) for r in ratios]
    mean, n = statistics.mean(logs), len(logs)
    if n < 2:
        return math.exp(mean), 0, math.inf
    half = T95[max(d for d in T95 if d <= n - 1)] * statistics.stdev(logs) / math.sqrt(n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def measure(folder, pairs, seconds, pause_us):
    servers = [subprocess.Popen([O + '/tests/scenario/kernel_live', role]) for role in ROLES]
    load = subprocess.Popen([O + '/tests/scenario/kernel_live', 'load', pause_us, folder + '/answered'], stdout=subprocess.DEVNULL)
    try:
        wait_for('requests are answered', 20, lambda: os.path.exists(folder + '/answered') and answered(folder) > 100)
        rows = []
        for i in range(pairs):
            both = [run(servers, folder, follow, seconds) for follow in ((False, True) if i % 2 == 0 else (True, False))]
            rows.append(both if i % 2 == 0 else both[::-1])
    finally:
        for p in [load] + servers:
            p.terminate()
            p.wait()
    rate = statistics.median(w[1] for _, w in rows) / seconds
    print('%.0f requests/s, %.0f kernel events/s, %d pairs of %g s' % (rate, statistics.median(w[2] for _, w in rows), pairs, seconds))
    for k, role in enumerate(ROLES):
        ratio = interval([(w[0][k] / w[1]) / (o[0][k] / o[1]) for o, w in rows])
        print('%-7s %6.1f us a request without; with: %.3f (%.3f to %.3f)' % (
            (role, statistics.median(o[0][k] / o[1] for o, _ in rows) / 1e3) + ratio))
    more = [sum(w[0][:3]) / w[1] - sum(o[0][:3]) / o[1] for o, w in rows]
    each = [m * w[1] / seconds / max(w[2], 1) for m, (_, w) in zip(more, rows)]
    print('all     %6.1f us a request more (median; %.1f to %.1f), %.0f ns a kernel event' % (
        statistics.median(more) / 1e3, min(more) / 1e3, max(more) / 1e3, statistics.median(each)))
    for what, at in (('without', 0), ('with', 1)):
        print('agent and hone-below %s: %.1f %% of a core' % (what, statistics.median(r[at][0][3] for r in rows) / seconds / 1e7))


def main():
    if os.environ.get('KERNEL_COST_INSIDE') is None:
        os.environ['KERNEL_COST_INSIDE'] = '1'
        os.execvp('unshare', ['unshare', '--net', '--mount', '--propagation', 'private', sys.executable, *sys.argv])
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    for place in ('/run/lttng', '/dev/shm', '/run/hone'):
        os.makedirs(place, exist_ok=True)
        subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', place], check=True)
    pairs, seconds, pause_us = arguments()
    folder = tempfile.mkdtemp()
    os.environ.update(LTTNG_HOME=folder, HONE_SOCKET='ipc://' + folder + '/honed.sock')
    daemons = [subprocess.Popen(['lttng-sessiond', '--no-kernel', '--agent-tcp-port=5399'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
    try:
        wait_for('the session daemon starts', 20, lambda: subprocess.run(
            ['lttng', '-n', 'list'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0)
        daemons.append(subprocess.Popen([O + '/bin/honed', '-o', 'storage.database=' + folder + '/f.db', '-o', 'storage.space=' + folder + '/s.db',
                                         '-o', 'controller.agents=ipc://' + folder + '/agents.sock', '-o',
                                         'controller.operators=' + os.environ['HONE_SOCKET']], stderr=subprocess.DEVNULL))
        wait_for('honed starts', 20, lambda: os.path.exists(folder + '/agents.sock'))
        measure(folder, pairs, seconds, pause_us)
    finally:
        for p in daemons:
            p.terminate()
            p.wait()
        shutil.rmtree(folder, ignore_errors=True)


main()
