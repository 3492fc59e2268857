#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""postgres_client.py SOCKET MESSAGE...: sends protocol messages to a PostgreSQL server one by one.

    Q SQL            simple query
    P NAME SQL       parse; NAME - is the unnamed statement
    B PORTAL NAME    bind; PORTAL - is the unnamed portal
    E PORTAL ROWS    execute, at most ROWS rows (0: all)
    X PORTAL         close
    S                sync

Messages up to a Q or S are sent in one write; then the answer is read and printed in one line: command tags, s for a
suspended portal (it has more rows), ! and the code of an error, and the transaction state (I, T, E)."""
import socket
import struct
import sys


def message(kind, *parts):
    body = b"".join(parts)
    return kind + struct.pack("!i", len(body) + 4) + body


def text(s):
    return ("" if s == "-" else s).encode() + b"\0"


def encode(words):
    kind, _, rest = words.partition(" ")
    if kind == "Q":
        return message(b"Q", text(rest))
    if kind == "P":
        name, _, sql = rest.partition(" ")
        return message(b"P", text(name), text(sql), struct.pack("!h", 0))
    if kind == "B":
        portal, name = rest.split()
        return message(b"B", text(portal), text(name), struct.pack("!hhh", 0, 0, 0))
    if kind == "E":
        portal, rows = rest.split()
        return message(b"E", text(portal), struct.pack("!i", int(rows)))
    if kind == "X":
        return message(b"C", b"P", text(rest))
    return message(b"S")


class Server:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        start = struct.pack("!i", 196608) + b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!i", len(start) + 4) + start)
        self.answer()

    def answer(self):
        said = []
        while True:
            head = self.file.read(5)
            if len(head) < 5:
                return said + ["closed"]
            kind, length = struct.unpack("!ci", head)
            body = self.file.read(length - 4)
            if kind == b"C":
                said.append(body[:-1].decode())
            elif kind == b"E":
                said += ["!" + f[1:].decode() for f in body.split(b"\0") if f[:1] == b"C"]
            elif kind == b"s":
                said.append("s")
            elif kind == b"Z":
                return said + [body.decode()]


def main():
    server = Server(sys.argv[1])
    waiting = b""
    for words in sys.argv[2:]:
        waiting += encode(words)
        if words[0] in "QS":
            server.socket.sendall(waiting)
            waiting = b""
            print(", ".join(server.answer()), flush=True)


main()
