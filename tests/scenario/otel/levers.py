#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# Two programs as hone-otel sees them, until they are ended. `shop` has an agent of OpAMP as Elastic's distribution for Node has: it asks each 200 ms, applies
# the file `elastic` and says so once; its requests have a span of the instrumentation express while that is on. Half of the requests are
# slow in it: the planted fault. After it they have an event. `cart` has an SDK with Jaeger's remote sampling, which asks each 200 ms.
#
#	levers.py STATE		STATE: a file with what they were told last: "config JSON", and "rate NUMBER"
import http.client
import json
import os
import random
import signal
import sys
import threading
import time

OPAMP, SAMPLING, OTLP = ("127.0.0.1", 4320), ("127.0.0.1", 5778), ("127.0.0.1", 4318)
UID = os.urandom(16)
told = {"config": {}, "rate": None}
lock = threading.Lock()


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    """All fields of a message, of the kinds that the answer has."""
    out, at = {}, 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            n |= (data[at] & 127) << shift
            at += 1
            shift += 7
            if data[at - 1] < 128:
                return n
    while at < len(data):
        tag = number()
        n = number()
        if tag & 7 == 2:
            out[tag >> 3] = data[at:at + n]
            at += n
        else:
            out[tag >> 3] = n
    return out


def call(where, method, path, body=None, kind=None):
    c = http.client.HTTPConnection(*where, timeout=5)
    try:
        c.request(method, path, body, {"Content-Type": kind} if kind else {})
        r = c.getresponse()
        data = r.read()
        if r.status != 200:
            raise OSError(r.status)
        return data
    finally:
        c.close()


def note(**what):
    with lock:
        if all(told[k] == v for k, v in what.items()):
            return
        told.update(what)
        with open(sys.argv[1] + ".new", "w") as f:
            f.write("config " + json.dumps(told["config"], sort_keys=True) + "\nrate " + str(told["rate"]) + "\n")
        os.replace(sys.argv[1] + ".new", sys.argv[1])


def agent():
    described, sequence, status = False, 0, None
    while True:
        message = field(1, UID) + field(2, sequence) + field(4, 0x3003)
        if not described:
            message += field(3, field(1, field(1, b"service.name") + field(2, field(1, b"shop"))))
        if status:
            message += field(7, status)
        try:
            answer = fields(call(OPAMP, "POST", "/v1/opamp", message, "application/x-protobuf"))
            described, status = answer.get(6) != 1, None
            sequence += 1
            if 3 in answer:
                config = fields(answer[3])
                entry = fields(fields(config[1])[1])
                assert entry[1] == b"elastic"
                note(config=json.loads(fields(entry[2])[1]))
                status = field(1, config[2]) + field(2, 1)
        except OSError:
            described = False
        time.sleep(0.2)


def sampler():
    paths = ["/sampling", "/api/sampling", "/api/sampling/sampling"]
    n = 0
    while True:
        try:
            answer = json.loads(call(SAMPLING, "GET", paths[n % 3] + "?service=cart"))
            note(rate=answer["operationSampling"]["defaultSamplingProbability"])
        except OSError:
            pass
        n += 1
        time.sleep(0.2)


def span(trace, parent, name, begin, end, kind=1):
    own = "%016x" % random.getrandbits(64)
    return own, {"traceId": trace, "spanId": own, "parentSpanId": parent, "name": name, "kind": kind,
                 "startTimeUnixNano": str(begin), "endTimeUnixNano": str(end)}


def requests(n):
    """The spans of a request: 2 ms before the instrumented part, 2 or 20 ms in it, in which it asks the database."""
    trace, now, ms = "%032x" % random.getrandbits(128), time.time_ns(), 1000000
    slow = 20 if n % 2 else 2
    root, whole = span(trace, "", "GET /order", now - (slow + 8) * ms, now, 2)
    whole["events"] = [{"timeUnixNano": str(now - 2 * ms), "name": "answered"}]
    web, express, above = [whole], [], root
    if "express" not in told["config"].get("deactivate_instrumentations", "").split(","):
        above, part = span(trace, root, "router", now - (slow + 6) * ms, now - 4 * ms)
        part["attributes"] = [{"key": "tries", "value": {"intValue": str(n % 2)}}]
        express.append(part)
    web.append(span(trace, above, "SELECT", now - (slow + 5) * ms, now - (slow + 4) * ms, 3)[1])
    return web, express


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    note(config=None)
    note(config={})
    for what in agent, sampler:
        threading.Thread(target=what, daemon=True).start()
    n = 0
    while True:
        web, express = [], []
        for _ in range(10):
            more = requests(n)
            web += more[0]
            express += more[1]
            n += 1
        scopes = [{"scope": {"name": "@opentelemetry/instrumentation-http"}, "spans": web}]
        if express:
            scopes.append({"scope": {"name": "@opentelemetry/instrumentation-express"}, "spans": express})
        body = json.dumps({"resourceSpans": [{"resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "shop"}}]}, "scopeSpans": scopes}]})
        try:
            call(OTLP, "POST", "/v1/traces", body, "application/json")
        except OSError:
            pass
        time.sleep(0.05)


main()
