#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills each process of a node at seeded moments, and checks from outside what remains.

Several nodes run side by side (examples/node.sh: each has its own /run/lttng, /dev/shm and /tmp, and its own session
daemon). On each run two programs with 150 tracepoints that serve requests, another team's LTTng session, an agent, and a
tap (matrix_tap.c) between the agent and its controller, which plays the network and counts what arrives. The controller
is honed, with the program hone, for the moments that kill one of these two; for the others it is agent_controller, whose
desired state this script sets, so that the moment can be chosen: while the session is opened, while few or many
tracepoints are enabled, while they are disabled, while nothing changes, while the agent ends. The phase, the tracepoints
and the delay after the beginning of the phase are drawn from SEED, kind and number.

In some moments of each kind the desired state also names the programs to hone-below, and a probe in their code.

The measure is what the programs themselves see: the state words of their tracepoints, the instruction in the place of the
probe, and how long calls blocked them. For hone-below: its processes, the BPF programs and links that their descriptors
hold, and the BPF programs of the whole kernel.

matrix.py [--moments N] [--kinds K,K...] [--nodes N] [--seed S] [--suspend SECONDS] [--rate R] [--log FILE]
Prints tables (Markdown). Exits 0 if every promise was kept, else 1. Needs root. O: the folder that `make
matrix-scenario` built."""
import argparse
import collections
import ctypes
import json
import mmap
import os
import queue
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.path.realpath(os.environ.get('O', os.path.join(TOP, 'build')))
NODE_SH = os.path.join(TOP, 'examples', 'node.sh')

LEASE_S = 2.0
# The promise: after this time no tracepoint is enabled that should not be.
OFF_S = 10.0
# Within this time after the restart the always-on records arrive again. Programs look for a new session daemon every 5 s.
BACK_S = 30.0
# Within this time folders are removed. The agent waits 10 s for what a dead program left half written, then keeps it 2 s more.
LEFT_S = 15.0
# Limit for one call into the tracer, without the time that it waited for a processor.
BLOCKED_S = 0.5
# Tracepoints count as disabled after this time: between two states they are disabled for a moment, too.
CALM_S = 0.5
# The delay of a supervisor (Restart=on-failure, RestartSec=1).
RESTART_S = 1.0
NAMES = ['agentp:ev%03d' % i for i in range(150)]
PROBE = 150        # the bit of the probe in the code of the programs, which hone-below switches
PROBE_NAME = 'usdt.matrix:serve'
SHARED = 149       # also enabled by the other session, so its state word does not show what Hone enabled
# The most tracepoints in a small and in a large desired state.
CALM, MANY = 5, 40

KINDS = {
    'application': 'one of the programs',
    'agent': 'the agent',
    'guardian': 'the guardian',
    'agent+guardian': 'both at once',
    'session daemon': 'lttng-sessiond',
    'consumer daemon': 'lttng-consumerd',
    'controller': 'honed',
    'operator': 'hone start, learn, stop',
    'network cut': 'silent, or reset',
    'host suspended': 'SIGSTOP of all, SIGCONT',
    'below': 'hone-below, or its process that unwinds stacks',
}
WITH_HONED = ('controller', 'operator')


class Wrong(Exception):
    """A step of the test itself failed, or a condition that it waited for did not become true."""


def now():
    return time.monotonic()


def wait(seconds, is_true):
    """Waits until is_true() returns true; returns False after that many seconds."""
    end = now() + seconds
    while not is_true():
        if now() > end:
            return False
        time.sleep(0.005)
    return True


def need(seconds, words, is_true):
    if not wait(seconds, is_true):
        raise Wrong('waited in vain: ' + words)


def alive(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def signal_to(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Bpf(threading.Thread):
    """Watches the BPF programs of the kernel. Those of hone-below belong to descriptors of its processes, and nothing is
    pinned: one that no process holds for more than OFF_S has outlived the process that loaded it. Nodes share the kernel,
    and other tests may run on it; what was there before this test does not count."""

    NAMES = {'on_switch', 'on_waking', 'on_irq', 'on_irq_end', 'on_softirq', 'on_softirq_end', 'on_timer', 'on_timer_end',
             'on_clock', 'on_probe'}
    NEXT_ID, INFO = {'prog': 11, 'link': 31}, 'prog show id %d --json'
    SYS_BPF = 321

    def __init__(self):
        super().__init__(daemon=True)
        self.before = self.ids('prog')
        self.since = {}     # when a program was first seen without a holder
        self.left = []      # texts
        self.name_of = {}

    def run(self):
        while True:
            time.sleep(0.5)
            self.look()

    def ids(self, kind):
        """All BPF objects of the kernel."""
        found, attr = set(), (ctypes.c_uint32 * 3)(0, 0, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        while libc.syscall(self.SYS_BPF, self.NEXT_ID[kind], ctypes.byref(attr), ctypes.sizeof(attr)) == 0:
            found.add(attr[1])
            attr[0] = attr[1]
        return found

    def is_ours(self, program):
        if program not in self.name_of:
            done = subprocess.run(['bpftool'] + (self.INFO % program).split(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.name_of[program] = json.loads(done.stdout).get('name') if done.returncode == 0 else None
        return self.name_of[program] in self.NAMES

    def look(self):
        """A program has an id before its loader has a descriptor, and until its last descriptor is closed."""
        there = self.ids('prog') - self.before
        for pid in [int(entry) for entry in os.listdir('/proc') if entry.isdigit()]:
            if comm_of(pid) in ('hone-below', 'hone-stacks'):
                there -= held_by(pid)['prog']
        self.since = {i: self.since.get(i, now()) for i in there & self.ids('prog')}
        for program, since in list(self.since.items()):
            if now() - since > OFF_S and self.is_ours(program):
                self.left.append('the BPF program %d (%s) belongs to no process' % (program, self.name_of[program]))
                self.before.add(program)


def comm_of(pid):
    try:
        with open('/proc/%d/comm' % pid) as f:
            return f.read().strip()
    except OSError:
        return ''


def held_by(pid):
    """The ids of the BPF programs and links that a process has descriptors of."""
    found = {'prog': set(), 'link': set()}
    try:
        for fd in os.listdir('/proc/%d/fdinfo' % pid):
            with open('/proc/%d/fdinfo/%s' % (pid, fd)) as f:
                for kind, number in re.findall(r'^(prog|link)_id:\s*(\d+)', f.read(), re.M):
                    found[kind].add(int(number))
    except OSError:
        pass
    return found


class Share(threading.Thread):
    """Measures how busy the machine is: every 0.2 s, the elapsed time of 2 ms of processor time. If other work leaves
    hardly any processor time, elapsed time does not show which program is slow."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen = []    # (when, took, worked)

    def run(self):
        while True:
            began, worked = now(), time.thread_time()
            while time.thread_time() - worked < 0.002:
                pass
            self.seen.append((now(), now() - began, time.thread_time() - worked))
            time.sleep(0.2)

    def slower(self, since):
        """Elapsed time divided by processor time, since that moment: 1.0 on an idle machine."""
        seen = [s for s in self.seen if s[0] >= since] or self.seen[-1:]
        return sum(s[1] for s in seen) / sum(s[2] for s in seen) if seen else 1.0


class Words:
    """A file of 64-bit words that another process writes (matrix_state.h)."""

    def __init__(self, path, fields):
        with open(path, 'r+b') as f:
            self.map = mmap.mmap(f.fileno(), 0)
        self.at = {name: i * 8 for i, name in enumerate(fields)}

    def more(self, at, fields):
        """Fields that begin at that word."""
        self.at.update({name: (at + i) * 8 for i, name in enumerate(fields)})
        return self

    def words_of(self, at, n):
        return struct.unpack_from('<%dq' % n, self.map, at * 8)

    def __getattr__(self, name):
        return self.word(self.at[name] // 8)

    def word(self, i):
        return struct.unpack_from('<q', self.map, i * 8)[0]

    def zero(self, name):
        struct.pack_into('<q', self.map, self.at[name], 0)


PROGRAM_FIELDS = ('pid looked armed0 armed1 armed2 armed_ns others requests numbered failed suspended '
                  'blocked_longest_ns took_longest_ns').split()
STARVED = 10       # from this slowdown on (Share.slower), a moment that failed is repeated and reported
TRIES = 3
BUCKETS_AT, BUCKETS = len(PROGRAM_FIELDS), 160
TAP_FIELDS = ('connections hellos batches records incarnation have_seq dones held_epoch statuses tracer_ok guard_ok added '
              'nprograms status_ns losses lost told restarted silent late nrows').split()
ROWS_AT = len(TAP_FIELDS)
ROWS, GAPS, SPANS, SEEN = 64, 256, 256, 16384
SPANS_AT = ROWS_AT + 4 * ROWS + 5 * GAPS
BELOW_AT = SPANS_AT + 2 * SPANS
BELOW_FIELDS = 'below_state waits hits watermark_ns ncuts'.split()
CUTS_AT = BELOW_AT + len(BELOW_FIELDS)
SEEN_AT = CUTS_AT + 2 * SPANS
PROBED, WAITED = 1, 2


def bucket_end_ns(i):
    return 128 if i == 0 else (8 + (i - 1) % 8 + 1) * 2 ** ((i - 1) // 8 + 4)


class Program:
    def __init__(self, cell, name, rate):
        self.cell, self.name, self.rate = cell, name, rate
        self.path = os.path.join(cell.dir, name + '.state')
        self.blocked_ns = 0
        self.start()

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.process = self.cell.run(self.name, self.cell.own_program(), self.path, str(self.rate))
        need(20, self.name + ' serves', lambda: os.path.exists(self.path) and os.path.getsize(self.path) > 0)
        self.words = Words(self.path, PROGRAM_FIELDS)
        need(20, self.name + ' serves', lambda: self.words.requests > 0 and self.words.looked > 0)

    def lives(self):
        return self.process.poll() is None

    def armed(self):
        """The numbers of the enabled tracepoints, without the one that the other session enables too."""
        return self.bits() - {SHARED, PROBE}

    def probed(self):
        """Whether there is a probe in its code."""
        return PROBE in self.bits()

    def bits(self):
        w = self.words
        bits = (w.armed0 & 2**64 - 1) | (w.armed1 & 2**64 - 1) << 64 | (w.armed2 & 2**64 - 1) << 128
        return {i for i in range(PROBE + 1) if bits >> i & 1}

    def took(self):
        return [self.words.word(BUCKETS_AT + i) for i in range(BUCKETS)]


class Cell:
    """A node with its programs, its agent and its other session; and the tap and the controller, which run outside of it."""

    def __init__(self, base, name, real, rate, bpf):
        self.base, self.name, self.real, self.rate, self.bpf = base, name, real, rate, bpf
        self.dir = os.path.join(base, name)
        self.url = 'ipc://%s/tap.sock' % self.dir
        self.controller_url = 'ipc://%s/agents.sock' % self.dir
        self.epoch = 0
        self.below = False    # the desired state names the programs to hone-below
        self.agent = self.tap = self.controller = None
        self.programs = []
        self.helpers = []    # processes of hone that may still run

    # ---- processes

    def run(self, label, *command, inside=True, stdin=subprocess.DEVNULL):
        if inside:
            command = self.enter + list(command)
        with open(os.path.join(self.dir, label + '.log'), 'ab') as log:
            return subprocess.Popen(command, stdin=stdin, stdout=log, stderr=log, start_new_session=True)

    def ask(self, *command, seconds=20):
        """The output of a command that runs in the node; None if it fails or takes too long."""
        try:
            done = subprocess.run(self.enter + list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout.decode() if done.returncode == 0 else None

    def pids(self):
        """Names by pid of all processes of the node, except the one that keeps its namespace."""
        found = {}
        for entry in os.listdir('/proc'):
            if not entry.isdigit() or int(entry) == self.holder:
                continue
            try:
                with open('/proc/%s/mountinfo' % entry) as f:
                    if self.token not in f.read():
                        continue
                with open('/proc/%s/comm' % entry) as f:
                    found[int(entry)] = f.read().strip()
            except OSError:
                pass
        return found

    def named(self, name):
        return [pid for pid, comm in self.pids().items() if comm.startswith(name) and alive(pid)]

    # ---- start and end

    def start(self):
        subprocess.run([NODE_SH, 'start', self.base, self.name], check=True, stdin=subprocess.DEVNULL)
        with open(os.path.join(self.dir, 'holder.pid')) as f:
            self.holder = int(f.read())
        with open(os.path.join(self.dir, 'token')) as f:
            self.token = f.read().strip() + ' '
        home = os.path.join(self.dir, 'home')
        self.enter = ['nsenter', '-t', str(self.holder), '-m', '--wd=/', 'env', 'HOME=' + home, 'LTTNG_HOME=' + home]
        self.own_tmp()
        self.root = '/proc/%d/root' % self.holder
        self.somebody_begins()
        self.programs = [Program(self, name, self.rate) for name in ('one', 'two')]
        self.rules = self.somebody()
        self.before = self.files()
        self.controller_start()
        self.tap_start()
        self.agent_start()
        self.ready()
        if self.real:
            need(60, 'it learns', lambda: self.hone('learn', '--seconds', '3', '--wait') is not None)

    def own_tmp(self):
        """Mounts an empty /tmp, so that every file left in it is of this node. O stays visible if it is below /tmp."""
        script = 'mount -t tmpfs hone-tmp /tmp'
        if O.startswith('/tmp/'):
            script = ('keep=/run/lttng/keep; mkdir $keep && mount --bind "$1" $keep && %s && mkdir -p "$1" && '
                      'mount --bind $keep "$1" && umount $keep && rmdir $keep' % script)
        if self.ask('bash', '-c', script, 'own_tmp', O) is None:
            raise Wrong('no /tmp of its own')

    def ready(self):
        need(60, 'the agent traces both programs', lambda: self.tap_words.tracer_ok and self.tap_words.nprograms == 2 and
             all(self.next_of(p) > 0 for p in self.programs))

    def stop(self):
        """Ends everything; returns texts for what an agent that ended on SIGTERM left behind."""
        left = []
        if self.agent is not None and self.agent.poll() is None:
            self.agent.terminate()
            try:
                if self.agent.wait(20) != 0:
                    left.append('the agent ended with %d' % self.agent.returncode)
            except subprocess.TimeoutExpired:
                left.append('the agent does not end')
            wait(LEFT_S, lambda: not self.left_by(None))
            left += self.left_by(None)
        for process in self.helpers + [self.tap, self.controller] + [p.process for p in self.programs]:
            if process is not None and process.poll() is None:
                process.kill()
            if process is not None:
                process.wait()
        subprocess.run([NODE_SH, 'stop', self.base, self.name], stdin=subprocess.DEVNULL)
        for process in [self.agent]:
            if process is not None:
                process.wait()
        return left

    def agent_start(self):
        self.agent = self.run('agent', os.path.join(O, 'bin/hone-agent'), '-o', 'agent.node=' + self.name, '-o',
                              'controller.url=' + self.url, '-o', 'agent.run_dir=/dev/shm/hone-agent')

    def tap_start(self):
        path = os.path.join(self.dir, 'tap.state')
        self.tap = self.run('tap', os.path.join(O, 'tests/scenario/matrix_tap'), self.url, self.controller_url, path,
                            inside=False)
        need(20, 'the tap', lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        self.tap_words = Words(path, TAP_FIELDS).more(BELOW_AT, BELOW_FIELDS)

    def daemon_start(self):
        pidfile = os.path.join(self.dir, 'sessiond.pid')
        for _ in range(3):    # another program may have taken the port
            command = ['env', 'LTTNG_APP_SOCKET_TIMEOUT=1', 'lttng-sessiond', '--no-kernel', '--background', '--pidfile', pidfile,
                       '--agent-tcp-port', str(random.randrange(10000, 30000))]
            with open(os.path.join(self.dir, 'sessiond.log'), 'ab') as log:
                if subprocess.run(self.enter + command, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode == 0:
                    return
        raise Wrong('no session daemon')

    def daemon(self):
        """The pid of the session daemon; None if it has ended. Its pid file is not reliable after a kill."""
        return next(iter(self.named('lttng-sessiond')), None)

    def controller_start(self):
        sock = os.path.join(self.dir, 'agents.sock')
        if self.real:
            self.controller = self.run(
                'honed', os.path.join(O, 'bin/honed'), '-o', 'controller.agents=' + self.controller_url, '-o',
                'controller.operators=' + self.operators(), '-o', 'agents.lease=%gs' % LEASE_S, '-o',
                'agents.budget=0%', '-o', 'agents.enough=0', '-o', 'storage.database=%s/forest.db' % self.dir, '-o',
                'storage.space=%s/space.db' % self.dir, inside=False)
        else:
            self.controller = self.run('controller', os.path.join(O, 'tests/scenario/agent_controller'), self.controller_url,
                                       os.path.join(self.dir, 'journal'), inside=False, stdin=subprocess.PIPE)
            self.want([])
        need(20, 'the controller', lambda: os.path.exists(sock))

    # ---- the desired state

    def want(self, numbers, below=False, probe=False):
        lines = ''
        if below != self.below:
            self.epoch += 1
            lines = 'below %d %s\n' % (self.epoch, 'matrix_program' if below else '')
        self.below = below
        self.epoch += 1
        lines += 'want %d %d %s\n' % (self.epoch, LEASE_S * 1000, ' '.join(
            [NAMES[i] for i in numbers] + [PROBE_NAME] * probe))
        self.controller.stdin.write(lines.encode())
        self.controller.stdin.flush()

    def own_program(self):
        """Each cell has a file of its own: a probe's breakpoint is in all processes that map the file."""
        path = os.path.join(self.dir, 'matrix_program')
        if not os.path.exists(path):
            shutil.copy(os.path.join(O, 'tests/scenario/matrix_program'), path)
        return path

    def held(self):
        return self.tap_words.held_epoch == self.epoch

    def operators(self):
        return 'ipc://%s/honed.sock' % self.dir

    def hone_command(self, *words):
        return [os.path.join(O, 'bin/hone'), *words, '--socket', self.operators()]

    def operator(self, *words):
        """Starts a hone command and returns its process without waiting for its end."""
        process = self.run('hone', *self.hone_command(*words), inside=False)
        self.helpers = [p for p in self.helpers if p.poll() is None] + [process]
        return process

    def hone(self, *words):
        """The output of a hone command that exits with 0; else None."""
        done = subprocess.run(self.hone_command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=60)
        return done.stdout.decode() if done.returncode == 0 else None

    def runs(self):
        """Whether honed diagnoses or learns; None if it does not answer."""
        said = self.hone('status', '--json')
        return None if said is None else not json.loads(said)['quiet']

    def stop_all(self):
        """Empties the desired state."""
        if self.real:
            need(20, 'hone stop', lambda: self.runs() is False or self.hone('stop') is not None)
        else:
            self.want([])

    # ---- observing

    def next_of(self, program):
        pid = program.words.pid
        for row in range(self.tap_words.nrows):
            if self.tap_words.word(ROWS_AT + 4 * row) == pid:
                return self.tap_words.word(ROWS_AT + 4 * row + 1)
        return 0

    def all_off(self):
        return all(not p.armed() and not p.probed() for p in self.programs if p.lives())

    def off_after(self, since):
        """Seconds from `since` until no program had an enabled tracepoint; None if not within OFF_S + 2 s."""
        def last():
            return max([since] + [p.words.armed_ns / 1e9 for p in self.programs if p.lives()])
        if not wait(OFF_S + 2, lambda: self.all_off() and now() - last() > CALM_S):
            return None
        return last() - since

    def helpers_below(self):
        """The processes of hone-below: itself, and the one that unwinds stacks."""
        return [pid for pid, comm in self.pids().items() if comm in ('hone-below', 'hone-stacks') and alive(pid)]

    def seen(self, pid):
        """By number, of a program's newest requests whose begin and end arrived: begin, end, and PROBED, WAITED."""
        tap = self.tap_words
        for row in range(tap.nrows):
            if tap.word(ROWS_AT + 4 * row) == pid:
                words = tap.words_of(SEEN_AT + row * SEEN * 4, SEEN * 4)
                return {words[i] - 1: words[i + 1:i + 4] for i in range(0, SEEN * 4, 4)
                        if words[i] and words[i + 1] and words[i + 2]}
        return {}

    def told_lost(self):
        """The times in which the agent said that something was lost, and those between two agents."""
        words = self.tap_words.words_of(SPANS_AT, 2 * SPANS) + self.tap_words.words_of(CUTS_AT, 2 * SPANS)
        return [(words[i], words[i + 1]) for i in range(0, len(words), 2) if words[i + 1]]

    def sessions(self):
        text = self.ask('lttng', '--mi', 'xml', 'list')
        return [] if text is None else re.findall(r'<session>.*?<name>(.*?)</name>', text, re.S)

    def somebody_begins(self):
        for command in (('create', 'somebody', '--output', os.path.join(self.dir, 'somebody')),
                        ('enable-channel', '-u', '--buffers-pid', '--subbuf-size', '4096', '--num-subbuf', '2', 'theirs'),
                        ('enable-event', '-u', '-c', 'theirs', 'somebody:tick,' + NAMES[SHARED]), ('start', 'somebody')):
            if self.ask('lttng', *command) is None:
                raise Wrong('the other session: ' + ' '.join(command))

    def somebody(self):
        """The other team's session and its event rules, as the session daemon lists them; None if the session is gone."""
        text = self.ask('lttng', '--mi', 'xml', 'list', 'somebody')
        if text is None:
            return None
        tree = xml.fromstring(re.sub(r' xmlns(:\w+)?="[^"]*"| \w+:schemaLocation="[^"]*"', '', text))
        session = tree.find('.//session')
        return ([session.findtext('name'), session.findtext('enabled')] +
                sorted([e.findtext('name'), e.findtext('enabled')] for e in session.iter('event')))

    def files(self):
        """The paths of all files and folders where something could be left behind."""
        found = set()
        for place in ('/dev/shm', '/tmp', '/run/lttng'):
            for folder, _, names in os.walk(self.root + place):
                inside = folder[len(self.root):]
                if O.startswith('/tmp/') and inside == O:
                    break
                found.add(inside)
                found.update(inside + '/' + name for name in names)
        return found

    def left_by(self, agent_pid):
        """A text for each object that Hone left behind. agent_pid: the agent whose objects are permitted, or None."""
        mine = re.compile(r'hone-%s-%s(?!\d)' % (self.name, agent_pid))
        left = ['session ' + s for s in self.sessions() if s.startswith('hone-') and not mine.match(s)]
        for path in self.files() - self.before:
            if path in ('/dev/shm/hone-agent', '/dev/shm/hone-policy', '/dev/shm/hone-policy.knock') and agent_pid is not None:
                continue
            pid_of = re.search(r'/[^/]*-(\d+)-\d{8}-\d{6}(/|$)', path)    # a traced program's own folder
            if path.startswith('/dev/shm/hone-agent/') and mine.match(path.split('/')[4]) and not (
                    pid_of and not os.path.exists('/proc/' + pid_of.group(1))):
                continue
            if path.startswith('/run/lttng/') or '/lttng-ust-' in path:
                continue    # of LTTng, bounded, and not judged here
            left.append(path)
        pids = self.pids()
        left += ['process %s %d' % (comm, pid) for pid, comm in pids.items() if comm.startswith('hone-') and
                 agent_pid is None and alive(pid)]
        if len([c for c in pids.values() if c.startswith('hone-guard')]) > 2:
            left.append('guardians: %s' % pids)
        return left


# ---- one moment


class Moment:
    """One kill: the phase in which it happened, its delay, and what was observed afterwards."""

    def __init__(self, kind, number, options):
        self.kind, self.number, self.options = kind, number, options
        self.dice = random.Random('%s:%s:%d' % (options.seed, kind, number))
        self.words = []    # one text for each broken promise
        self.off_s = self.back_s = self.below_s = None
        self.restored = False
        self.below = kind == 'below' or kind not in WITH_HONED and self.is_second(1)
        # Whether probes are gone is checked by below_agent_test: a new agent arms them again, as they stay wanted here.
        self.probe = False
        self.held = {}            # by pid of hone-below: its BPF objects
        self.waits = self.waits_told = self.waits_silent = 0

    def is_second(self, n):
        """Every second time in each phase, and, of kinds that follow each other, each time the other one."""
        return (self.number * n + self.number // len(self.phases()) + list(KINDS).index(self.kind)) // n % 2 == 0

    def run(self, cell):
        self.cell = cell
        self.before()
        self.phase = self.phases()[self.number % len(self.phases())]    # each phase equally often
        getattr(self, 'phase_' + self.phase)()
        time.sleep(max(0.0, self.began + self.delay_s - now()))
        self.on = max(len(p.armed()) for p in cell.programs)
        self.under_way = not cell.real and self.phase != 'quiet' and not (cell.held() and self.phase != 'closing')
        self.note_below()
        since = getattr(self, 'strike_' + self.kind.replace(' ', '_').replace('+', '_'))()
        self.off_s = cell.off_after(since)
        if self.off_s is None:
            self.words.append('still on: %s' % [sorted(p.bits()) for p in cell.programs])
        if self.kind == 'session daemon':    # hone-below does without it, and is wanted until now
            since = now()
            self.mend()
            self.below_ends(since)
        else:
            self.below_ends(since)
            self.mend()
        self.works_again()
        self.after()

    # ---- phases: each starts an activity and sets `began` and `delay_s`, when the kill follows

    def phases(self):
        if self.kind == 'controller':
            return ('starting', 'learning', 'learns', 'learned', 'diagnosis', 'stopping')
        if self.kind == 'operator':
            return ('learning', 'learns', 'learned', 'diagnosis', 'stopping')
        if self.kind == 'below':
            return ('trying', 'attaching', 'attached', 'probing', 'detaching', 'again')
        return ('opening', 'few', 'many', 'quiet', 'off', 'closing')

    def begin(self, at_most_s):
        self.began = now()
        self.delay_s = self.dice.uniform(0, at_most_s)
        self.numbered = {p.words.pid: p.words.numbered for p in self.cell.programs}
        self.was_probed = any(p.probed() for p in self.cell.programs)

    def some(self, at_most):
        return self.dice.sample(range(150), self.dice.randint(1, at_most))

    def want(self, numbers):
        self.cell.want(numbers, self.below, self.probe)

    def hold(self, numbers):
        waits = self.cell.tap_words.waits
        self.want(numbers)
        need(20, 'epoch %d holds' % self.cell.epoch, self.cell.held)
        if self.below:
            need(20, 'hone-below reports', lambda: self.reports(waits))

    def reports(self, waits):
        """Whether hone-below has reported since there were that many waits."""
        return self.cell.tap_words.waits > waits + 20

    def phase_opening(self):
        """An agent starts: it removes what dead agents left, opens its session, measures, and enables the desired state."""
        self.end_agent()
        self.want(self.some(MANY))
        self.cell.agent_start()
        self.begin(0.8)

    def phase_few(self):
        self.hold(self.some(CALM))
        self.want(self.some(CALM))
        self.begin(0.02)

    def phase_many(self):
        self.hold(self.some(CALM))
        self.want(self.some(MANY))
        self.begin(0.2)

    def phase_quiet(self):
        self.hold(self.some(MANY))
        self.begin(1.0)

    def phase_off(self):
        self.hold(self.some(MANY))
        self.begin(0.1)
        self.cell.want([])

    def phase_closing(self):
        self.hold(self.some(MANY))
        self.ending = self.cell.agent
        self.begin(0.3)
        self.ending.terminate()

    def phase_trying(self):
        """A new agent tries what hone-below can do; no program is wanted."""
        self.end_agent()
        self.cell.agent_start()
        wait(5, self.cell.helpers_below)    # or it was tried meanwhile
        self.begin(0.6)

    def phase_attaching(self):
        need(20, 'no hone-below', lambda: not self.cell.helpers_below())
        self.want(self.some(CALM))
        need(20, 'hone-below starts', self.cell.helpers_below)
        self.begin(0.8)

    def phase_attached(self):
        self.hold(self.some(CALM))
        self.begin(1.0)

    def phase_probing(self):
        self.probe = False
        self.hold(self.some(CALM))
        self.probe = True
        self.want(self.some(CALM))
        self.begin(0.3)

    def phase_detaching(self):
        self.probe = True
        self.hold(self.some(CALM))
        self.begin(0.2)
        self.cell.want([])

    def phase_again(self):
        """It is killed, and again while the next one begins."""
        self.hold(self.some(CALM))
        self.begin(0)
        killed = self.cell.helpers_below()
        for pid in killed:
            self.kill(pid)
        need(20, 'another hone-below starts', lambda: set(self.cell.helpers_below()) - set(killed))
        self.began, self.delay_s = now(), self.dice.uniform(0, 0.8)

    def end_agent(self):
        self.cell.agent.terminate()
        if self.cell.agent.wait(20) != 0:
            self.words.append('SIGTERM: the agent ended with %d' % self.cell.agent.returncode)

    def operate(self, *words):
        self.program = self.cell.operator(*words, *(['--wait'] if self.kind == 'operator' and words[0] != 'stop' else []))

    def phase_starting(self):
        self.cell.controller.terminate()
        self.cell.controller.wait(20)
        self.cell.controller_start()
        self.begin(0.4)

    def phase_learning(self):
        self.operate('learn', '--seconds', '30')
        self.begin(0.6)

    def phase_learns(self):
        self.operate('learn', '--seconds', '30')
        need(20, 'all is on', self.all_on)
        self.begin(1.0)

    def all_on(self):
        return all(len(p.armed()) == len(NAMES) - 1 for p in self.cell.programs)

    def phase_learned(self):
        self.operate('learn', '--seconds', '1')
        self.begin(0.6)
        self.delay_s += 0.8

    def phase_diagnosis(self):
        self.operate('start', 'WORK', '--k', '1')
        self.begin(2.5)

    def phase_stopping(self):
        if self.cell.hone('learn', '--seconds', '30') is None:
            raise Wrong('hone learn')
        need(20, 'all is on', self.all_on)
        self.operate('stop')
        self.begin(0.03 if self.kind == 'operator' else 0.06)

    # ---- kills: each returns the moment from which the promise of OFF_S counts

    def kill(self, pid):
        if pid:
            signal_to(pid, signal.SIGKILL)

    def stop_wanting_after(self, seconds):
        time.sleep(seconds)
        self.cell.stop_all()
        return now()

    def strike_application(self):
        victim = self.dice.choice(self.cell.programs)
        self.struck = victim
        self.kill(victim.process.pid)
        victim.process.wait()
        victim.start()
        return self.stop_wanting_after(0.3)

    def strike_agent(self):
        since = now()
        self.kill(self.cell.agent.pid)
        return since

    def strike_guardian(self):
        for pid in self.cell.named('hone-guard'):
            self.kill(pid)
        return self.stop_wanting_after(0.3)

    def strike_agent_guardian(self):
        since, guards = now(), self.cell.named('hone-guard')
        for pid in guards + [self.cell.agent.pid]:
            self.kill(pid)
        self.cell.agent.wait()
        self.cell.stop_all()
        time.sleep(RESTART_S)
        self.cell.agent_start()
        return since

    def strike_session_daemon(self):
        since = now()
        self.kill(self.cell.daemon())
        return since

    def strike_consumer_daemon(self):
        for pid in self.cell.named('lttng-consumerd'):
            self.kill(pid)
        if self.phase != 'closing' and not wait(OFF_S, lambda: not self.cell.tap_words.tracer_ok):
            self.words.append('the agent does not tell that there is no consumer daemon')
        return self.stop_wanting_after(0.3)

    def strike_controller(self):
        since = now()
        self.kill(self.cell.controller.pid)
        return since

    def strike_operator(self):
        self.kill(self.program.pid)
        self.program.wait()
        return self.stop_wanting_after(0.3)

    def strike_below(self):
        cell, since = self.cell, now()
        pids = cell.helpers_below()
        some = [pid for pid in pids if comm_of(pid) == self.dice.choice(['hone-below', 'hone-below', 'hone-below', 'hone-stacks'])]
        self.killed = sorted({comm_of(pid) for pid in some or pids})
        waits = cell.tap_words.waits
        for pid in some or pids:
            self.kill(pid)
        if 'hone-below' in self.killed:
            self.below_ends(since)
        if self.phase in ('attaching', 'attached', 'probing', 'again'):
            if not wait(BACK_S, lambda: self.reports(waits)):
                self.words.append('hone-below does not report again')
            self.again_s = now() - since
        self.held = {pid: held_by(pid) for pid in cell.helpers_below()}
        return self.stop_wanting_after(0.3)

    def strike_network_cut(self):
        since = now()
        self.way = self.dice.choice([signal.SIGSTOP, signal.SIGKILL])
        signal_to(self.cell.tap.pid, self.way)
        return since

    def strike_host_suspended(self):
        pids = list(self.cell.pids())
        for pid in pids:
            signal_to(pid, signal.SIGSTOP)
        time.sleep(self.options.suspend / 2)
        self.cell.stop_all()
        time.sleep(self.options.suspend / 2)
        since = now()
        for pid in pids:
            signal_to(pid, signal.SIGCONT)
        return since

    # ---- hone-below

    def note_below(self):
        """What it holds, and which requests have ended while it is wanted, before the kill."""
        self.held = {pid: held_by(pid) for pid in self.cell.helpers_below()}
        self.attached = sum(bool(h['prog']) for h in self.held.values())
        self.was_probed |= any(p.probed() for p in self.cell.programs)
        if self.phase not in ('off', 'closing', 'detaching', 'again'):
            self.numbered = {p.words.pid: p.words.numbered for p in self.cell.programs}

    def below_ends(self, since):
        """Checks that all of its processes that were there, and what they held, are gone in time."""
        def left():
            links, programs = self.cell.bpf.ids('link'), self.cell.bpf.ids('prog')
            return (['process %d' % pid for pid in self.held if alive(pid)] +
                    ['program %d' % i for h in self.held.values() for i in h['prog'] & programs] +
                    ['link %d' % i for h in self.held.values() for i in h['link'] & links])
        if not self.held:
            return
        if not wait(max(0, since + OFF_S - now()), lambda: not left()):
            self.words.append('of hone-below there is still %s' % left()[:5])
        self.below_s = max(self.below_s or 0, now() - since)

    def account_below(self):
        """Of each probed request that ended between the first wait that hone-below reported and the kill there is a wait, since all
        of them sleep, or a loss of its time was told."""
        lost, silent = self.cell.told_lost(), []
        for pid, until in self.numbered.items():
            seen = self.cell.seen(pid)
            first = min((n for n, s in seen.items() if s[2] & WAITED and n >= self.from_number.get(pid, 0)), default=until)
            for n in range(first, until):
                begin, end, flags = seen.get(n, (0, 0, 0))
                if flags & WAITED:
                    self.waits += 1
                elif flags & PROBED and any(f <= end and t >= begin for f, t in lost):
                    self.waits_told += 1
                elif flags & PROBED:
                    silent.append('%d, number %d of %d to %d, from %.6f to %.6f' % (pid, n, first, until, begin / 1e9, end / 1e9))
        self.waits_silent = len(silent)
        if silent:
            self.words.append('%d waits of probed requests are missing, and nobody told: %s' % (len(silent), silent[:3]))

    # ---- afterwards

    def mend(self):
        """Restarts every dead process, as a supervisor would."""
        cell = self.cell
        if not cell.real:
            cell.want([])
        if self.kind == 'consumer daemon':
            self.daemon_anew()
        if cell.daemon() is None:
            cell.daemon_start()
            cell.somebody_begins()
        if cell.controller.poll() is not None:
            cell.controller_start()
        signal_to(cell.tap.pid, signal.SIGCONT)
        if self.kind == 'network cut' and self.way == signal.SIGKILL or cell.tap.poll() is not None:
            cell.tap.wait()
            cell.tap_start()
        if self.phase == 'closing' and cell.agent is self.ending:
            try:
                cell.agent.wait(20)
            except subprocess.TimeoutExpired:
                self.words.append('the agent does not end on SIGTERM')
                cell.agent.kill()
                cell.agent.wait()
        if self.kind == 'agent' and cell.agent.poll() is None:
            cell.agent.wait()
        if cell.agent.poll() is not None:
            cell.agent_start()

    def daemon_anew(self):
        """Restarts the session daemon. That of LTTng 2.13 never traces again, in any session, after its consumer daemon has
        died; the agent reports that it must be restarted. Until then the other session must be listed as before."""
        cell = self.cell
        if 'somebody' not in cell.sessions() or any(p.words.others != 3 for p in cell.programs):
            self.words.append('the other session went with the consumer daemon: %s, %s' % (
                cell.sessions(), [p.words.others for p in cell.programs]))
        daemon = cell.daemon()
        signal_to(daemon, signal.SIGTERM)
        if not wait(10, lambda: not alive(daemon)):
            self.kill(daemon)
            need(5, 'the session daemon ends', lambda: not alive(daemon))

    def works_again(self):
        """Checks that new numbered requests arrive, and that a new desired state is enabled, then disabled."""
        cell, since = self.cell, now()
        numbers = {p: p.words.numbered for p in cell.programs}
        if not wait(BACK_S, lambda: cell.tap_words.tracer_ok and
                    all(cell.next_of(p) > numbers[p] + 1 for p in cell.programs)):
            self.words.append('what is always on does not arrive: %s of %s' % (
                [cell.next_of(p) for p in cell.programs], [p.words.numbered for p in cell.programs]))
            return
        self.back_s = now() - since
        self.restored = True
        if cell.real:
            need(20, 'hone learn', lambda: cell.hone('learn', '--seconds', '30') is not None)
            want = set(range(149))
        else:
            some = self.some(CALM)
            cell.want(some)
            want = set(some) - {SHARED}
        if not wait(OFF_S, lambda: all(p.armed() == want for p in cell.programs)):
            self.words.append('afterwards not on: %s' % [sorted(want ^ p.armed())[:9] for p in cell.programs])
        cell.stop_all()
        if not wait(OFF_S, cell.all_off):
            self.words.append('afterwards not off: %s' % [sorted(p.armed())[:9] for p in cell.programs])

    def before(self):
        cell = self.cell
        need(30, 'nothing is on', cell.all_off)
        self.pids = [p.process.pid for p in cell.programs]
        self.struck = None
        tap = cell.tap_words
        self.at = {name: getattr(tap, name) for name in ('told', 'restarted', 'silent', 'late')}
        self.buckets = {p.process.pid: p.took() for p in cell.programs}
        for p in cell.programs:
            p.words.zero('blocked_longest_ns')
            p.words.zero('took_longest_ns')
        self.requests = {p: p.words.requests for p in cell.programs}
        self.from_number = {p.words.pid: p.words.numbered for p in cell.programs}

    def after(self):
        cell, tap = self.cell, self.cell.tap_words
        if self.restored:
            self.account()
            if self.below:
                self.account_below()
        self.foreign_same = self.foreign()
        self.left = self.leftovers()
        took = collections.Counter()
        for p in cell.programs:
            if not p.lives():
                self.words.append('program %s is dead' % p.name)
                continue
            was = self.buckets.get(p.process.pid, [0] * BUCKETS)
            took.update({i: n - was[i] for i, n in enumerate(p.took()) if n > was[i]})
            if p.words.failed:
                self.words.append('%d requests of %s failed' % (p.words.failed, p.name))
        self.took = took
        self.blocked_s = max(p.words.blocked_longest_ns for p in cell.programs) / 1e9
        self.took_s = max(p.words.took_longest_ns for p in cell.programs) / 1e9
        if self.blocked_s > BLOCKED_S:
            self.words.append('a program was blocked for %.0f ms' % (self.blocked_s * 1e3))
        self.told = tap.told - self.at['told']
        self.restarted = tap.restarted - self.at['restarted']
        self.silent = tap.silent - self.at['silent']
        self.late = tap.late - self.at['late']
        if self.silent:
            self.words.append('%d records are missing, and nobody told' % self.silent)
        if self.off_s is not None and self.off_s > OFF_S:
            self.words.append('something was on for %.1f s' % self.off_s)

    def account(self):
        """Checks that all requests up to now arrive, or are reported as lost."""
        cell = self.cell
        numbers = {p: p.words.numbered for p in cell.programs}
        if not wait(10, lambda: all(cell.next_of(p) >= numbers[p] for p in cell.programs)):
            self.words.append('the last requests do not arrive')
        wait(5, lambda: cell.tap_words.silent == self.at['silent'])
        if self.kind == 'guardian' and not wait(10, lambda: cell.tap_words.guard_ok):
            self.words.append('there is no guardian any more')

    def foreign(self):
        cell = self.cell
        same = wait(2, lambda: cell.somebody() == cell.rules) and wait(10, lambda: all(p.words.others == 3 for p in cell.programs))
        if not same:
            self.words.append('the other session: %s, in the programs %s' % (cell.somebody(),
                                                                             [p.words.others for p in cell.programs]))
        return same

    def leftovers(self):
        left = []
        end = now() + LEFT_S
        while True:
            left = self.cell.left_by(self.cell.agent.pid)
            if not left or now() > end:
                break
            time.sleep(0.25)
        if not self.cell.real and not wait(OFF_S, lambda: not self.cell.helpers_below()):
            left.append('hone-below %s' % self.cell.helpers_below())
        if left:
            self.words.append('left: %s' % left[:5])
        return left

    def record(self):
        keep = ('kind number phase delay_s on under_way off_s back_s foreign_same blocked_s took_s told restarted silent late '
                'left below probe attached killed below_s again_s waits waits_told waits_silent words').split()
        return {k: getattr(self, k, None) for k in keep}


# ---- all moments


class Matrix:
    def __init__(self, options):
        self.options = options
        self.base = tempfile.mkdtemp(prefix='hone-matrix.', dir='/var/tmp')
        self.done = []
        self.trouble = []    # of nodes, outside of a moment
        self.starved = collections.Counter()    # repetitions for each moment, see STARVED
        self.share = Share()
        self.share.start()
        self.bpf = Bpf()
        self.bpf.start()
        self.lock = threading.Lock()
        self.began = now()
        self.ending = False
        kinds = options.kinds
        if options.log:
            open(options.log, 'w').close()
        self.queues = {True: queue.Queue(), False: queue.Queue()}
        for number in range(options.moments):
            for kind in kinds:
                self.queues[kind in WITH_HONED].put((kind, number))

    def cells(self):
        """For each node, whether its controller is honed: nodes are divided by the expected duration of the moments."""
        long = {'host suspended': self.options.suspend + 5, 'session daemon': 10}
        cost = {real: sum(long.get(k, 5) for k in self.options.kinds if (k in WITH_HONED) == real) for real in (True, False)}
        with_honed = round(self.options.nodes * cost[True] / (cost[True] + cost[False]))
        if cost[True]:
            with_honed = max(1, with_honed)
        if cost[False]:
            with_honed = min(with_honed, max(self.options.nodes - 1, 0))
        return [i < with_honed for i in range(max(self.options.nodes, bool(cost[True]) + bool(cost[False])))]

    def run(self):
        threads = [threading.Thread(target=self.serve, args=('m%d' % i, real)) for i, real in enumerate(self.cells())]
        for number in (signal.SIGINT, signal.SIGTERM):    # running moments and their nodes end first
            signal.signal(number, self.end_soon)
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        end = now() + OFF_S
        while self.bpf.since and now() < end:    # what was left last
            time.sleep(0.1)
        self.trouble += self.bpf.left
        if not self.trouble and not any(m.words for m in self.done):
            shutil.rmtree(self.base, ignore_errors=True)

    def end_soon(self, number, frame):
        self.ending = True

    def serve(self, name, real):
        """Runs nodes one after the other, each for as many moments as it stays intact."""
        generation = 0
        while not self.ending and not self.queues[real].empty():
            cell = Cell(self.base, '%s-%d' % (name, generation), real, self.options.rate, self.bpf)
            generation += 1
            began = now()
            try:
                cell.start()
                self.moments_on(cell)
            except (Wrong, subprocess.SubprocessError, OSError) as e:
                self.tell_trouble(cell, str(e), began)
            finally:
                self.end(cell, now())
            if generation > 20:
                self.tell_trouble(cell, 'no node stands', now())
                return

    def moments_on(self, cell):
        """Runs moments until one fails; the others then get a new node."""
        while not self.ending:
            try:
                kind, number = self.queues[cell.real].get_nowait()
            except queue.Empty:
                return
            moment, began = Moment(kind, number, self.options), now()
            try:
                moment.run(cell)
            except (Wrong, subprocess.SubprocessError, OSError) as e:
                moment.words.append('%s: %s' % (type(e).__name__, e))
            slower = self.share.slower(began)
            if moment.words and slower > STARVED and self.starved[kind, number] < TRIES - 1:
                self.again(cell, moment, slower)
                return
            self.keep(cell, moment)
            if moment.words:
                return

    def again(self, cell, moment, slower):
        with self.lock:
            self.starved[moment.kind, moment.number] += 1
            print('# %6.1f s %s %s %d: everything is %.0f times slower than alone, once again: %s' % (
                now() - self.began, cell.name, moment.kind, moment.number, slower, '; '.join(moment.words)), file=sys.stderr,
                flush=True)
        self.queues[cell.real].put((moment.kind, moment.number))

    def keep(self, cell, moment):
        with self.lock:
            self.done.append(moment)
            record = dict(moment.record(), node=cell.name, at=round(now() - self.began, 1))
            if self.options.log:
                with open(self.options.log, 'a') as f:
                    f.write(json.dumps(record) + '\n')
            if moment.words or self.options.verbose:
                print('# %6.1f s %s %s %d in %s %+.0f ms: %s' % (
                    now() - self.began, cell.name, moment.kind, moment.number, getattr(moment, 'phase', '?'),
                    getattr(moment, 'delay_s', 0) * 1e3, '; '.join(moment.words) or 'as promised'), file=sys.stderr, flush=True)
            if moment.words:
                self.logs(cell, '%s-%d' % (moment.kind.replace(' ', '_'), moment.number))

    def logs(self, cell, name):
        """Copies the output of all processes for inspection."""
        folder = os.path.join(self.base, 'failed-' + name)
        os.makedirs(folder, exist_ok=True)
        for entry in os.listdir(cell.dir):
            if entry.endswith('.log'):
                shutil.copy(os.path.join(cell.dir, entry), folder)

    def tell_trouble(self, cell, words, since):
        slower = self.share.slower(since)
        with self.lock:
            if slower <= STARVED:
                self.trouble.append('%s: %s' % (cell.name, words))
            print('# %6.1f s %s, everything %.0f times slower than alone: %s' % (now() - self.began, cell.name, slower, words),
                  file=sys.stderr, flush=True)
            if os.path.isdir(cell.dir):
                self.logs(cell, 'node-' + cell.name)

    def end(self, cell, began):
        try:
            left = cell.stop()
        except (Wrong, subprocess.SubprocessError, OSError) as e:
            left = [str(e)]
        if left:
            self.tell_trouble(cell, 'after SIGTERM: %s' % left[:5], began)

    # ---- tables

    def tables(self):
        rows = [['killed', 'moments', 'off within %g s' % OFF_S, 'longest', 'works again', 'longest', 'left behind',
                 'others\' sessions changed', 'longest block', 'calls p99', 'missing: told', 'agent anew', 'silent', 'late']]
        for kind in self.options.kinds:
            all_of = [m for m in self.done if m.kind == kind]
            if not all_of:
                continue
            n = len(all_of)
            off = [m.off_s for m in all_of if m.off_s is not None and m.off_s <= OFF_S]
            back = [m.back_s for m in all_of if m.back_s is not None]
            rows.append([kind, n, '%d of %d' % (len(off), n), seconds(max(off, default=None)), '%d of %d' % (len(back), n),
                         seconds(max(back, default=None)), sum(bool(getattr(m, 'left', True)) for m in all_of),
                         sum(not getattr(m, 'foreign_same', False) for m in all_of),
                         '%.1f ms' % (max((getattr(m, 'blocked_s', 0) for m in all_of)) * 1e3), self.p99(all_of),
                         total(all_of, 'told'), total(all_of, 'restarted'), total(all_of, 'silent'), total(all_of, 'late')])
        rows.append(['relay daemon'] + ['there is none'] + [''] * 12)
        table(rows)
        print()
        self.below_table()
        print()
        self.phase_table()

    def below_table(self):
        rows = [['killed', 'with hone-below attached', 'with a probe in the code', 'its end: longest', 'reports again: longest',
                 'requests with their wait', 'without: told', 'silent']]
        for kind in self.options.kinds:
            all_of = [m for m in self.done if m.kind == kind]
            if all_of:
                rows.append([kind, sum(getattr(m, 'attached', 0) > 0 for m in all_of),
                             sum(getattr(m, 'was_probed', False) for m in all_of),
                             seconds(max((m.below_s for m in all_of if m.below_s is not None), default=None)),
                             seconds(max((m.again_s for m in all_of if hasattr(m, 'again_s')), default=None)),
                             total(all_of, 'waits'), total(all_of, 'waits_told'), total(all_of, 'waits_silent')])
        table(rows)

    def p99(self, moments):
        took = collections.Counter()
        for m in moments:
            took.update(getattr(m, 'took', {}))
        rest = sum(took.values()) * 0.99
        for i in sorted(took):
            rest -= took[i]
            if rest <= 0:
                return '%.0f µs' % (bucket_end_ns(i) / 1e3)
        return '-'

    def phase_table(self):
        known = ('opening few many quiet off closing starting learning learns learned diagnosis stopping trying attaching attached '
                 'probing detaching again').split()
        phases = [p for p in known if any(getattr(m, 'phase', None) == p for m in self.done)]
        rows = [['struck while'] + phases + ['switching under way', 'something on']]
        for kind in self.options.kinds:
            all_of = [m for m in self.done if m.kind == kind]
            if all_of:
                rows.append([kind] + [sum(getattr(m, 'phase', None) == p for m in all_of) for p in phases] +
                            ['' if kind in WITH_HONED else sum(getattr(m, 'under_way', False) for m in all_of), sum(getattr(m, 'on', 0) > 0 for m in all_of)])
        table(rows)


def seconds(s):
    return '-' if s is None else '%.2f s' % s


def total(moments, name):
    return sum(getattr(m, name, 0) for m in moments)


def table(rows):
    rows = [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for i, row in enumerate(rows):
        print('| ' + ' | '.join(c.ljust(w) for c, w in zip(row, widths)) + ' |')
        if i == 0:
            print('|' + '|'.join('-' * (w + 2) for w in widths) + '|')


def arguments():
    p = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    p.add_argument('--moments', type=int, default=200, help='of each kind (200)')
    p.add_argument('--kinds', default=','.join(KINDS), help='; '.join('%s: %s' % k for k in KINDS.items()))
    p.add_argument('--nodes', type=int, default=10, help='side by side (10)')
    p.add_argument('--seed', default='1')
    p.add_argument('--suspend', type=float, default=60, help='seconds that a host is suspended (60)')
    p.add_argument('--rate', type=int, default=250, help='requests a second in each of the two programs (250)')
    p.add_argument('--log', help='a line of JSON for each moment')
    p.add_argument('--verbose', action='store_true', help='tell of each moment, not only of what is wrong')
    options = p.parse_args()
    options.kinds = [k.strip() for k in options.kinds.split(',')]
    for kind in options.kinds:
        if kind not in KINDS:
            p.error('no such kind: ' + kind)
    return options


def main():
    options = arguments()
    if os.geteuid() != 0:
        print('matrix.py: needs root', file=sys.stderr)
        return 2
    matrix = Matrix(options)
    matrix.run()
    matrix.tables()
    wrong = [m for m in matrix.done if m.words]
    missing = options.moments * len(options.kinds) - len(matrix.done)
    print('\n%d moments on %d nodes side by side in %.0f s, seed %s, everything %.1f times '
          'slower than alone: %d not as promised%s%s%s' % (
        len(matrix.done), options.nodes, now() - matrix.began, options.seed, matrix.share.slower(matrix.began), len(wrong),
        ', %d tried again' % sum(matrix.starved.values()) if matrix.starved else '',
        ', %d not tried' % missing if missing else '', ''.join('\n' + t for t in matrix.trouble)))
    if wrong or matrix.trouble:
        print('logs: ' + matrix.base)
    return 1 if wrong or missing or matrix.trouble else 0


if __name__ == '__main__':
    sys.exit(main())
