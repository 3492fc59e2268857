#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# Opens connections to a port that say nothing, up to 1,000 at a time, and then waits until it is ended.
#   silent.py CONNECTIONS PORT
import collections
import resource
import signal
import socket
import sys

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
held = collections.deque(maxlen=1000)
for _ in range(int(sys.argv[1])):
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[2]))))
print("opened", flush=True)
signal.pause()
