#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/threaded.sh FOLDER ROOM/NAME_test...: those of these unit tests, built below FOLDER, that can start a thread: they are linked with
# pthread_create(), or use a library whose threads call back (nng, libmicrohttpd) or run beside the program's (LTTng). In any other one the
# thread sanitizer has nothing to find.
set -eu
cd "$1"
shift
nm -A -D --undefined-only "$@" | grep -E ' (pthread_create|thrd_create|nng_|MHD_start_daemon|lttng_ust_)' | sed 's|:.*||' | sort -u
