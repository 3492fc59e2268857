# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections without keys, and the long way of an agent, for flood_test.sh.

flood.py flood PORT KIND   800 connections per second from 127.0.0.2 to 127.0.0.5, until it is ended. KIND: silent, half
                           (the first bytes of a TLS handshake) or junk (bytes that are no TLS). Holds at most 400 open.
                           Prints, once per second, how many it has begun.
flood.py relay PORT TO     passes bytes between 127.0.0.1:PORT and 127.0.0.1:TO, 100 ms later in each direction: a round
                           trip of 200 ms. Over such a way the last packet of TCP's handshake and the first bytes come
                           together, so it connects when it has the first bytes. Prints the time of each connection that
                           it accepts, in s.
"""
import asyncio, collections, socket, sys, time

RATE, HELD, SOURCES, ONE_WAY_S = 800, 400, 4, 0.1
SAID = {'silent': b'', 'half': bytes([0x16, 3, 1, 2, 0, 1]), 'junk': b'GET / HTTP/1.1\r\n\r\n'}


def flood(port, said):
    held, n, began, reported = collections.deque(), 0, time.monotonic(), 0
    fresh = collections.deque()
    while True:
        while n < (time.monotonic() - began) * RATE:
            s = socket.socket()
            s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
            s.bind((f'127.0.0.{2 + n % SOURCES}', 0))
            s.setblocking(False)
            s.connect_ex(('127.0.0.1', port))
            n += 1
            fresh.append(s)
            held.append(s)
            if len(held) > HELD:
                held.popleft().close()
        while len(fresh) > 20 or (fresh and not said):
            s = fresh.popleft()
            try:
                if said and s.fileno() >= 0:
                    s.send(said)
            except OSError:
                pass
        if time.monotonic() - reported >= 1:
            reported = time.monotonic()
            print(n, flush=True)
        time.sleep(0.002)


async def one_way(reader, writer, first=b''):
    loop, later = asyncio.get_running_loop(), asyncio.Queue()

    async def read():
        while data := await reader.read(65536):
            later.put_nowait((loop.time() + ONE_WAY_S, data))
        later.put_nowait((loop.time() + ONE_WAY_S, b''))

    reading = asyncio.create_task(read())
    if first:
        writer.write(first)
    try:
        while True:
            at, data = await later.get()
            await asyncio.sleep(max(0, at - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    reading.cancel()
    writer.close()


async def relay(port, to):
    async def serve(reader, writer):
        print(time.time(), flush=True)
        try:
            first = await reader.read(65536)
            await asyncio.sleep(ONE_WAY_S)
            far = await asyncio.open_connection('127.0.0.1', to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(one_way(reader, far[1], first), one_way(far[0], writer), return_exceptions=True)

    server = await asyncio.start_server(serve, '127.0.0.1', port)
    async with server:
        await server.serve_forever()


if sys.argv[1] == 'flood':
    flood(int(sys.argv[2]), SAID[sys.argv[3]])
else:
    asyncio.run(relay(int(sys.argv[2]), int(sys.argv[3])))
