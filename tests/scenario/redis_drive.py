#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# Clients of Redis for redis_test.sh. Each mode prints what is wrong on stdout, and exits 1 if anything is.
#
#   redis_drive.py replies MODULE PLAIN      the same commands, wrapped and unwrapped: the same bytes must come back
#   redis_drive.py hostile MODULE PLAIN      invalid contexts and incomplete wrappers: the same bytes must come back
#   redis_drive.py many MODULE N             N clients at once, pipelined: each gets its own answers
#   redis_drive.py wait MODULE               clients that wait for the command of another client, before and after their own
#   redis_drive.py alone MODULE              commands without a context for some seconds, then some with
#   redis_drive.py unblocked MODULE          commands that were sent behind one that blocks
#   redis_drive.py dies MODULE               a client that disconnects during its command, and in the middle of sending the next
#   redis_drive.py sizes MODULE PLAIN        reads a key of each type in several databases; hits and misses must be as without
#   redis_drive.py contexts                  a valid pair of contexts, for use in a shell
#   redis_drive.py trace MODULE WHAT         checks a trace (output of babeltrace2 on stdin; see the functions)
import collections, os, random, re, socket, struct, sys, threading, time

TRACE = 0x0123456789abcdef


def parent(link, trace=TRACE, flags=1):
    return b"00-fedcba9876543210%016x-%016x-%02x" % (trace, link, flags)


def state(link, flags=3):
    return b"hone=%016x-00000001%x" % (link, flags)


def encode(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.got = b""
        self.links = random.Random(path)

    def send(self, *words):
        self.socket.sendall(encode(*words))

    def line(self):
        while b"\r\n" not in self.got:
            self.more()
        line, self.got = self.got.split(b"\r\n", 1)
        return line + b"\r\n"

    def more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError
        self.got += data

    def reply(self):
        """Reads one reply, of any type of RESP2 or RESP3, and returns its bytes."""
        line = self.line()
        kind, rest = line[:1], line[1:-2]
        if kind in b"$=!" and rest != b"-1":
            size = int(rest) + 2
            while len(self.got) < size:
                self.more()
            line, self.got = line + self.got[:size], self.got[size:]
        elif kind in b"*~>%|" and rest != b"-1":
            for _ in range(int(rest) * (2 if kind in b"%|" else 1)):
                line += self.reply()
            if kind == b"|":
                line += self.reply()
        return line

    def ask(self, *words):
        self.send(*words)
        try:
            return self.reply()
        except (EOFError, ConnectionError):
            return b"closed"

    def wrapped(self, *words):
        link = self.links.getrandbits(63) | 1
        return self.ask("HONE.X", parent(link), state(link), *words)


# ---- the same replies ----------------------------------------------------------

SCRIPT = "redis.call('rpush', KEYS[1], 'a', 'b'); return {redis.call('llen', KEYS[1]), redis.call('lrange', KEYS[1], 0, -1)}"
COMMANDS = [l.split() if isinstance(l, str) else l for l in [
    "PING", "PING hello", ["ECHO", "a b"], "SET k v", "GET k", "get nothing", "SET k v NX", "SETEX t 100 v", "TTL t", "APPEND k xyz", "STRLEN k",
    "INCR n", "INCRBYFLOAT f 3.25", "INCR k", "LPUSH l a b c d e", "LRANGE l 0 -1", "LPOS l zz", "LPOP l 2", "HSET h a 1 b 2", "HGETALL h",
    "HGET h nothing", "HINCRBY h a x", "SADD s 1 2 3", "SMEMBERS s", "SISMEMBER s 1", "ZADD z 1.5 a 2 b inf c", "ZRANGE z 0 -1 WITHSCORES",
    "ZSCORE z a", "XADD x 1-1 a b", "XRANGE x - +", "XREAD COUNT 1 STREAMS x 0", "XREAD BLOCK 10 STREAMS x 5", "GEOADD g 13.36 38.11 p",
    "GEOPOS g p nothing", "PFADD p a b", "PFCOUNT p", "SETBIT b 7 1", "BITFIELD b GET u8 0", "EXPIRE k 100", "PERSIST k", "TYPE k", "OBJECT ENCODING k",
    "RENAME k k2", "RENAME nothing x", "COPY k2 k3", "EXISTS k2 k3 nothing", "DEL k2 k3", "UNLINK nothing", "MSET a 1 b 2 c 3", "MGET a nothing c",
    "KEYS a", "DBSIZE", "SCAN 0 MATCH nothing* COUNT 1000", "SORT l ALPHA", "SORT_RO l ALPHA LIMIT 0 1", "DEBUG PROTOCOL string",
    "DEBUG PROTOCOL integer", "DEBUG PROTOCOL double", "DEBUG PROTOCOL null", "DEBUG PROTOCOL array", "DEBUG PROTOCOL set", "DEBUG PROTOCOL map",
    "DEBUG PROTOCOL attrib", "DEBUG PROTOCOL verbatim", "DEBUG PROTOCOL true", "DEBUG PROTOCOL false", "DEBUG PROTOCOL bignum",
    "LRANGE k2", "GET", "GET a b c", "NOSUCH", "NOSUCH a b", "", "CONFIG NOSUCH", "CONFIG GET maxmemory-policy", "OBJECT", "COMMAND COUNT NOSUCH",
    ["EVAL", SCRIPT, "1", "sl"], ["EVAL", "return redis.error_reply('MY mistake')", "0"], ["EVAL", "return redis.call('get', 'l')", "0"],
    ["EVAL", "return redis.pcall('nosuch')", "0"], ["EVAL_RO", "return redis.call('set','a','1')", "0"], ["EVAL", "error('x')", "0"], "EVALSHA 00 0",
    ["FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('two', function(keys, args) return redis.call('get', keys[1]) end)"], "FCALL two 1 a",
    "SELECT 3", "SET other 1", "DBSIZE", "SELECT 0", "SELECT 99", "SWAPDB 0 3", "SWAPDB 0 3", "MOVE a 2",
    "WATCH a", "MULTI", "SET a 2", "LPUSH a x", "INCR n", "EXEC", "MULTI", "NOSUCH", "EXEC", "MULTI", "MULTI", "DISCARD", "EXEC",
    "WATCH a", "SET a 3", "MULTI", "GET a", "EXEC", ["MULTI"], ["EVAL", SCRIPT, "1", "sl"], "BLPOP nothing 0", "EXEC",
    "BLPOP nothing 0.02", "LPUSH q 1", "BLPOP q 0", "BLMOVE nothing q LEFT LEFT 0.02", "BZPOPMIN z 0", "WAIT 0 10",
    "CLIENT SETNAME me", "CLIENT GETNAME", "CLIENT TRACKING ON", "GET a", "CLIENT TRACKINGINFO", "CLIENT TRACKING OFF", "CLIENT REPLY ON",
    "SUBSCRIBE channel", "PING", "UNSUBSCRIBE channel", "PUBLISH nobody x", "AUTH wrong", "AUTH default wrong", "HELLO 9", "READONLY", "ASKING",
    "ACL WHOAMI", ["ACL", "SETUSER", "small", "on", ">pw", "~a*", "+get", "+set", "+multi", "+exec", "+auth", "-@admin"], "AUTH small pw", "GET a", "SET a 5",
    "GET l", "DEL a", "KEYS *", "NOSUCH", "MULTI", "GET a", "DEL a", "EXEC", "AUTH default x", "ACL WHOAMI", "HONE.Y",
    ["SET", "a", "v" * 200000], "GET a", ["GET", "a\0b"], ["SET", "", ""], ["GET", ""], "RESET",
    "CONFIG SET maxmemory 1", "SET a 1", "LPOP l", "GET a", ["EVAL", "return redis.call('set','a','1')", "0"], "CONFIG SET maxmemory 0",
    "CONFIG SET requirepass pw", "QUIT", "GET a", "PING", "NOSUCH", "MULTI", "AUTH wrong", "AUTH pw", "GET a", ["CONFIG", "SET", "requirepass", ""],
    "CONFIG SET min-replicas-to-write 1", "SET a 1", "GET a", "CONFIG SET min-replicas-to-write 0", "FLUSHDB", "FLUSHALL", "DBSIZE", "QUIT",
]]


def compare(name, module, plain, commands, wrapper=None):
    wrong = 0
    a, b = Client(module), Client(plain)
    a.ask("FLUSHALL"), b.ask("FLUSHALL")
    for hello in [["HELLO", "2"], ["HELLO", "3"]]:
        if a.ask(*hello)[:1] != b.ask(*hello)[:1]:
            print("hello differs")
        for words in commands:
            words = words or [""]
            got = a.ask(*wrapper(), *words) if wrapper else a.wrapped(*words)
            wanted = b.ask(*words)
            if got != wanted:
                wrong += 1
                print(f"{name}: {hello} {str(words)[:80]}: {got[:200]} instead of {wanted[:200]}")
            if b"closed" in (got, wanted) or words[0] == "QUIT":
                a, b = Client(module), Client(plain)
    return wrong


def replies(module, plain):
    return compare("wrapped", module, plain, COMMANDS)


def hostile(module, plain):
    dice = random.Random(6)
    good = [parent(7), state(7)]
    fixed = [b"", b"\0", b"-", b"00", b"0" * 55, parent(7, flags=255), parent(0), parent(7, trace=0), b"ff" + parent(7)[2:], b"01" + parent(7)[2:] + b"-more",
             parent(7) + b"-", parent(7) + b"\0x", parent(7).upper(), b"x" * (1 << 20), b"hone=" * 5000, b"," * 100000, b"hone=\0", b"%s%n%n%n%n", b"\xff" * 55,
             b"*3\r\n$4\r\n", b"hone.x", b"\r\n", b"\xf0\x9f\x92\xa9" * 14, state(0), state(7) + b",x=" + b"y" * 600]

    def mutated(text):
        text = bytearray(text)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(text) + 1)
            text[at:at + dice.randrange(3)] = bytes(dice.choice((0, 10, 13, 32, 44, 45, 61, 71, 102, 127, 255)) for _ in range(dice.randrange(3)))
        return bytes(text)

    pairs = [(p, s) for p in fixed for s in fixed[::3]] + [(mutated(good[0]), mutated(good[1])) for _ in range(400)]
    pairs += [(good[0], mutated(good[1])) for _ in range(100)] + [(mutated(good[0]), good[1]) for _ in range(100)]
    dice.shuffle(pairs)
    use = iter(pairs * 3)
    few = [["SET", "k", "v"], ["GET", "k"], ["LRANGE", "k", "0", "1"], ["PING"], ["NOSUCH"], ["GET"]]
    wrong = compare("hostile", module, plain, few * (len(pairs) // len(few)), lambda: ("HONE.X", *next(use)))
    client, plainly = Client(module), Client(plain)
    pong = b"+PONG\r\n"
    for deep in range(1, 8):
        got = client.ask(*(["HONE.X", *good] * deep), "PING")
        wanted = pong if deep <= 4 else b"-ERR HONE.X in HONE.X, too deep\r\n"
        if got != wanted:
            wrong += 1
            print(f"{deep} wrappers: {got}")
    begun = time.monotonic()
    if not client.ask(*(["HONE.X", "", ""] * 300000), "PING").startswith(b"-ERR HONE.X in"):
        wrong += 1
        print("300,000 wrappers are taken")
    if time.monotonic() - begun > 10:
        wrong += 1
        print("300,000 wrappers take long")
    for words in (["HONE.X"], ["HONE.X", "a"], ["hone.x", good[0], good[1]]):
        got = client.ask(*words)
        if not got.lower().startswith(b"-err wrong number of arguments for 'hone.x'"):
            wrong += 1
            print(words, got)
    for words in ([""], ["\0"], ["x" * 70], ["get\0"], [b"\xff\xfe"], ["a.b.c"], ["evaluate"], ["exec"], ["e"], ["ex"], ["fcall"], ["eval"]):
        if (got := client.wrapped(*words)) != (wanted := plainly.ask(*words)):
            wrong += 1
            print(words, got, wanted)
    client.socket.sendall(b"HONE.X a b PING\r\nhone.x  a  b  ECHO  inline\r\n" + encode("HONE.X", *good, "PING")[:-7])
    got = client.reply() + client.reply()
    if got != pong + b"$6\r\ninline\r\n":
        wrong += 1
        print("inline", got)
    client.socket.close()	# in the middle of a command
    return wrong


# ---- many clients at once -------------------------------------------------------------

def many(module, n):
    wrong, lock, each = [], threading.Lock(), 100

    def one(i):
        client, batch = Client(module), b""
        for j in range(each):
            link = (i + 1) << 32 | j + 1
            batch += encode("HONE.X", parent(link), state(link), "ECHO", f"{i}-{j}")
        client.socket.sendall(batch)
        for j in range(each):
            text = f"{i}-{j}"
            if client.reply() != b"$%d\r\n%s\r\n" % (len(text), text.encode()):
                with lock:
                    wrong.append(text)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("wrong:", wrong[:5])
    return len(wrong)


# ---- what a request waits for ---------------------------------------------------

def server_is(module, where):
    """Waits until the server blocks in a kernel function whose name contains `where`; 20 s at most."""
    client = Client(module)
    pid = struct.unpack("3i", client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    until = time.monotonic() + 20
    while where not in (now := open(f"/proc/{pid}/wchan").read()):
        if time.monotonic() > until:
            raise TimeoutError(f"the server is at {now}, not at {where}")
        time.sleep(0.002)


def asleep(module):
    """Waits until the DEBUG SLEEP of the other client is running."""
    server_is(module, "nanosleep")


def idle(module):
    """Waits until the server is idle, and has been for long enough that the module has noticed."""
    time.sleep(0.15)
    server_is(module, "poll")


def wait(module):
    ours, other = Client(module), Client(module)
    ours.wrapped("PING")	# from now on the module observes the event loop
    idle(module)
    other.send("DEBUG", "SLEEP", "1.5")
    asleep(module)
    ours.wrapped("GET", "behind-another")
    other.reply()
    idle(module)
    ours.socket.sendall(encode("HONE.X", parent(99), state(99), "GET", "before-another") + encode("DEBUG", "SLEEP", "1"))
    ours.reply(), ours.reply()
    ours.wrapped("DEBUG", "SLEEP", "1")
    idle(module)
    ours.wrapped("GET", "behind-nobody")
    return 0


def unblocked(module):
    ours, other = Client(module), Client(module)
    ours.wrapped("PING")
    ours.socket.sendall(b"".join(encode("HONE.X", parent(n), state(n), *words) for n, words in ((1, ["BLPOP", "q", "0"]), (2, ["GET", "a"]), (3, ["LLEN", "q"]))))
    while b"blocked_clients:1" not in other.ask("INFO", "clients"):
        pass
    other.ask("LPUSH", "q", "1")
    got = [ours.reply() for _ in range(3)]
    time.sleep(1)
    ours.wrapped("ECHO", "last")
    print(got)
    return got != [b"*2\r\n$1\r\nq\r\n$1\r\n1\r\n", b"$-1\r\n", b":0\r\n"]


def alone(module):
    """Sends commands without a context until the module stops observing the event loop, one second after the last context."""
    client = Client(module)
    client.wrapped("PING")
    until = time.monotonic() + 3
    while time.monotonic() < until:
        client.ask("PING")
    for _ in range(5):
        client.wrapped("GET", "k")


def dies(module):
    ours, other = Client(module), Client(module)
    ours.socket.sendall(encode("HONE.X", parent(5), state(5), "DEBUG", "SLEEP", "1.5") + encode("HONE.X", parent(6), state(6), "GET", "a")[:-20])
    asleep(module)
    ours.socket.close()
    return other.wrapped("PING") != b"+PONG\r\n"


def read_sizes(path, wrapped):
    """The keyspace hits and misses that reading these keys has caused."""
    c = Client(path)
    read = c.wrapped if wrapped else c.ask

    def counts():
        text = c.ask("INFO", "stats")
        return [int(re.search(rb"keyspace_%s:(\d+)" % k, text)[1]) for k in (b"hits", b"misses")]

    c.ask("FLUSHALL")
    c.ask("RPUSH", "list", *range(1000))
    c.ask("HSET", "hash", *range(200))
    c.ask("SET", "text", "x" * 5000)
    c.ask("SELECT", 3)
    c.ask("ZADD", "zset", *range(50))
    c.ask("SET", "both", "1")
    c.ask("SELECT", 0)
    c.ask("SET", "both", "1")
    c.ask("SET", "soon", "1", "PX", 1)
    time.sleep(0.01)
    before = counts()
    for words in ("LRANGE list 0 -1", "HGETALL hash", "GET text", "MGET text both list", "GET both", "DEL nothing", "GET soon"):
        read(*words.split())
    c.ask("SELECT", 3)
    read("ZRANGE", "zset", 0, -1)
    return [b - a for a, b in zip(before, counts())]


def sizes(module, plain):
    ours, theirs = read_sizes(module, True), read_sizes(plain, False)
    print("hits and misses:", ours, "without the module:", theirs)
    return ours != theirs


# ---- checks of the trace ------------------------------------------------------

Record = collections.namedtuple("Record", "at_ns pid event trace unit fields")
LINE = re.compile(r"^\[(\d+):(\d+):(\d+)\.(\d+)\] \(\S+\) \S+ (\S+):?:? \{ cpu_id")


def records():
    out = []
    for text in sys.stdin:
        m = LINE.match(text)
        if not m:
            continue
        h, mi, s, ns = map(int, m.groups()[:4])
        ids = dict(re.findall(r"_app_hone_(trace_id|unit_id) = \{ (\d+) \}", text))
        pid = re.search(r"vpid = (\d+)", text)
        fields = {k: v.strip('"') for k, v in re.findall(r'(\w+) = ("[^"]*"|-?\d+)', text[text.rindex("{"):])}
        out.append(Record(((h * 60 + mi) * 60 + s) * 10**9 + ns, int(pid[1]) if pid else 0, m[5].rstrip(":"), int(ids.get("trace_id", 0)),
                          int(ids.get("unit_id", 0)), fields))
    return out


def units(all_records):
    by = collections.defaultdict(list)
    for r in all_records:
        if r.unit:
            by[r.unit].append(r)
    return list(by.values())


def trace_whole():
    """Every unit is complete and in order, and no record of a request is outside of a unit."""
    wrong, seen = 0, units(all_records := records())
    order = ["hone:unit_begin", "redis:queue", "redis:command_begin", "redis:command_end", "redis:reply_begin", "redis:key", "redis:reply_end", "hone:unit_end"]
    for u in seen:
        frame = [r.event for r in u if r.event in order]
        need = [e for e in order if e not in ("redis:queue", "redis:key") or e in frame]
        if frame != need or u[0].event != order[0] or u[-1].event != order[-1] or len({r.trace for r in u}) != 1:
            wrong += 1
            print([r.event for r in u])
    lost = [r for r in all_records if not r.unit and r.event in order]
    print(len(seen), "units;", len(lost), "records outside", lost[:2])
    return wrong + len(lost) + (not seen)


def trace_many(n):
    """Each command is one unit with its own link id."""
    links = collections.Counter(int(r.fields["link_id"]) for r in records() if r.event == "hone:unit_begin" and r.fields["name"] == "echo")
    wanted = {(i + 1) << 32 | j + 1 for i in range(n) for j in range(100)}
    print(len(links), "links;", len(wanted - set(links)), "missing; twice:", [l for l, c in links.items() if c > 1][:3])
    return set(links) != wanted or max(links.values()) != 1


def one(seen, name, nth):
    return [{r.event: r for r in u} for u in seen if u[0].fields.get("name") == name][nth]


def ms(a, b):
    return (b.at_ns - a.at_ns) / 1e6


def trace_wait():
    """A command that waited names the command that it waited for, and the duration; other commands have no wait."""
    seen, wrong = units(records()), 0
    behind, before, nobody = (one(seen, "get", i) for i in range(3))
    sleep = one(seen, "debug", 0)
    checks = {
        "it was behind debug": behind["redis:queue"].fields["behind"] == "debug",
        "for a second and a half": 1450e3 < int(behind["redis:queue"].fields["behind_us"]) < 6e6,
        "its reply waited for debug": before["redis:reply_end"].fields["behind"] == "debug" and before["redis:reply_end"].fields["served_after"] == "1",
        "for a second": 1000 <= ms(before["redis:reply_begin"], before["redis:reply_end"]) < 5000,
        "its command was short": ms(before["redis:command_begin"], before["redis:command_end"]) < 900,
        "a command of a second takes a second": 1000 <= ms(sleep["redis:command_begin"], sleep["redis:command_end"]) < 5000,
        "its reply does not wait": ms(sleep["redis:reply_begin"], sleep["redis:reply_end"]) < 900,
        "behind nobody": nobody["redis:queue"].fields["behind"] == "none" and nobody["redis:queue"].fields["behind_us"] == "0",
    }
    for what, holds in checks.items():
        print("yes" if holds else "NO", what)
    for u in (behind, before, nobody, sleep):
        for r in u.values():
            print(r)
    return not all(checks.values())


def trace_unblocked():
    """A blocking command has a unit until it blocks; commands behind it have no unit, which would be too long."""
    seen = units(records())
    for u in seen:
        print([(r.event, r.fields.get("name")) for r in (u[0], u[-1])], ms(u[0], u[-1]))
    names = [u[0].fields.get("name") for u in seen]
    return names != ["ping", "blpop", "echo"] or any(ms(u[0], u[-1]) > 900 for u in seen)


def trace_dies():
    """The command of the closed connection runs to its end; the incomplete command never begins."""
    seen = units(records())
    print([(u[0].fields, ms(u[0], u[-1])) for u in seen])
    return [u[0].fields.get("name") for u in seen] != ["debug", "ping"] or any(u[-1].event != "hone:unit_end" for u in seen) or ms(seen[0][0], seen[0][-1]) < 1500


def trace_sizes():
    """The type and size of the first key are recorded, in every database."""
    got = [tuple(r.fields[k] for k in ("key_type", "key_len", "keys")) for r in records() if r.event == "redis:key"]
    wanted = [("list", "1000", "1"), ("hash", "100", "1"), ("string", "5000", "1"), ("string", "5000", "3"), ("ambiguous", "1", "1"), ("none", "0", "1"),
              ("none", "0", "1"), ("zset", "25", "1")]
    print(got)
    return got != wanted


def main():
    mode, args = sys.argv[1], sys.argv[2:]
    if mode == "contexts":
        print(parent(7).decode(), state(7).decode())
        return 0
    if mode == "trace":
        return bool(globals()["trace_" + args[0]](*map(int, args[1:])))
    run = {"replies": replies, "hostile": hostile, "many": many, "wait": wait, "unblocked": unblocked, "alone": alone, "dies": dies,
           "sizes": sizes}[mode]
    return bool(run(*(int(a) if a.isdigit() else a for a in args)))


sys.exit(main())
