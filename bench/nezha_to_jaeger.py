#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts a day of the Nezha set (CSV) to JSON as Jaeger's query service returns it: FOLDER > file.

Times are cut to microseconds, as Jaeger has them. Services are pods without the two hashes of their names.
"""
import csv
import glob
import gzip
import json
import sys


def rows(folder):
    for path in sorted(glob.glob(folder + "/*_trace.csv.gz")):
        with gzip.open(path, "rt", newline="") as f:
            yield from csv.DictReader(f)


def span(row, process):
    refs = []
    if row["ParentID"] != "root":
        refs = [{"refType": "CHILD_OF", "traceID": row["TraceID"], "spanID": row["ParentID"]}]
    begin_us, end_us = int(row["StartTimeUnixNano"]) // 1000, int(row["EndTimeUnixNano"]) // 1000
    return {"traceID": row["TraceID"], "spanID": row["SpanID"], "operationName": row["OperationName"],
            "references": refs, "startTime": begin_us, "duration": end_us - begin_us, "tags": [], "logs": [],
            "processID": process, "warnings": None}


def trace(trace_id, spans):
    processes, out = {}, []
    for row in spans:
        process = processes.setdefault(row["PodName"], "p%d" % (len(processes) + 1))
        out.append(span(row, process))
    return {"traceID": trace_id, "spans": out, "processes": {
        p: {"serviceName": pod.rsplit("-", 2)[0], "tags": [{"key": "hostname", "type": "string", "value": pod}]}
        for pod, p in processes.items()}, "warnings": None}


def main():
    traces = {}
    for row in rows(sys.argv[1]):
        traces.setdefault(row["TraceID"], []).append(row)
    sys.stdout.write('{"data":[')
    for i, (trace_id, spans) in enumerate(traces.items()):
        sys.stdout.write(("," if i else "") + json.dumps(trace(trace_id, spans), separators=(",", ":")))
    sys.stdout.write('],"total":0,"limit":0,"offset":0,"errors":null}\n')


if len(sys.argv) != 2:
    sys.exit("usage: nezha_to_jaeger.py FOLDER > FILE")
main()
