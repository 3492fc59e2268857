#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hone kernel record costs what it records: programs without it and with it, alternately.

    lean      threads and TCP messages of the whole machine (--events lean)
    full      also interrupts, system calls and storage (--events full)
    other     lean, of another process: nothing of this program is recorded

The programs are those of bench/below_cost_program.c (switch, paced, requests), and nginx with one worker that wrk loads over 8 kept
connections. Each ratio is the mean of PAIRS of neighbouring runs of SECONDS seconds, with its 95 % interval (Student's t of their
logarithms). The recording goes to a folder in memory, so that the disk is not measured.
    O=build bench/kernel_record.py [PAIRS [SECONDS [PROGRAM...]]]
"""
import json
import math
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.2
PROGRAMS = sys.argv[3:] or ['switch', 'paced', 'requests', 'nginx']
O = os.environ.get('O', 'build')
T95 = {3: 3.182, 5: 2.571, 7: 2.365, 9: 2.262, 11: 2.201, 15: 2.131, 19: 2.093, 29: 2.045}    # by degrees of freedom
FOLDER = tempfile.mkdtemp(dir='/dev/shm')
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))    # cleans up


class Recording:
    """hone kernel record, from when everything is attached until close()."""
    running = None

    def __init__(self, arguments):
        self.folder = tempfile.mkdtemp(dir=FOLDER)
        self.process = subprocess.Popen([O + '/bin/hone', 'kernel', 'record', '--seconds', '600', '--json', *arguments, self.folder],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        Recording.running = self
        for line in self.process.stderr:
            if 'recording the kernel' in line:
                return
        sys.exit('kernel_record: hone kernel record does not begin; hone-below --can says why')

    def close(self):
        Recording.running = None
        self.process.send_signal(signal.SIGINT)
        answer = json.loads(self.process.communicate(timeout=60)[0])
        shutil.rmtree(self.folder)
        return answer


class Worked:
    """A program of bench/below_cost_program.c."""
    what = ('operations per second', 'processor time of one', 'time of one')

    def __init__(self, mode):
        self.process = subprocess.Popen([O + '/bench/below_cost_program', mode, str(SECONDS)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        return [float(x) for x in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Nginx:
    """One worker, and wrk beside it."""
    what = ('requests per second', 'processor time of the worker for one')

    def __init__(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        os.makedirs(FOLDER + '/nginx/www')
        os.chmod(FOLDER, 0o755)
        with open(FOLDER + '/nginx/www/file', 'w') as f:
            f.write('x' * 1024)
        temporary = ' '.join('%s_temp_path %s/nginx/%s;' % (t, FOLDER, t) for t in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
        with open(FOLDER + '/nginx/conf', 'w') as f:
            f.write('daemon off; worker_processes 1; user root; pid %s/nginx/pid; error_log %s/nginx/log warn;\n'
                    'events { worker_connections 512; }\n'
                    'http { access_log off; keepalive_requests 100000000; %s open_file_cache max=10;\n'
                    'server { listen 127.0.0.1:%d; root %s/nginx/www; } }\n' % (FOLDER, FOLDER, temporary, self.port, FOLDER))
        self.process = subprocess.Popen(['nginx', '-c', FOLDER + '/nginx/conf'], stderr=subprocess.DEVNULL)
        while True:
            with socket.socket() as s:
                if s.connect_ex(('127.0.0.1', self.port)) == 0:
                    break
            if self.process.poll() is not None:
                sys.exit('kernel_record: nginx does not start')
            time.sleep(0.05)
        with open('/proc/%d/task/%d/children' % (self.process.pid, self.process.pid)) as f:
            self.worker = int(f.read().split()[0])

    def cpu_ns(self):
        with open('/proc/%d/schedstat' % self.worker) as f:
            return int(f.read().split()[0])

    def run(self):
        before = self.cpu_ns()
        out = subprocess.run(['wrk', '-t1', '-c8', '-d%ds' % max(1, round(SECONDS)), 'http://127.0.0.1:%d/file' % self.port],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        line = next(x for x in out.splitlines() if 'requests in' in x).split()
        requests, seconds = float(line[0]), float(line[3].rstrip('s,'))
        return [requests / seconds, (self.cpu_ns() - before) / 1000 / requests]

    def close(self):
        self.process.terminate()
        self.process.wait()


def interval(ratios):
    logs = [math.log(r) for r in ratios]
    mean, n = statistics.mean(logs), len(logs)
    t = T95[max((d for d in T95 if d <= n - 1), default=3)]
    half = t * statistics.stdev(logs) / math.sqrt(n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def main():
    idle = subprocess.Popen(['sleep', '3600'])
    ways = {'lean': (), 'full': ('--events', 'full'), 'other': ('--pid', str(idle.pid))}
    print('%-9s %-6s %-36s %s' % ('program', 'record', 'ratio to without', '95 % interval'))
    try:
        for name in PROGRAMS:
            program = Nginx() if name == 'nginx' else Worked(name)
            program.run()
            for way, arguments in ways.items():
                ratios, answers, base = [[] for _ in program.what], [], []
                for i in range(PAIRS):
                    both = {}
                    for recorded in ((False, True) if i % 2 == 0 else (True, False)):
                        recording = Recording(arguments) if recorded else None
                        both[recorded] = program.run()
                        if recorded:
                            answers.append(recording.close())
                    base.append(both[False])
                    for k, all_ratios in enumerate(ratios):
                        all_ratios.append(both[True][k] / both[False][k])
                for k, what in enumerate(program.what):
                    print('%-9s %-6s %-36s %.3f (%.3f to %.3f)' % ((name, way, what) + interval(ratios[k])))
                rate = statistics.median(a['events'] / SECONDS for a in answers)
                print('%-9s %-6s %.0f %s without it; %.0f events per second, %.1f bytes each; hone-below took %.1f %% of a core, hone %.1f %%; '
                      '%d of %d events lost' % (
                          name, way, statistics.median(b[0] for b in base), program.what[0], rate,
                          statistics.median(a['bytes'] / max(1, a['events']) for a in answers),
                          100 * statistics.median(a['cpu_share']['hone_below'] for a in answers),
                          100 * statistics.median(a['cpu_share']['hone'] for a in answers),
                          sum(a['lost'] for a in answers), sum(a['events'] + a['lost'] for a in answers)), flush=True)
            program.close()
    finally:
        if Recording.running is not None:
            Recording.running.process.kill()
        idle.kill()
        idle.wait()
        shutil.rmtree(FOLDER, ignore_errors=True)


main()
