#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the records of postgres_test.sh, one on each line (time event key=value...), and prints for each trace

    N units K            the number of its units
    N shape TEXT         its units in the order of their beginnings: name{spans inside}; + marks repeats, printed once
    N ns NAME=SUM...     the total duration of its spans, by name
    N last KEY=VALUE...  the fields, as event.field, of the last record of each event

and for all traces, in lines that begin with "broken", the contradictions: an end of a span without its beginning, a unit
in two processes, a record of a unit before its beginning or after its end, an id outside of any unit. A unit without an
end is "N open". Shapes leave out waits for table files, which depend on what is cached in memory."""
import sys

BEGINS = ("hone:unit_begin", "hone:request_begin")
ENDS = ("hone:unit_end", "hone:request_end")
LEFT_OUT = ("wait_data_read", "wait_data_write", "wait_data_sync", "wait_io", "wait_lwlock", "parsed")


class Unit:
    def __init__(self, record):
        self.trace, self.pid, self.name = record["trace_id"], record["vpid"], record["name"]
        self.kind = "request " if record["event"] == BEGINS[1] else ""
        self.root = []
        self.stack = [("", self.root, 0)]
        self.ended = False


def fold(parts):
    out = []
    for part in parts:
        if out and out[-1].rstrip("+") == part:
            out[-1] = part + "+"
        else:
            out.append(part)
    return " ".join(out)


class Reading:
    def __init__(self):
        self.units, self.traces, self.broken = {}, {}, []

    def trace(self, number):
        return self.traces.setdefault(number, {"units": [], "ns": {}, "last": {}})

    def begin(self, record):
        unit = Unit(record)
        if record["unit_id"] in self.units:
            self.broken.append(f"unit begins twice: {record}")
        self.units[record["unit_id"]] = unit
        self.trace(unit.trace)["units"].append(unit)

    def span(self, unit, record, event):
        if event.endswith("_begin"):
            unit.stack.append((event[:-6], [], int(record["time"])))
            return
        if not event.endswith("_end"):
            unit.stack[-1][1].append(event)
            return
        name, parts, since = unit.stack[-1]
        if name != event[:-4]:
            self.broken.append(f"{event} ends {name or 'nothing'}: {record}")
            return
        unit.stack.pop()
        ns = self.trace(unit.trace)["ns"]
        ns[name] = ns.get(name, 0) + int(record["time"]) - since
        if name not in LEFT_OUT:
            inside = fold(p for p in parts if p not in LEFT_OUT)
            unit.stack[-1][1].append(f"{name}{{{inside}}}" if inside else name)

    def record(self, record):
        event = record["event"]
        if record["unit_id"] == "0":
            if record["trace_id"] != "0":
                self.broken.append(f"a trace id outside of units: {record}")
            return
        if event in BEGINS:
            self.begin(record)
            return
        unit = self.units.get(record["unit_id"])
        if unit is None or unit.ended or unit.pid != record["vpid"] or unit.trace != record["trace_id"]:
            self.broken.append(f"outside of its unit: {record}")
            return
        self.trace(unit.trace)["last"].update(
            (f"{event.partition(':')[2]}.{k}", v) for k, v in record.items() if k not in ("time", "event", "trace_id", "unit_id", "vpid"))
        if event in ENDS:
            unit.ended = True
            if len(unit.stack) > 1:
                self.broken.append(f"{unit.stack[-1][0]} is open at its unit's end: {record}")
        else:
            self.span(unit, record, event.partition(":")[2])

    def tell(self):
        for line in self.broken:
            print("broken", line)
        for number, trace in self.traces.items():
            units = trace["units"]
            print(number, "units", len(units))
            print(number, "shape", "; ".join(f"{u.kind}{u.name}{{{fold(u.root)}}}" for u in units))
            print(number, "ns", *(f"{k}={v}" for k, v in trace["ns"].items()))
            print(number, "last", *(f"{k}={v}" for k, v in trace["last"].items()))
            if not all(u.ended for u in units):
                print(number, "open")


def main():
    reading = Reading()
    for line in sys.stdin:
        words = line.split()
        if len(words) > 2 and "unit_id=" in line:
            record = dict(w.split("=", 1) for w in words[2:] if "=" in w)
            reading.record({**record, "time": words[0].replace(".", ""), "event": words[1]})
    reading.tell()


main()
