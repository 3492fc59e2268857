#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trace files with one defect each, in every format, and the expected messages.

bad_input.py FOLDER writes the files FOLDER/FORMAT-CASE and prints a line for each, with fields separated by tabs: file, flags
for hone analyze, exit status, number of analysed traces, reason (formats/skips.tbl.h) for which one item is skipped ("-": no
item is), printed offset ("-": any; "none": unknown)."""
import gzip
import json
import struct
import sys

T0 = 1600000000 * 10**9  # ns since 1970
US = 1000
INT64_MAX = 2**63 - 1
GOOD = 5


def span(trace, sid, parent, begin_us, took_us, service='front', name='HOME', node='n1', **more):
    return dict(trace=trace, id=sid, parent=parent, begin=T0 + trace * 10**9 + begin_us * US, took=took_us * US,
                service=service, name=name, node=node, **more)


def good_trace(trace):
    return [span(trace, 0xa1, 0, 0, 1000), span(trace, 0xa2, 0xa1, 100, 500, 'cart', 'get', 'n2'),
            span(trace, 0xa3, 0xa1, 700, 200, 'ads', 'pick', 'n3')]


GOODS = [good_trace(t) for t in range(1, GOOD + 1)]


def hexa(n, digits=16):
    return '%0*x' % (digits, n)


# ---- formats: each turns traces of spans into (span, bytes) pieces; the span is None for bytes between spans


def jaeger(traces):
    yield None, b'{"data":['
    for i, spans in enumerate(traces):
        yield None, b'%s{"traceID":"%s","spans":[' % (b',' if i else b'', hexa(spans[0]['trace']).encode())
        for k, s in enumerate(spans):
            if k:
                yield None, b','
            parent = [dict(refType='CHILD_OF', traceID=hexa(s['trace']), spanID=hexa(s['parent']))] if s['parent'] else []
            yield s, json.dumps(dict(traceID=hexa(s['trace']), spanID=hexa(s['id']) if s['id'] else '',
                                     operationName=s['name'], references=parent, startTime=s['begin'] // US,
                                     duration=s['took'] // US, processID=s['service'], tags=[])).encode()
        process = {s['service']: dict(serviceName=s['service'], tags=[dict(key='hostname', type='string', value=s['node'])])
                   for s in spans}
        yield None, b'],"processes":' + json.dumps(process).encode() + b'}'
    yield None, b']}\n'


def zipkin(traces):
    yield None, b'['
    first = True
    for s in (s for spans in traces for s in spans):
        if not first:
            yield None, b',\n'
        first = False
        d = dict(traceId=hexa(s['trace']), id=hexa(s['id']) if s['id'] else '', name=s['name'], timestamp=s['begin'] // US,
                 duration=s['took'] // US, localEndpoint=dict(serviceName=s['service'], ipv4=s['node']))
        if s['parent']:
            d['parentId'] = hexa(s['parent'])
        yield s, json.dumps(d).encode()
    yield None, b']\n'


def otlp_json(traces):
    for spans in traces:
        yield None, b'{"resourceSpans":['
        for k, s in enumerate(spans):
            places = [dict(key='service.name', value=dict(stringValue=s['service'])),
                      dict(key='host.name', value=dict(stringValue=s['node']))]
            yield None, (b',' if k else b'') + b'{"resource":' + json.dumps(dict(attributes=places)).encode() + \
                b',"scopeSpans":[{"spans":['
            yield s, json.dumps(dict(traceId=hexa(s['trace'], 32), spanId=hexa(s['id']) if s['id'] else '',
                                     parentSpanId=hexa(s['parent']) if s['parent'] else '', name=s['name'],
                                     startTimeUnixNano=str(s['begin']), endTimeUnixNano=str(s['begin'] + s['took']))).encode()
            yield None, b']}]}'
        yield None, b']}\n'


def varint(n):
    out = b''
    while n > 0x7f:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def otlp_proto(traces):
    for s in (s for spans in traces for s in spans):
        attribute = lambda key, text: field(1, field(1, key) + field(2, field(1, text.encode())))
        resource = field(1, attribute(b'service.name', s['service']) + attribute(b'host.name', s['node']))
        one = field(1, struct.pack('>QQ', 0, s['trace'])) + (field(2, struct.pack('>Q', s['id'])) if s['id'] else b'') + \
            (field(4, struct.pack('>Q', s['parent'])) if s['parent'] else b'') + field(5, s['name'].encode()) + \
            b'\x39' + struct.pack('<Q', s['begin'] % 2**64) + b'\x41' + struct.pack('<Q', (s['begin'] + s['took']) % 2**64)
        scope = varint(2 << 3 | 2) + varint(len(field(2, one))) + varint(2 << 3 | 2) + varint(len(one))
        head = varint(1 << 3 | 2) + varint(len(resource) + len(scope) + len(one)) + resource + scope
        yield None, head
        yield s, one


def nezha(traces):
    yield None, b'TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration\n'
    for s in (s for spans in traces for s in spans):
        yield s, ('%s,%s,%s,%s,%s,%d,%d,%d\n' % (hexa(s['trace'], 32), hexa(s['id']) if s['id'] else '',
                  hexa(s['parent']) if s['parent'] else 'root', s['service'] + '-' + s['node'], s['name'], s['begin'],
                  s['begin'] + s['took'], s['took'] // US)).encode()


def xtrace(traces):
    """Writes one event for the beginning of each span; its parent is the previous event."""
    yield None, b'['
    for i, spans in enumerate(traces):
        yield None, (b',' if i else b'') + b'{"id":"%d","reports":[' % i
        for k, s in enumerate(spans):
            if k:
                yield None, b',\n'
            edge = [hexa(e) for e in s.get('after', [s['parent']] if s['parent'] else [])]
            yield s, json.dumps({'X-Trace': ['19' + hexa(s['trace']) + hexa(s['id'])] if s['id'] else [], 'Edge': edge,
                                 'Timestamp': ['%d.%03d' % (s['begin'] // 10**9, s['begin'] // 10**6 % 1000)],
                                 'Agent': [s['service']], 'Class': ['C'], 'Label': [s['name']], 'Host': [s['node']]}).encode()
        yield None, b']}'
    yield None, b']\n'


SPANS = dict(jaeger=jaeger, zipkin=zipkin, otlp_json=otlp_json, otlp_proto=otlp_proto, nezha=nezha)
FORMATS = dict(SPANS, xtrace=xtrace)
JSONS = ('jaeger', 'zipkin', 'otlp_json', 'xtrace')


def written(pieces):
    """Joins the pieces; returns the bytes and the offset of the span that is marked `bad`."""
    out, at = b'', None
    for s, piece in pieces:
        if s is not None and s.get('bad') and at is None:
            at = len(out)
        out += piece
    return out, at


# ---- cases of spans: traces between the third and the fourth good trace, number of analysed traces, reason


def changed(s, **more):
    return dict(s, bad=True, **more)


def span_cases():
    root, cart, ads = good_trace(9)
    yield 'negative-duration', [root, changed(cart, took=-5 * US), ads], GOOD + 1, 'negative_duration'
    yield 'self-parent', [root, changed(cart, parent=0xa2), ads], GOOD + 1, 'self_parent'
    yield 'cycle', [root, changed(cart, parent=0xa3), dict(ads, parent=0xa2)], GOOD + 1, 'cycle'
    yield 'duplicate', [root, cart, ads, changed(cart)], GOOD + 1, 'duplicate'
    yield 'orphan', [root, changed(cart, parent=0xbb), ads], GOOD + 1, 'orphan'
    yield 'two-roots', [root, changed(cart, parent=0), ads], GOOD + 1, 'further_roots'
    yield 'rootless', [changed(root, parent=0xa2), dict(cart, parent=0xa3), dict(ads, parent=0xa1)], GOOD, 'rootless'
    yield 'skewed', [root, changed(cart, begin=root['begin'] - 3 * 10**9), ads], GOOD + 1, 'clock_skewed'
    yield 'no-id', [root, cart, changed(ads, id=0)], GOOD + 1, 'incomplete'
    yield 'latest-time', [root, cart, changed(ads, begin=INT64_MAX - 999, took=0)], GOOD + 1, 'untimed'
    yield 'overflow', [root, cart, changed(ads, begin=INT64_MAX // 2, took=INT64_MAX // 2 + 10**6)], GOOD + 1, 'untimed'
    yield 'before-1970', [root, cart, changed(ads, begin=-INT64_MAX + 10**6)], GOOD + 1, 'untimed'


def xtrace_cases():
    one, two, three = good_trace(9)
    three = dict(three, parent=0xa2)
    yield 'self-parent', [one, changed(two, after=[0xa1, 0xa2]), three], GOOD + 1, 'self_parent'
    yield 'cycle', [one, changed(two, after=[0xa1, 0xa3]), three], GOOD + 1, 'cycle'
    yield 'duplicate', [one, two, three, changed(two)], GOOD + 1, 'duplicate'
    yield 'orphan', [one, changed(two, after=[0xa1, 0xbb]), three], GOOD + 1, 'orphan'
    yield 'no-id', [one, two, changed(three, id=0)], GOOD + 1, 'incomplete'
    yield 'latest-time', [one, two, changed(three, begin=10**40)], GOOD + 1, 'incomplete'


# ---- cases of bytes


KEY = dict(jaeger=b'traceID', zipkin=b'traceId', otlp_json=b'traceId', xtrace=b'X-Trace')


def middle(data, name):
    """The offset at which a span in the middle begins."""
    at = len(data) // 2
    return data.index(b'{"%s": ' % KEY[name], at)


def broken_gzip(data):
    packed = bytearray(gzip.compress(data * 40, 1, mtime=0))
    for i in range(len(packed) // 2, len(packed) // 2 + 8):
        packed[i] ^= 0xff
    return bytes(packed)


def byte_cases(name, data):
    """Yields case, bytes, exit status, number of traces (None: at least one), reason, offset."""
    yield 'good', data, 0, GOOD, '-', '-'
    yield 'empty', b'', 1, 0, 'file', 'none'
    yield 'gzip', gzip.compress(data), 0, GOOD, '-', '-'
    yield 'gzip-of-nothing', gzip.compress(b''), 1, 0, 'file', 'none'
    yield 'gzip-cut', gzip.compress(data, 0)[:-len(data) // 4], 0, None, 'truncated', '-'
    yield 'gzip-in-two', gzip.compress(data[:99]) + gzip.compress(data[99:]), 0, GOOD, '-', '-'
    yield 'garbage', bytes(i * 197 % 256 ^ i >> 3 & 255 for i in range(5000)), 1, 0, 'file', 'none'
    yield 'zeroes', bytes(5000), 1, 0, 'file', 'none'
    yield 'cut', data[:len(data) * 3 // 4], 0, None, 'truncated', '-'
    if name == 'otlp_proto':
        return
    yield 'bom', b'\xef\xbb\xbf' + data, 0, GOOD, '-', '-'
    yield 'crlf', data.replace(b'\n', b'\r\n'), 0, GOOD, '-', '-'
    if name == 'nezha':
        yield 'no-last-newline', data[:-1], 0, GOOD, '-', '-'
        lines = data.split(b'\n')
        yield 'short-line', b'\n'.join(lines[:4] + [b'1,2,3'] + lines[4:]), 0, GOOD, 'malformed', str(sum(map(len, lines[:4])) + 4)
        yield 'letters-for-a-time', data + b'9,9,root,p,o,soon,later,5\n', 0, GOOD, 'untimed', str(len(data))
        yield 'time-out-of-range', data + b'9,9,root,p,o,%s,1,5\n' % (b'9' * 60), 0, GOOD, 'untimed', str(len(data))
        yield 'open-quote', data + b'"9,9,root,p,o,1,2,3\n' + data.split(b'\n', 1)[1], 0, GOOD, 'malformed', str(len(data))
        yield 'quoted', b'\n'.join(b'"' + line.replace(b',', b'","') + b'"' if line else line for line in lines), 0, GOOD, '-', '-'
        return
    at = middle(data, name)
    deep = b'{"a":' * 100000 + b'1' + b'}' * 100000
    yield 'malformed', data[:at] + b'{"a" "b"},' + data[at:], 0, None, 'malformed', str(at + 5)
    yield 'nested-deeply', data[:at] + deep + b',' + data[at:], 0, GOOD, 'incomplete', '-'
    yield 'control-character', data[:at] + b'{"a":"\x01"},' + data[at:], 0, None, 'malformed', str(at + 6)
    yield 'bad-escape', data[:at] + b'{"%s":"\\x"},' % KEY[name] + data[at:], 0, None, 'malformed', '-'
    huge = b'{"%s":"%s"},' % (KEY[name], b'x' * (70 << 20))
    yield 'huge-text', gzip.compress(data[:at] + huge + data[at:], 1), 0, None, 'oversize', '-'
    yield 'a-number-for-a-span', data[:at] + b'17,' + data[at:], 0, None, 'malformed', '-'


def hostile(path):
    """Names and tags of characters that JSON permits and that must not reach a terminal."""
    words = [b'a\\u0000b', b'\\u001b[2J', b'\\ud800', b'\\udc00x', b'\xff\xfe', b'\xc3', b'</script>', b'\\u202e', b'\\"\\\\', b'\xed\xa0\x80',
             b'\\n\\t', b'\xf0\x9f\x98\x80' * 100]
    with open(path, 'wb') as f:
        f.write(b'{"data":[')
        for t in range(1, 41):
            spans = [b'{"traceID":"%x","spanID":"%x","operationName":"%s","references":[%s],"startTime":%d,"duration":%d,"processID"'
                     b':"p","tags":[{"key":"%s","value":"%s"}]}' % (
                         t, i + 1, word, b'' if i == 0 else b'{"refType":"CHILD_OF","traceID":"%x","spanID":"1"}' % t,
                         t * 10**6 + i * 100, 5000 * t if i == 0 else 50 * t, word, words[t % len(words)])
                     for i, word in enumerate(words)]
            f.write(b'%s{"traceID":"%x","spans":[%s],"processes":{"p":{"serviceName":"%s"}}}' % (
                b',' if t > 1 else b'', t, b','.join(spans), words[1] + words[4]))
        f.write(b']}')


def case(name, case_name, data, flags, status, traces, reason, offset):
    path = '%s/%s-%s' % (sys.argv[1], name, case_name)
    with open(path, 'wb') as f:
        f.write(data)
    print(path, flags or '-', status, 'some' if traces is None else traces, reason, offset, sep='\t')


def main():
    files = {}
    hostile(sys.argv[1] + '/hostile')
    for name, write in FORMATS.items():
        files[name], _ = written(write(GOODS))
        for case_name, spans, traces, reason in (xtrace_cases() if name == 'xtrace' else span_cases()):
            data, at = written(write(GOODS[:3] + [spans] + GOODS[3:]))
            case(name, case_name, data, '', 0, traces, reason, '-' if name == 'xtrace' else at)
        for one in byte_cases(name, files[name]):
            case(name, one[0], one[1], '', *one[2:])
    for name in FORMATS:
        for other in FORMATS:
            if other != name:
                case(name, 'as-' + other, files[name], '--format ' + other, 1, 0, 'file', 'none')


main()
