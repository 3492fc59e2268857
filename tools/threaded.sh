#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/threaded.sh FOLDER: the unit tests built below FOLDER that can start a thread, as ROOM/NAME_test: those linked with
# pthread_create(), and those that use a library whose threads call back (nng, libmicrohttpd) or run beside the program's (LTTng). In any
# other one the thread sanitizer has nothing to find.
set -eu
cd "$1"
find . -name '*_test' -type f -exec nm -A -D --undefined-only '{}' + |
  grep -E ' (pthread_create|thrd_create|nng_|MHD_start_daemon|lttng_ust_)' | sed 's|^\./||; s|:.*||' | sort -u
