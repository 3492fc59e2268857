#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The upstream and the clients of nginx in nginx_test.sh, and the reader of its traces.

nginx_peer.py upstream PORT            answers with the received context, as JSON; the path selects how
nginx_peer.py traces FOLDER [PID...]   checks the records of a CTF trace and prints its content, as JSON; the traces of
                                       processes that were killed (PID...) may lack their end
nginx_peer.py hostile PORT SEED N      sends N requests with unusual trace contexts to /api (no client is trusted) and /trust,
                                       and checks what the upstream received
nginx_peer.py streams PORT PATH N      N requests at once, as streams of one HTTP/2 connection; prints the status of each
nginx_peer.py raw PORT                 sends stdin over one connection; prints all that is received"""
import collections
import http.client
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


# ---- upstream -----------------------------------------------------------------------------------

class Upstream(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    turns = collections.Counter()

    def body_in(self):
        if self.headers.get('Transfer-Encoding') == 'chunked':
            size, total = None, 0
            while size != 0:
                size = int(self.rfile.readline(), 16)
                total += len(self.rfile.read(size))
                self.rfile.readline()
            return total
        return len(self.rfile.read(int(self.headers.get('Content-Length') or 0)))

    def answer(self):
        got = {'traceparent': self.headers.get_all('traceparent') or [], 'path': self.path,
               'tracestate': self.headers.get_all('tracestate') or [], 'bytes': self.body_in()}
        body = json.dumps(got).encode()
        if 'slow' in self.path:
            time.sleep(0.4)
        if 'hang' in self.path:
            time.sleep(2)
        if 'cut' in self.path:  # closes the connection instead of an answer
            self.close_connection = True
            return
        if 'big' in self.path:
            body += b' ' * 4000000
        self.turns[self.path] += 1
        self.send_response(503 if 'bad' in self.path or ('once' in self.path and self.turns[self.path] == 1) else 200)
        if 'accel' in self.path:
            self.send_header('X-Accel-Redirect', '/inner/x')
        if 'chunks' in self.path:
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            for part in (body[:10], body[10:20], body[20:]):
                self.wfile.write(b'%x\r\n%s\r\n' % (len(part), part))
                time.sleep(0.02)
            self.wfile.write(b'0\r\n\r\n')
            return
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = answer

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request, address):
        pass  # a client that disconnected


def upstream(port):
    Server(('127.0.0.1', int(port)), Upstream).serve_forever()


# ---- traces -------------------------------------------------------------------------------------

LINE = re.compile(r'\[(\d+):(\d+):(\d+)\.(\d+)\] .*? (\w+):(\w+): \{.*?_trace_id = \{ (\d+) \}.*?'
                  r'_unit_id = \{ (\d+) \}.*?vpid = (\d+) \}, \{ ?(.*?) ?\}$')
FIELD = re.compile(r'(\w+) = (?:"((?:[^"\\]|\\.)*)"|(-?\d+))')


def records(folder):
    run = subprocess.run(['babeltrace2', folder], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        m = LINE.match(line)
        if m is None:
            raise SystemExit('no record: ' + line)
        h, mi, s, ns, provider, event, trace, unit, pid, fields = m.groups()
        values = {k: int(n) if n else t for k, t, n in FIELD.findall(fields)}
        yield {'ns': (int(h) * 3600 + int(mi) * 60 + int(s)) * 10**9 + int(ns), 'provider': provider, 'event': event,
               'trace': int(trace), 'unit': int(unit), 'pid': int(pid), 'fields': values}


class Trace:
    """Checks all records of one trace id; calls `fault` with each defect."""

    def __init__(self, rows, fault):
        self.rows, self.fault = rows, fault
        self.units = collections.defaultdict(list)
        for row in rows:
            self.units[row['unit']].append(row)
        self.forks = {r['fields']['link_id']: r for r in rows if r['event'] == 'fork'}
        self.joins = collections.Counter(r['fields']['link_id'] for r in rows if r['event'] == 'join')

    def check(self):
        for event in ('request_begin', 'request_end'):
            n = sum(r['provider'] == 'hone' and r['event'] == event for r in self.rows)
            if n != 1:
                self.fault('%d %s' % (n, event))
        for link, n in self.joins.items():
            if n != 1 or link not in self.forks:
                self.fault('link %x joined %d times' % (link, n))
        for rows in self.units.values():
            self.check_unit(rows)

    def check_unit(self, rows):
        first, last = rows[0]['event'], rows[-1]['event']
        if (first, last) not in (('request_begin', 'request_end'), ('unit_begin', 'unit_end')):
            self.fault('a unit goes from %s to %s' % (first, last))
        if first == 'unit_begin' and rows[0]['fields']['link_id'] not in self.forks:
            self.fault('a unit begins because of a link that nobody made')
        stack = []
        for row in rows:
            event = row['event']
            if event.endswith('_begin'):
                stack.append(event[:-6])
            elif event.endswith('_end') and (not stack or stack.pop() != event[:-4]):
                self.fault('%s does not match' % event)
        if stack:
            self.fault('left open: %s' % stack)

    def brief(self):
        begin = next((r for r in self.rows if r['event'] == 'request_begin'), None)
        end = next((r for r in self.rows if r['event'] == 'request_end'), None)
        spans, opened = collections.defaultdict(list), {}
        for r in self.rows:
            if r['event'].endswith('_begin'):
                opened[r['unit'], r['event'][:-6]] = r
            elif r['event'].endswith('_end') and (r['unit'], r['event'][:-4]) in opened:
                o = opened[r['unit'], r['event'][:-4]]
                spans[r['event'][:-4]].append({'ms': (r['ns'] - o['ns']) / 1e6, **o['fields'], **r['fields']})
        return {'type': begin and begin['fields']['name'], 'status': end and end['fields']['status'],
                'ms': begin and end and (end['ns'] - begin['ns']) / 1e6, 'trace': '%016x' % self.rows[0]['trace'],
                'units': len(self.units), 'forks': ['%016x' % link for link in self.forks],
                'fork_names': [r['fields']['name'] for r in self.forks.values()],
                'joins': ['%016x' % link for link in self.joins],
                'begun': ['%016x' % r['fields']['link_id'] for r in self.rows if r['event'] == 'unit_begin'],
                'pid': self.rows[0]['pid'], 'spans': spans}


def traces(folder, *killed):
    by_trace, faults = collections.defaultdict(list), collections.Counter()
    for row in records(folder):
        by_trace[row['trace']].append(row)
    for row in by_trace.pop(0, []):
        faults['%s:%s belongs to nothing' % (row['provider'], row['event'])] += 1
    killed, briefs, lost = {int(pid) for pid in killed}, [], 0
    for rows in by_trace.values():
        found = []
        trace = Trace(rows, found.append)
        trace.check()
        if found and killed & {r['pid'] for r in rows}:
            lost += 1
            continue
        for words in found:
            faults[words] += 1
        briefs.append(trace.brief())
    json.dump({'faults': faults, 'lost': lost, 'traces': briefs}, sys.stdout)


# ---- unusual contexts ---------------------------------------------------------------------------

PARENT = re.compile(r'([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?\Z', re.S)


def parent_of(value):
    """The trace id in a traceparent by W3C Trace Context, or None. Hone also refuses an id whose low half is 0."""
    m = PARENT.match(value)
    if m is None or m.group(1) == 'ff' or (m.group(1) == '00' and m.group(5) is not None):
        return None
    if int(m.group(2)[16:], 16) == 0 or int(m.group(3), 16) == 0:
        return None
    return m.group(2)


def some_hex(rng, n):
    return ''.join(rng.choice('0123456789abcdef') for _ in range(n))


def good(rng):
    return '00-%s-%s-01' % (some_hex(rng, 32), some_hex(rng, 16))


def strange_parent(rng):
    value = good(rng)
    at = rng.randrange(len(value))
    return rng.choice([
        lambda: value, lambda: value, lambda: value[:at], lambda: value + '-', lambda: value + some_hex(rng, at),
        lambda: value[:at] + rng.choice('gGzZ-. %\x7f\xe9\t"\'') + value[at + 1:], lambda: value[:at] + value[at + 1:],
        lambda: value.upper(), lambda: '00-%s-%s-01' % ('0' * 32, some_hex(rng, 16)),
        lambda: '00-%s-%s-01' % (some_hex(rng, 32), '0' * 16), lambda: '00-%s%s-%s-00' % (some_hex(rng, 16), '0' * 16, '1' * 16),
        lambda: 'ff' + value[2:], lambda: 'cc' + value[2:], lambda: '01' + value[2:] + '-what-the-future-brings',
        lambda: value * rng.randrange(2, 60), lambda: '', lambda: ' ', lambda: '-' * at, lambda: some_hex(rng, 55),
        lambda: ''.join(chr(rng.choice([*range(0x20, 0x7f), *range(0xa0, 0x100)])) for _ in range(rng.randrange(200))),
    ])()


def strange_state(rng):
    mine = 'hone=%s-%s%d' % (some_hex(rng, 16), '7' + some_hex(rng, 7), rng.randrange(4))
    at = rng.randrange(len(mine))
    return rng.choice([
        lambda: mine, lambda: mine + ',other=1', lambda: 'other=1 , ' + mine + ',\tthird=2', lambda: ',,,' + mine + ',,',
        lambda: mine[:at], lambda: mine[:at] + 'x' + mine[at:], lambda: 'hone=', lambda: 'hone', lambda: 'xhone=' + mine[5:],
        lambda: 'hone=%s-%s1' % ('0' * 16, '7' * 8), lambda: 'hone=%s-%s1' % ('1' * 16, 'f' * 8),
        lambda: ','.join('k%d=%s' % (i, some_hex(rng, 9)) for i in range(rng.randrange(60))), lambda: 'a=' + 'b' * rng.randrange(3000),
        lambda: mine + ',' + mine, lambda: '=' * at, lambda: ','.join(['hone=1'] * 30), lambda: '', lambda: ',' * 300,
        lambda: ''.join(chr(rng.choice([*range(0x20, 0x7f), *range(0xa0, 0x100)])) for _ in range(rng.randrange(300))),
    ])()


def clean(value):
    """The value of a header without the surrounding blanks, which are not part of it."""
    return value.strip(' \t')


def ask(conn, path, headers):
    conn.putrequest('GET', path)
    for name, value in headers:
        conn.putheader(name, value.encode('latin-1'))
    conn.endheaders()
    reply = conn.getresponse()
    return reply.status, reply.read()


def passed_on(members):
    """The members to forward in 480 bytes by W3C: all; else without those over 128 bytes; else the first of these that fit."""
    if len(','.join(members)) > 480:
        members = [m for m in members if len(m) <= 128]
    return members[:next(n for n in range(len(members), -1, -1) if len(','.join(members[:n])) <= 480)]


def wrong(path, parents, states, got):
    """A text for the first defect of the context that the upstream received, or None."""
    if len(got['traceparent']) != 1 or parent_of(got['traceparent'][0]) is None:
        return 'the upstream got no traceparent'
    ours = got['traceparent'][0]
    wanted = parent_of(clean(parents[0])) if len(parents) == 1 else None
    if len(parents) == 1 and len(clean(parents[0])) >= 1024:
        wanted = None  # too long: ignored
    if (wanted is not None) != (parent_of(ours) == wanted) and wanted is not None:
        return 'the trace id was not kept: %s' % ours
    if wanted is None and any(parent_of(ours) in p for p in parents):
        return 'a malformed traceparent counted'
    state = ','.join(got['tracestate'])
    members = [m for m in state.split(',') if m.startswith('hone=')]
    if len(members) != 1 or not state.startswith('hone=' + ours[36:52]):
        return 'the upstream got another link in tracestate: %s' % state
    if path == '/api' and any('hone=' + ours[36:52] in s for s in states):
        return 'a stranger said what the link is'
    if len(state) > 512:
        return 'tracestate grew to %d bytes' % len(state)
    others = [clean(m) for s in states for m in s.split(',')]
    others = [m for m in others if m and not m.startswith('hone=')]
    kept = state.split(',')[1:]
    if kept != passed_on(others):
        return 'others members are not what they were: %r, %r' % (kept, others)
    return None


def hostile(port, seed, n):
    rng, conn, faults = random.Random(int(seed)), http.client.HTTPConnection('127.0.0.1', int(port), timeout=10), []
    kept = refused = 0
    for i in range(int(n)):
        path = rng.choice(['/api', '/trust'])
        parents = [strange_parent(rng) for _ in range(rng.choice([1, 1, 1, 1, 1, 1, 2, 0]))]
        states = [strange_state(rng) for _ in range(rng.choice([1, 1, 1, 0, 2, 3]))]
        headers = [('traceparent', p) for p in parents] + [('TraceState', s) for s in states]
        rng.shuffle(headers)
        states = [v for k, v in headers if k == 'TraceState']
        try:
            status, body = ask(conn, path, headers)
        except http.client.HTTPException as e:
            faults.append('request %d: %r: %r' % (i, e, headers))
            conn.close()
            continue
        if status == 400:  # nginx itself refused it
            refused += 1
            conn.close()
            continue
        got = json.loads(body) if status == 200 else None
        words = wrong(path, parents, states, got) if got is not None else 'status %d' % status
        if words is not None:
            faults.append('request %d to %s: %s: %r' % (i, path, words, headers))
        kept += got is not None and any(parent_of(clean(p)) == parent_of(got['traceparent'][0]) for p in parents)
    print(json.dumps({'asked': int(n), 'kept': kept, 'refused': refused, 'faults': faults[:5]}))
    return 1 if faults or kept < int(n) / 20 or kept + refused > int(n) / 2 else 0


def raw(port):
    with socket.create_connection(('127.0.0.1', int(port)), timeout=10) as s:
        threading.Thread(target=lambda: s.sendall(sys.stdin.buffer.read()), daemon=True).start()
        while data := s.recv(65536):
            sys.stdout.buffer.write(data)


def literal(name, value):
    """A header field in HPACK without indexing: RFC 7541, 6.2.2."""
    return b'\0%c%s%c%s' % (len(name), name, len(value), value)


def frame(kind, flags, stream, payload=b''):
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + stream.to_bytes(4, 'big') + payload


def frames(s):
    while len(head := s.recv(9, socket.MSG_WAITALL)) == 9:
        size = int.from_bytes(head[:3], 'big')
        yield head[3], head[4], int.from_bytes(head[5:], 'big'), s.recv(size, socket.MSG_WAITALL) if size else b''


def streams(port, path, n):
    fields = [(b':method', b'GET'), (b':scheme', b'http'), (b':path', path.encode()), (b':authority', b'x')]
    block, left = b''.join(literal(*f) for f in fields), set(range(1, 2 * int(n), 2))
    with socket.create_connection(('127.0.0.1', int(port)), timeout=10) as s:
        s.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0) + b''.join(frame(1, 5, i, block) for i in sorted(left)))
        for kind, flags, stream, payload in frames(s):
            if kind == 4 and not flags & 1:
                s.sendall(frame(4, 1, 0))
            if kind == 1:  # HEADERS; 0x88 is the index of ":status: 200" in the static table
                print(200 if 0x88 in payload[:3] else payload[:8])
            if kind in (0, 1) and flags & 1:
                left.discard(stream)
            if not left:
                return 0
    return 1


if __name__ == '__main__':
    verbs = {'upstream': upstream, 'traces': traces, 'hostile': hostile, 'streams': streams, 'raw': raw}
    if len(sys.argv) < 2 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    sys.exit(verbs[sys.argv[1]](*sys.argv[2:]))
